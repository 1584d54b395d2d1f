/* One pass with a stack of openings. An opening reserves slots for the spans that it may become, so that spans come out
 * sorted by their starts although outer ones close after inner ones. Every search for an end is made once for the page
 * (closes, comments_close, headings, the last </ref>), so the work is linear whatever is left open. */
#include "pipeline/text/markup/spans.h"

#include "base/mem.h"
#include "pipeline/text/markup/tags.h"

#include <assert.h>

#define NONE UINT32_MAX

/* An opening. A run of n brackets is one opening that may become n/2 spans, the innermost first. */
enum opening_kind { OPEN_BRACE, OPEN_LINK, OPEN_TABLE, OPEN_VARIANT, OPEN_KINDS };

struct opening {
    uint32_t start; /* of the run */
    uint32_t count; /* brackets of it that are still open */
    uint32_t slot;  /* its spans are items[slot .. slot_end), filled from the end, so that they stay sorted */
    uint32_t slot_end;
    uint32_t below;   /* index of the next lower opening of this kind, or NONE */
    bool has_bracket; /* it contains a single '[' */
    bool is_odd;      /* the run has an odd number of brackets */
    bool is_html;     /* OPEN_TABLE: a tag opens it */
    bool in_cell;     /* of such a table */
    enum opening_kind kind;
};

struct finder {
    struct spans *spans;
    const struct magic *magic;
    const char *text;
    uint32_t size, at;
    uint32_t nearest[OPEN_KINDS];        /* top-most opening of the kind on the stack, or NONE */
    uint32_t comment_start, comment_end; /* the last comment */
    bool has_headings;                   /* spans->headings is filled */
    uint32_t heading_from, heading;      /* cache of next_heading: from the first position on, the next heading is at
                                          * the second */
    bool comments_close;                 /* a --> may still follow */
    bool closes[TAGS_MAX];               /* the same for a closing tag */
    bool has_tabs;                       /* there is a <tabber> on the page */
    bool ref_was_cut;                    /* the last <ref> ended early, so its </ref> may follow */
    unsigned ref_tag;                    /* tag of the last </ref> found */
    uint32_t ref_close, ref_close_end;   /* its position */
};

static uint32_t add_span(struct finder *finder, struct span span)
{
    struct spans *spans = finder->spans;
    spans->items = mem_room(spans->items, spans->count + 1, &spans->capacity, sizeof spans->items[0]);
    spans->items[spans->count] = span;
    return (uint32_t)spans->count++;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* The size of the tag of transclusion that ends at `at`, or 0: <noinclude> is not <includeonly>, which is a span. */
static uint32_t include_before(const struct finder *finder, uint32_t at)
{
    LOCAL_WORDS(names, "</noinclude>", "</onlyinclude>", "<noinclude>", "<onlyinclude>");
    return (uint32_t)words_ending(names, (struct str){finder->text, at});
}

/* True if only what may precede a table (blanks, colons, a comment) stands between the line's start and `at`. */
static bool at_line_start(const struct finder *finder, uint32_t at)
{
    while (at > 0) {
        const char byte = finder->text[at - 1];
        if (byte == '\n')
            return true;
        if (at == finder->comment_end)
            at = finder->comment_start;
        else if (is_blank(byte) || byte == ':')
            at--;
        else if (byte == '=' && finder->has_tabs) /* after the label of a tab */
            return true;
        else if (byte == '>' && include_before(finder, at) > 0)
            at -= include_before(finder, at);
        else
            return false;
    }
    return true;
}

/* True if a line "=…=" begins at `at`. */
static bool is_heading(const struct finder *finder, uint32_t at)
{
    const char *stop = memchr(finder->text + at, '\n', finder->size - at);
    uint32_t end = stop ? (uint32_t)(stop - finder->text) : finder->size;
    while (end > at && is_blank(finder->text[end - 1]))
        end--;
    return end > at + 2 && finder->text[at] == '=' && finder->text[end - 1] == '=';
}

/* Finds the line ends before all headings of the page; done once, and only on pages with broken markup. */
static void find_headings(struct finder *finder)
{
    struct spans *spans = finder->spans;
    spans->steps += finder->size;
    for (const char *end = finder->text + finder->size, *at = finder->text; at < end; at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
        const uint32_t line = (uint32_t)(at - finder->text) + 1;
        if (line == finder->size || finder->text[line] != '=' || !is_heading(finder, line))
            continue;
        spans->headings =
            mem_room(spans->headings, spans->heading_count + 1, &spans->heading_capacity, sizeof spans->headings[0]);
        spans->headings[spans->heading_count++] = line - 1;
    }
    finder->has_headings = true;
}

/* The line end before the first heading after `from`, or the size of the text. */
static uint32_t next_heading(struct finder *finder, uint32_t from)
{
    if (!finder->has_headings)
        find_headings(finder);
    if (from >= finder->heading_from && from <= finder->heading)
        return finder->heading;
    const struct spans *spans = finder->spans;
    size_t low = 0, high = spans->heading_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (spans->headings[middle] >= from)
            high = middle;
        else
            low = middle + 1;
    }
    finder->heading_from = from;
    finder->heading = low < spans->heading_count ? spans->headings[low] : finder->size;
    return finder->heading;
}

/* Openings. */

/* The opening; NULL if there are too many. */
static struct opening *push(struct finder *finder, enum opening_kind kind, uint32_t start, uint32_t count,
                            uint32_t slots)
{
    struct spans *spans = finder->spans;
    if (spans->depth == SPAN_DEPTH_MAX || spans->count + slots > SPAN_COUNT_MAX)
        return NULL;
    spans->stack = mem_room(spans->stack, spans->depth + 1, &spans->depth_capacity, sizeof spans->stack[0]);
    const uint32_t slot = (uint32_t)spans->count;
    for (uint32_t i = 0; i < slots; i++)
        add_span(finder, (struct span){.kind = SPAN_NONE});
    spans->stack[spans->depth] = (struct opening){.start = start,
                                                  .count = count,
                                                  .slot = slot,
                                                  .slot_end = slot + slots,
                                                  .below = finder->nearest[kind],
                                                  .is_odd = count % 2 == 1,
                                                  .kind = kind};
    finder->nearest[kind] = (uint32_t)spans->depth++;
    return &spans->stack[finder->nearest[kind]];
}

static void pop(struct finder *finder)
{
    const struct opening *top = &finder->spans->stack[--finder->spans->depth];
    finder->nearest[top->kind] = top->below;
}

/* Drops the openings above stack[depth], which have no end before `limit`. Only a table is a span nevertheless. */
static void abandon(struct finder *finder, uint32_t depth, uint32_t limit)
{
    struct spans *spans = finder->spans;
    assert(depth <= spans->depth);
    while (spans->depth > depth) {
        const struct opening *top = &spans->stack[spans->depth - 1];
        if (top->kind == OPEN_TABLE) {
            const uint32_t heading = next_heading(finder, top->start);
            const uint32_t end = heading < limit ? heading : limit;
            spans->items[top->slot] = (struct span){.kind = SPAN_TABLE,
                                                    .tag = 1,
                                                    .start = top->start,
                                                    .end = end,
                                                    .inner_start = top->start + 2,
                                                    .inner_end = end};
        }
        pop(finder);
    }
}

/* Closes `width` brackets of the opening at stack[index]; the span ends at `end`. */
static void close(struct finder *finder, uint32_t index, enum span_kind kind, uint32_t width, uint32_t end)
{
    abandon(finder, index + 1, end - width);
    struct opening *opening = &finder->spans->stack[index];
    assert(opening->count >= width);
    opening->count -= width;
    const uint32_t start = opening->start + opening->count;
    assert(opening->slot < opening->slot_end);
    finder->spans->items[--opening->slot_end] = (struct span){.kind = (uint16_t)kind,
                                                              .start = start,
                                                              .end = end,
                                                              .inner_start = start + width,
                                                              .inner_end = end - width,
                                                              .tag = opening->is_odd};
    if (opening->count < 2)
        pop(finder);
}

static uint32_t run_at(const struct finder *finder, char byte)
{
    uint32_t end = finder->at;
    while (end < finder->size && finder->text[end] == byte)
        end++;
    return end - finder->at;
}

#define TABLE_MARK_BYTES 6u

/* True at a table's {| or |} whose bar, or all of it, is a template, as in the arguments of templates. */
static bool is_templated_table(const struct finder *finder, uint32_t at, bool opens)
{
    LOCAL_WORDS(opening, "{{(!}}", "{{{!}}");
    LOCAL_WORDS(closing, "{{!)}}", "{{!}}}");
    return words_starting(opens ? opening : closing, (struct str){finder->text + at, finder->size - at}) > 0;
}

static bool above(uint32_t index, uint32_t other)
{
    return index != NONE && (other == NONE || index > other);
}

/* Reads the beginning or end of such a table; false if there is none. In {{{!}}} the name of an argument is '!', and
 * the last two braces of {{!}}}} belong to the template around it. */
static bool read_templated_table(struct finder *finder, uint32_t run)
{
    const uint32_t at = finder->at, end = at + TABLE_MARK_BYTES, table = finder->nearest[OPEN_TABLE];
    const bool opens = run == 3 || finder->text[at + 2] == '(';
    uint32_t braces = 0; /* after it */
    if (run > 3 || !at_line_start(finder, at) || !is_templated_table(finder, at, opens))
        return false;
    while (braces < 2 && end + braces < finder->size && finder->text[end + braces] == '}')
        braces++;
    if (braces == 1 || (!opens && !above(table, finder->nearest[OPEN_BRACE])))
        return false;
    if (opens)
        push(finder, OPEN_TABLE, at, 2, 1);
    else
        close(finder, table, SPAN_TABLE, 2, end);
    finder->at = end;
    return true;
}

static void open_brackets(struct finder *finder, enum opening_kind kind, char byte)
{
    const uint32_t run = run_at(finder, byte);
    const uint32_t end = finder->at + run;
    struct spans *spans = finder->spans;
    if (byte == '{' && run > 1 && end < finder->size && read_templated_table(finder, run))
        return;
    if (byte == '[' && run == 1 && spans->depth > 0)
        spans->stack[spans->depth - 1].has_bracket = true;
    if (run > 1) {
        const uint32_t count = run < SPAN_DEPTH_MAX ? run : SPAN_DEPTH_MAX;
        push(finder, kind, end - count, count, count / 2);
    } else if (byte == '{' && end < finder->size && finder->text[end] == '|' && at_line_start(finder, finder->at)) {
        push(finder, OPEN_TABLE, finder->at, 2, 1);
    }
    finder->at = end;
}

/* True for the '}' of a "|}" that ends a table, except before "}}" of an open template: {{name|x=\n|}}. */
static bool ends_table(const struct finder *finder, uint32_t run)
{
    const uint32_t table = finder->nearest[OPEN_TABLE], brace = finder->nearest[OPEN_BRACE];
    return table != NONE && finder->at > 0 && finder->text[finder->at - 1] == '|' &&
           at_line_start(finder, finder->at - 1) && (run == 1 || (above(table, brace) && (run > 2 || brace == NONE)));
}

static void close_braces(struct finder *finder)
{
    uint32_t run = run_at(finder, '}');
    /* A table's end takes its brace first: in "|}}}" the other two close the template around the table. */
    if (ends_table(finder, run)) {
        close(finder, finder->nearest[OPEN_TABLE], SPAN_TABLE, 2, finder->at + 1);
        finder->at++;
        run--;
    }
    /* As in MediaWiki, three braces that meet three are an argument, so that in {{{{{1}}}}} the inner three are. */
    while (run >= 2 && finder->nearest[OPEN_BRACE] != NONE) {
        const uint32_t index = finder->nearest[OPEN_BRACE];
        if (finder->spans->is_strict && above(finder->nearest[OPEN_LINK], index))
            break;
        const uint32_t count = finder->spans->stack[index].count;
        const uint32_t width = run >= 3 && count >= 3 ? 3 : 2;
        finder->at += width;
        run -= width;
        close(finder, index, width == 3 ? SPAN_ARGUMENT : SPAN_TEMPLATE, width, finder->at);
    }
    const uint32_t variant = finder->nearest[OPEN_VARIANT];
    if (run == 1 && finder->at + 1 < finder->size && finder->text[finder->at + 1] == '-' && variant != NONE &&
        !above(finder->nearest[OPEN_BRACE], variant))
        close(finder, variant, SPAN_VARIANT, 2, finder->at + 2);
    finder->at += run;
}

/* -{ opens a choice of spellings; in -{{ the dash is text. */
static void open_variant(struct finder *finder)
{
    const struct str rest = {finder->text + finder->at, finder->size - finder->at};
    if (str_starts(rest, STR("-{{{")) || (str_starts(rest, STR("-{")) && !str_starts(rest, STR("-{{")))) {
        push(finder, OPEN_VARIANT, finder->at, 2, 1);
        finder->at++;
    }
    finder->at++;
}

/* A link only closes if it is the innermost opening: a [[ inside an open {{ belongs to the template. In "]]]" the first
 * ] closes a '[' in the label, as in [[File:x.jpg|[http://example.org it]]]. */
static void close_links(struct finder *finder)
{
    uint32_t run = run_at(finder, ']');
    while (run >= 2 && finder->nearest[OPEN_LINK] != NONE && finder->nearest[OPEN_LINK] + 1 == finder->spans->depth) {
        const uint32_t width = run >= 3 && finder->spans->stack[finder->nearest[OPEN_LINK]].has_bracket ? 3 : 2;
        finder->at += width;
        run -= width;
        close(finder, finder->nearest[OPEN_LINK], SPAN_LINK, 2, finder->at);
    }
    finder->at += run;
}

/* Comments and tags. */

/* The end of the comment that begins at `start`. One that is not closed ends before the next blank line, or with the
 * page. */
static uint32_t find_comment_end(struct finder *finder, uint32_t start)
{
    const char *text = finder->text, *end = NULL;
    if (finder->comments_close)
        end = memmem(text + start + 4, finder->size - start - 4, "-->", 3);
    finder->comments_close = end;
    if (end)
        end += 3;
    else
        end = memmem(text + start, finder->size - start, "\n\n", 2);
    const uint32_t at = end ? (uint32_t)(end - text) : finder->size;
    finder->spans->steps += at - start;
    return at;
}

/* If nothing but comments and blanks follow on the line from `at` on, the position after the line; else 0. */
static uint32_t find_end_of_comments(struct finder *finder, uint32_t at)
{
    const char *text = finder->text;
    const bool comments_close = finder->comments_close;
    bool closed = comments_close;
    for (;;) {
        while (at < finder->size && is_blank(text[at]))
            at++;
        if (!str_starts((struct str){text + at, finder->size - at}, STR("<!--")))
            break;
        at = find_comment_end(finder, at);
        closed = finder->comments_close;
    }
    finder->comments_close = comments_close; /* the comments before the last one are read again */
    return closed && at < finder->size && text[at] == '\n' ? at + 1 : 0;
}

/* Comments that are alone on their line are removed with the line, as in MediaWiki, so that they do not end a
 * paragraph: they are one span. */
static void read_comment(struct finder *finder)
{
    const char *text = finder->text;
    uint32_t start = finder->at, end = find_comment_end(finder, start), before = start;
    while (before > 0 && is_blank(text[before - 1]))
        before--;
    const bool begins_line = before > 0 && text[before - 1] == '\n';
    const bool follows = before == finder->comment_end && !begins_line; /* another comment of this line */
    const uint32_t line_end = begins_line ? find_end_of_comments(finder, end) : 0;
    if (line_end > 0) {
        start = before;
        end = line_end;
    }
    if (finder->spans->count < SPAN_COUNT_MAX)
        add_span(finder, (struct span){.kind = SPAN_COMMENT, .start = start, .end = end});
    finder->comment_start = follows ? finder->comment_start : start;
    finder->comment_end = end;
    finder->at = end;
}

/* Finds the closing tag </name> in [from, limit); false if there is none. */
static bool find_closing(struct finder *finder, unsigned tag, uint32_t from, uint32_t limit, uint32_t *start,
                         uint32_t *end)
{
    for (uint32_t at = from; at < limit;) {
        const char *bracket = memchr(finder->text + at, '<', limit - at);
        const uint32_t next = bracket ? (uint32_t)(bracket - finder->text) : limit;
        finder->spans->steps += next - at;
        if (!bracket)
            return false;
        struct tag_found found;
        size_t looked;
        if (next + 1 < limit && bracket[1] == '/' && tag_read((struct str){bracket, limit - next}, &found, &looked) &&
            found.index == tag && str_trim(found.attributes).size == 0) {
            *start = next;
            *end = next + (uint32_t)found.size;
            return true;
        }
        at = next + 1;
    }
    return false;
}

#define ENCLOSING_BYTES_MAX 4096u /* how far, and over how many runs of brackets, the end of a template is looked for */
#define ENCLOSING_RUNS_MAX  64u

/* Where the template, link or table ends in which a <ref> stands whose content begins at `from`; NONE if that does not
 * come before `limit`, or is far. What opens after `from` closes first. */
static uint32_t find_enclosing_end(struct finder *finder, uint32_t from, uint32_t limit)
{
    const struct spans *spans = finder->spans;
    const char *text = finder->text;
    const uint32_t link = finder->nearest[OPEN_LINK],
                   end = limit - from < ENCLOSING_BYTES_MAX ? limit : from + ENCLOSING_BYTES_MAX;
    const bool in_brace = finder->nearest[OPEN_BRACE] != NONE, in_table = finder->nearest[OPEN_TABLE] != NONE;
    const bool in_link = link != NONE && link + 1 == spans->depth;
    uint32_t braces = 0, links = 0, tables = 0;
    if (!in_brace && !in_link && !in_table)
        return NONE;
    uint32_t at = signs_next(&spans->signs, from, end);
    for (unsigned runs = 0; at < end && runs < ENCLOSING_RUNS_MAX; runs++) {
        const char byte = text[at];
        uint32_t run = 1;
        while (at + run < end && text[at + run] == byte)
            run++;
        const uint32_t pairs = run / 2;
        const bool is_table_end = byte == '}' && at > from + 1 && text[at - 1] == '|' && text[at - 2] == '\n';
        if (is_table_end && tables == 0 && in_table && braces == 0)
            return at - 2;
        if (byte == '}' && pairs > braces && in_brace)
            return at + 2 * braces;
        if (byte == ']' && pairs > links && in_link && braces == 0)
            return at + 2 * links;
        tables += byte == '{' && run == 1 && at + 1 < end && text[at + 1] == '|';
        tables -= is_table_end && tables > 0;
        braces += byte == '{' ? pairs : 0;
        braces -= byte != '}' ? 0 : pairs < braces ? pairs : braces;
        links += byte == '[' ? pairs : 0;
        links -= byte != ']' ? 0 : pairs < links ? pairs : links;
        finder->spans->steps += run + 1;
        at = signs_next(&spans->signs, at + run, end);
    }
    finder->spans->steps += (end - from) / 64;
    return NONE;
}

/* The end of an unclosed <ref> whose content begins at `from`: at the next blank line or at `limit`, in a template or
 * link at the end of the argument, in a table at that of the cell. */
static uint32_t cut_reference(struct finder *finder, uint32_t from, uint32_t limit)
{
    const char *text = finder->text;
    const uint32_t whole = find_enclosing_end(finder, from, limit);
    const bool in_table = finder->nearest[OPEN_TABLE] != NONE, has_bars = whole != NONE && text[whole] != '\n';
    uint32_t braces = 0, links = 0, at = from;
    if (!in_table && whole == NONE) {
        const char *blank = memmem(text + from, limit - from, "\n\n", 2);
        limit = blank ? (uint32_t)(blank - text) : limit;
        finder->spans->steps += limit - from;
        return limit;
    }
    limit = whole != NONE ? whole : limit;
    for (; at + 1 < limit; at++) {
        const char byte = text[at], next = text[at + 1];
        const bool ends_argument = byte == '|' && has_bars && braces == 0 && links == 0;
        const bool ends_cell = byte == '\n' && in_table && braces == 0 && (next == '|' || next == '!');
        if (ends_argument || ends_cell || (byte == '\n' && next == '\n'))
            break;
        if (byte != next || !strchr("{}[]", byte))
            continue;
        braces += byte == '{';
        braces -= byte == '}' && braces > 0;
        links += byte == '[';
        links -= byte == ']' && links > 0;
        at++;
    }
    finder->spans->steps += at - from;
    at = at + 1 < limit ? at : limit;
    while (at > from && (is_blank(text[at - 1]) || text[at - 1] == '\n')) /* as arguments are trimmed */
        at--;
    return at;
}

/* Finds the </ref> that closes a <ref> at `from`. The last result is cached, so the work stays linear. */
static bool find_reference_end(struct finder *finder, unsigned tag, uint32_t from, uint32_t limit, struct span *span)
{
    if (finder->ref_tag != tag || finder->ref_close < from) {
        uint32_t start, end;
        if (!finder->closes[tag])
            return false;
        if (!find_closing(finder, tag, from, finder->size, &start, &end)) {
            finder->closes[tag] = false;
            return false;
        }
        finder->ref_tag = tag;
        finder->ref_close = start;
        finder->ref_close_end = end;
    }
    if (finder->ref_close_end > limit)
        return false;
    /* The next </ref> may close another <ref>, if this one was left open: one that begins after a blank line, or after
     * the end of the template, link or table around this one. */
    const uint32_t enclosing = find_enclosing_end(finder, from, finder->ref_close);
    const uint32_t before = enclosing != NONE ? enclosing : finder->ref_close;
    const char *blank = memmem(finder->text + from, before - from, "\n\n", 2);
    const uint32_t next = blank ? (uint32_t)(blank - finder->text) : before;
    finder->spans->steps += next - from;
    for (uint32_t at = next; at < finder->ref_close; at++) {
        const char *bracket = memchr(finder->text + at, '<', finder->ref_close - at);
        struct tag_found found;
        size_t looked;
        if (!bracket)
            break;
        at = (uint32_t)(bracket - finder->text);
        if (tag_read((struct str){bracket, finder->ref_close - at}, &found, &looked) && found.index == tag &&
            !found.closing && !found.self_closing)
            return false;
    }
    span->inner_end = finder->ref_close;
    span->end = finder->ref_close_end;
    return true;
}

/* Reads an opening tag whose content is not read. A <ref> that another's </ref> would close extends to the next blank
 * line or heading, or in a template, link or table to the end of the argument or cell, and a </ref> after that is
 * consumed as well; an unclosed <includeonly> extends to the end; any other tag that nothing closes is not a span. */
static void read_opaque(struct finder *finder, const struct tag_found *found)
{
    const uint32_t inner = finder->at + (uint32_t)found->size;
    struct span span = {.kind = SPAN_TAG,
                        .tag = (uint16_t)found->index,
                        .start = finder->at,
                        .inner_start = inner,
                        .inner_end = inner,
                        .end = inner};
    const enum fate fate = tags[found->index].fate;
    if (found->closing) {
        finder->ref_was_cut = false;
    } else if (!found->self_closing) {
        const uint32_t limit = fate == FATE_REFERENCE ? next_heading(finder, inner) : finder->size;
        if (fate == FATE_REFERENCE ? find_reference_end(finder, found->index, inner, limit, &span)
                                   : finder->closes[found->index] &&
                                         find_closing(finder, found->index, inner, limit, &span.inner_end, &span.end)) {
            /* closed properly */
        } else if (fate == FATE_INCLUDE || (fate == FATE_REFERENCE && finder->closes[found->index])) {
            span.inner_end = span.end = fate == FATE_REFERENCE ? cut_reference(finder, inner, limit) : limit;
            finder->ref_was_cut = true;
        } else {
            finder->closes[found->index] = false;
            finder->at++;
            return;
        }
    }
    if (finder->spans->count < SPAN_COUNT_MAX)
        add_span(finder, span);
    finder->at = span.end;
}

/* As in a browser, a table that begins in another one outside its cells ends that, and </table> ends the innermost,
 * however it was opened. */
static void read_table_tag(struct finder *finder, enum tag_kind kind, bool is_closing, uint32_t end)
{
    const uint32_t index = finder->nearest[OPEN_TABLE];
    struct opening *table = above(index, finder->nearest[OPEN_BRACE]) ? &finder->spans->stack[index] : NULL;
    if (kind != TAG_TABLE && table)
        table->in_cell = kind == TAG_CELL && !is_closing;
    if (kind != TAG_TABLE)
        return;
    if (is_closing && table) {
        close(finder, index, SPAN_TABLE, 2, end);
    } else if (!is_closing) {
        if (table && table->is_html && !table->in_cell)
            close(finder, index, SPAN_TABLE, 2, finder->at);
        struct opening *opening = push(finder, OPEN_TABLE, finder->at, 2, 1);
        if (opening)
            opening->is_html = true;
    }
}

static void read_tag(struct finder *finder)
{
    const struct str rest = {finder->text + finder->at, finder->size - finder->at};
    if (str_starts(rest, STR("<!--"))) {
        read_comment(finder);
        return;
    }
    struct tag_found found;
    size_t looked;
    const bool is_tag = tag_read(rest, &found, &looked);
    finder->spans->steps += looked;
    if (!is_tag) {
        finder->at++;
        return;
    }
    const uint32_t end = finder->at + (uint32_t)found.size;
    const enum tag_kind kind = tags[found.index].kind;
    if (kind >= TAG_TABLE && kind <= TAG_ROW) {
        read_table_tag(finder, kind, found.closing, end);
    } else if (kind >= TAG_DROP &&
               (!found.closing || (finder->ref_was_cut && tags[found.index].fate == FATE_REFERENCE))) {
        read_opaque(finder, &found);
        return;
    }
    /* Templates and comments may stand in attributes; without any, brackets in quoted values are no links. */
    const struct str attributes = found.attributes;
    if (attributes.size < sizeof "a=''") {
        finder->at = end;
        return;
    }
    const bool has_value = str_has(attributes, '"') || str_has(attributes, '\'');
    const bool has_markup = str_has(attributes, '{') || str_has(attributes, '<');
    finder->at = has_value && !has_markup ? end : finder->at + 1;
}

/* __WORD__ or ＿＿word＿＿, if it is a switch of the wiki. */
static void read_magic(struct finder *finder)
{
    const char *text = finder->text;
    const uint32_t start = finder->at;
    const struct str mark = text[start] == '_' ? STR("__") : STR("＿＿");
    const uint32_t from = start + (uint32_t)mark.size;
    finder->at++;
    if (!str_starts((struct str){text + start, finder->size - start}, mark) || from >= finder->size ||
        text[from] == '_')
        return;
    uint32_t end = from;
    const uint32_t limit = finder->size - start > NAME_BYTES_MAX ? start + NAME_BYTES_MAX : finder->size;
    while (end + mark.size <= limit && (unsigned char)text[end] >= ' ' && memcmp(text + end, mark.data, mark.size) != 0)
        end++;
    finder->spans->steps += end - start;
    if (end + mark.size > limit || (unsigned char)text[end] < ' ' ||
        !magic_is_switch(finder->magic, str_range(text + from, text + end)))
        return;
    finder->at = end + (uint32_t)mark.size;
    if (finder->spans->count < SPAN_COUNT_MAX)
        add_span(finder,
                 (struct span){
                     .kind = SPAN_MAGIC, .start = start, .end = finder->at, .inner_start = from, .inner_end = end});
}

/* Removes unused slots, and links each span to the first one after it. */
static void tidy_up(struct spans *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++)
        if (spans->items[i].kind != SPAN_NONE)
            spans->items[count++] = spans->items[i];
    spans->count = count;
    /* From the last to the first: the inner spans come later in the list, and their `next` skips what they contain. */
    for (size_t i = count; i-- > 0;) {
        size_t next = i + 1;
        assert(spans->items[i].start < spans->items[i].end);
        assert(next == count || spans->items[i].start <= spans->items[next].start);
        while (next < count && spans->items[next].start < spans->items[i].end)
            next = spans->items[next].next;
        spans->items[i].next = (uint32_t)next;
    }
}

static void find_signs(struct spans *spans, const struct magic *magic, bool has_variants, struct str text)
{
    struct sign_set set = {{0}};
    for (const char *sign = "{}[]<_"; *sign; sign++)
        sign_set_add(&set, (unsigned char)*sign);
    if (has_variants)
        sign_set_add(&set, '-');
    signs_find(&spans->signs, &set, text);
    const char *end = text.data + text.size, *wide = magic->wide ? text.data : end;
    while (wide < end && (wide = memmem(wide, (size_t)(end - wide), "＿＿", 6)) != NULL) {
        signs_add(&spans->signs, (uint32_t)(wide - text.data));
        wide += 3;
    }
}

void spans_find(struct spans *spans, const struct magic *magic, bool has_variants, struct str text)
{
    assert(text.size <= INT32_MAX);
    spans->count = 0;
    spans->depth = 0;
    spans->heading_count = 0;
    spans->steps = text.size;
    struct finder finder = {.spans = spans,
                            .magic = magic,
                            .text = text.data,
                            .size = (uint32_t)text.size,
                            .nearest = {NONE, NONE, NONE, NONE},
                            .comment_start = NONE,
                            .comment_end = NONE,
                            .heading_from = NONE,
                            .comments_close = true};
    finder.has_tabs = text.size > 0 && memmem(text.data, text.size, "<tabber", 7);
    /* Only a search that found no end says that none follows. It is made once for each tag, so the time stays linear in
     * the text whatever is left open. */
    for (unsigned i = 0; i < tag_count; i++)
        finder.closes[i] = true;
    find_signs(spans, magic, has_variants, text);
    while ((finder.at = signs_next(&spans->signs, finder.at, finder.size)) < finder.size) {
        switch (text.data[finder.at]) {
        case '{':
            open_brackets(&finder, OPEN_BRACE, '{');
            break;
        case '}':
            close_braces(&finder);
            break;
        case '[':
            open_brackets(&finder, OPEN_LINK, '[');
            break;
        case ']':
            close_links(&finder);
            break;
        case '<':
            read_tag(&finder);
            break;
        case '-':
            open_variant(&finder);
            break;
        default:
            read_magic(&finder);
        }
    }
    abandon(&finder, 0, finder.size); /* what the page never closes is text */
    tidy_up(spans);
}

void spans_release(struct spans *spans)
{
    mem_free(spans->items);
    mem_free(spans->stack);
    mem_free(spans->headings);
    signs_release(&spans->signs);
    *spans = (struct spans){0};
}

bool span_table_has_text(struct str page, const struct span *span)
{
    const char *at = page.data + span->start, *end = page.data + span->end;
    bool in_row = *at == '{';
    while (in_row && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        while (++at < end && (is_blank(*at) || *at == '\n'))
            continue;
        const struct str line = str_range(at, end);
        if (line.size == 0 || (*at == '|' && !str_starts(line, STR("|-"))) || *at == '!') {
            while (at < end && !str_starts(str_range(at, end), STR("\n|-"))) /* to the next row */
                at = (at = memchr(at + 1, '\n', (size_t)(end - at - 1))) ? at : end;
            in_row = at < end;
            at += in_row;
        } else if (!strchr("|{<", *at)) {
            return true;
        }
    }
    return false;
}

struct span_walk span_walk(struct str page, const struct spans *spans, uint32_t index)
{
    const struct span *span = &spans->items[index];
    return (struct span_walk){
        .spans = spans, .page = page, .at = span->inner_start, .end = span->inner_end, .child = index + 1};
}

/* The bytes at which span_walk_to_bar stops. */
static const bool walk_stops[256] = {['|'] = true, ['='] = true, ['\n'] = true};

/* Moves to the end of a line that begins with "==": as in MediaWiki it may be a heading, and its '=' and bars are none
 * of the call. */
static void skip_heading(struct span_walk *walk)
{
    uint32_t at = walk->at;
    while (at < walk->end && walk->page.data[at] != '\n') {
        const struct span *span = spans_at(walk->spans, &walk->child, at);
        at = span ? span->end : at + 1;
        walk->child = span ? span->next : walk->child;
    }
    walk->steps += at < walk->end ? at - walk->at : walk->end - walk->at;
    walk->at = at < walk->end ? at : walk->end;
}

bool span_walk_to_bar(struct span_walk *walk, uint32_t *equals)
{
    const struct spans *spans = walk->spans;
    const unsigned char *text = (const unsigned char *)walk->page.data;
    uint32_t at = walk->at;
    *equals = UINT32_MAX;
    while (at < walk->end) {
        const uint32_t child = walk->child < spans->count ? spans->items[walk->child].start : UINT32_MAX;
        const uint32_t limit = child >= at && child < walk->end ? child : walk->end, from = at;
        while (at < limit && !walk_stops[text[at]])
            at++;
        walk->steps += at - from;
        if (at == walk->end)
            break;
        walk->steps++;
        if (at == child) {
            const struct span *inner = &spans->items[walk->child];
            walk->bar_end = inner->end;
            if (walk->takes_bars && inner->kind == SPAN_TEMPLATE && inner->inner_end == inner->inner_start + 1 &&
                text[inner->inner_start] == '!') {
                walk->child = inner->next;
                break;
            }
            at = spans->items[walk->child].end;
            walk->child = spans->items[walk->child].next;
            continue;
        }
        walk->bar_end = at + 1;
        if (text[at] == '|')
            break;
        if (text[at] == '=' && *equals == UINT32_MAX) {
            if (at > 0 && text[at - 1] == '\n' && at + 1 < walk->end && text[at + 1] == '=') {
                walk->at = at;
                skip_heading(walk);
                at = walk->at;
                continue;
            }
            *equals = at;
        }
        walk->has_line_end |= text[at] == '\n';
        at++;
    }
    walk->at = at < walk->end ? at : walk->end; /* an unclosed table may extend beyond */
    if (*equals > walk->at)
        *equals = walk->at;
    return walk->at < walk->end;
}
