/* A backend around another: what measures its ops, checks them or sends their results about. The computing ops are its
 * own, each with a call of the inner one, made for all of them by one macro over OPS_COMPUTING (see timings.c);
 * everything else is handed on.
 *
 *     struct timings {
 *         struct decorator decorator;     first
 *         …
 *     };
 *     timings = mem_clear(1, sizeof *timings);
 *     decorator_init(&timings->decorator, ops);
 *     timings->decorator.ops.linear = timed_linear; …
 */
#ifndef TRAINER_DECORATOR_H
#define TRAINER_DECORATOR_H

#include "trainer/ops.h"

struct decorator {
    struct ops ops;    /* first: what the caller holds; its device is the decorator */
    struct ops *inner; /* who computes */
};

/* Takes over `inner`: closing the decorator's ops closes it too and frees the decorator, which mem_clear made. The
 * computing ops are left NULL. */
void decorator_init(struct decorator *decorator, struct ops *inner);
/* Frees the decorator alone, and gives back the ops it is around. */
struct ops *decorator_end(struct ops *ops);

static inline const struct ops *decorator_inner(struct device *device)
{
    return ((struct decorator *)device)->inner;
}

#endif
