/* The first of the two passes over a page: finds which brackets belong together. It turns wikitext into its constructs
 * as spans, sorted by their starts; two spans are either nested or disjoint. So the second pass (wikitext.c) knows
 * where any construct ends without searching for it.
 *
 *     He {{lang|fr|[[Paris|''lit'' ]]}}<ref>{{cite}}</ref> slept.        SPAN_TEMPLATE ⊃ SPAN_LINK, then SPAN_TAG
 *        └─────────┴────────────┘─────┘└─────────────────┘
 *
 * As in MediaWiki's preprocessor, there is a stack of openings, and a closing takes the nearest opening of its kind.
 * What is never closed is text, and costs nothing: no byte is read again because of it. Where broken markup makes
 * MediaWiki swallow a page, we stop earlier: an unclosed table or <ref> ends at the next heading (a <ref> in a
 * template, link or table with the argument or cell), an unclosed comment at the next blank line. */
#pragma once

#include "base/str.h"
#include "pipeline/text/markup/signs.h"
#include "pipeline/text/words/magic_words.h"

#include <stdbool.h>
#include <stdint.h>

#define SPAN_DEPTH_MAX 4096u      /* open brackets at once; beyond, brackets are text */
#define SPAN_COUNT_MAX (1u << 20) /* per page; beyond, its markup is text */

enum span_kind {
    SPAN_NONE,
    SPAN_COMMENT,
    SPAN_TAG,      /* a tag whose content we do not read as wikitext; `tag` says which */
    SPAN_TEMPLATE, /* {{…}} */
    SPAN_ARGUMENT, /* {{{…}}} */
    SPAN_LINK,     /* [[…]] */
    SPAN_TABLE,    /* {|…|} and <table>…</table> */
    SPAN_MAGIC,    /* __WORD__, ＿＿word＿＿ */
    SPAN_VARIANT,  /* -{…}- */
};

/* Positions in the page's text. */
struct span {
    uint32_t start, end;
    uint32_t inner_start, inner_end; /* between the brackets or tags */
    uint32_t next;                   /* index of the first span that starts at or after `end` */
    uint16_t kind, tag; /* tag: of SPAN_TAG; of SPAN_LINK, 1 where a bracket too many opens it: "[[[a]]]" is text; of
                         * SPAN_TABLE, 1 where nothing closes it */
};

struct opening;

/* Scratch of one thread; a zeroed one is ready to use. */
struct spans {
    struct span *items;
    size_t count, capacity;
    struct opening *stack;
    size_t depth, depth_capacity;
    uint32_t *headings; /* the line ends before headings */
    size_t heading_count, heading_capacity;
    struct signs signs; /* bytes at which a construct may begin or end */
    uint64_t steps;     /* bytes examined, to prove that the work is linear */
    bool is_strict;     /* in an open [[ a }} is text, as in MediaWiki; else the }} counts, and the [[ is text */
};

/* Replaces the spans by those of `text` (at most 2 GiB). `has_variants`: -{ is markup. */
void spans_find(struct spans *spans, const struct magic *magic, bool has_variants, struct str text);
void spans_release(struct spans *spans);

/* Moves *index forward to the first span that starts at or after `at`, and returns that span if it starts at `at`, else
 * NULL. */
static inline const struct span *spans_at(const struct spans *spans, uint32_t *index, uint32_t at)
{
    while (*index < spans->count && spans->items[*index].start < at)
        ++*index;
    return *index < spans->count && spans->items[*index].start == at ? &spans->items[*index] : NULL;
}

static inline struct str span_inner(struct str page, const struct span *span)
{
    return str_part(page, span->inner_start, span->inner_end);
}

/* True if a {| table has a line of text before its first cell or after a |-. */
bool span_table_has_text(struct str page, const struct span *span);

/* Reads the part of a span outside its inner spans, from left to right: finds the bars of a link or template without
 * reading the contents of its arguments. */
struct span_walk {
    const struct spans *spans;
    struct str page;
    uint32_t at, end;  /* the next byte; the end of the inside */
    uint32_t bar_end;  /* end of the bar at which it stopped */
    bool takes_bars;   /* {{!}} counts as a bar: in links it does, because templates are expanded before links */
    uint32_t child;    /* the first span at or after `at` */
    bool has_line_end; /* it passed one */
    uint64_t steps;
};
struct span_walk span_walk(struct str page, const struct spans *spans, uint32_t index);
/* Advances to the next '|', or to the end; true if it stopped at a '|'. *equals: the first '=' so far, or `at`. */
bool span_walk_to_bar(struct span_walk *walk, uint32_t *equals);
