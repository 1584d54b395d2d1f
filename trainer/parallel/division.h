/* Divides the samples of a batch among the processes of a run: by the weights of --share, or with --share auto by how
 * fast they compute. Process r computes its share, the consecutive samples [borders[r], borders[r + 1]) of the batch. A
 * share may be empty, except with --share auto. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WEIGHT_AUTO UINT64_MAX              /* in place of a weight: --share auto */
#define WEIGHT_MAX  UINT64_C(1000000000000) /* a weight of a million, in millionths */

/* Divides `units` (samples, or parts of a batch) in proportion to weights[ranks] (share_out in mixture.h). Writes
 * borders[ranks + 1], from 0 to `units`. Weights are in millionths, at most WEIGHT_MAX, and not all zero. */
void divide_by_weight(uint64_t units, const uint64_t *weights, uint32_t ranks, uint64_t *borders);

/* --share auto. Each process records how long its passes of every step took, without time spent waiting. Every
 * SPEED_STEPS steps all exchange their medians. If the slowest would gain at least SPEED_GAIN, and the last division
 * was at least SPEED_REST steps ago, the batch is divided again. */
#define SPEED_STEPS 10
#define SPEED_REST  100
#define SPEED_GAIN  0.03

struct speed {
    double seconds[SPEED_STEPS]; /* per sample, in the last steps */
    uint64_t noted;              /* steps recorded since the last division */
    uint64_t divisions;
};

/* Records a step; every process calls it after every step. `samples` are those of its own share. */
void speed_note(struct speed *speed, double seconds, int64_t samples);
/* Whether it is time to compare; the same in all processes. */
bool speed_is_due(const struct speed *speed);
/* The median of the seconds per sample. */
double speed_seconds(const struct speed *speed);
/* Divides `units` in proportion to speed, given the seconds per sample of all processes; each gets at least one unit.
 * Changes `borders` and returns true only if that makes the slowest process's step shorter by at least SPEED_GAIN. */
bool divide_by_speed(uint64_t units, const double *seconds, uint32_t ranks, uint64_t *borders);
/* Records that the batch was divided again. */
void speed_reset(struct speed *speed);
