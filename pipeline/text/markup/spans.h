/* First of the two passes over a page: which brackets belong together. Comes in: wikitext. Goes out: its constructs as
 * spans, sorted by where they start; each lies in another or beside it. The second pass (wikitext.c) then knows where
 * any construct ends without looking for it.
 *
 *     He {{lang|fr|[[Paris|''lit'' ]]}}<ref>{{cite}}</ref> slept.        SPAN_TEMPLATE ⊃ SPAN_LINK, then SPAN_TAG
 *        └─────────┴────────────┘─────┘└─────────────────┘
 *
 * As in MediaWiki's preprocessor: a stack of openings, and a closing takes the nearest opening of its kind. What never
 * closes is text, and costs nothing: no byte is read again for it. Where MediaWiki lets broken markup swallow a page we
 * stop earlier: an unclosed table or <ref> ends at the next heading, an unclosed comment at the next blank line. */
#ifndef PIPELINE_TEXT_MARKUP_SPANS_H
#define PIPELINE_TEXT_MARKUP_SPANS_H

#include "base/str.h"
#include "pipeline/text/markup/signs.h"
#include "pipeline/text/words/languages.h"

#include <stdbool.h>
#include <stdint.h>

#define SPAN_DEPTH_MAX 4096u      /* openings waiting for their end; beyond, brackets are text */
#define SPAN_COUNT_MAX (1u << 20) /* of a page; beyond, its markup is text */

enum span_kind {
    SPAN_NONE,
    SPAN_COMMENT,
    SPAN_TAG,      /* a tag whose content is no wikitext to us; `tag` says which */
    SPAN_TEMPLATE, /* {{…}} */
    SPAN_ARGUMENT, /* {{{…}}} */
    SPAN_LINK,     /* [[…]] */
    SPAN_TABLE,    /* {|…|} and <table>…</table> */
    SPAN_MAGIC,    /* __WORD__ */
    SPAN_VARIANT,  /* -{…}- */
};

/* Positions in the page's text. */
struct span {
    uint32_t start, end;
    uint32_t inner_start, inner_end; /* between the brackets or tags */
    uint32_t next;                   /* index of the first span that starts at or after `end` */
    uint16_t kind, tag; /* tag: of SPAN_TAG; of SPAN_LINK, 1 where a bracket too many opens it: "[[[a]]]" is text */
};

struct opening;

/* Scratch of one thread; a zeroed one is ready to use. */
struct spans {
    struct span *items;
    size_t count, capacity;
    struct opening *stack;
    size_t depth, depth_capacity;
    uint32_t *headings; /* the line ends before them */
    size_t heading_count, heading_capacity;
    struct signs signs; /* where a construct may begin or end */
    uint64_t steps;     /* bytes looked at, for the proof that the work is linear */
};

/* Replaces the spans by those of `text` (at most 2 GiB). `has_variants`: -{ is markup. */
void spans_find(struct spans *spans, const struct language *language, bool has_variants, struct str text);
void spans_release(struct spans *spans);

/* Reads what of a span lies in none of its inner spans, from left to right: how a link or a template finds its bars
 * without reading what its arguments hold. */
struct span_walk {
    const struct spans *spans;
    struct str page;
    uint32_t at, end;  /* the next byte, the end of the inside */
    uint32_t bar_end;  /* of the bar at which it stopped */
    bool takes_bars;   /* {{!}} is a bar: in links it is, for templates are expanded before them */
    uint32_t child;    /* the first span at or after `at` */
    bool has_line_end; /* one went by */
    uint64_t steps;
};
struct span_walk span_walk(struct str page, const struct spans *spans, uint32_t index);
/* Goes on to the next '|', or to the end; true where it stopped at a '|'. *equals: the first '=' so far, or `at`. */
bool span_walk_to_bar(struct span_walk *walk, uint32_t *equals);

#endif
