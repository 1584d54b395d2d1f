/* Loss spikes: steps whose loss is far above those of the steps before them, in standard deviations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    SPIKES_WINDOW = 128, /* losses that a new one is compared with */
    SPIKES_LEAST = 32,   /* with fewer losses before it, no step is a spike */
};
#define SPIKES_DEVIATIONS 6.0

/* Zeroed before the first loss. */
struct spikes {
    double losses[SPIKES_WINDOW];
    uint64_t seen;
    uint64_t count; /* spikes so far */
    double largest; /* deviations of the largest spike */
    uint64_t largest_step;
};

/* Adds the loss of a step and returns whether it is a spike. *mean is that of the losses before it, *deviations its
 * distance from them; both are NAN if there are too few. A loss that is not finite is ignored. */
bool spikes_add(struct spikes *spikes, uint64_t step, double loss, double *mean, double *deviations);
