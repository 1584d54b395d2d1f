/* Parses and writes JSON with jansson. jansson's allocator counts the memory of the tree, so the bound needs no model
 * of its nodes. At the bound, jansson gets no more text. A failing allocation would seem simpler, but jansson 2.14
 * ignores some failures (lex_save) and then reads past its buffers. */
#include "base/json.h"

#include "base/file.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int json_file_write(const char *path, const json_t *value, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    json_add_text(value, JSON_INDENT(2), &text);
    buf_add_byte(&text, '\n');
    return file_write_all(path, text.data, text.size, err);
}

static int add_part(const char *part, size_t size, void *out)
{
    buf_add(out, part, size);
    return 0;
}

void json_add_text(const json_t *value, size_t flags, struct buf *out)
{
    /* 15 digits: every decimal of that many digits is written back as it was read, 0.1 and not 0.10000000000000001. */
    const int result = json_dump_callback(value, add_part, out, flags | JSON_REAL_PRECISION(15));
    assert(result == 0); /* fails only on values that are not JSON */
}

#define BLOCK_BYTES 8u /* malloc's overhead per allocation */

/* Bytes that this thread's parse has allocated and not freed. */
static _Thread_local struct {
    bool counts;
    size_t bytes;
} tree;

static void *tree_alloc(size_t bytes)
{
    void *memory = mem_alloc(bytes);
    if (tree.counts)
        tree.bytes += malloc_usable_size(memory) + BLOCK_BYTES;
    return memory;
}

static void tree_free(void *memory)
{
    if (tree.counts && memory)
        tree.bytes -= malloc_usable_size(memory) + BLOCK_BYTES;
    mem_free(memory);
}

static void set_functions(void)
{
    json_set_alloc_funcs(tree_alloc, tree_free);
}

void json_memory_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_functions);
}

struct feed {
    struct str rest;
    size_t tree_bytes_max;
    bool refused;
};

/* Gives jansson the next bytes of the text, a kilobyte at a time; 0 at its end or at the bound. */
static size_t feed_next(void *out, size_t room, void *context)
{
    struct feed *feed = context;
    feed->refused = tree.bytes > feed->tree_bytes_max;
    const size_t size = feed->refused ? 0 : feed->rest.size < room ? feed->rest.size : room;
    if (size > 0) {
        memcpy(out, feed->rest.data, size);
        feed->rest = (struct str){feed->rest.data + size, feed->rest.size - size};
    }
    return size;
}

json_t *json_parse(struct str text, size_t bytes_max, json_error_t *why)
{
    struct feed feed = {.rest = text, .tree_bytes_max = JSON_TREE_PER_BYTE * bytes_max};
    json_memory_open();
    tree.bytes = 0;
    tree.counts = true;
    json_t *value = json_load_callback(feed_next, &feed, JSON_REJECT_DUPLICATES, why);
    tree.counts = false;
    if (feed.refused) {
        json_decref(value);
        value = NULL;
        snprintf(why->text, sizeof why->text, "more values than fit into %zu MB of memory",
                 feed.tree_bytes_max / 1000000);
    }
    return value;
}

uint64_t json_error_place(const json_error_t *why)
{
    return why->position > 0 ? (uint64_t)why->position : 0;
}

/* ---- texts of other programs ---- */

static bool is_in_value(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '+' || byte == '-' || byte == '.' || byte == '_';
}

/* The end of the string whose opening quote is at `at`. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static const char *digits_end(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The end of the fraction or exponent that begins at `at`; NULL: it has no digits. */
static const char *part_end(const char *at, const char *end, bool may_be_signed)
{
    at++;
    at += may_be_signed && at < end && (*at == '+' || *at == '-');
    return digits_end(at, end) > at ? digits_end(at, end) : NULL;
}

enum number { NO_NUMBER, INTEGER, REAL };

/* The form of a number in JSON (RFC 8259, section 6). */
static enum number number_form(struct str text)
{
    const char *at = text.data, *const end = at + text.size;
    at += *at == '-';
    const char *after = digits_end(at, end);
    if (after == at || (*at == '0' && after > at + 1))
        return NO_NUMBER;
    if (after == end)
        return INTEGER;
    if (*after == '.')
        after = part_end(after, end, false);
    if (after && after < end && (*after == 'e' || *after == 'E'))
        after = part_end(after, end, true);
    return after == end ? REAL : NO_NUMBER;
}

static bool is_beyond_64_bits(const char *integer)
{
    errno = 0;
    strtoll(integer, NULL, 10);
    return errno == ERANGE;
}

/* Adds a number or a word in a form that jansson reads. Invalid JSON is left for jansson to report. */
static void add_value(struct str value, struct buf *out)
{
    const size_t from = out->size;
    buf_add_str(out, value);
    const char *text = buf_text(out) + from;
    const enum number form = number_form(value);
    if (str_equal(value, STR("NaN")) || str_equal(value, STR("Infinity")) || str_equal(value, STR("-Infinity")) ||
        (form != NO_NUMBER && isinf(strtod(text, NULL)))) {
        out->size = from;
        buf_add_text(out, "null");
    } else if (form == INTEGER && is_beyond_64_bits(text))
        buf_add_text(out, ".0");
}

/* Translates until `out` has out_max bytes. Returns the number of bytes translated. */
static size_t translate(struct str in, size_t out_max, struct buf *out)
{
    const char *at = in.data, *end = at + in.size;
    while (at < end && out->size < out_max) {
        const char *from = at++;
        if (*from == '"') {
            at = string_end(from, end);
            buf_add(out, from, (size_t)(at - from));
        } else if (is_in_value(*from)) {
            while (at < end && is_in_value(*at))
                at++;
            add_value(str_range(from, at), out);
        } else
            buf_add_byte(out, *from);
    }
    return (size_t)(at - in.data);
}

static json_t *parse_foreign(struct str text, size_t bytes_max, json_error_t *why)
{
    SCOPED(buf_release) struct buf plain = {0};
    translate(text, SIZE_MAX, &plain);
    json_t *json = json_parse(buf_str(&plain), bytes_max, why);
    if (!json) { /* the error's offset in the file: the values before it may have changed in length */
        const size_t place = (size_t)json_error_place(why);
        buf_reset(&plain);
        const size_t read = translate(text, place, &plain);
        why->position = (int)(read - (plain.size > place ? plain.size - place : 0));
    }
    return json;
}

/* ---- files ---- */

typedef json_t *parser(struct str text, size_t bytes_max, json_error_t *why);

static int read_file(const char *path, size_t bytes_max, enum error_kind kind, parser *parse, json_t **out,
                     struct error *err)
{
    struct buf text = {0};
    json_error_t why;
    *out = NULL;
    int result = file_read_all(path, bytes_max, &text, err);
    if (result == 0) {
        const struct str json = str_without_mark(buf_str(&text));
        *out = parse(json, bytes_max, &why);
        if (!*out)
            result = fail_at(err, kind, path, json_error_place(&why) + (text.size - json.size),
                             "cannot be read as JSON: %.200s", why.text);
    }
    buf_release(&text);
    if (*out && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        result = fail_at(err, kind, path, ERROR_NO_OFFSET, "is not a JSON object");
    }
    return result;
}

int json_read(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err)
{
    return read_file(path, bytes_max, kind, json_parse, out, err);
}

int json_read_foreign(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err)
{
    return read_file(path, bytes_max, kind, parse_foreign, out, err);
}
