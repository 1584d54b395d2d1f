/* Divides the samples of a batch among the processes of a run. Process r computes a share: consecutive samples of the
 * batch, [borders[r], borders[r + 1]). A share may be empty. Pure. */
#ifndef TRAINER_PARALLEL_SHARE_H
#define TRAINER_PARALLEL_SHARE_H

#include <stdint.h>

#define SHARE_AUTO       UINT64_MAX              /* in place of a weight: --share auto */
#define SHARE_WEIGHT_MAX UINT64_C(1000000000000) /* a weight of a million, in millionths */

/* Divides `units` (samples, or parts of a batch) in proportion to weights[ranks] by the largest remainder method
 * (Hamilton): every rank gets floor(units * weight / sum), and the remaining units go one each to the ranks with the
 * largest remainders, to the lower rank if equal. Writes borders[ranks + 1], from 0 to `units`. Weights are in
 * millionths, at most SHARE_WEIGHT_MAX, and not all zero. */
void share_divide(uint64_t units, const uint64_t *weights, uint32_t ranks, uint64_t *borders);

#endif
