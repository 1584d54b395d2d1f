/* The bodies of templates, made ready for expansion: their spans, and the pieces of every call and argument in them. A
 * body is read when it is first called, once for all threads, as long as BODY_CACHE_BYTES_MAX has room. */
#pragma once

#include "pipeline/text/markup/spans.h"

#include <stdatomic.h>

#define BODY_CACHE_BYTES_MAX (64u << 20)

struct rendering_row;
struct templates;

/* Name or argument of a call: text[from, to). */
struct call_piece {
    uint32_t from, to;
    uint32_t equals; /* the first '=' outside spans; `to` if there is none */
    uint32_t child;  /* the first span in it, or after it */
};

/* Appends the pieces of the call spans->items[index] to *pieces, an array in bytes; their number. Adds the bytes that
 * were read to *steps. */
size_t call_read_pieces(struct str text, const struct spans *spans, uint32_t index, struct buf *pieces,
                        uint64_t *steps);

/* What is known of a call in a body, whatever its arguments are. */
struct body_call {
    uint32_t first, count; /* of pieces; none where the span is neither a call nor an argument */
    uint32_t row;          /* 1 + the number of the template with a body that it calls; 0: that is to be found out */
    uint32_t function;     /* 1 + enum choice, likewise */
};

struct body {
    struct spans spans;
    const struct body_call *calls; /* [spans.count] */
    const struct call_piece *pieces;
};

struct body_cache;
struct body_cache *body_cache_open(size_t rows);
void body_cache_close(struct body_cache *cache);

/* Scratch of one thread; a zeroed one is ready to use. */
struct body_scratch {
    struct spans spans;
    struct buf calls, pieces;
};
void body_scratch_release(struct body_scratch *scratch);

/* The body of a RENDERING_WIKITEXT. *own: it belongs to the caller, who frees it with mem_free, because the cache is
 * full. What it is does not depend on that. */
const struct body *body_get(const struct templates *templates, const struct rendering_row *row,
                            const struct magic *magic, struct body_scratch *scratch, bool *own);
