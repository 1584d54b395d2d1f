/* How long a step will take: measured before the first one, on what this machine does with these samples. */
#ifndef TRAINER_ESTIMATE_H
#define TRAINER_ESTIMATE_H

#include "base/error.h"
#include "trainer/engine.h"

struct estimate {
    double flops;       /* of a sequence of the mean length, forward and backward */
    double mean_length; /* tokens */
    double products;    /* FLOP/s of the largest product of a layer alone */
    double passes;      /* FLOP/s of forward and backward passes as they are; 0: not measured */
    double update;      /* seconds of an update */
    double step;        /* seconds of a step: passes, or products alone, and the update */
    double held;        /* share of the time for which other programs kept a thread from a core meanwhile; a GPU: 0 */
};

/* Products are measured for `seconds`. `model` lends its memory to passes over the source's first samples, one to warm
 * up and one or two measured; its gradients are lost, its parameters stay. It may have fewer layers than the recipe's.
 * NULL: products alone. Fails where a sample cannot be fetched. */
int estimate_make(struct engine *engine, const struct source *source, struct model *model, double seconds,
                  struct estimate *estimate, struct error *err);

#endif
