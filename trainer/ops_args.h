/* What each op is called with: for an op X one struct X_args, and what several of them share. Above each struct stands
 * what the op computes, beside each field its shape and type; ops.h says what holds for all. A field that is left out of
 * an initialiser is 0 or NULL. Fields of `const` pointers are read, others written. */
#ifndef TRAINER_OPS_ARGS_H
#define TRAINER_OPS_ARGS_H

#include "trainer/optim/numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- an update ----
 *
 * With the formulas of optim/numbers.h: squares, factors, then adam, or moments, shares and apply. Sums over chunks and
 * over tensors have a fixed order. Where the record says that the step is skipped, adam, moments and apply change
 * nothing. */

/* One piece of a tensor: norms are sums over chunks, so their bits depend on nothing but the values. */
struct param_chunk {
    size_t offset;  /* elements from the start of flat memory */
    int32_t count;  /* elements, at most PARAM_CHUNK */
    int32_t tensor; /* index of its parameter */
    bool decay;     /* weight decay applies */
};
#define PARAM_CHUNK 16384

/* Flat memory of an update, real. */
struct update_memory {
    void *params;
    void *first;  /* m, zero at the start */
    void *second; /* v, zero at the start */
    const void *gradients;
};

/* Beside flat memory: the table of chunks, and numbers per chunk and per tensor (optimizer_work_init takes it). */
struct update_work {
    size_t numbers, chunk_count, tensors; /* the first: elements of all chunks */
    struct param_chunk *chunks;           /* [chunk_count], those of a tensor side by side, tensors in order */
    int32_t *firsts;                      /* [tensors + 1] its first chunk; closed by chunk_count */
    double *squares;                      /* [chunk_count] */
    double *sums;                         /* [chunk_count, 3] */
    double *factors;                      /* [tensors] multiply gradients first: unscaling and clipping */
    double *shares;                       /* [tensors, 2] multiply directions */
    struct step_record *record;
};

/* work->squares[i] = sum of squares of chunk i. */
struct squares_args {
    const struct update_work *work;
    const void *values; /* flat, real */
};

/* work->record from work->squares and the losses; then each tensor's factor. */
struct factors_args {
    const struct update_work *work;
    const struct update_step *step;
    const double *sums; /* [STEP_SUMS] of losses, the device's */
};

/* One pass of Adam: m, v, and p -= rate * u. */
struct adam_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
};

/* The same in two, for optimizers that look at whole tensors in between: first m and v, with work->sums[3i] = |p|^2,
 * [3i + 1] = |u|^2, [3i + 2] = |c|^2 (0 but for LANS) of chunk i; */
struct moments_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
};

/* each tensor's shares from them; */
struct shares_args {
    const struct update_work *work;
    const struct update_step *step;
};

/* then p -= shares[2 t] * u + shares[2 t + 1] * c, where t is the chunk's tensor. */
struct apply_args {
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update_step *step;
};

#endif
