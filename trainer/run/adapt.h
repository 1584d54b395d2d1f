/* --share auto: shares follow how fast the processes compute. Each process records how long its passes of every step
 * took, without time spent waiting. Every ADAPT_STEPS steps all exchange their medians. If the slowest would gain at
 * least ADAPT_GAIN, and the last cut was at least ADAPT_REST steps ago, the batch is divided again. Pure. */
#ifndef TRAINER_RUN_ADAPT_H
#define TRAINER_RUN_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#define ADAPT_STEPS 10
#define ADAPT_REST  100
#define ADAPT_GAIN  0.03

struct adapt {
    double seconds[ADAPT_STEPS]; /* per sample, in the last steps */
    uint64_t noted;              /* steps recorded since the last cut */
    uint64_t cuts;
};

/* Records a step; every process calls it after every step. `samples` are those of its own share. */
void adapt_note(struct adapt *adapt, double seconds, int64_t samples);
/* Whether it is time to compare; the same in all processes. */
bool adapt_due(const struct adapt *adapt);
/* The median of the seconds per sample. */
double adapt_seconds(const struct adapt *adapt);
/* Divides `units` in proportion to speed, given the seconds per sample of all processes; each gets at least one unit.
 * Changes `borders` and returns true only if that makes the slowest process's step shorter by at least ADAPT_GAIN. */
bool adapt_divide(uint64_t units, const double *seconds, uint32_t ranks, uint64_t *borders);
/* Records that the batch was divided again. */
void adapt_cut(struct adapt *adapt);

#endif
