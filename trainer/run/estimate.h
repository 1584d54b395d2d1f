/* Estimates how long a step will take, from measurements on this machine with the run's samples. */
#pragma once

#include "trainer/run/engine.h"

struct estimate {
    double flops;       /* of a sequence of the mean length, forward and backward */
    double mean_length; /* tokens */
    double products;    /* FLOP/s of the largest product of a layer on its own */
    double passes;      /* FLOP/s of whole forward and backward passes; 0: not measured */
    double update;      /* seconds of an update */
    double step;        /* seconds of a step: passes at the rate of `passes`, else of `products`, and the update */
    double held;        /* share of the time in which other programs kept threads from a core; 0 on a GPU */
};

/* Measures products for `seconds`, then passes of `model` over the source's first samples: one to warm up and one to
 * ten measured. The model's gradients are lost, its parameters are unchanged; it may have fewer layers than the
 * recipe's. NULL: measures only products. Fails if a sample cannot be fetched. */
int estimate_make(struct engine *engine, const struct source *source, struct model *model, double seconds,
                  struct estimate *estimate, struct error *err);
/* The same with a model that has at most ESTIMATE_LAYERS of the recipe's layers and all weights zero: a layer takes as
 * long with any weights and in any number. */
#define ESTIMATE_LAYERS 2
int estimate_make_short(struct engine *engine, const struct source *source, double seconds, struct estimate *estimate,
                        struct error *err);
