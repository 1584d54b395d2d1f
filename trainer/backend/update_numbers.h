/* The numbers of an update, and its few formulas that are not passes over flat memory: the factors of gradients,
 * whether the step counts at all, the factors of directions. Pure, and one text for the CPU and for CUDA, where they
 * are computed in device memory, so that a step never waits. optimizer.h says what the optimizers are. */
#pragma once

#include "trainer/data/heads.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define NUMBERS static __host__ __device__ inline
#else
#define NUMBERS static inline
#endif

/* Each has a row in optimizer.c. */
enum optimizer_kind {
    OPTIMIZER_ADAM,
    OPTIMIZER_LAMB,
    OPTIMIZER_NVLAMB,
    OPTIMIZER_LANS,
    OPTIMIZER_MUON,
    OPTIMIZER_ONEBIT,
    OPTIMIZER_STABLEADAMW,
    OPTIMIZER_KINDS
};

/* One update; optimizer.c sets it. With g the gradient times its tensor's factor (plus decay * p where decay is not
 * decoupled):
 *     m = beta1 m + weight1 g;  v = beta2 v + (1 - beta2) g^2;  d = correction2 sqrt(v) + epsilon
 *     u = correction1 m / d + decay p;  c = g / d + decay p for LANS; for StableAdamW, whose sum of c^2 alone is used,
 *     g / max(sqrt(v), epsilon) */
struct update_step {
    enum optimizer_kind kind;
    double loss_scale;   /* carried by the gradients and the losses; 1 except in fp16 */
    double norm_max;     /* the run's clip; 0: none */
    double own_norm_max; /* NVLAMB's and LANS's own, after it; 0: none */
    double tensor_norm;  /* BertAdam's, of each tensor; 0: none */
    bool halts;          /* a non-finite step stops all updates after it; else it is skipped (fp16) */

    double rate; /* learning rate of this update */
    double beta1, beta2;
    double weight1;     /* 1 - beta1, or 1 */
    double correction1; /* 1 / (1 - beta1^t) with bias correction */
    double correction2; /* 1 / sqrt(1 - beta2^t) with bias correction */
    double epsilon;
    double weight_decay; /* for chunks with decay */
    double vector_decay; /* for the others */
    bool decoupled;      /* decay the parameter apart from the gradient (AdamW); else add it to the gradient (L2) */

    double ratio_min, ratio_max; /* LAMB */
    bool ratio_always;           /* NVLAMB: on tensors without decay too */
};

/* The result of a step, written by the device: all that the host learns of it. */
#define STEP_SUMS (HEAD_SUMS * HEAD_KINDS)
struct step_record {
    double sums[STEP_SUMS]; /* loss and hits of each head */
    double norm;            /* of all gradients, without the loss scale */
    double factor;          /* that unscales and clips them */
    int32_t skipped;        /* this step changes nothing: it was not finite, or one before it halted */
    int32_t halted;         /* nor does any step after it, until the record is cleared */
};

/* The record of a step whose gradients, with their loss scale, have this sum of squares. The factor is 1 / loss_scale,
 * times norm_max / (norm + 1e-6) where that is below 1. */
NUMBERS void record_step(struct step_record *record, const struct update_step *step, double squares, const double *sums)
{
    const double length = sqrt(squares);
    bool finite = isfinite(length);
    for (int i = 0; i < STEP_SUMS; i++) {
        record->sums[i] = sums[i];
        finite = finite && isfinite(sums[i]);
    }
    record->norm = length / step->loss_scale;
    const double clip = step->norm_max / (record->norm + 1e-6);
    record->factor = (step->norm_max > 0 && clip < 1 ? clip : 1) / step->loss_scale;
    const double excess = step->own_norm_max > 0 ? record->factor * length / step->own_norm_max : 0;
    if (excess > 1)
        record->factor /= excess;
    record->halted = record->halted || (!finite && step->halts);
    record->skipped = record->halted || !finite;
}

/* The factor of one tensor's gradient, from its own sum of squares. */
NUMBERS double tensor_factor(const struct update_step *step, double factor, double squares)
{
    const double norm = factor * sqrt(squares);
    if (step->kind == OPTIMIZER_LANS && norm > 0)
        return factor / (norm + step->epsilon);
    if (step->tensor_norm > 0 && norm + 1e-6 > step->tensor_norm) /* as clip_grad_norm_ */
        return factor * step->tensor_norm / (norm + 1e-6);
    return factor;
}

/* What c is. */
enum gradient_term { TERM_NONE, TERM_DIRECTION, TERM_EXCESS };
NUMBERS enum gradient_term gradient_term(enum optimizer_kind kind)
{
    switch (kind) { /* no default, here and below: the compiler asks for each new kind */
    case OPTIMIZER_LANS:
        return TERM_DIRECTION;
    case OPTIMIZER_STABLEADAMW:
        return TERM_EXCESS;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_LAMB:
    case OPTIMIZER_NVLAMB:
    case OPTIMIZER_MUON:
    case OPTIMIZER_ONEBIT:
    case OPTIMIZER_KINDS:
        break;
    }
    return TERM_NONE;
}

NUMBERS double trust_ratio(double weight, double direction)
{
    return weight > 0 && direction > 0 ? weight / direction : 1;
}

/* The factors of a tensor's directions u and c, from the sums of squares of p, u and c over its `count` numbers. Adam
 * has none. */
struct tensor_shares {
    double u, c;
};
NUMBERS struct tensor_shares tensor_shares(const struct update_step *step, bool decays, const double sums[3],
                                           double count)
{
    const double weight = sqrt(sums[0]), u = sqrt(sums[1]), c = sqrt(sums[2]);
    const double decay = decays ? step->weight_decay : step->vector_decay;
    struct tensor_shares shares = {step->rate, 0};
    switch (step->kind) {
    case OPTIMIZER_LAMB:
        if (weight > 0 && u > 0)
            shares.u = step->rate * fmin(fmax(weight / u, step->ratio_min), step->ratio_max);
        break;
    case OPTIMIZER_NVLAMB:
        if (step->ratio_always || decay != 0)
            shares.u = step->rate * trust_ratio(weight, u);
        break;
    case OPTIMIZER_LANS:
        shares.u = step->rate * step->beta1 * trust_ratio(weight, u);
        shares.c = step->rate * step->weight1 * trust_ratio(weight, c);
        break;
    case OPTIMIZER_STABLEADAMW:
        shares.u = step->rate / fmax(1.0, c / sqrt(count));
        break;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_MUON:
    case OPTIMIZER_ONEBIT:
    case OPTIMIZER_KINDS:
        break;
    }
    return shares;
}
