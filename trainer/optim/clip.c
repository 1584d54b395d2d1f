/* In: gradients in flat memory. Out: their norm, and what to multiply them by. */
#include "trainer/optim/clip.h"

#include <math.h>

double gradient_norm(const struct ops *ops, const struct params *params, const void *gradients, double *squares)
{
    ops->squares(ops->device, squares, gradients, params->chunks, params->chunk_count);
    double sum = 0;
    for (size_t i = 0; i < params->chunk_count; i++)
        sum += squares[i];
    return sqrt(sum);
}

double clip_factor(double norm, double norm_max, double loss_scale)
{
    const double clip = norm_max / (norm + 1e-6);
    return (norm_max > 0 && clip < 1 ? clip : 1) / loss_scale;
}
