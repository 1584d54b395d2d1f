/* Loss spikes: a step whose loss lies far above those of the steps before it, in standard deviations of them. */
#ifndef TRAINER_SPIKES_H
#define TRAINER_SPIKES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SPIKES_WINDOW = 128, /* losses that a new one is compared with */
    SPIKES_LEAST = 32,   /* before there are so many nothing is said */
};
#define SPIKES_DEVIATIONS 6.0

/* Zeroed before the first loss. */
struct spikes {
    double losses[SPIKES_WINDOW];
    uint64_t seen;
    uint64_t count; /* spikes among them */
    double largest; /* deviations of the largest spike, and its step */
    uint64_t largest_step;
};

/* Takes the loss of a step; true: it is a spike. *mean and *deviations are of the losses before it, NAN where they are
 * too few. A loss that is not finite is passed over. */
bool spikes_add(struct spikes *spikes, uint64_t step, double loss, double *mean, double *deviations);

#endif
