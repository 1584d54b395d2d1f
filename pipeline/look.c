/* Examines the raw head of an input: repairs its text and finds its properties. */
#include "pipeline/look.h"

#include "base/arena.h"
#include "pipeline/json_line.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/words/guess.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

const char *const text_form_names[] = {
    [FORM_AUTO] = "auto",   [FORM_SENTENCES] = "sentences", [FORM_PARAGRAPHS] = "paragraphs",
    [FORM_LINES] = "lines", [FORM_WRAPPED] = "wrapped",
};
_Static_assert(sizeof text_form_names / sizeof *text_form_names == TEXT_FORMS, "a name for every form");

#define WIDTH_MIN 30u /* of wrapped lines, in characters */
#define WIDTH_MAX 200u

/* The complete lines of the head, without ill-formed UTF-8, NUL bytes and a byte order mark; and the fraction of bytes
 * that were ill-formed (or NULL). */
static void head_lines(const struct dump *dump, struct buf *out, double *ill_formed)
{
    struct str head = dump_head(dump);
    uint64_t dropped = 0;
    if (head.size == DUMP_HEAD_BYTES) {
        size_t size = head.size;
        while (size > 0 && head.data[size - 1] != '\n')
            size--;
        head.size = size > 0 ? size : head.size;
    }
    if (str_starts(head, STR("\xef\xbb\xbf")))
        head = (struct str){head.data + 3, head.size - 3};
    for (size_t at = 0; at < head.size; at++)
        if (head.data[at])
            buf_add_byte(out, head.data[at]);
    const size_t size = out->size;
    out->size = utf8_repair(out->data, out->size, &dropped);
    if (ill_formed)
        *ill_formed = size > 0 ? (double)dropped / (double)size : 0;
}

/* Adds the texts of JSON lines, each of which may be several lines. Returns how many are not blank. */
static uint64_t add_texts(struct str lines, const char *text_key, struct buf *out)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    uint64_t count = 0;
    for (const char *at = lines.data, *end = lines.data + lines.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct json_member member = {.name = text_key};
        if (json_line_read(&scratch, str_range(at, stop), &member, 1, &arena) && member.kind == MEMBER_TEXT) {
            buf_add_str(out, member.text);
            buf_add_byte(out, '\n');
            count += !str_is_blank(member.text);
        }
        arena_reset(&arena);
        at = stop + 1;
    }
    arena_release(&arena);
    json_line_release(&scratch);
    return count;
}

/* Lists the keys of an object, as far as they fit. */
static void name_keys(json_t *object, char *out, size_t room)
{
    const char *key;
    json_t *value;
    size_t size = 0;
    json_object_foreach(object, key, value)
    {
        const size_t more = strlen(key) + (size > 0 ? 2 : 0);
        if (size + more + sizeof ", …" > room) {
            strcpy(out + size, ", …");
            break;
        }
        size += (size_t)snprintf(out + size, room - size, "%s%s", size > 0 ? ", " : "", key);
    }
}

/* Describes the first line, if it is an object, for a user whose key of the text is another one. */
static void describe_object(struct str lines, const char *text_key, struct look *look)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = NULL,   [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "true",      [JSON_FALSE] = "false", [JSON_NULL] = "null"};
    const char *stop = memchr(lines.data, '\n', lines.size);
    json_t *object = json_loadb(lines.data, stop ? (size_t)(stop - lines.data) : lines.size, JSON_ALLOW_NUL, NULL);
    const json_t *text = json_object_get(object, text_key);
    const char *key;
    json_t *value;
    name_keys(object, look->keys, sizeof look->keys);
    if (text)
        look->text_is = kinds[json_typeof(text)];
    json_object_foreach(object, key, value)
    {
        const bool has_text = json_is_string(json_object_get(value, text_key));
        if (has_text && !look->nested[0] && strlen(key) < sizeof look->nested)
            strcpy(look->nested, key);
    }
    json_decref(object);
}

/* The end of what begins at `at` with `open` and ends with `close`, the line's end if it does not; `at` if nothing
 * begins there. */
static const char *skip(const char *at, const char *end, const char *open, const char *close)
{
    if (!str_starts(str_range(at, end), str_of(open)))
        return at;
    const size_t found = str_find(str_range(at, end), str_of(close));
    return found == SIZE_MAX ? end : at + found + strlen(close);
}

/* Adds the lines of a wiki's XML that begin as paragraphs do: without a tag, a template, a list, a row of a table.
 * Their templates and references, which may be in any language, are left out, as far as they show without a parser. */
static void add_paragraphs(struct str xml, struct buf *out)
{
    for (const char *at = xml.data, *end = xml.data + xml.size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop + 1 : end;
        const unsigned char first = (unsigned char)*at;
        if (first < 0x80 && first != '\'' && !isalpha(first))
            at = stop;
        while (at < stop) {
            const char *next = skip(at, stop, "{{", "}}");
            if (next == at)
                next = skip(at, stop, "&lt;ref", "ref&gt;");
            if (next == at)
                next = skip(at, stop, "<", ">");
            if (next == at)
                buf_add_byte(out, *next++);
            at = next;
        }
    }
}

const char *look_language(const struct dump *dump, const char *text_key)
{
    struct buf lines = {0}, texts = {0};
    head_lines(dump, &lines, NULL);
    if (dump_kind(dump) == INPUT_JSONL)
        add_texts(buf_str(&lines), text_key, &texts);
    else if (dump_kind(dump) == INPUT_WIKI)
        add_paragraphs(buf_str(&lines), &texts);
    const char *language = language_guess(buf_str(dump_kind(dump) == INPUT_TEXT ? &lines : &texts));
    buf_release(&lines);
    buf_release(&texts);
    return language;
}

/* ------------------------------------------------------------------------------------------------ lines of text */

/* Takes the next line of *rest, without blanks at its ends, empty if it is blank; false at the end of the text. */
static bool next_line(struct str *rest, struct str *line)
{
    if (rest->size == 0)
        return false;
    const char *end = rest->data + rest->size, *stop = memchr(rest->data, '\n', rest->size);
    *line = str_trim(str_range(rest->data, stop ? stop : end));
    if (str_is_blank(*line))
        line->size = 0;
    *rest = stop ? str_range(stop + 1, end) : (struct str){end, 0};
    return true;
}

static size_t characters(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

/* The width, in characters, that the preceding line would have needed for this line's first word. */
static size_t first_word(struct str line)
{
    size_t size = 0;
    while (size < line.size && line.data[size] != ' ')
        size++;
    const size_t count = characters((struct str){line.data, size});
    return count > 0 && size >= 3 * count - count / 4 ? 1 : count; /* characters of three bytes: no blanks between
                                                                    * words */
}

/* Does the line end like a sentence? Quotes and brackets may follow the mark. */
static bool ends_sentence(struct str line)
{
    static const char *const marks[] = {".", "!", "?", "…", "。", "！", "？", "؟", "۔", "।", ":"};
    static const char *const closing[] = {"\"", "'", ")", "]", "”", "’", "»", "“", "」", "』", "）"};
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
            if (str_ends(line, str_of(closing[i]))) {
                line.size -= strlen(closing[i]);
                again = true;
            }
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_ends(line, str_of(marks[i])))
            return true;
    return false;
}

/* Finds the next two consecutive lines that are not blank. */
static bool next_pair(struct str *rest, struct str *line, struct str *after)
{
    *line = *after;
    while (next_line(rest, after)) {
        if (line->size > 0 && after->size > 0)
            return true;
        *line = *after;
    }
    return false;
}

/* The width exceeded by one in 20 of the lines that another line follows, at most WIDTH_MAX + 1. */
static size_t width_of(struct str text)
{
    uint64_t lines[WIDTH_MAX + 2] = {0}, count = 0, beyond = 0;
    struct str line = {0}, after = {0};
    while (next_pair(&text, &line, &after)) {
        const size_t width = characters(line);
        lines[width < WIDTH_MAX ? width : WIDTH_MAX + 1]++;
        count++;
    }
    size_t width = WIDTH_MAX + 1;
    while (width > 0 && 20 * (beyond + lines[width]) <= count)
        beyond += lines[width--];
    return width;
}

static bool is_wrapped(struct str text)
{
    const size_t width = width_of(text);
    uint64_t count = 0, full = 0, ends = 0;
    struct str rest = text, line = {0}, after = {0};
    while (next_pair(&rest, &line, &after)) {
        count++;
        full += characters(line) + 1 + first_word(after) > width;
        ends += ends_sentence(line);
    }
    return width >= WIDTH_MIN && width <= WIDTH_MAX && count >= 3 && full * 8 >= count * 7 && ends * 2 < count;
}

/* Counts non-blank lines, the blocks between blank lines, and the sentences of the lines. */
static void count_lines(struct str text, const struct language *language, uint64_t *lines, uint64_t *blocks,
                        uint64_t *in_lines)
{
    struct sentences sentences = {0};
    struct str line;
    bool blank = true;
    *lines = *blocks = *in_lines = 0;
    while (next_line(&text, &line)) {
        if (line.size > 0) {
            *blocks += blank;
            ++*lines;
            sentences.count = 0;
            sentences_split(language, line, &sentences);
            *in_lines += sentences.count;
        }
        blank = line.size == 0;
    }
    sentences_release(&sentences);
}

void look_read(const struct dump *dump, const struct language *language, enum text_form asked, const char *text_key,
               struct look *look)
{
    struct buf head = {0}, texts = {0};
    uint64_t lines, blocks, in_lines;
    *look = (struct look){.form = FORM_SENTENCES};
    if (dump_kind(dump) == INPUT_WIKI)
        return;
    head_lines(dump, &head, &look->ill_formed);
    if (dump_kind(dump) == INPUT_JSONL) {
        look->documents = add_texts(buf_str(&head), text_key, &texts);
        describe_object(buf_str(&head), text_key, look);
        count_lines(buf_str(&texts), language, &lines, &blocks, &look->sentences);
    } else {
        const struct str text = buf_str(&head);
        const bool all = dump_head(dump).size < DUMP_HEAD_BYTES;
        count_lines(text, language, &lines, &blocks, &in_lines);
        look->recognised = asked == FORM_AUTO;
        if (asked != FORM_AUTO)
            look->form = asked;
        else if (is_wrapped(text))
            look->form = FORM_WRAPPED;
        else if (10 * in_lines >= 13 * lines)
            look->form = blocks > 1 ? FORM_PARAGRAPHS : FORM_LINES;
        else
            look->form = blocks > 1 || all ? FORM_SENTENCES : FORM_LINES;
        look->documents = look->form == FORM_LINES ? lines : blocks;
        look->sentences = look->form == FORM_SENTENCES ? lines : in_lines;
    }
    buf_release(&head);
    buf_release(&texts);
}
