/* One state machine per kind. It steps by bytes but skips with memchr: inside a page only '<' matters, inside a
 * document only line ends, so it runs at the speed of memory. Each byte of a record is copied once, into the group.
 *
 * The state between two bytes is a few small numbers. The tags are known, so of an incomplete tag only its number and
 * length are kept, and its text is written once it proves to be <page>. So restarting in the middle of a page or tag
 * needs five numbers. */
#include "pipeline/dump/cutter.h"

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

void cutter_init(struct cutter *cutter, const struct dump_options *options, enum source_kind kind, bool bom)
{
    *cutter = (struct cutter){.kind = kind,
                              .blank_lines = kind == SOURCE_JSONL ? 0 : options->blank_lines,
                              .group_bytes_max = options->group_bytes_max,
                              .page_bytes_max = options->page_bytes_max,
                              .match = bom && kind != SOURCE_WIKI ? 3 : 0,
                              .group = {.file = options->file, .kind = kind}};
}

void cutter_release(struct cutter *cutter)
{
    group_release(&cutter->group);
}

/* ---------------------------------------------------------------------------------------------------- groups */

static void group_take_gaps(struct cutter *cutter)
{
    cutter->group.gaps += cutter->gaps;
    cutter->group.gap_bytes += cutter->gap_bytes;
    cutter->gaps = cutter->gap_bytes = 0;
}

/* Begins the group of this window; or a further part of the previous window's group, for a tag that began there and
 * ended here. */
static void group_begin(struct cutter *cutter, uint32_t window)
{
    assert(!cutter->begun && (window == cutter->window || window == cutter->part_window));
    if (cutter->part_window != window)
        cutter->next_part = 0;
    if (window == cutter->window)
        cutter->group_entry = cutter->entry;
    cutter->part_window = window;
    cutter->group.window = window;
    cutter->group.part = cutter->next_part;
    cutter->begun = true;
    if (window == cutter->window)
        group_take_gaps(cutter);
}

/* Gives out the complete group by swapping memory. False if it is empty, or was given before a restart. */
static bool group_hand_out(struct cutter *cutter, struct group *out)
{
    struct group *group = &cutter->group;
    bool empty = group->record_count == 0 && group->oversize == 0 && group->gaps == 0 && group->cut == 0;
    bool again = group->window == cutter->resume_window && group->part < cutter->resume_part;
    assert(cutter->begun);
    cutter->begun = false;
    if (!empty)
        cutter->next_part = group->part + 1;
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
static bool record_begin(struct cutter *cutter, uint32_t window, uint64_t before, struct group *out)
{
    struct group *group = &cutter->group;
    bool full = false;
    cutter->open = true;
    cutter->record_at = cutter->text_at == RECORD_NOWHERE ? RECORD_NOWHERE : cutter->text_at + before;
    assert(!cutter->skip && (window <= cutter->window || window == WINDOW_PAST));
    cutter->skip = window == WINDOW_PAST;
    if (cutter->skip)
        return false;
    if (cutter->begun && (group->window != window || group->text.size > cutter->group_bytes_max))
        full = group_hand_out(cutter, out);
    if (!cutter->begun)
        group_begin(cutter, window);
    cutter->record_from = group->text.size;
    return full;
}

static void record_add(struct cutter *cutter, struct str text)
{
    struct group *group = &cutter->group;
    if (cutter->skip)
        return;
    assert(cutter->open && cutter->begun && cutter->record_from <= group->text.size);
    if (group->text.size - cutter->record_from + text.size > cutter->page_bytes_max) {
        group->text.size = cutter->record_from;
        if (group->oversize++ == 0)
            group->oversize_at = cutter->record_at;
        cutter->skip = true;
        return;
    }
    buf_add_str(&group->text, text);
}

/* Ends the record; its last `less` bytes do not belong to it. */
static void record_end(struct cutter *cutter, size_t less)
{
    struct group *group = &cutter->group;
    assert(cutter->open);
    if (!cutter->skip) {
        assert(cutter->record_from + less <= group->text.size);
        if (group->record_count == group->record_capacity) {
            group->record_capacity = group->record_capacity ? 2 * group->record_capacity : 64;
            group->records = mem_grow(group->records, group->record_capacity, sizeof(*group->records));
        }
        group->text.size -= less;
        group->records[group->record_count++] =
            (struct record){cutter->record_from, group->text.size - cutter->record_from, cutter->record_at};
    }
    cutter->open = cutter->skip = false;
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

static size_t feed_wiki(struct cutter *cutter, struct str text, struct group *out, bool *full)
{
    size_t at = 0, from = 0; /* text[from, at) belongs to the open record and is not added yet */
    while (at < text.size) {
        if (cutter->match == 0) {
            const char *tag = memchr(text.data + at, '<', text.size - at);
            at = tag ? (size_t)(tag - text.data) : text.size;
            if (!tag)
                break;
        }
        char byte = text.data[at++];
        if (byte == '<')
            cutter->tag_window = cutter->window;
        enum tag tag = tag_step(&cutter->match, byte);
        if (tag == TAG_NONE)
            continue;
        uint32_t window = cutter->tag_window;
        if (cutter->guessed && tag != TAG_WIKI) {
            cutter->guessed = false;
            cutter->doubt = tag == TAG_PAGE && window != cutter->window;
        }
        if (cutter->open && tag != TAG_WIKI) { /* </page>, or a tag that cannot be inside a page */
            record_add(cutter, str_range(text.data + from, text.data + at));
            record_end(cutter, tag == TAG_PAGE_END ? 0 : strlen(tags[tag]));
            window = cutter->window; /* until now it was the window of another group */
        }
        if (tag == TAG_WIKI || tag == TAG_WIKI_END) {
            cutter->closed = tag == TAG_WIKI_END;
            cutter->closed_in = cutter->tag_window;
        }
        if (tag == TAG_PAGE) {
            from = at;
            *full = record_begin(cutter, window, at - strlen(tags[TAG_PAGE]), out);
            record_add(cutter, str_of(tags[TAG_PAGE]));
            if (*full)
                return at;
        }
    }
    if (cutter->open)
        record_add(cutter, str_range(text.data + from, text.data + at));
    return at;
}

/* ------------------------------------------------------------------------------------------- text and JSONL */

#define BLANK_LINE (1u << 16) /* cutter.match counts the blank lines before an open document's line in units of this */

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
static void lines_end(struct cutter *cutter)
{
    struct buf *text = &cutter->group.text;
    const size_t from = cutter->record_from, size = cutter->skip ? 0 : text->size - from;
    const size_t kept = cutter->skip ? 0 : without_blank_end((struct str){text->data + from, size}).size;
    cutter->match = 0;
    if (cutter->skip || kept > 0) {
        record_end(cutter, size - kept);
        return;
    }
    text->size = from;
    cutter->open = false;
}

static size_t feed_lines(struct cutter *cutter, struct str text, struct group *out, bool *full)
{
    const char *at = text.data, *end = text.data + text.size, *from = at;
    while (at < end) {
        if (!cutter->open) {
            if (cutter->match > 0) {
                cutter->match--;
                at++;
                continue;
            }
            at += blanks_at(at, end);
            if (at == end)
                break;
            from = at;
            *full = record_begin(cutter, cutter->window, (uint64_t)(at - text.data), out);
            cutter->match = BLANK_SO_FAR;
            if (*full)
                return (size_t)(at - text.data);
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const unsigned state = utf8_blank(cutter->match % BLANK_LINE, str_range(at, newline ? newline : end));
        unsigned blank_lines = cutter->match / BLANK_LINE;
        at = newline ? newline + 1 : end;
        cutter->match = state + blank_lines * BLANK_LINE;
        if (!newline)
            break;
        blank_lines = state == BLANK_SO_FAR ? blank_lines + 1 : 0;
        if (cutter->blank_lines == 0 || blank_lines == cutter->blank_lines) {
            record_add(cutter, str_range(from, at));
            lines_end(cutter);
        } else {
            cutter->match = BLANK_SO_FAR + (cutter->blank_lines == WHOLE_FILE ? 0 : blank_lines * BLANK_LINE);
        }
    }
    if (cutter->open)
        record_add(cutter, str_range(from, at));
    return text.size;
}

/* ---------------------------------------------------------------------------------------------------- windows */

void cutter_enter(struct cutter *cutter, uint32_t window, const struct dump_state *entry)
{
    assert(window >= cutter->window);
    cutter->window = window;
    cutter->entry = *entry;
}

size_t cutter_feed(struct cutter *cutter, struct str text, uint64_t at, struct group *out, bool *full)
{
    cutter->text_at = at;
    *full = false;
    return cutter->kind == SOURCE_WIKI ? feed_wiki(cutter, text, out, full) : feed_lines(cutter, text, out, full);
}

bool cutter_leave(struct cutter *cutter, struct group *out)
{
    bool full = false;
    bool half =
        cutter->kind == SOURCE_WIKI && cutter->match; /* the tag may become a page of the window where it began */
    if (cutter->open)
        return false;
    if (cutter->begun && !(half && cutter->group.window == cutter->tag_window))
        full = group_hand_out(cutter, out);
    if (!cutter->begun && half && cutter->tag_window == cutter->window) {
        group_begin(cutter, cutter->window);
    } else if (!full && cutter->gaps) { /* the only event of this window was a gap */
        group_begin(cutter, cutter->window);
        full = group_hand_out(cutter, out);
    }
    return full;
}

void cutter_gap(struct cutter *cutter, uint64_t gap_bytes, bool end)
{
    struct group *group = &cutter->group;
    if (cutter->open && !cutter->skip) {
        group->text.size = cutter->record_from;
        if (group->cut++ == 0)
            group->cut_at = cutter->record_at;
    }
    /* For lines: text after a gap starts inside a record, so skip to its end. */
    cutter->open = cutter->skip = cutter->kind != SOURCE_WIKI;
    cutter->match = 0;
    cutter->closed = end;
    cutter->closed_in = cutter->window;
    cutter->gaps++;
    cutter->gap_bytes += gap_bytes;
    if (!cutter->begun)
        group_begin(cutter, cutter->window);
    else if (group->window == cutter->window || end)
        group_take_gaps(cutter);
}

bool cutter_settled(const struct cutter *cutter, uint64_t window)
{
    const bool half = cutter->kind == SOURCE_WIKI && cutter->match;
    if (cutter->begun && cutter->group.window < window)
        return false;
    return !half || (cutter->tag_window != WINDOW_PAST && cutter->tag_window >= window);
}

bool cutter_closed(const struct cutter *cutter, uint64_t window)
{
    return cutter->closed && (cutter->closed_in == WINDOW_PAST || cutter->closed_in < window);
}

bool cutter_complete(const struct cutter *cutter)
{
    return cutter->kind != SOURCE_WIKI || (!cutter->open && cutter->closed);
}

int cutter_end(struct cutter *cutter, const char *name, uint64_t end, struct group *out, struct error *err)
{
    if (name && !cutter_complete(cutter)) {
        fail_at(err, ERR_INPUT, name, end, "the dump is truncated: it ends %s",
                cutter->open ? "inside a <page>" : "without </mediawiki>");
        return hint(err, "compare its size and checksum with those published beside it, and download it again");
    }
    if (cutter->open)
        lines_end(cutter);
    if (cutter->begun) {
        group_take_gaps(cutter); /* if a gap cut off a line that lasted to the end of the input */
        group_hand_out(cutter, out);
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

void cutter_peek(struct cutter *cutter, struct str text, bool first, bool last, struct group *out)
{
    bool full = false;
    group_reset(out);
    const bool takes_parts = cutter->kind == SOURCE_TEXT && cutter->blank_lines > 1;
    if (takes_parts)
        text = complete_lines(text, first, last);
    else /* skip the end of another window's record */
        cutter->open = cutter->skip = !first && cutter->kind != SOURCE_WIKI;
    cutter_enter(cutter, 0, &(struct dump_state){0});
    cutter_feed(cutter, text, RECORD_NOWHERE, out, &full);
    if (full)
        return;
    if (cutter->open && (last || takes_parts) && cutter->kind != SOURCE_WIKI)
        lines_end(cutter);
    if (cutter->begun)
        group_hand_out(cutter, out);
}

/* --------------------------------------------------------------------------------------------------- restart */

void cutter_state(const struct cutter *cutter, struct dump_state *state)
{
    state->open = cutter->open;
    state->match = cutter->match;
    state->closed = cutter->closed;
    state->head.guessed = cutter->guessed;
    state->head.doubt = cutter->doubt;
}

static bool match_is_possible(const struct cutter *cutter, const struct dump_state *state)
{
    if (cutter->kind != SOURCE_WIKI)
        return cutter->open ? state->match / BLANK_LINE <= cutter->blank_lines : state->match < 4;
    if (state->match == 0)
        return true;
    unsigned tag = state->match / 16, seen = state->match % 16;
    return tag < TAG_NONE && seen >= 1 && seen < strlen(tags[tag]);
}

int cutter_restore(struct cutter *cutter, const struct dump_state *state)
{
    cutter->open = cutter->skip = state->open; /* of a group that was given before */
    if (!match_is_possible(cutter, state))
        return -1;
    if (state->next_window > 0) /* at the beginning `match` counts the bytes of a byte order mark, whatever the state
                                 * says */
        cutter->match = state->match;
    cutter->closed = state->closed;
    cutter->closed_in = WINDOW_PAST;
    cutter->guessed = state->head.guessed;
    cutter->doubt = state->head.doubt;
    cutter->tag_window = WINDOW_PAST;
    cutter->resume_window = state->next_window;
    cutter->resume_part = state->next_part;
    return 0;
}
