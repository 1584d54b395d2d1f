#include "pipeline/text/leaks.h"

#include "base/mem.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/tidy.h"
#include "pipeline/text/walk.h"

#include <assert.h>

#define TAG_BYTES_MAX  1024u /* of a tag that is looked for in the text */
#define TAG_BYTES_SURE 64u   /* the same, when the paragraph's allowance is spent */
#define ALLOWANCE      8u    /* bytes examined per byte of a paragraph, so that the work stays linear */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || is_gap(byte);
}

static size_t skip_blanks(struct str text, size_t at)
{
    while (at < text.size && is_blank(text.data[at]))
        at++;
    return at;
}

static size_t skip_gaps(struct str text, size_t at)
{
    while (at < text.size && is_gap(text.data[at]))
        at++;
    return at;
}

/* Of a name of HTML, XML or an extension; a colon or full stop only before a letter: <o:p>, not <https://…>. */
static bool is_name_byte(struct str text, size_t at)
{
    const char byte = text.data[at];
    return ascii_is_letter(byte) || ascii_is_digit(byte) || byte == '-' || byte == '_' ||
           (byte == ':' && at + 1 < text.size && ascii_is_letter(text.data[at + 1]));
}

/* A tag while it is read. */
struct tag_form {
    size_t at;
    size_t attributes_end; /* after the last attribute with a value; 0: there is none */
    size_t name_size;
    bool is_closing, is_known, is_quoted; /* is_quoted: a value has quotes */
};

static bool read_name(struct str text, struct tag_form *form)
{
    char name[TAG_NAME_BYTES];
    form->at = skip_gaps(text, 1);
    form->is_closing = form->at < text.size && text.data[form->at] == '/';
    form->at = skip_gaps(text, form->at + form->is_closing);
    if (form->at >= text.size || !ascii_is_letter(text.data[form->at]))
        return false;
    for (; form->at < text.size && is_name_byte(text, form->at); form->at = skip_gaps(text, form->at + 1)) {
        if (form->name_size < sizeof name)
            name[form->name_size] = text.data[form->at];
        form->name_size++;
    }
    form->is_known = form->name_size <= sizeof name && tag_find((struct str){name, form->name_size}) != NULL;
    return true;
}

/* The position of the quote that ends a value; 0: none does. A value has no tag in it, and after one that has a '<' the
 * tag goes on: the quote may be that of the next tag. */
static size_t find_quote(struct str text, size_t at, char quote)
{
    char bracket = 0;
    for (; at < text.size && text.data[at] != quote; at++) {
        if (text.data[at] != '<' && text.data[at] != '>')
            continue;
        if (bracket && bracket != text.data[at])
            return 0;
        bracket = text.data[at];
    }
    const bool goes_on = at + 1 < text.size && (is_blank(text.data[at + 1]) || strchr("/>", text.data[at + 1]));
    return at < text.size && (bracket != '<' || goes_on) ? at : 0;
}

/* name="value", name='value', name=value; false if something else stands here, or a quoted value that does not end. */
static bool read_attribute(struct str text, struct tag_form *form)
{
    size_t at = form->at;
    while (at < text.size && (is_name_byte(text, at) || text.data[at] == ':'))
        at++;
    if (at == form->at)
        return false;
    at = skip_blanks(text, at);
    if (at == text.size || text.data[at] != '=')
        return false;
    at = skip_blanks(text, at + 1);
    const char quote = at < text.size && (text.data[at] == '"' || text.data[at] == '\'') ? text.data[at] : 0;
    const size_t close = quote ? find_quote(text, at + 1, quote) : 0;
    if (close == 0) /* without quotes, or with one that does not end: the rest may be text */
        for (at += quote != 0; at < text.size && !is_blank(text.data[at]) && !strchr("<>", text.data[at]);)
            at++;
    form->is_quoted |= quote != 0;
    form->at = form->attributes_end = close > 0 ? close + 1 : at;
    return close > 0 || !quote;
}

/* The position after the '>' here, or after a '/' here; 0: there is neither. */
static size_t tag_end(struct str text, size_t at)
{
    if (at < text.size && text.data[at] == '/')
        at = skip_blanks(text, at + 1);
    return at < text.size && text.data[at] == '>' ? at + 1 : 0;
}

static bool ends_line(struct str text, size_t at)
{
    while (at < text.size && is_blank(text.data[at]) && text.data[at] != '\n')
        at++;
    return at == text.size || text.data[at] == '\n';
}

size_t leak_tag(struct str text, uint64_t *steps)
{
    struct tag_form form = {0};
    if (!read_name(text, &form)) {
        *steps += form.at;
        return 0;
    }
    const size_t name_end = form.at;
    form.at = skip_blanks(text, name_end);
    size_t end = tag_end(text, form.at);
    if (end > 0) {
        *steps += end;
        return form.name_size > 1 || form.is_known || form.is_closing ? end : 0;
    }
    const bool has_blank = form.at > name_end && !is_gap(text.data[name_end - 1]);
    while (has_blank && read_attribute(text, &form) && end == 0) {
        form.at = skip_blanks(text, form.at);
        end = tag_end(text, form.at);
    }
    *steps += form.at;
    if (end > 0)
        return end;
    if (form.is_known && has_blank) { /* MediaWiki takes anything for attributes of a tag that it knows */
        size_t stop = form.at;
        while (stop < text.size && text.data[stop] != '>' && text.data[stop] != '<')
            stop++;
        *steps += stop - form.at;
        if (stop < text.size && text.data[stop] == '>')
            return stop + 1;
    }
    if (form.attributes_end > 0 && (form.is_known || form.is_quoted))
        return form.attributes_end;
    return form.is_known && form.name_size > 1 && (form.is_closing || ends_line(text, name_end)) ? name_end : 0;
}

/* The name of the tag that `text` begins with; empty: there is none. */
static struct str name_of(struct str text, bool *is_closing)
{
    size_t at = 1;
    *is_closing = at < text.size && text.data[at] == '/';
    at += *is_closing;
    const size_t from = at;
    while (at < text.size && at - from < TAG_NAME_BYTES && is_name_byte(text, at))
        at++;
    return at < text.size && ascii_is_letter(text.data[from]) &&
                   (is_blank(text.data[at]) || strchr("/>", text.data[at]))
               ? (struct str){text.data + from, at - from}
               : STR("");
}

static struct leak_name *find_name(struct leaks *leaks, struct str name)
{
    for (size_t i = 0; i < leaks->name_count; i++)
        if (leaks->names[i].name.size == name.size && str_equal_ascii_nocase(leaks->names[i].name, name))
            return &leaks->names[i];
    return NULL;
}

static void find_names(struct wikitext *w)
{
    struct leaks *leaks = &w->leaks;
    leaks->has_names = true;
    leaks->name_count = 0;
    for (struct str rest = w->text; rest.size > 0;) {
        const char *bracket = memchr(rest.data, '<', rest.size);
        bool is_closing;
        if (!bracket)
            break;
        rest = str_range(bracket, rest.data + rest.size);
        const struct str name = name_of(rest, &is_closing);
        struct leak_name *known = name.size > 0 ? find_name(leaks, name) : NULL;
        if (!known && name.size > 0 && leaks->name_count < LEAK_NAMES_MAX && !tag_find(name)) {
            known = &leaks->names[leaks->name_count++];
            *known = (struct leak_name){.name = name};
        }
        if (known) {
            known->opens |= !is_closing;
            known->closes |= is_closing;
        }
        rest = str_from(rest, 1);
    }
    w->facts->steps += w->text.size;
}

bool leaks_is_alone(struct wikitext *w, struct str text)
{
    bool is_closing;
    const struct str name = name_of(text, &is_closing);
    if (name.size == 0 || tag_find(name))
        return false;
    if (!w->leaks.has_names)
        find_names(w);
    const struct leak_name *known = find_name(&w->leaks, name);
    return known && !(known->opens && known->closes);
}

/* Watching. */

static void watch(struct leaks *leaks, size_t out, uint32_t span)
{
    leaks->watched =
        mem_room(leaks->watched, leaks->watched_count + 1, &leaks->watched_capacity, sizeof leaks->watched[0]);
    leaks->watched[leaks->watched_count++] = (struct watched){out, span};
}

/* The size of the beginning of an external link's address; 0: none. */
static size_t address_start(struct str text)
{
    LOCAL_WORDS(starts, "[//", "[http://", "[https://");
    return words_starting(starts, text);
}

static bool may_leak(struct str text, const struct rendering *rendering)
{
    if (text.data[0] == '<')
        return true;
    if (rendering->has_braces && (str_starts(text, STR("{{")) || str_starts(text, STR("}}"))))
        return true;
    return rendering->is_added && address_start(text) > 0;
}

/* True if the template's arguments have a '<' that is no entity. */
static bool has_raw_tag(struct wikitext *w, uint32_t index)
{
    const struct span *span = &w->spans.items[index];
    const uint32_t size = span->end - span->start < TAG_BYTES_MAX ? span->end - span->start : TAG_BYTES_MAX;
    w->facts->steps += size;
    return memchr(w->text.data + span->start, '<', size) != NULL;
}

void leaks_watch(struct wikitext *w, struct str shown, uint32_t span, const struct rendering *rendering)
{
    const size_t from = w->paragraphs.out->size;
    if (!rendering->is_added && (!memchr(shown.data, '<', shown.size) || !has_raw_tag(w, span)))
        return;
    for (size_t at = 0; at < shown.size; at++)
        if (may_leak(str_from(shown, at), rendering)) {
            watch(&w->leaks, from + at, span);
            at += shown.data[at] == '{' || shown.data[at] == '}';
        }
    w->facts->steps += shown.size;
}

void leaks_watch_page(struct wikitext *w)
{
    walk_open_paragraph(w);
    watch(&w->leaks, w->paragraphs.out->size, LEAK_OF_PAGE);
}

void leaks_note(struct wikitext *w, uint32_t span)
{
    struct leaks *leaks = &w->leaks;
    leaks->items = mem_room(leaks->items, w->facts->leaks + 1, &leaks->capacity, sizeof leaks->items[0]);
    leaks->items[w->facts->leaks++] = (struct leak){.span = span};
}

/* Removing. */

/* The size of what is a leak at the start of `text`; 0: nothing is. */
static size_t leak_size(struct str text, uint64_t *steps)
{
    if (text.data[0] == '<')
        return leak_tag(text, steps);
    size_t at = address_start(text);
    const bool is_address = at > 0;
    const char own = text.data[0];
    while (!is_address && at < text.size && text.data[at] == own)
        at++;
    if (!is_address && (at < 2 || own == '}'))
        return at < 2 ? 0 : at;
    while (at < text.size && !is_blank(text.data[at]) && !strchr(is_address ? "[]<" : "|}<", text.data[at]))
        at++; /* an address, or a template's name */
    *steps += at;
    return at;
}

/* Goes through the watched places from the last to the first, so that a tag which is complete only without another one
 * inside it, <<x>b>, is found too. Text that stays collects at `right`, and moves back to `left` at the end. */
void leaks_remove(struct wikitext *w, size_t from)
{
    struct leaks *leaks = &w->leaks;
    struct buf *out = w->paragraphs.out;
    const size_t whole = out->size;
    const uint64_t allowance = w->facts->steps + ALLOWANCE * (whole - from) + TAG_BYTES_MAX;
    size_t left = whole, right = whole; /* [left, right) is free */
    leaks->removed = 0;
    while (leaks->watched_count > 0 && leaks->watched[leaks->watched_count - 1].out >= from) {
        const struct watched watched = leaks->watched[--leaks->watched_count];
        assert(watched.out < left);
        memmove(out->data + right - (left - watched.out), out->data + watched.out, left - watched.out);
        right -= left - watched.out;
        left = watched.out;
        const size_t limit = w->facts->steps < allowance ? TAG_BYTES_MAX : TAG_BYTES_SURE;
        const struct str rest = {out->data + right, whole - right < limit ? whole - right : limit};
        const size_t size = leak_size(rest, &w->facts->steps);
        if (size == 0)
            continue;
        const bool is_address = out->data[right] == '[';
        char *close = is_address ? memchr(rest.data + size, ']', rest.size - size) : NULL;
        if (close)
            *close = GAP;
        right += size;
        out->data[--right] = GAP;
        leaks->removed += size - 1;
        leaks_note(w, watched.span);
    }
    if (right == whole && left == whole)
        return;
    memmove(out->data + left, out->data + right, whole - right);
    out->size = left + (whole - right);
    w->paragraphs.has_gap |= leaks->removed > 0;
    w->facts->steps += whole - left;
}

void leaks_settle(struct wikitext *w, size_t from)
{
    for (size_t i = from; i < w->facts->leaks; i++)
        w->leaks.items[i].is_settled = true;
}

void leaks_forget(struct wikitext *w, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < w->facts->leaks; i++)
        if (w->leaks.items[i].is_settled)
            w->leaks.items[kept++] = w->leaks.items[i];
    w->facts->leaks = kept;
}

void leaks_release(struct leaks *leaks)
{
    mem_free(leaks->items);
    mem_free(leaks->watched);
    *leaks = (struct leaks){0};
}
