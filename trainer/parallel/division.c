#include "trainer/parallel/division.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trainer/data/mixture.h"

void divide_by_weight(uint64_t units, const uint64_t *weights, uint32_t ranks, uint64_t *borders)
{
    for (uint32_t r = 0; r < ranks; r++)
        assert(weights[r] <= WEIGHT_MAX);
    share_out(units, weights, ranks, borders + 1);
    borders[0] = 0;
    for (uint32_t r = 0; r < ranks; r++)
        borders[r + 1] += borders[r];
    assert(borders[ranks] == units);
}

void speed_note(struct speed *speed, double seconds, int64_t samples)
{
    const double last = speed->seconds[(speed->noted + SPEED_STEPS - 1) % SPEED_STEPS];
    speed->seconds[speed->noted++ % SPEED_STEPS] = samples > 0 ? seconds / (double)samples : last;
}

bool speed_is_due(const struct speed *speed)
{
    return speed->noted % SPEED_STEPS == 0 && speed->noted >= (speed->divisions > 0 ? SPEED_REST : SPEED_STEPS);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double speed_seconds(const struct speed *speed)
{
    double sorted[SPEED_STEPS];
    memcpy(sorted, speed->seconds, sizeof sorted);
    qsort(sorted, SPEED_STEPS, sizeof *sorted, by_size);
    return (sorted[(SPEED_STEPS - 1) / 2] + sorted[SPEED_STEPS / 2]) / 2;
}

void speed_reset(struct speed *speed)
{
    speed->noted = 0;
    speed->divisions++;
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

bool divide_by_speed(uint64_t units, const double *seconds, uint32_t ranks, uint64_t *borders)
{
    SCOPED(mem_free_at) uint64_t *weights = mem_array(ranks, sizeof *weights), *cut = mem_array(ranks + 1, sizeof *cut);
    double fastest = HUGE_VAL;
    assert(units >= ranks && borders[ranks] == units);
    for (uint32_t r = 0; r < ranks; r++)
        fastest = fmin(fastest, seconds[r]);
    bool gains = fastest > 0;
    for (uint32_t r = 0; gains && r < ranks; r++)
        weights[r] = (uint64_t)llround(1e9 * fastest / seconds[r]);
    if (gains) {
        divide_by_weight(units, weights, ranks, cut);
        give_each_one(cut, ranks);
        gains = slowest(seconds, ranks, cut) <= (1 - SPEED_GAIN) * slowest(seconds, ranks, borders);
    }
    if (gains)
        memcpy(borders, cut, (ranks + 1) * sizeof *cut);
    return gains;
}
