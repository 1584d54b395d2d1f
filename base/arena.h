/* Memory that lives as long as one job: allocated piece by piece, released all at once. A struct arena belongs to one
 * thread at a time. arena_reset keeps the chunks, so a job in the steady state allocates nothing. Under the address
 * sanitizer the memory is poisoned, so a pointer that outlives its job is caught. */
#pragma once

#include "base/str.h"

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *first;   /* kept chunks, in the order they were made */
    struct arena_chunk *current; /* the one that is being filled */
    size_t used;                 /* bytes of current */
};

/* A zeroed struct arena is ready to use. */
void *arena_alloc(struct arena *arena, size_t bytes);               /* 16-byte aligned, not cleared */
void *arena_array(struct arena *arena, size_t count, size_t bytes); /* dies where count * bytes overflows */
struct str arena_copy(struct arena *arena, struct str text);        /* copy, with a NUL after it */
void arena_reset(struct arena *arena);                              /* frees all pieces, keeps the memory */
void arena_release(struct arena *arena);                            /* frees all memory; the arena is ready to use
                                                                     * again */
size_t arena_bytes(const struct arena *arena);                      /* memory held */
