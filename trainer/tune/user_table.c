#include "trainer/tune/user_table.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"

static void field_begin(void *context)
{
    struct table *t = context;
    t->field_line = t->next_line;
    t->ends = mem_room(t->ends, t->field_count + 1, &t->field_room, sizeof *t->ends);
    t->ends[t->field_count++].from = t->cells.size;
}

static void field_byte(void *context, char byte)
{
    buf_add_byte(&((struct table *)context)->cells, byte);
}

static void field_end(void *context)
{
    struct table *t = context;
    t->ends[t->field_count - 1].to = t->cells.size;
}

static void record_end(void *context)
{
    ((struct table *)context)->whole = true;
}

static const struct csv_calls calls = {field_begin, field_byte, field_end, record_end};

static int too_large(const struct table *t, struct error *err)
{
    fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "line %" PRIu64 ": its record has more than %u MiB", t->line,
            TABLE_RECORD_BYTES_MAX >> 20);
    return hint(err, "is the quotation mark that opens a field in line %" PRIu64 " closed?", t->field_line);
}

static void take_byte(struct table *t)
{
    const char byte = *t->rest.data;
    if (t->bytes.size == 0)
        t->line = t->next_line;
    csv_byte(&t->csv, &calls, t, byte);
    t->next_line += byte == '\n';
    if (t->csv.in_record || t->whole)
        buf_add_byte(&t->bytes, byte);
    t->rest.data++;
    t->rest.size--;
}

static int csv_record(struct table *t, struct error *err)
{
    while (!t->whole) {
        const int more = t->rest.size > 0 ? 1 : input_bytes(&t->in, &t->rest, err);
        TRY(more);
        if (more == 0) {
            if (!csv_end(&t->csv, &calls, t))
                return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET,
                               "line %" PRIu64 ": the quotation mark that opens a field is not closed before the end",
                               t->field_line);
            return t->whole;
        }
        while (t->rest.size > 0 && !t->whole && t->bytes.size < TABLE_RECORD_BYTES_MAX)
            take_byte(t);
        if (t->bytes.size >= TABLE_RECORD_BYTES_MAX)
            return too_large(t, err);
    }
    return 1;
}

/* A line that is not blank. */
static int json_record(struct table *t, struct error *err)
{
    for (bool blank = true; blank;) {
        const int more = t->rest.size > 0 ? 1 : input_bytes(&t->in, &t->rest, err);
        TRY(more);
        if (more == 0 && t->bytes.size == 0)
            return 0;
        if (t->bytes.size == 0)
            t->line = t->next_line;
        const char *stop = more ? memchr(t->rest.data, '\n', t->rest.size) : NULL;
        const size_t size = stop ? (size_t)(stop - t->rest.data) + 1 : t->rest.size;
        buf_add(&t->bytes, t->rest.data, size);
        t->rest = (struct str){t->rest.data + size, t->rest.size - size};
        if (t->bytes.size >= TABLE_RECORD_BYTES_MAX)
            return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "line %" PRIu64 " has more than %u MiB", t->line,
                           TABLE_RECORD_BYTES_MAX >> 20);
        t->next_line += stop != NULL;
        blank = (more && !stop) || str_is_blank(buf_str(&t->bytes));
        if (blank && stop)
            buf_reset(&t->bytes);
    }
    return 1;
}

static int parse(const struct table *t, json_t **json, struct error *err)
{
    json_error_t why;
    *json = json_parse(str_trim(buf_str(&t->bytes)), TABLE_RECORD_BYTES_MAX, &why);
    if (json_is_object(*json))
        return 0;
    json_decref(*json);
    return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "line %" PRIu64 " is not a JSON object: %s", t->line,
                   *json ? "it is an array" : why.text);
}

/* Appends a value as text: a string's own, "" for null, else as JSON writes it. */
static void add_value(const json_t *value, struct buf *cells)
{
    if (json_is_string(value)) {
        buf_add(cells, json_string_value(value), json_string_length(value));
    } else if (value && !json_is_null(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        buf_add_text(cells, text);
        mem_free(text);
    }
}

static int json_fields(struct table *t, struct error *err)
{
    json_t *json;
    TRY(parse(t, &json, err));
    for (size_t i = 0; i < t->columns; i++) {
        field_begin(t);
        add_value(json_object_get(json, t->names[i]), &t->cells);
        field_end(t);
    }
    json_decref(json);
    return 0;
}

static int check_columns(const struct table *t, struct error *err)
{
    char here[56], there[56];
    if (t->json || t->field_count == t->columns)
        return 0;
    fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "line %" PRIu64 " has %s, the header has %s", t->line,
            format_counted(t->field_count, "column", here), format_counted(t->columns, "column", there));
    return hint(err, t->csv.quotes ? "a field that holds the separator or a line break stands in quotation marks"
                                   : "tabs separate columns");
}

static void set_raw(struct table *t)
{
    size_t size = t->bytes.size;
    if (size > 0 && t->bytes.data[size - 1] == '\n')
        size--;
    if (size > 0 && t->bytes.data[size - 1] == '\r')
        size--;
    t->raw = (struct str){t->bytes.data, size};
}

static int next(struct table *t, struct error *err)
{
    if (t->held) {
        t->held = false;
        return 1;
    }
    buf_reset(&t->bytes);
    buf_reset(&t->cells);
    t->field_count = 0;
    t->whole = false;
    const int more = t->json ? json_record(t, err) : csv_record(t, err);
    if (more > 0)
        set_raw(t);
    return more;
}

int table_next(struct table *t, struct error *err)
{
    const int more = next(t, err);
    if (more <= 0)
        return more;
    if (t->loose) {
        t->columns = t->field_count;
        t->fields = mem_grow(t->fields, t->field_room, sizeof *t->fields);
    }
    TRY(t->json ? json_fields(t, err) : check_columns(t, err));
    for (size_t i = 0; i < t->columns; i++) {
        char *text = t->cells.data + t->ends[i].from;
        t->fields[i] = (struct str){text, utf8_repair(text, t->ends[i].to - t->ends[i].from, &t->in.dropped)};
    }
    return 1;
}

/* The separators of a line outside of quotation marks. */
static size_t count_separators(struct str line, char separator)
{
    size_t count = 0;
    bool quoted = false;
    for (size_t i = 0; i < line.size; i++) {
        quoted ^= line.data[i] == '"';
        count += !quoted && line.data[i] == separator;
    }
    return count;
}

static void choose_separator(struct table *t, struct str line)
{
    size_t most = 0;
    for (const char *separator = ",;\t|"; *separator; separator++)
        if (count_separators(line, *separator) > most) {
            most = count_separators(line, *separator);
            t->separator = *separator;
        }
    t->csv = (struct csv){.separator = t->separator, .quotes = t->separator != '\t' || line.data[0] == '"'};
}

static int refuse(const struct table *t, struct str head, struct error *err)
{
    const char *cr = memchr(head.data, '\r', head.size);
    if (cr && cr + 1 < head.data + head.size && !memchr(head.data, '\n', head.size)) {
        fail_at(err, ERR_UNSAFE, t->path, ERROR_NO_OFFSET, "has lines that end in CR alone");
        return hint_command(err, "tr '\\r' '\\n' <%s >FILE", t->path);
    }
    if (str_starts(str_trim(head), STR("["))) {
        fail_at(err, ERR_UNSAFE, t->path, ERROR_NO_OFFSET, "is a JSON array");
        return hint_command(err, "jq -c '.[]' %s >FILE makes JSON lines of it", t->path);
    }
    if (str_starts(head, STR("PK\3\4"))) {
        fail_at(err, ERR_UNSAFE, t->path, ERROR_NO_OFFSET, "is a zip or a spreadsheet (xlsx, ods)");
        return hint(err, "save it as CSV");
    }
    return 0;
}

/* Looks at the first line, which is read. */
static int look(struct table *t, struct error *err)
{
    const int more = input_bytes(&t->in, &t->rest, err);
    TRY(more);
    const struct str text = str_without_mark(t->rest);
    if (more == 0 || str_is_blank(text))
        return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET, "is empty: a table with names of columns is needed");
    TRY(refuse(t, text, err));
    t->mark = text.size < t->rest.size;
    t->rest = text;
    const char *stop = memchr(text.data, '\n', text.size);
    t->end = stop && stop > text.data && stop[-1] == '\r' ? "\r\n" : "\n";
    t->json = str_starts(str_trim(text), STR("{"));
    if (!t->json)
        choose_separator(t, str_range(text.data, stop ? stop : text.data + text.size));
    return 0;
}

static void add_name(struct table *t, struct str name)
{
    t->names = mem_grow(t->names, t->columns + 1, sizeof *t->names);
    char *copy = mem_alloc(name.size + 1);
    memcpy(copy, name.data, name.size);
    copy[name.size] = '\0';
    t->names[t->columns++] = copy;
}

/* The keys of the first object; its record is read again as the first. */
static int take_keys(struct table *t, struct error *err)
{
    json_t *json;
    const char *key;
    json_t *value;
    TRY(parse(t, &json, err));
    json_object_foreach(json, key, value) add_name(t, str_of(key));
    json_decref(json);
    t->held = true;
    return 0;
}

static int take_names(struct table *t, struct error *err)
{
    for (size_t i = 0; i < t->field_count; i++) {
        const struct str name = {t->cells.data + t->ends[i].from, t->ends[i].to - t->ends[i].from};
        add_name(t, str_trim(name));
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->names[k], t->names[i]) == 0)
                return fail_at(err, ERR_INPUT, t->path, ERROR_NO_OFFSET,
                               "line %" PRIu64 ": two columns are called \"%.60s\"", t->line, t->names[i]);
    }
    return 0;
}

int table_open(struct table *t, const char *path, struct error *err)
{
    *t = (struct table){.path = path, .next_line = 1};
    TRY(input_open(&t->in, path, err));
    TRY(look(t, err));
    const int more = next(t, err);
    TRY(more);
    assert(more > 0); /* it is not blank */
    TRY(t->json ? take_keys(t, err) : take_names(t, err));
    if (!t->json)
        buf_add_str(&t->header, t->raw);
    if (t->columns > TABLE_COLUMNS_MAX)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has more than %u columns", TABLE_COLUMNS_MAX);
    t->fields = mem_clear(t->columns + 1, sizeof *t->fields);
    return 0;
}

int table_open_rows(struct table *t, const char *path, struct error *err)
{
    *t = (struct table){.path = path, .next_line = 1, .separator = '\t', .csv.separator = '\t', .loose = true};
    TRY(input_open(&t->in, path, err));
    const int more = input_bytes(&t->in, &t->rest, err);
    t->rest = str_without_mark(more > 0 ? t->rest : (struct str){"", 0});
    return more < 0 ? -1 : 0;
}

void table_without_names(struct table *t)
{
    for (size_t i = 0; i < t->columns; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i + 1);
        mem_free(t->names[i]);
        t->names[i] = mem_copy_text(number);
    }
    buf_reset(&t->header);
    t->held = true;
}

void table_close(struct table *t)
{
    input_close(&t->in);
    for (size_t i = 0; i < t->columns && t->names; i++)
        mem_free(t->names[i]);
    mem_free(t->names);
    mem_free(t->fields);
    mem_free(t->ends);
    buf_release(&t->bytes);
    buf_release(&t->cells);
    buf_release(&t->header);
    *t = (struct table){0};
}

char *table_names(const struct table *t)
{
    SCOPED(buf_release) struct buf names = {0};
    for (size_t i = 0; i < t->columns && names.size < 200; i++)
        buf_addf(&names, "%s%.60s", i > 0 ? ", " : "", t->names[i]);
    char *text = mem_copy_text(buf_text(&names));
    return text;
}

int table_column(const struct table *t, const char *option, const char *name, size_t *place, struct error *err)
{
    const struct str wanted = str_of(name);
    size_t near = 0;
    unsigned least = UINT_MAX;
    for (*place = 0; *place < t->columns; ++*place)
        if (strcmp(t->names[*place], name) == 0)
            return 0;
    for (size_t i = 0; i < t->columns; i++)
        if (str_distance(wanted, str_of(t->names[i])) < least) {
            near = i;
            least = str_distance(wanted, str_of(t->names[i]));
        }
    fail_at(err, ERR_USAGE, t->path, ERROR_NO_OFFSET, "has no column \"%.60s\" (--%s)", name, option);
    SCOPED(mem_free_at) char *names = table_names(t);
    if (2 * least <= wanted.size) /* a slip; another word is none */
        hint(err, "did you mean \"%.60s\"? Its columns are: %s", t->names[near], names);
    else
        hint(err, "its columns are: %s", names);
    return -1;
}
