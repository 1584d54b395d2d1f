/* In: seconds of passes. Out: the borders of the shares. */
#include "trainer/run/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trainer/parallel/share.h"

void adapt_note(struct adapt *adapt, double seconds, int64_t samples)
{
    const double last = adapt->seconds[(adapt->noted + ADAPT_STEPS - 1) % ADAPT_STEPS];
    adapt->seconds[adapt->noted++ % ADAPT_STEPS] = samples > 0 ? seconds / (double)samples : last;
}

bool adapt_due(const struct adapt *adapt)
{
    return adapt->noted % ADAPT_STEPS == 0 && adapt->noted >= (adapt->cuts > 0 ? ADAPT_REST : ADAPT_STEPS);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double adapt_seconds(const struct adapt *adapt)
{
    double sorted[ADAPT_STEPS];
    memcpy(sorted, adapt->seconds, sizeof sorted);
    qsort(sorted, ADAPT_STEPS, sizeof *sorted, by_size);
    return (sorted[(ADAPT_STEPS - 1) / 2] + sorted[ADAPT_STEPS / 2]) / 2;
}

void adapt_cut(struct adapt *adapt)
{
    adapt->noted = 0;
    adapt->cuts++;
}

/* Seconds that the slowest process takes for a step. */
static double slowest(const double *seconds, uint32_t ranks, const uint64_t *borders)
{
    double most = 0;
    for (uint32_t r = 0; r < ranks; r++)
        most = fmax(most, seconds[r] * (double)(borders[r + 1] - borders[r]));
    return most;
}

/* Gives every process without a unit one from the largest share. */
static void give_each_one(uint64_t *borders, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t largest = 0;
        if (borders[r + 1] > borders[r])
            continue;
        for (uint32_t i = 0; i < ranks; i++)
            if (borders[i + 1] - borders[i] > borders[largest + 1] - borders[largest])
                largest = i;
        for (uint32_t i = 1; i <= ranks; i++)
            borders[i] = borders[i] + (i >= r + 1) - (i >= largest + 1);
    }
}

bool adapt_divide(uint64_t units, const double *seconds, uint32_t ranks, uint64_t *borders)
{
    uint64_t *weights = mem_array(ranks, sizeof *weights), *cut = mem_array(ranks + 1, sizeof *cut);
    double fastest = HUGE_VAL;
    for (uint32_t r = 0; r < ranks; r++)
        fastest = fmin(fastest, seconds[r]);
    bool gains = fastest > 0;
    for (uint32_t r = 0; gains && r < ranks; r++)
        weights[r] = (uint64_t)llround(1e9 * fastest / seconds[r]);
    if (gains) {
        share_divide(units, weights, ranks, cut);
        give_each_one(cut, ranks);
        gains = slowest(seconds, ranks, cut) <= (1 - ADAPT_GAIN) * slowest(seconds, ranks, borders);
    }
    if (gains)
        memcpy(borders, cut, (ranks + 1) * sizeof *cut);
    mem_free(weights);
    mem_free(cut);
    return gains;
}
