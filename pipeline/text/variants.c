/* The second pass: -{…}-, which offers the spellings of several scripts and countries. */
#include "pipeline/text/walk.h"

#include <limits.h>

#define SPELLINGS 9u

/* The language of the spelling "zh-tw:" that begins at `at`, the better the lower; *behind: its text. */
static unsigned read_spelling(const struct wikitext *w, uint32_t at, uint32_t end, uint32_t *behind)
{
    static const char *const spellings[SPELLINGS] = {
        "zh-hans:", "zh-cn:", "zh-sg:", "zh-my:", "zh-hant:", "zh-tw:", "zh-hk:", "zh-mo:", "zh:"};
    while (at < end && (w->text.data[at] == ' ' || w->text.data[at] == '\n'))
        at++;
    unsigned rank = 0;
    while (rank < SPELLINGS && !str_starts(str_range(w->text.data + at, w->text.data + end), str_of(spellings[rank])))
        rank++;
    *behind = rank < SPELLINGS ? at + (uint32_t)strlen(spellings[rank]) : at;
    return rank < SPELLINGS ? rank : UINT_MAX;
}

/* Of "zh-hans:…; zh-hant:…" in [*from, *end) the text of the best spelling; all of it where none is named. */
static void choose_spelling(struct wikitext *w, uint32_t *from, uint32_t *end)
{
    const struct spans *spans = &w->spans;
    const uint32_t limit = *end;
    uint32_t child = w->span + 1, at = *from;
    unsigned best = UINT_MAX;
    bool is_best = false; /* the spelling that goes on */
    for (uint32_t semicolon = at;;) {
        uint32_t behind;
        const unsigned rank = read_spelling(w, at, limit, &behind);
        if (is_best && (rank != UINT_MAX || behind == limit))
            *end = semicolon;
        if (rank != UINT_MAX)
            is_best = rank < best;
        if (rank < best) {
            best = rank;
            *from = behind;
            *end = limit;
        }
        for (at = behind; at < limit && w->text.data[at] != ';'; w->facts->steps++) {
            while (child < spans->count && spans->items[child].start < at)
                child++;
            const bool inside = child < spans->count && spans->items[child].start == at;
            at = inside ? spans->items[child].end : at + 1;
            child = inside ? spans->items[child].next : child;
        }
        w->facts->steps += SPELLINGS;
        if (at >= limit)
            return;
        semicolon = at++;
    }
}

/* What flags stand before the bar of -{A|…}-? */
static bool are_flags(struct str flags)
{
    for (size_t i = 0; i < flags.size; i++)
        if (!strchr("-; ", flags.data[i]) && ((flags.data[i] | 0x20) < 'a' || (flags.data[i] | 0x20) > 'z'))
            return false;
    return true;
}

/* -{…}-: a choice of spellings. H, T and - show nothing; other flags change other places of the page. */
void construct_read_variant(struct wikitext *w, const struct span *span)
{
    struct span_walk walk = span_walk(w->text, &w->spans, w->span);
    uint32_t equals, from = span->inner_start, end = span->inner_end;
    const bool has_bar = span_walk_to_bar(&walk, &equals);
    const struct str flags = str_range(w->text.data + from, w->text.data + walk.at);
    w->facts->steps += 2 * walk.steps;
    if (has_bar && are_flags(flags)) {
        from = walk.at + 1;
        for (size_t i = 0; i < flags.size; i++) {
            if (!strchr("HT-", flags.data[i]) || (flags.data[i] == '-' && flags.size > 1))
                continue;
            walk_skip(w, span->end, FATE_VARIANT);
            walk_gap(w);
            return;
        }
    }
    choose_spelling(w, &from, &end);
    walk_open_paragraph(w);
    walk_skip(w, from, FATE_VARIANT);
    walk_push(w, FRAME_INLINE, end, span->end, FATE_VARIANT);
}
