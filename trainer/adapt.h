/* --share auto: shares follow how fast processes compute. Each notes, step by step, how long its passes took, without
 * what they waited for; every ADAPT_STEPS steps all tell the median, and where the slowest would gain ADAPT_GAIN, and
 * the last cut is ADAPT_REST steps ago, the batch is cut anew. Pure. */
#ifndef TRAINER_ADAPT_H
#define TRAINER_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#define ADAPT_STEPS 10
#define ADAPT_REST  100
#define ADAPT_GAIN  0.03

struct adapt {
    double seconds[ADAPT_STEPS]; /* of a sample, in the last steps */
    uint64_t noted;              /* steps, since the last cut */
    uint64_t cuts;
};

/* After a step, of all; `samples` of this process's share. */
void adapt_note(struct adapt *adapt, double seconds, int64_t samples);
/* Is it time to compare? The same in all processes. */
bool adapt_due(const struct adapt *adapt);
/* The median. */
double adapt_seconds(const struct adapt *adapt);
/* Divides `units` anew in proportion to speeds, where `seconds` of all processes are those of a sample; each has a unit
 * at least. Does a step of the slowest become shorter by ADAPT_GAIN? Else borders stay. */
bool adapt_divide(uint64_t units, const double *seconds, uint32_t ranks, uint64_t *borders);
/* They were cut anew. */
void adapt_cut(struct adapt *adapt);

#endif
