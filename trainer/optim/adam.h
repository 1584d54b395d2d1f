/* Adam with decoupled weight decay (Kingma and Ba 2015; Loshchilov and Hutter 2019):
 *     m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  p -= rate * (m / c1 / (sqrt(v / c2) + eps) + decay * p)
 * with c = 1 - b^t, or 1 without bias correction. Decay goes only to tensors whose row in the table says so. */
#ifndef TRAINER_OPTIM_ADAM_H
#define TRAINER_OPTIM_ADAM_H

#include "trainer/model/params.h"
#include "trainer/ops.h"

struct adam {
    double beta1, beta2;
    double epsilon;
    double weight_decay;
    bool bias_correction;
    bool decoupled; /* false: decay is added to the gradient (L2) */
};

/* Flat memory of params->size elements each, in ops' real type. */
struct adam_memory {
    void *params;
    void *first;  /* m, zero at the start */
    void *second; /* v, zero at the start */
    const void *gradients;
};

/* 0.9, 0.999, 1e-8, 0.01, bias correction, decoupled. */
struct adam adam_defaults(void);

/* Update number `update` (from 1). `factor` multiplies the gradients first (see clip.h). */
void adam_update(const struct adam *adam, const struct ops *ops, const struct params *params,
                 const struct adam_memory *memory, double rate, uint64_t update, double factor);

#endif
