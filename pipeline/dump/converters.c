/* Each converter looks at every byte once and keeps no document in memory. What is wrong inside a document is left to
 * the reader of JSON lines, which counts it; only what loses the way in the file is an error. */
#include "pipeline/dump/converters.h"

#include "base/csv.h"
#include "base/text_lines.h"
#include "base/mem.h"
#include "pipeline/dump/plain_text.h"
#include "pipeline/dump/sniff.h"
#include "pipeline/dump/structured.h"

#include <inttypes.h>
#include <stdio.h>

#define IN_BYTES   ((size_t)64 << 10) /* at a time */
#define HEADER_MAX ((size_t)64 << 10) /* of a table, or of a record of an archive */
#define COLUMNS    1024u              /* more are left out */

struct convert {
    struct conversion conversion;
    const char *name;
    next_bytes_fn *next;
    void *context;
    struct buf start, in, out;
    size_t start_taken, taken; /* of `start`, `out` */
    uint64_t at;               /* of the input, where what is fed begins */
    bool ended;

    /* Of the converters. `state` is one of the enum of the converter; a zeroed one is at the beginning. */
    int state;
    struct buf held; /* the header, or the number of a line */
    uint64_t from;   /* where a field, an element or a record begins */
    /* Of a table: the byte that is read and its line, the line where the field begins. */
    uint64_t here, line, from_line;
    struct csv csv;
    bool beyond;  /* table: a field that the header does not name has text */
    bool filled;  /* table: the object has a member */
    bool cr;      /* numbered lines: a CR came before */
    bool in_line; /* marks: the line is no mark */
    size_t column, columns;
    size_t names[COLUMNS + 1]; /* table: ends of the names in `held`; the first is 0 */
    uint64_t depth;            /* array: of containers in an element */
    bool in_string, escaped;   /* array */
    uint64_t left;             /* archive: of a record's body */
    bool wanted;               /* archive: the body is text */
};

static void add_escaped(struct buf *out, char c)
{
    const unsigned char byte = (unsigned char)c;
    if (byte >= ' ' && c != '"' && c != '\\') {
        buf_add_byte(out, c);
        return;
    }
    buf_add_byte(out, '\\');
    if (byte >= ' ') {
        buf_add_byte(out, c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
        buf_add_byte(out, c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    } else {
        buf_addf(out, "u%04x", byte);
    }
}

static void add_escaped_text(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.size; i++)
        add_escaped(out, text.data[i]);
}

/* ------------------------------------------------------------------------------------------------------ table */

/* RFC 4180, with the separators that table_head knows. What it does not allow may have lost a quotation mark, and would
 * read rows as one field, or take part of a text for another column. */
static bool is_table(struct str head)
{
    return table_head(head).header;
}

static bool in_header(const struct convert *c)
{
    return c->names[0] == 0;
}

/* The name of the column; "": it has none, and is left out. */
static struct str name_of(const struct convert *c)
{
    const size_t from = c->column > 0 && c->column < c->columns ? c->names[c->column] : 0;
    return c->column < c->columns && c->names[c->column + 1] > from
               ? (struct str){c->held.data + from, c->names[c->column + 1] - from}
               : STR("");
}

/* names[0] becomes 1 when the header is complete. */
static void field_begin(void *context)
{
    struct convert *c = context;
    c->from = c->here;
    c->from_line = c->line;
    if (in_header(c))
        return;
    if (c->column == 0)
        buf_add_byte(&c->out, '{');
    const struct str name = name_of(c);
    if (name.size == 0)
        return;
    buf_add_text(&c->out, c->filled ? ",\"" : "\"");
    buf_add_str(&c->out, name);
    buf_add_text(&c->out, "\":\"");
    c->filled = true;
}

static void field_byte(void *context, char byte)
{
    struct convert *c = context;
    if (in_header(c)) {
        if (c->held.size < HEADER_MAX)
            add_escaped(&c->held, byte);
    } else if (name_of(c).size > 0) {
        add_escaped(&c->out, byte);
    } else {
        c->beyond = c->column >= c->columns && c->columns < COLUMNS;
    }
}

static void field_end(void *context)
{
    struct convert *c = context;
    if (in_header(c) && c->columns < COLUMNS)
        c->names[++c->columns] = c->held.size;
    else if (!in_header(c) && name_of(c).size > 0)
        buf_add_byte(&c->out, '"');
    c->column++;
}

static void record_end(void *context)
{
    struct convert *c = context;
    if (!in_header(c))
        buf_add_text(&c->out, "}\n");
    c->names[0] = 1;
    c->column = 0;
    c->filled = false;
}

static const struct csv_calls table_calls = {field_begin, field_byte, field_end, record_end};

static int refuse_quotes(const struct convert *c, uint64_t at, uint64_t line, const char *what, struct error *err)
{
    fail_at(err, ERR_INPUT, c->name, at, "line %" PRIu64 ": %s", line, what);
    return hint(err, "a quotation mark inside quotes is written twice, not with a backslash; is one missing before?");
}

static int refuse_field(const struct convert *c, struct error *err)
{
    fail_at(err, ERR_INPUT, c->name, c->here,
            "line %" PRIu64 ": the row has more fields than the header, which has %zu", c->line, c->columns);
    return hint(err, "a field that holds the separator must be quoted; --text-form lines takes the lines as text");
}

static int table_feed(struct convert *c, struct str in, struct error *err)
{
    for (size_t i = 0; i < in.size; i++) {
        const bool head = c->conversion.table.stated && c->line == 1;
        c->here = c->at + i;
        if (!head && !csv_byte(&c->csv, &table_calls, c, in.data[i]))
            return refuse_quotes(c, c->here, c->line, "another byte follows the closing quotation mark of a field",
                                 err);
        if (c->beyond)
            return refuse_field(c, err);
        if (c->csv.state == CSV_QUOTED && c->here - c->from > PAGE_BYTES_MAX)
            return refuse_quotes(c, c->from, c->from_line,
                                 "the quotation mark that opens this field is not closed in 16 MiB", err);
        c->line += in.data[i] == '\n';
    }
    return 0;
}

static int table_end(struct convert *c, struct error *err)
{
    if (csv_end(&c->csv, &table_calls, c))
        return 0;
    return refuse_quotes(c, c->from, c->from_line,
                         "the quotation mark that opens this field is not closed before the end", err);
}

/* ------------------------------------------------------------------------------------------------------ array */

enum { ARRAY_BEFORE, ARRAY_BETWEEN, ARRAY_OBJECT, ARRAY_STRING, ARRAY_AFTER };

static bool is_array(struct str head)
{
    const struct str first =
        head.size > 1 && head.data[0] == '[' ? str_trim((struct str){head.data + 1, head.size - 1}) : STR("");
    return first.size > 1 && (first.data[0] == '{' || first.data[0] == '"') && is_json_array(head) &&
           !is_wikidata(head) && !structured_is_arrays(head);
}

static void array_element(struct convert *c, char byte)
{
    const bool ends_string = c->in_string && byte == '"' && !c->escaped;
    const bool begins_string = !c->in_string && byte == '"';
    if ((unsigned char)byte < ' ' && c->in_string)
        add_escaped(&c->out, byte);
    else
        buf_add_byte(&c->out, (unsigned char)byte < ' ' ? ' ' : byte);
    c->escaped = c->in_string && byte == '\\' && !c->escaped;
    c->in_string = begins_string || (c->in_string && !ends_string);
    if (!c->in_string && !ends_string) {
        c->depth += byte == '{' || byte == '[';
        c->depth -= byte == '}' || byte == ']';
    }
    if (c->state == ARRAY_STRING ? ends_string : c->depth == 0) {
        buf_add_text(&c->out, c->state == ARRAY_STRING ? "}\n" : "\n");
        c->state = ARRAY_BETWEEN;
    }
}

static int array_byte(struct convert *c, char byte, uint64_t at, struct error *err)
{
    if (c->state == ARRAY_OBJECT || c->state == ARRAY_STRING) {
        array_element(c, byte);
        return 0;
    }
    if (byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte == ',' && c->state == ARRAY_BETWEEN))
        return 0;
    if (c->state == ARRAY_BEFORE && byte == '[') {
        c->state = ARRAY_BETWEEN;
    } else if (c->state == ARRAY_BETWEEN && byte == ']') {
        c->state = ARRAY_AFTER;
    } else if (c->state == ARRAY_BETWEEN && (byte == '{' || byte == '"')) {
        c->state = byte == '{' ? ARRAY_OBJECT : ARRAY_STRING;
        c->from = at;
        buf_add_text(&c->out, byte == '{' ? "" : "{\"text\":");
        array_element(c, byte);
    } else {
        return fail_at(err, ERR_INPUT, c->name, at,
                       c->state == ARRAY_AFTER ? "other bytes follow the end of the JSON array"
                                               : "an element of the JSON array is neither an object nor a string");
    }
    return 0;
}

static int array_feed(struct convert *c, struct str in, struct error *err)
{
    for (size_t i = 0; i < in.size; i++)
        TRY(array_byte(c, in.data[i], c->at + i, err));
    return 0;
}

static int array_end(struct convert *c, struct error *err)
{
    if (c->state == ARRAY_AFTER)
        return 0;
    if (c->state == ARRAY_BETWEEN)
        return fail_at(err, ERR_INPUT, c->name, c->at, "the JSON array is truncated: it has no ] at its end");
    return fail_at(err, ERR_INPUT, c->name, c->from, "the JSON array is truncated inside the element that begins here");
}

/* ------------------------------------------------------------------------------------------------------ lines */

enum { LINE_BEGIN, LINE_INSIDE };

/* "17<tab>A sentence." */
static void numbered_byte(struct convert *c, char byte)
{
    const bool number = c->state == LINE_BEGIN && byte >= '0' && byte <= '9' && c->held.size < 18;
    if (c->cr && byte != '\n' && c->state == LINE_INSIDE)
        add_escaped(&c->out, '\r');
    c->cr = byte == '\r';
    if (number)
        buf_add_byte(&c->held, byte);
    if (number || c->cr)
        return;
    if (c->state == LINE_BEGIN && (byte != '\n' || c->held.size > 0)) {
        const bool has_number = byte == '\t' && c->held.size > 0 && (c->held.size == 1 || c->held.data[0] != '0');
        buf_add_text(&c->out, has_number ? "{\"id\":" : "{\"text\":\"");
        buf_add_str(&c->out, buf_str(&c->held));
        buf_add_text(&c->out, has_number ? ",\"text\":\"" : "");
        buf_reset(&c->held);
        c->state = LINE_INSIDE;
        if (has_number)
            return;
    }
    if (byte != '\n')
        add_escaped(&c->out, byte);
    else if (c->state == LINE_INSIDE)
        buf_add_text(&c->out, "\"}\n");
    if (byte == '\n')
        c->state = LINE_BEGIN;
}

static int numbered_feed(struct convert *c, struct str in, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < in.size; i++)
        numbered_byte(c, in.data[i]);
    return 0;
}

static int numbered_end(struct convert *c, struct error *err)
{
    return numbered_feed(c, STR("\n"), err);
}

/* A line with a JSON string becomes an object; any other stays as it is. */
static int strings_feed(struct convert *c, struct str in, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < in.size; i++) {
        const char byte = in.data[i];
        if (c->state == LINE_BEGIN && byte != '\n' && byte != ' ' && byte != '\r') {
            c->in_string = byte == '"';
            buf_add_text(&c->out, c->in_string ? "{\"text\":" : "");
            c->state = LINE_INSIDE;
        }
        if (byte == '\n') {
            buf_add_text(&c->out, c->state == LINE_INSIDE && c->in_string ? "}" : "");
            c->state = LINE_BEGIN;
        }
        buf_add_byte(&c->out, byte);
    }
    return 0;
}

static int strings_end(struct convert *c, struct error *err)
{
    return strings_feed(c, STR("\n"), err);
}

/* ------------------------------------------------------------------------------------------------------ marks */

/* Texts with a line between them: what programs put there that write several texts into a file, such as fortune files
 * ("%") and corpora for language models. Rules between sections (---, * * *) are part of a text. */
static const char *const marks[] = {"<|endoftext|>", "<|end_of_text|>", "<|eos|>", "</s>", "<eos>", "[EOS]", "%%", "%"};

/* The first of them that is a line at least three times; NULL: none. Comments of TeX may be empty, but then others
 * begin with the same sign. */
static const char *mark_of(struct str head)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !found; i++) {
        const struct str mark = str_of(marks[i]);
        size_t lines = 0, comments = 0;
        for (struct str rest = head, line; str_line(&rest, &line);) {
            const bool equal = str_equal(str_trim(line), mark);
            lines += equal;
            comments += !equal && mark.data[0] == '%' && str_starts(line, mark);
        }
        found = lines >= 3 && comments == 0 ? marks[i] : NULL;
    }
    return found;
}

static bool is_marked(struct str head)
{
    return mark_of(head) != NULL;
}

static bool holds_mark(const struct convert *c)
{
    return !c->in_line && str_equal(str_trim(buf_str(&c->held)), str_of(c->conversion.mark));
}

static void marked_flush(struct convert *c)
{
    if (c->held.size > 0 && c->state == LINE_BEGIN) {
        buf_add_text(&c->out, "{\"text\":\"");
        c->state = LINE_INSIDE;
    }
    add_escaped_text(&c->out, buf_str(&c->held));
    buf_reset(&c->held);
}

static void marked_close(struct convert *c)
{
    if (c->state == LINE_INSIDE)
        buf_add_text(&c->out, "\"}\n");
    c->state = LINE_BEGIN;
    buf_reset(&c->held);
}

/* The bytes of a line are held as long as it may be the mark. */
static int marked_feed(struct convert *c, struct str in, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < in.size; i++) {
        const bool ends = in.data[i] == '\n';
        if (ends && holds_mark(c)) {
            marked_close(c);
            continue;
        }
        buf_add_byte(&c->held, in.data[i]);
        c->in_line = !ends && (c->in_line || c->held.size > strlen(c->conversion.mark) + 2);
        if (ends || c->in_line)
            marked_flush(c);
    }
    return 0;
}

static int marked_end(struct convert *c, struct error *err)
{
    (void)err;
    if (!holds_mark(c))
        marked_flush(c);
    marked_close(c);
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- archive */

/* WET (ISO 28500): records of a header, an empty line, as many bytes as Content-Length says, two line ends. */
enum { WET_HEADER, WET_BODY };

/* The value of a field of the header, "" if it has none. */
static struct str field_of(struct str header, const char *name)
{
    const struct str wanted = str_of(name);
    for (struct str rest = header, line; str_line(&rest, &line);) {
        line = str_trim(line);
        if (line.size > wanted.size && line.data[wanted.size] == ':' &&
            str_equal_ascii_nocase((struct str){line.data, wanted.size}, wanted))
            return str_trim(str_range(line.data + wanted.size + 1, line.data + line.size));
    }
    return STR("");
}

static void add_member(struct buf *out, const char *name, struct str value)
{
    if (value.size == 0)
        return;
    buf_addf(out, "\"%s\":\"", name);
    add_escaped_text(out, value);
    buf_add_text(out, "\",");
}

/* The header of a record is complete. */
static int wet_begin(struct convert *c, struct error *err)
{
    const struct str header = buf_str(&c->held), length = field_of(header, "Content-Length");
    c->left = 0;
    bool number = length.size > 0 && length.size < 18;
    for (size_t i = 0; number && i < length.size; i++) {
        number = length.data[i] >= '0' && length.data[i] <= '9';
        c->left = c->left * 10 + (unsigned)(length.data[i] - '0');
    }
    if (!str_starts(header, STR("WARC/")) || !number)
        return fail_at(err, ERR_INPUT, c->name, c->from,
                       "damaged: a record of the web archive must begin here, with WARC/ and a Content-Length");
    c->wanted = str_equal(field_of(header, "WARC-Type"), STR("conversion"));
    if (c->wanted) {
        buf_add_byte(&c->out, '{');
        add_member(&c->out, "url", field_of(header, "WARC-Target-URI"));
        add_member(&c->out, "timestamp", field_of(header, "WARC-Date"));
        buf_add_text(&c->out, "\"text\":\"");
    }
    c->state = WET_BODY;
    return 0;
}

static int wet_header_byte(struct convert *c, char byte, uint64_t at, struct error *err)
{
    if (c->held.size == 0 && (byte == '\r' || byte == '\n'))
        return 0;
    if (c->held.size == 0)
        c->from = at;
    if (c->held.size > HEADER_MAX || (c->held.size == 5 && !str_starts(buf_str(&c->held), STR("WARC/"))))
        return wet_begin(c, err) < 0 ? -1
                                     : fail_at(err, ERR_INPUT, c->name, c->from, "damaged: a header without an end");
    if (byte == '\r')
        return 0;
    buf_add_byte(&c->held, byte);
    return str_ends(buf_str(&c->held), STR("\n\n")) ? wet_begin(c, err) : 0;
}

static void wet_body_end(struct convert *c)
{
    if (c->wanted)
        buf_add_text(&c->out, "\"}\n");
    buf_reset(&c->held);
    c->state = WET_HEADER;
}

static int wet_feed(struct convert *c, struct str in, struct error *err)
{
    for (size_t i = 0; i < in.size;) {
        if (c->state == WET_HEADER) {
            TRY(wet_header_byte(c, in.data[i], c->at + i, err));
            i++;
        } else {
            const size_t part = in.size - i < c->left ? in.size - i : (size_t)c->left;
            if (c->wanted)
                add_escaped_text(&c->out, (struct str){in.data + i, part});
            c->left -= part;
            i += part;
        }
        if (c->state == WET_BODY && c->left == 0)
            wet_body_end(c);
    }
    return 0;
}

static int wet_end(struct convert *c, struct error *err)
{
    if (c->state == WET_HEADER && c->held.size == 0)
        return 0;
    return fail_at(err, ERR_INPUT, c->name, c->at,
                   "the web archive is truncated: it ends inside the record that begins "
                   "at byte %" PRIu64,
                   c->from);
}

/* ------------------------------------------------------------------------------------------------------ table */

static const struct converter converters[] = {
    {"WET", "a WET file (web pages with headers)", "", structured_is_wet, wet_feed, wet_end},
    {"numbered sentences", "a table of numbered sentences", "", structured_is_leipzig, numbered_feed, numbered_end},
    {"JSON strings", "a list of JSON strings, one on each line", "", structured_is_strings, strings_feed, strings_end},
    {"JSON array", "a JSON array", "", is_array, array_feed, array_end},
    {"texts with marks between", "a file of texts with marks between", "", is_marked, marked_feed, marked_end},
    {"CSV", "a table (CSV)", " --text-key COLUMN", is_table, table_feed, table_end},
};

const struct converter *converter_at(size_t i)
{
    return i < sizeof converters / sizeof *converters ? &converters[i] : NULL;
}

struct conversion conversion_find(struct str head)
{
    struct conversion conversion = {0};
    const struct converter *row;
    for (size_t i = 0; head.size > 0 && !conversion.converter && (row = converter_at(i)); i++)
        if (row->recognise(head))
            conversion.converter = row;
    if (conversion.converter && conversion.converter->recognise == is_table)
        conversion.table = table_head(head);
    if (conversion.converter && conversion.converter->recognise == is_marked)
        conversion.mark = mark_of(head);
    return conversion;
}

const char *conversion_called(const struct conversion *conversion)
{
    return conversion->table.separator == '\t' ? "TSV" : conversion->converter->called;
}

struct convert *convert_open(const struct conversion *conversion, const char *name, struct str start,
                             next_bytes_fn *next, void *context)
{
    struct convert *convert = mem_clear(1, sizeof *convert);
    convert->conversion = *conversion;
    convert->csv = (struct csv){.separator = conversion->table.separator, .quotes = conversion->table.quotes};
    convert->line = 1;
    convert->name = name;
    convert->next = next;
    convert->context = context;
    buf_add_str(&convert->start, start);
    return convert;
}

void convert_close(struct convert *convert)
{
    if (!convert)
        return;
    buf_release(&convert->start);
    buf_release(&convert->in);
    buf_release(&convert->held);
    buf_release(&convert->out);
    mem_free(convert);
}

/* Converts the next bytes of the input. */
static int convert_more(struct convert *convert, struct error *err)
{
    const size_t step = convert->conversion.step ? convert->conversion.step : IN_BYTES;
    const size_t there = convert->start.size - convert->start_taken, part = there < step ? there : step;
    buf_reset(&convert->in);
    buf_reserve(&convert->in, step);
    if (part > 0)
        memcpy(convert->in.data, convert->start.data + convert->start_taken, part);
    convert->start_taken += part;
    const int64_t got = convert->next(convert->context, convert->in.data + part, step - part, err);
    TRY(got);
    struct str in = {convert->in.data, part + (size_t)got};
    const size_t read = in.size;
    if (convert->at == 0 && has_byte_order_mark(in)) {
        in = (struct str){in.data + 3, in.size - 3};
        convert->at = 3;
    }
    TRY(convert->conversion.converter->feed(convert, in, err));
    convert->at += in.size;
    convert->ended = read < step;
    return convert->ended ? convert->conversion.converter->end(convert, err) : 0;
}

int64_t convert_read(struct convert *convert, void *out, size_t bytes, struct error *err)
{
    while (convert->out.size - convert->taken < bytes && !convert->ended) {
        if (convert->taken > 0)
            memmove(convert->out.data, convert->out.data + convert->taken, convert->out.size - convert->taken);
        convert->out.size -= convert->taken;
        convert->taken = 0;
        TRY(convert_more(convert, err));
    }
    const size_t there = convert->out.size - convert->taken, given = there < bytes ? there : bytes;
    if (given > 0)
        memcpy(out, convert->out.data + convert->taken, given);
    convert->taken += given;
    return (int64_t)given;
}
