/* A backend around another one, to measure or check its ops. It has computing ops of its own, which call the inner ones
 * and are made by one macro over OPS_COMPUTING (see timings.c); all other calls are forwarded.
 *
 *     struct timings {
 *         struct decorator decorator;     first
 *         …
 *     };
 *     timings = mem_clear(1, sizeof *timings);
 *     decorator_init(&timings->decorator, ops);
 *     timings->decorator.ops.linear = timed_linear; …
 */
#ifndef TRAINER_BACKEND_DECORATOR_H
#define TRAINER_BACKEND_DECORATOR_H

#include "trainer/backend/ops.h"

struct decorator {
    struct ops ops;    /* first: what the caller holds; its device is the decorator */
    struct ops *inner; /* the backend that computes */
};

/* Takes ownership of `inner`: closing the decorator's ops closes it too and frees the decorator, which must come from
 * mem_clear. The computing ops are left NULL. */
void decorator_init(struct decorator *decorator, struct ops *inner);
/* Frees only the decorator and returns the inner ops. */
struct ops *decorator_end(struct ops *ops);

static inline const struct ops *decorator_inner(struct device *device)
{
    return ((struct decorator *)device)->inner;
}

#endif
