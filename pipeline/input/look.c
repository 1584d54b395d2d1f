/* Examines the raw head of an input: repairs its text and finds its properties. */
#include "pipeline/input/look.h"

#include "base/arena.h"
#include "pipeline/dump/guess_encoding.h"
#include "pipeline/input/json_line.h"
#include "pipeline/text/sentences/sentences.h"
#include "pipeline/text/words/guess.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *const text_form_names[] = {
    [FORM_AUTO] = "auto",         [FORM_SENTENCES] = "sentences", [FORM_PARAGRAPHS] = "paragraphs",
    [FORM_LINES] = "lines",       [FORM_WRAPPED] = "wrapped",     [FORM_FILE] = "file",
    [FORM_SECTIONS] = "sections",
};
_Static_assert(sizeof text_form_names / sizeof *text_form_names == TEXT_FORMS, "a name for every form");

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
        uint32_t repairs = 0;
        if (json_line_read(&scratch, str_range(at, stop), &member, 1, &arena, &repairs) && member.kind == MEMBER_TEXT) {
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

/* Describes one line, for a user whose key of the text is another one. */
struct description {
    struct look *look;
    const char *text_key;
    size_t size; /* of look->keys */
};

/* Adds a key to the list, as far as it fits. */
static void name_key(struct description *d, const char *key)
{
    const size_t room = sizeof d->look->keys, more = strlen(key) + (d->size > 0 ? 2 : 0);
    char *end = d->look->keys + d->size;
    if (d->size == room)
        return;
    if (d->size + more + sizeof ", …" > room) {
        strcpy(end, ", …");
        d->size = room;
    } else {
        d->size += (size_t)snprintf(end, room - d->size, "%s%s", d->size > 0 ? ", " : "", key);
    }
}

static void describe_member(void *context, const struct json_member *member)
{
    static const char *const kinds[] = {
        [MEMBER_INTEGER] = "a number", [MEMBER_DIGITS] = "a number",  [MEMBER_REAL] = "a number",
        [MEMBER_TRUE] = "true",        [MEMBER_FALSE] = "false",      [MEMBER_NULL] = "null",
        [MEMBER_ARRAY] = "an array",   [MEMBER_OBJECT] = "an object", [MEMBER_TEXT] = NULL};
    struct description *d = context;
    struct json_member inner = {.name = d->text_key};
    struct json_line scratch = {0};
    struct arena arena = {0};
    uint32_t repairs = 0;
    name_key(d, member->name);
    if (strcmp(member->name, d->text_key) == 0)
        d->look->text_is =
            member->kind == MEMBER_TEXT && str_trim(member->text).size == 0 ? "an empty string" : kinds[member->kind];
    if (member->kind == MEMBER_OBJECT && !d->look->nested[0] && strlen(member->name) < sizeof d->look->nested &&
        json_line_read(&scratch, member->text, &inner, 1, &arena, &repairs) && inner.kind == MEMBER_TEXT)
        strcpy(d->look->nested, member->name);
    json_line_release(&scratch);
    arena_release(&arena);
}

/* Describes the first line that is not blank; `whole`: the lines are all that there are. */
static void describe_first(struct str lines, bool whole, const char *text_key, struct look *look)
{
    struct json_line scratch = {0};
    struct arena arena = {0};
    struct description description = {.look = look, .text_key = text_key};
    lines = str_trim(lines);
    const char *stop = memchr(lines.data, '\n', lines.size);
    const struct str line = stop ? str_range(lines.data, stop) : lines;
    look->object = json_line_each(&scratch, line, describe_member, &description, &arena) || (!stop && !whole);
    json_line_release(&scratch);
    arena_release(&arena);
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
    if (dump_kind(dump) == SOURCE_JSONL)
        add_texts(buf_str(&lines), text_key, &texts);
    else if (dump_kind(dump) == SOURCE_WIKI)
        add_paragraphs(buf_str(&lines), &texts);
    const char *language = language_guess(buf_str(dump_kind(dump) == SOURCE_TEXT ? &lines : &texts));
    buf_release(&lines);
    buf_release(&texts);
    return language;
}

/* The sentences of the texts of JSON lines. */
static uint64_t count_sentences(struct str texts, const struct language *language)
{
    struct sentences sentences = {0};
    sentences_split(language, texts, &sentences);
    const uint64_t count = sentences.count;
    sentences_release(&sentences);
    return count;
}

void look_read(const struct dump *dump, const struct language *language, const char *text_key, struct look *look)
{
    struct buf head = {0}, texts = {0};
    *look = (struct look){.form = FORM_SENTENCES};
    if (dump_kind(dump) == SOURCE_WIKI)
        return;
    head_lines(dump, &head, &look->ill_formed);
    if (look->ill_formed > 0)
        look->seems_to_be = encoding_guess(dump_head(dump)).encoding;
    look->bytes = head.size;
    if (dump_kind(dump) == SOURCE_JSONL) {
        look->documents = add_texts(buf_str(&head), text_key, &texts);
        describe_first(buf_str(&head), dump_head(dump).size < DUMP_HEAD_BYTES, text_key, look);
        look->sentences = count_sentences(buf_str(&texts), language);
    } else {
        text_layout_read(buf_str(&head), dump_head(dump).size < DUMP_HEAD_BYTES, language, &look->layout);
    }
    buf_release(&head);
    buf_release(&texts);
}

void look_take_form(struct look *look, enum text_form form, const struct text_layout *sum)
{
    const struct text_layout *layout = &look->layout;
    const bool by_rule = form == FORM_FILE || form == FORM_SECTIONS;
    look->form = form;
    look->wrapped = form == FORM_WRAPPED || (by_rule && text_layout_is_wrapped(layout->followed >= 3 ? layout : sum));
    look->documents = layout->documents[text_form_cut(form)];
    look->sentences = form == FORM_SENTENCES ? layout->documents[CUT_LINES] : layout->sentences;
}
