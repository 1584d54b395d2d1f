/* One state machine per kind. It steps by bytes but skips with memchr: inside a page only '<' matters, inside a
 * document only line ends, so it runs at the speed of memory. Each byte of a record is copied once, into the group.
 *
 * The state between two bytes is a few small numbers. The tags are known, so of an incomplete tag only its number and
 * length are kept, and its text is written once it proves to be <page>. So restarting in the middle of a page or tag
 * needs five numbers. */
#include "pipeline/dump/pages.h"

#include "base/mem.h"

#include <assert.h>

#define WINDOW_PAST UINT32_MAX /* a window before the restart: records that begin there were given already */

void group_reset(struct group *group)
{
    buf_reset(&group->text);
    group->record_count = 0;
    group->oversize = group->gaps = group->gap_bytes = group->cut = 0;
    group->sums_right = group->sums_wrong = group->oversize_at = group->cut_at = 0;
}

void group_release(struct group *group)
{
    buf_release(&group->text);
    mem_free(group->records);
    *group = (struct group){0};
}

void pages_init(struct pages *pages, const struct dump_options *options, enum source_kind kind, bool bom)
{
    *pages = (struct pages){.kind = kind,
                            .blank_lines = kind == SOURCE_JSONL ? 0 : options->blank_lines,
                            .group_bytes_max = options->group_bytes_max,
                            .page_bytes_max = options->page_bytes_max,
                            .match = bom && kind != SOURCE_WIKI ? 3 : 0,
                            .group = {.file = options->file, .kind = kind}};
}

void pages_release(struct pages *pages)
{
    group_release(&pages->group);
}

/* ---------------------------------------------------------------------------------------------------- groups */

static void group_take_gaps(struct pages *pages)
{
    pages->group.gaps += pages->gaps;
    pages->group.gap_bytes += pages->gap_bytes;
    pages->gaps = pages->gap_bytes = 0;
}

/* Begins the group of this window; or a further part of the previous window's group, for a tag that began there and
 * ended here. */
static void group_begin(struct pages *pages, uint32_t window)
{
    assert(!pages->begun && (window == pages->window || window == pages->part_window));
    if (pages->part_window != window)
        pages->next_part = 0;
    if (window == pages->window)
        pages->group_entry = pages->entry;
    pages->part_window = window;
    pages->group.window = window;
    pages->group.part = pages->next_part;
    pages->begun = true;
    if (window == pages->window)
        group_take_gaps(pages);
}

/* Gives out the complete group by swapping memory. False if it is empty, or was given before a restart. */
static bool group_hand_out(struct pages *pages, struct group *out)
{
    struct group *group = &pages->group;
    bool empty = group->record_count == 0 && group->oversize == 0 && group->gaps == 0 && group->cut == 0;
    bool again = group->window == pages->resume_window && group->part < pages->resume_part;
    assert(pages->begun);
    pages->begun = false;
    if (!empty)
        pages->next_part = group->part + 1;
    if (!empty && !again) {
        struct group full = *group;
        *group = *out;
        *out = full;
        group->file = full.file;
        group->kind = full.kind;
    }
    group_reset(group);
    return !empty && !again;
}

/* --------------------------------------------------------------------------------------------------- records */

/* Begins a record whose first byte is in `window`, `before` bytes after text_at (as a difference modulo 2^64). True if
 * the group before it is full, and now in *out. */
static bool record_begin(struct pages *pages, uint32_t window, uint64_t before, struct group *out)
{
    struct group *group = &pages->group;
    bool full = false;
    pages->open = true;
    pages->record_at = pages->text_at == RECORD_NOWHERE ? RECORD_NOWHERE : pages->text_at + before;
    assert(!pages->skip && (window <= pages->window || window == WINDOW_PAST));
    pages->skip = window == WINDOW_PAST;
    if (pages->skip)
        return false;
    if (pages->begun && (group->window != window || group->text.size > pages->group_bytes_max))
        full = group_hand_out(pages, out);
    if (!pages->begun)
        group_begin(pages, window);
    pages->record_from = group->text.size;
    return full;
}

static void record_add(struct pages *pages, struct str text)
{
    struct group *group = &pages->group;
    if (pages->skip)
        return;
    assert(pages->open && pages->begun && pages->record_from <= group->text.size);
    if (group->text.size - pages->record_from + text.size > pages->page_bytes_max) {
        group->text.size = pages->record_from;
        if (group->oversize++ == 0)
            group->oversize_at = pages->record_at;
        pages->skip = true;
        return;
    }
    buf_add_str(&group->text, text);
}

/* Ends the record; its last `less` bytes do not belong to it. */
static void record_end(struct pages *pages, size_t less)
{
    struct group *group = &pages->group;
    assert(pages->open);
    if (!pages->skip) {
        assert(pages->record_from + less <= group->text.size);
        if (group->record_count == group->record_capacity) {
            group->record_capacity = group->record_capacity ? 2 * group->record_capacity : 64;
            group->records = mem_grow(group->records, group->record_capacity, sizeof(*group->records));
        }
        group->text.size -= less;
        group->records[group->record_count++] =
            (struct record){pages->record_from, group->text.size - pages->record_from, pages->record_at};
    }
    pages->open = pages->skip = false;
}

/* ------------------------------------------------------------------------------------------------------ wiki */

enum tag { TAG_PAGE, TAG_PAGE_END, TAG_WIKI, TAG_WIKI_END, TAG_NONE };
static const char *const tags[] = {"<page>", "</page>", "<mediawiki", "</mediawiki>"};

/* Advances the tag matcher by one byte. *match is 0, or 16 · tag + bytes matched, for the first tag with that
 * beginning. */
static enum tag tag_step(unsigned *match, char byte)
{
    unsigned like = *match / 16, seen = *match % 16;
    *match = byte == '<' ? 1 : 0;
    if (byte == '<' || seen == 0)
        return TAG_NONE;
    for (unsigned tag = like; tag < TAG_NONE; tag++) {
        if (strncmp(tags[tag], tags[like], seen) != 0 || tags[tag][seen] != byte)
            continue;
        if (tags[tag][seen + 1] == '\0')
            return (enum tag)tag;
        *match = 16 * tag + seen + 1;
        break;
    }
    return TAG_NONE;
}

static size_t feed_wiki(struct pages *pages, struct str text, struct group *out, bool *full)
{
    size_t at = 0, from = 0; /* text[from, at) belongs to the open record and is not added yet */
    while (at < text.size) {
        if (pages->match == 0) {
            const char *tag = memchr(text.data + at, '<', text.size - at);
            at = tag ? (size_t)(tag - text.data) : text.size;
            if (!tag)
                break;
        }
        char byte = text.data[at++];
        if (byte == '<')
            pages->tag_window = pages->window;
        enum tag tag = tag_step(&pages->match, byte);
        if (tag == TAG_NONE)
            continue;
        uint32_t window = pages->tag_window;
        if (pages->guessed && tag != TAG_WIKI) {
            pages->guessed = false;
            pages->doubt = tag == TAG_PAGE && window != pages->window;
        }
        if (pages->open && tag != TAG_WIKI) { /* </page>, or a tag that cannot be inside a page */
            record_add(pages, str_range(text.data + from, text.data + at));
            record_end(pages, tag == TAG_PAGE_END ? 0 : strlen(tags[tag]));
            window = pages->window; /* until now it was the window of another group */
        }
        if (tag == TAG_WIKI || tag == TAG_WIKI_END) {
            pages->closed = tag == TAG_WIKI_END;
            pages->closed_in = pages->tag_window;
        }
        if (tag == TAG_PAGE) {
            from = at;
            *full = record_begin(pages, window, at - strlen(tags[TAG_PAGE]), out);
            record_add(pages, str_of(tags[TAG_PAGE]));
            if (*full)
                return at;
        }
    }
    if (pages->open)
        record_add(pages, str_range(text.data + from, text.data + at));
    return at;
}

/* ------------------------------------------------------------------------------------------- text and JSONL */

#define BLANK_LINE (1u << 16) /* pages.match counts the blank lines before an open document's line in units of this */

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static size_t blanks_at(const char *from, const char *to)
{
    const char *at = from;
    while (at < to && is_blank(*at))
        at++;
    return (size_t)(at - from);
}

/* Without trailing ASCII blanks, and without a last line that is blank. */
static struct str without_blank_end(struct str text)
{
    for (size_t size = SIZE_MAX; size != text.size;) {
        size = text.size;
        while (text.size > 0 && is_blank(text.data[text.size - 1]))
            text.size--;
        const char *newline = text.size > 0 ? memrchr(text.data, '\n', text.size) : NULL;
        const struct str line = str_range(newline ? newline : text.data, text.data + text.size);
        if (str_is_blank(line))
            text.size -= line.size;
    }
    return text;
}

/* Ends the record. If all of it is blank, there is none. */
static void lines_end(struct pages *pages)
{
    struct buf *text = &pages->group.text;
    const size_t from = pages->record_from, size = pages->skip ? 0 : text->size - from;
    const size_t kept = pages->skip ? 0 : without_blank_end((struct str){text->data + from, size}).size;
    pages->match = 0;
    if (pages->skip || kept > 0) {
        record_end(pages, size - kept);
        return;
    }
    text->size = from;
    pages->open = false;
}

static size_t feed_lines(struct pages *pages, struct str text, struct group *out, bool *full)
{
    const char *at = text.data, *end = text.data + text.size, *from = at;
    while (at < end) {
        if (!pages->open) {
            if (pages->match > 0) {
                pages->match--;
                at++;
                continue;
            }
            at += blanks_at(at, end);
            if (at == end)
                break;
            from = at;
            *full = record_begin(pages, pages->window, (uint64_t)(at - text.data), out);
            pages->match = BLANK_SO_FAR;
            if (*full)
                return (size_t)(at - text.data);
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const unsigned state = utf8_blank(pages->match % BLANK_LINE, str_range(at, newline ? newline : end));
        unsigned blank_lines = pages->match / BLANK_LINE;
        at = newline ? newline + 1 : end;
        pages->match = state + blank_lines * BLANK_LINE;
        if (!newline)
            break;
        blank_lines = state == BLANK_SO_FAR ? blank_lines + 1 : 0;
        if (pages->blank_lines == 0 || blank_lines == pages->blank_lines) {
            record_add(pages, str_range(from, at));
            lines_end(pages);
        } else {
            pages->match = BLANK_SO_FAR + (pages->blank_lines == WHOLE_FILE ? 0 : blank_lines * BLANK_LINE);
        }
    }
    if (pages->open)
        record_add(pages, str_range(from, at));
    return text.size;
}

/* ---------------------------------------------------------------------------------------------------- windows */

void pages_enter(struct pages *pages, uint32_t window, const struct dump_state *entry)
{
    assert(window >= pages->window);
    pages->window = window;
    pages->entry = *entry;
}

size_t pages_feed(struct pages *pages, struct str text, uint64_t at, struct group *out, bool *full)
{
    pages->text_at = at;
    *full = false;
    return pages->kind == SOURCE_WIKI ? feed_wiki(pages, text, out, full) : feed_lines(pages, text, out, full);
}

bool pages_leave(struct pages *pages, struct group *out)
{
    bool full = false;
    bool half = pages->kind == SOURCE_WIKI && pages->match; /* the tag may become a page of the window where it began */
    if (pages->open)
        return false;
    if (pages->begun && !(half && pages->group.window == pages->tag_window))
        full = group_hand_out(pages, out);
    if (!pages->begun && half && pages->tag_window == pages->window) {
        group_begin(pages, pages->window);
    } else if (!full && pages->gaps) { /* the only event of this window was a gap */
        group_begin(pages, pages->window);
        full = group_hand_out(pages, out);
    }
    return full;
}

void pages_gap(struct pages *pages, uint64_t gap_bytes, bool end)
{
    struct group *group = &pages->group;
    if (pages->open && !pages->skip) {
        group->text.size = pages->record_from;
        if (group->cut++ == 0)
            group->cut_at = pages->record_at;
    }
    /* For lines: text after a gap starts inside a record, so skip to its end. */
    pages->open = pages->skip = pages->kind != SOURCE_WIKI;
    pages->match = 0;
    pages->closed = end;
    pages->closed_in = pages->window;
    pages->gaps++;
    pages->gap_bytes += gap_bytes;
    if (!pages->begun)
        group_begin(pages, pages->window);
    else if (group->window == pages->window || end)
        group_take_gaps(pages);
}

bool pages_settled(const struct pages *pages, uint64_t window)
{
    const bool half = pages->kind == SOURCE_WIKI && pages->match;
    if (pages->begun && pages->group.window < window)
        return false;
    return !half || (pages->tag_window != WINDOW_PAST && pages->tag_window >= window);
}

bool pages_closed(const struct pages *pages, uint64_t window)
{
    return pages->closed && (pages->closed_in == WINDOW_PAST || pages->closed_in < window);
}

bool pages_complete(const struct pages *pages)
{
    return pages->kind != SOURCE_WIKI || (!pages->open && pages->closed);
}

int pages_end(struct pages *pages, const char *name, uint64_t end, struct group *out, struct error *err)
{
    if (name && !pages_complete(pages)) {
        fail_at(err, ERR_INPUT, name, end, "the dump is truncated: it ends %s",
                pages->open ? "inside a <page>" : "without </mediawiki>");
        return hint(err, "compare its size and checksum with those published beside it, and download it again");
    }
    if (pages->open)
        lines_end(pages);
    if (pages->begun) {
        group_take_gaps(pages); /* if a gap cut off a line that lasted to the end of the input */
        group_hand_out(pages, out);
    }
    return 0;
}

/* The complete lines of a window's text. */
static struct str complete_lines(struct str text, bool first, bool last)
{
    const char *from = text.data, *end = text.data + text.size;
    const char *newline = text.size > 0 ? memchr(from, '\n', text.size) : NULL;
    if (!first)
        from = newline ? newline + 1 : end;
    while (!last && end > from && end[-1] != '\n')
        end--;
    return str_range(from, end);
}

void pages_peek(struct pages *pages, struct str text, bool first, bool last, struct group *out)
{
    bool full = false;
    group_reset(out);
    const bool takes_parts = pages->kind == SOURCE_TEXT && pages->blank_lines > 1;
    if (takes_parts)
        text = complete_lines(text, first, last);
    else /* skip the end of another window's record */
        pages->open = pages->skip = !first && pages->kind != SOURCE_WIKI;
    pages_enter(pages, 0, &(struct dump_state){0});
    pages_feed(pages, text, RECORD_NOWHERE, out, &full);
    if (full)
        return;
    if (pages->open && (last || takes_parts) && pages->kind != SOURCE_WIKI)
        lines_end(pages);
    if (pages->begun)
        group_hand_out(pages, out);
}

/* --------------------------------------------------------------------------------------------------- restart */

void pages_state(const struct pages *pages, struct dump_state *state)
{
    state->open = pages->open;
    state->match = pages->match;
    state->closed = pages->closed;
    state->head.guessed = pages->guessed;
    state->head.doubt = pages->doubt;
}

static bool match_is_possible(const struct pages *pages, const struct dump_state *state)
{
    if (pages->kind != SOURCE_WIKI)
        return pages->open ? state->match / BLANK_LINE <= pages->blank_lines : state->match < 4;
    if (state->match == 0)
        return true;
    unsigned tag = state->match / 16, seen = state->match % 16;
    return tag < TAG_NONE && seen >= 1 && seen < strlen(tags[tag]);
}

int pages_restore(struct pages *pages, const struct dump_state *state)
{
    pages->open = pages->skip = state->open; /* of a group that was given before */
    if (!match_is_possible(pages, state))
        return -1;
    if (state->next_window > 0) /* at the beginning `match` counts the bytes of a byte order mark, whatever the state
                                 * says */
        pages->match = state->match;
    pages->closed = state->closed;
    pages->closed_in = WINDOW_PAST;
    pages->guessed = state->head.guessed;
    pages->doubt = state->head.doubt;
    pages->tag_window = WINDOW_PAST;
    pages->resume_window = state->next_window;
    pages->resume_part = state->next_part;
    return 0;
}
