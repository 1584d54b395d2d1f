/* The account of windows, groups and restarts, whatever a record is. Each byte of a record is copied once, into the
 * group, so that a cut which skips with memchr runs at the speed of memory. */
#include "pipeline/dump/cutter.h"

#include "base/mem.h"
#include "pipeline/dump/record_format.h"

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

void cutter_init(struct cutter *cutter, const struct dump_options *options, const struct record_format *format,
                 bool bom)
{
    *cutter = (struct cutter){.cut = format->cut,
                              .blank_lines = format->plain ? options->blank_lines : 0,
                              .group_bytes_max = options->group_bytes_max,
                              .page_bytes_max = options->page_bytes_max,
                              .match = bom && !format->cut->marked ? 3 : 0,
                              .group = {.file = options->file}};
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
    }
    group_reset(group);
    return !empty && !again;
}

/* --------------------------------------------------------------------------------------------------- records */

bool record_begin(struct cutter *cutter, uint32_t window, uint64_t before, struct group *out)
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

void record_add(struct cutter *cutter, struct str text)
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

void record_end(struct cutter *cutter, size_t less)
{
    struct group *group = &cutter->group;
    assert(cutter->open);
    if (!cutter->skip) {
        assert(cutter->record_from + less <= group->text.size);
        group->records =
            mem_room(group->records, group->record_count + 1, &group->record_capacity, sizeof(*group->records));
        group->text.size -= less;
        group->records[group->record_count++] =
            (struct record){cutter->record_from, group->text.size - cutter->record_from, cutter->record_at};
    }
    cutter->open = cutter->skip = false;
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
    const size_t taken = cutter->cut->feed(cutter, text, out, full);
    assert(taken <= text.size && (taken == text.size || *full)); /* only a full group stops it */
    return taken;
}

/* A mark that began here may begin a record of the window where it began. */
static bool is_half(const struct cutter *cutter)
{
    return cutter->cut->half && cutter->cut->half(cutter);
}

bool cutter_leave(struct cutter *cutter, struct group *out)
{
    bool full = false;
    const bool half = is_half(cutter);
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
    cutter->open = cutter->skip = !cutter->cut->marked; /* what follows the gap is taken for the end of a record */
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
    const bool half = is_half(cutter);
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
    return !cutter->cut->missing_end || !cutter->cut->missing_end(cutter);
}

int cutter_end(struct cutter *cutter, const char *name, uint64_t end, struct group *out, struct error *err)
{
    if (name && !cutter_complete(cutter)) {
        fail_at(err, ERR_INPUT, name, end, "the dump is truncated: it ends %s", cutter->cut->missing_end(cutter));
        return hint(err, "compare its size and checksum with those published beside it, and download it again");
    }
    if (cutter->open)
        cutter->cut->end(cutter);
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
    const bool takes_parts = cutter->blank_lines > 1;
    if (takes_parts)
        text = complete_lines(text, first, last);
    else /* skip the end of another window's record */
        cutter->open = cutter->skip = !first && !cutter->cut->marked;
    cutter_enter(cutter, 0, &(struct dump_state){0});
    cutter_feed(cutter, text, RECORD_NOWHERE, out, &full);
    if (full)
        return;
    if (cutter->open && (last || takes_parts) && cutter->cut->end)
        cutter->cut->end(cutter);
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

int cutter_restore(struct cutter *cutter, const struct dump_state *state)
{
    cutter->open = cutter->skip = state->open; /* of a group that was given before */
    if (!cutter->cut->is_match(cutter, state))
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
