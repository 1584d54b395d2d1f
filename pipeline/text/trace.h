/* What the walk did with a page, from its first byte to its last: for extract --explain. It costs nothing unless it is
 * requested (struct wikitext_options). Bytes that tidying removed from a paragraph are not located: they stay FATE_KEPT
 * here, unless nothing is left of the paragraph. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/page_parts.h"

#include <stdbool.h>

struct trace_step {
    uint32_t from, to; /* bytes of the page; empty if a rendering added something */
    enum fate fate;
    bool is_shown_otherwise;     /* kept, but the text has this instead: */
    bool is_settled;             /* its fate is not that of its paragraph */
    size_t shown_at, shown_size; /* in trace.shown */
};

/* A zeroed one is ready to use. */
struct trace {
    struct trace_step *steps; /* from left to right, without gaps */
    size_t count, capacity;
    size_t paragraph; /* the first step of the open paragraph */
    struct buf shown;
};

void trace_reset(struct trace *trace);
void trace_release(struct trace *trace);

/* For the walk. */
void trace_bytes(struct trace *trace, uint32_t from, uint32_t to, enum fate fate);
void trace_shown(struct trace *trace, uint32_t from, uint32_t to, struct str shown);
void trace_caption_end(struct trace *trace, uint32_t from, enum fate fate); /* of what was kept from `from` on */
void trace_paragraph_end(struct trace *trace, enum fate fate);              /* of what was kept since the last call */
