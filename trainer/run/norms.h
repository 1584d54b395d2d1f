/* Norms of every tensor at a step (--norms-every): of its gradient, averaged and not clipped, of its weights after the
 * step, and of the step's change to them.
 *
 *     norms_open → { a step's gradients → norms_before → its update → norms_after } … → norms_close */
#pragma once

#include "trainer/run/engine.h"

struct norms {
    struct engine *engine; /* borrowed */
    float *before;         /* [size] parameters, flat */
    double *squares;       /* [chunk_count, 3] */
    double *tensors;       /* [count, 3] gradient, weights, update */
};

/* Allocates memory for a copy of the parameters. The engine must have all of them: not with a struct zero. */
void norms_open(struct norms *norms, struct engine *engine);
void norms_close(struct norms *norms); /* safe on a zeroed one */
void norms_before(struct norms *norms);
/* Waits for the device. Fills norms->tensors; the gradients carried `loss_scale`. */
void norms_after(struct norms *norms, double loss_scale);
