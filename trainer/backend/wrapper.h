/* A backend around another one, to measure or check its ops. It has computing ops of its own, which call the inner ones
 * and are made by one macro over OPS_COMPUTING (see timings.c); all other calls are forwarded.
 *
 *     struct timings {
 *         struct wrapper wrapper;     first
 *         …
 *     };
 *     timings = mem_clear(1, sizeof *timings);
 *     wrapper_init(&timings->wrapper, ops);
 *     timings->wrapper.ops.linear = timed_linear; …
 */
#pragma once

#include "trainer/backend/ops.h"

struct wrapper {
    struct ops ops;    /* first: what the caller holds; its device is the wrapper */
    struct ops *inner; /* the backend that computes */
};

/* Takes ownership of `inner`: closing the wrapper's ops closes it too and frees the wrapper, which must come from
 * mem_clear. The computing ops are left NULL. */
void wrapper_init(struct wrapper *wrapper, struct ops *inner);
/* Frees only the wrapper and returns the inner ops. */
struct ops *wrapper_end(struct ops *ops);

static inline const struct ops *wrapper_inner(struct device *device)
{
    return ((struct wrapper *)device)->inner;
}
