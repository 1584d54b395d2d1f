#include "pipeline/text/sentences/sentences_items.h"

#include "pipeline/text/sentences/sentences_marks.h"

#include <assert.h>
#include <stdio.h>

#define LABEL_BYTES_MAX   16u
#define BRACKET_BYTES_MAX 600u /* brackets opened farther back are ignored */

static const char *const alphabets[] = {
    "abcdefghijklmnop", "аәбвгғд",  "абвгдежзиклмноп", "αβγδεζηθ",
    "აბგდევზთ",         "աբգդեզէը", "אבגדהוזח",        "가나다라마바사아자차카타파하"};
static const char *const romans[] = {"", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"};
static const char *const bullets[] = {"•", "‣", "⁃", "■", "▪", "●", "◦"};

/* Writes the label of the next item. */
static struct str label_write(const struct items *items, char out[LABEL_BYTES_MAX])
{
    int size = 0;
    if (items->kind == ITEMS_BULLETS)
        return items->bullet;
    if (items->kind == ITEMS_NUMBERS) {
        size = snprintf(out, LABEL_BYTES_MAX, "%s%lu%s", items->opens ? "(" : "", items->number, items->closing);
    } else if (items->kind == ITEMS_ROMANS) {
        size = snprintf(out, LABEL_BYTES_MAX, "%s%s%s", items->opens ? "(" : "", romans[items->number], items->closing);
    } else {
        size_t letter;
        code_point_at(str_of(items->letters), 0, &letter);
        size = snprintf(out, LABEL_BYTES_MAX, "%s%.*s%s", items->opens ? "(" : "", (int)letter, items->letters,
                        items->closing);
    }
    assert(size > 0 && (unsigned)size < LABEL_BYTES_MAX);
    return (struct str){out, (size_t)size};
}

/* True if there is text after the label, at `at`. */
static bool has_text(const struct items *items, struct str text, size_t at)
{
    const size_t blank = blank_at(text, at);
    size_t size;
    if (items->kind == ITEMS_BULLETS)
        return at + blank < text.size;
    if (blank == 0 || at + blank >= text.size)
        return false;
    const bool needs_capital = items->closing[0] == '.' && items->closing[1] == 0;
    return !needs_capital || is_upper(code_point_at(text, at + blank, &size));
}

/* Advances to the next number or letter; false if there is none. */
static bool count_on(struct items *items)
{
    size_t size;
    items->number++;
    if (items->kind == ITEMS_ROMANS)
        return items->number < sizeof romans / sizeof *romans;
    if (items->kind != ITEMS_LETTERS)
        return true;
    code_point_at(str_of(items->letters), 0, &size);
    items->letters += size;
    return items->letters[0] != 0;
}

/* Where the next item begins, at or after `from`; SIZE_MAX if there is none. */
static size_t next_item(const struct items *items, size_t from)
{
    char buffer[LABEL_BYTES_MAX];
    const struct str label = label_write(items, buffer), text = items->rest;
    for (size_t at = from;; at += label.size) {
        const size_t found = str_find(str_from(text, at), label);
        if (found == SIZE_MAX)
            return SIZE_MAX;
        at += found;
        const size_t blank = blank_before(text, at);
        const bool glued =
            items->kind == ITEMS_BULLETS && at + label.size < text.size && ascii_is_digit(text.data[at + label.size]);
        if ((blank == 0 && !glued) || !has_text(items, text, at + label.size) || at < blank + 1 ||
            memchr(",;:", text.data[at - blank - 1], 3))
            continue;
        const size_t back = at - from > BRACKET_BYTES_MAX ? at - BRACKET_BYTES_MAX : from;
        const char *opened = memrchr(text.data + back, '(', at - back);
        const char *closed = memrchr(text.data + back, ')', at - back);
        if (!opened || (closed && closed > opened))
            return at;
    }
}

/* Reads the label at the start of the line, of that kind and, if it is of letters, of that alphabet; its size, or 0. */
static size_t read_label(struct items *items, enum items_kind kind, const char *alphabet)
{
    const struct str line = items->rest;
    size_t at = str_starts(line, STR("(")) ? 1 : 0, letter = 0;
    items->opens = at > 0;
    const size_t first = at;
    while (kind == ITEMS_NUMBERS && at < line.size && ascii_is_digit(line.data[at]) && items->number < 100)
        items->number = items->number * 10 + (unsigned)(line.data[at++] - '0');
    if (kind == ITEMS_ROMANS && at < line.size && line.data[at] == 'i') {
        items->number = 1;
        at++;
    }
    if (kind == ITEMS_LETTERS) {
        code_point_at(str_of(alphabet), 0, &letter);
        at += str_starts(str_from(line, at), (struct str){alphabet, letter}) ? letter : 0;
    }
    if (at == first)
        return 0;
    items->kind = kind;
    items->letters = alphabet;
    const struct str rest = str_from(line, at);
    LOCAL_WORDS(closings, ".)", ")", ".");
    const size_t closing = items->opens ? str_starts(rest, STR(")")) : words_starting(closings, rest);
    memcpy(items->closing, rest.data, closing);
    items->closing[closing] = 0;
    return closing > 0 ? at + closing : 0;
}

/* True if the line is a list with such labels. */
static bool is_list(struct items *items, const struct language *language, enum items_kind kind, const char *alphabet)
{
    const size_t label = read_label(items, kind, alphabet);
    const bool ordinal =
        kind == ITEMS_NUMBERS && items->closing[0] == '.' && items->closing[1] == 0 && language->ordinal_dot;
    return label > 0 && !ordinal && has_text(items, items->rest, label) && count_on(items) &&
           next_item(items, label) != SIZE_MAX;
}

struct items items_begin(const struct language *language, struct str line)
{
    const size_t head = line.size < LABEL_BYTES_MAX ? line.size : LABEL_BYTES_MAX / 2;
    if (!memchr(line.data, ')', head) && !memchr(line.data, '.', head) && (unsigned char)line.data[0] != 0xE2)
        return (struct items){.rest = line, .kind = ITEMS_NONE}; /* nearly all lines */
    for (size_t i = 0; i < sizeof bullets / sizeof *bullets; i++)
        if (str_starts(line, str_of(bullets[i])))
            return (struct items){.rest = line, .kind = ITEMS_BULLETS, .bullet = str_of(bullets[i])};
    struct items items = {.rest = line};
    if (is_list(&items, language, ITEMS_NUMBERS, NULL))
        return items;
    items = (struct items){.rest = line};
    if (is_list(&items, language, ITEMS_ROMANS, NULL))
        return items;
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++) {
        items = (struct items){.rest = line};
        if (is_list(&items, language, ITEMS_LETTERS, alphabets[i]))
            return items;
    }
    return (struct items){.rest = line, .kind = ITEMS_NONE};
}

bool items_next(struct items *items, struct str *item)
{
    const struct str rest = items->rest;
    if (rest.size == 0)
        return false;
    const size_t next = items->kind == ITEMS_NONE ? SIZE_MAX : next_item(items, 1);
    if (next == SIZE_MAX || !count_on(items))
        items->kind = ITEMS_NONE;
    const size_t end = next == SIZE_MAX ? rest.size : next;
    *item = (struct str){rest.data, end};
    items->rest = str_from(rest, end);
    return true;
}
