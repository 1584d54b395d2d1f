/* The records are read by base/csv.h, as the converter will read them. */
#include "pipeline/dump/table_head.h"

#include "base/csv.h"

#define COLUMNS    64  /* of a header with names of several words */
#define RECORDS    200 /* that are examined */
#define NAME_BYTES 60
#define LONG_BYTES 20 /* of a value, on average: a text */

struct reading {
    const char *at;   /* the byte that is read */
    const char *from; /* where the field begins */
    size_t bytes;     /* of the field, without quotation marks */
    size_t field;     /* fields of the record so far */
    bool quoted, tight;

    size_t records, fields, second; /* fields of the header and of the first row */
    /* Of the header: names are one word; some has a letter; all are like names of columns; some are not quoted. */
    bool words, letters, fit, bare;
    /* Of all rows: as long as the header; with a separator that no blank follows. */
    bool even, all_tight;
    bool all_quoted; /* records have a quoted field */
    bool repeated;   /* a name is a value of its column */
    bool wrong;      /* a quotation mark is misplaced */
    struct {
        struct str name;
        uint64_t bytes; /* of its values */
    } columns[COLUMNS];
};

/* ------------------------------------------------------------------------------------------------------- names */

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

/* True if it begins with a letter and goes on with letters, digits and signs that names of columns have. */
static bool is_word(struct str name)
{
    bool word = name.size > 0 && is_letter((unsigned char)name.data[0]);
    for (size_t i = 0; word && i < name.size; i++) {
        const unsigned char c = (unsigned char)name.data[i];
        word = is_letter(c) || (c >= '0' && c <= '9') || strchr("-_.:", c) != NULL;
    }
    return word;
}

static bool is_like_a_name(struct str name)
{
    const bool ends = name.size > 0 && strchr(".!", name.data[name.size - 1]) && memchr(name.data, ' ', name.size);
    return name.size <= NAME_BYTES && str_trim(name).size == name.size && !ends;
}

static void take_name(struct reading *r, struct str name)
{
    r->words &= name.size == 0 || is_word(name);
    r->fit &= r->fields < COLUMNS && is_like_a_name(name);
    for (size_t i = 0; i < name.size; i++)
        r->letters |= is_letter((unsigned char)name.data[i]);
    for (size_t i = 0; i < r->fields && r->fit; i++)
        r->fit = name.size == 0 || !str_equal(r->columns[i].name, name);
    if (r->fields < COLUMNS)
        r->columns[r->fields].name = name;
    r->fields++;
}

/* ------------------------------------------------------------------------------------------------------ records */

static void field_begin(void *context)
{
    struct reading *r = context;
    r->from = r->at;
    r->bytes = 0;
    r->quoted |= *r->at == '"';
    r->tight |= r->field > 0 && *r->at != ' ';
}

static void field_byte(void *context, char byte)
{
    (void)byte;
    ((struct reading *)context)->bytes++;
}

static void field_end(void *context)
{
    struct reading *r = context;
    struct str field = str_range(r->from, r->at > r->from && r->at[-1] == '\r' ? r->at - 1 : r->at);
    const bool quoted = field.size > 1 && field.data[0] == '"' && field.data[field.size - 1] == '"';
    r->bare |= r->records == 0 && !quoted;
    if (quoted)
        field = (struct str){field.data + 1, field.size - 2};
    if (r->field < COLUMNS)
        r->columns[r->field].bytes += r->records > 0 ? r->bytes : 0;
    if (r->records == 0)
        take_name(r, field);
    else if (r->field < r->fields && r->field < COLUMNS)
        r->repeated |= field.size > 0 && str_equal(field, r->columns[r->field].name);
    r->field++;
}

static void record_end(void *context)
{
    struct reading *r = context;
    r->second = r->records == 1 ? r->field : r->second;
    r->even &= r->records == 0 || r->field == r->fields;
    r->all_tight &= r->records == 0 || r->tight;
    r->all_quoted &= r->quoted;
    r->records++;
    r->field = 0;
    r->quoted = r->tight = false;
}

static struct reading read_records(struct str text, char separator, bool quotes)
{
    static const struct csv_calls calls = {field_begin, field_byte, field_end, record_end};
    struct csv csv = {.separator = separator, .quotes = quotes};
    struct reading r = {.words = true, .fit = true, .even = true, .all_tight = true, .all_quoted = true};
    for (size_t i = 0; i < text.size && r.records <= RECORDS; i++) {
        r.at = text.data + i;
        r.wrong |= !csv_byte(&csv, &calls, &r, *r.at);
    }
    r.at = text.data + text.size;
    /* What was examined may end inside a row, of which the first counts all the same. */
    if (csv.in_record && r.records == 1 && csv.state != CSV_FIELD) {
        field_end(&r);
        record_end(&r);
    }
    return r;
}

/* ------------------------------------------------------------------------------------------------------ verdict */

static bool has_texts(const struct reading *r)
{
    bool found = false;
    for (size_t i = 0; i < r->fields && i < COLUMNS; i++) {
        const uint64_t mean = r->columns[i].bytes / (r->records - 1);
        found |= mean >= LONG_BYTES && mean >= 2 * r->columns[i].name.size;
    }
    return found;
}

static bool is_table(const struct reading *r)
{
    if (r->records < 2 || r->fields < 2 || !r->letters)
        return false;
    if (r->words)
        return r->second == r->fields || (r->records > 2 && (r->all_tight || !r->bare));
    return r->fit && r->even && !r->repeated && has_texts(r);
}

static size_t longest_column(const struct reading *r)
{
    size_t longest = 0;
    for (size_t i = 1; i < r->fields && i < COLUMNS; i++)
        longest = r->columns[i].bytes > r->columns[longest].bytes ? i : longest;
    return longest;
}

static struct table_head examine(struct str text, char separator)
{
    const bool quotes = separator != '\t' || (text.size > 0 && text.data[0] == '"');
    const struct reading r = read_records(text, separator, quotes);
    struct table_head head = {.header = is_table(&r), .separator = separator, .quotes = quotes};
    if (head.header && !quotes && !r.even) {
        const struct reading quoted = read_records(text, separator, true);
        head.quotes = quoted.even && !quoted.wrong;
    }
    if (!head.header && r.records > 2 && r.fields > 1 && r.even && r.all_quoted && r.all_tight && !r.wrong) {
        head.columns = r.fields;
        head.longest = longest_column(&r);
    }
    return head;
}

struct table_head table_head(struct str text)
{
    const bool stated = str_starts(text, STR("sep=")) && text.size > 6 && strchr("\r\n", text.data[5]);
    const char *line = stated ? memchr(text.data, '\n', text.size) : NULL;
    const char named = line ? text.data[4] : '\0';
    struct table_head found = {0};
    text = line ? str_range(line + 1, text.data + text.size) : text;
    for (const char *separator = ",\t;|"; *separator && !found.header; separator++) {
        const struct table_head head = examine(text, *separator);
        if ((!named || named == *separator) && (head.header || head.columns > 0))
            found = head;
    }
    found.stated = line != NULL;
    return found;
}
