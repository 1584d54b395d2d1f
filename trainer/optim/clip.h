/* The global norm of the gradients, and the factor that unscales and clips them. */
#ifndef TRAINER_OPTIM_CLIP_H
#define TRAINER_OPTIM_CLIP_H

#include "trainer/model/params.h"
#include "trainer/ops.h"

/* Euclidean norm over all parameters, of gradients as they lie there (times loss_scale). Sums chunks in the table's
 * order: the bits depend on the values alone. `squares` [params->chunk_count] is the caller's working memory. */
double gradient_norm(const struct ops *ops, const struct params *params, const void *gradients, double *squares);

/* 1 / loss_scale, times norm_max / (norm + 1e-6) where that is below 1. `norm` is the true one (divided by loss_scale);
 * norm_max 0: no clipping. */
double clip_factor(double norm, double norm_max, double loss_scale);

#endif
