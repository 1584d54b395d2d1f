/* The compression of 1-bit Adam (Tang et al. 2021, "1-bit Adam: Communication Efficient Large-Scale Training with
 * Adam's Convergence Speed"), for process i of N, once v is frozen:
 *
 *     m_i = b1 m + (1 - b1) c h_i;  b = m_i + e_i
 *     per unit of K elements:  alpha = |b| / sqrt(K);  q = sign(b), sign(0) = +;  e_i = b - alpha q
 *     the unit's server:       a = (1 / N) sum of alpha_i q_i, in rank order, + s;  sigma = |a| / sqrt(K)
 *                              Q = sign(a);  s = a - sigma Q
 *     all processes:           m = sigma Q;  p -= rate (m / (sqrt(v) + eps) + decay p)
 *
 * A unit is a chunk of the table. Where v is 0, no gradient ever came: b, a, e, s and m are 0 there, and such elements
 * do not count in K. With `group` the compression is DeepSpeed's (runtime/comm/nccl.py): one alpha for all elements,
 * which are padded to a multiple of N lcm(8, N) with zeros that count and have errors too, and one sigma for each
 * process's part.
 *
 * Elements are stored in "compact" arrays, without the gaps of flat memory. The bits of a chunk begin at a whole byte,
 * except with `group`. Bits: 1 for +, the first element in the most significant one. Pure but for threads, on which no
 * result depends; all memory is the host's. */
#pragma once

#include "trainer/model/params.h"

/* Elements that share a scale. */
struct onebit_unit {
    size_t from, to; /* compact, whole bytes */
};

struct onebit_layout {
    const struct params *table;
    bool group;
    uint32_t size;             /* processes */
    size_t count;              /* compact elements, padding included; a multiple of 8 */
    size_t *at;                /* [chunk_count] compact place of each chunk's first element */
    struct onebit_unit *units; /* [unit_count] without a gap; with `group` one for each server, and all have one
                                * alpha */
    size_t unit_count;
    size_t *part;  /* [size + 1] compact borders of the parts that processes serve: whole units */
    size_t *first; /* [size + 1] the first unit of each part */
};

/* `table` is borrowed. */
void onebit_layout_init(struct onebit_layout *layout, const struct params *table, bool group, uint32_t size);
void onebit_layout_release(struct onebit_layout *layout); /* safe on a zeroed one */

/* Flat arrays, and numbers of an update. */
struct onebit_update {
    float *params, *first;
    const float *second, *gradients;
    double gradient_factor; /* N c, without the loss scale: turns gradients into c h_i */
    double beta1, rate, epsilon;
    double weight_decay, vector_decay; /* for chunks that decay, and for the others */
};

/* errors [count] become b, then e_i; bits [count / 8] and alphas [unit_count] are what is sent: each part to its
 * server. */
void onebit_compress(const struct onebit_layout *layout, const struct onebit_update *update, float *errors,
                     uint8_t *bits, float *alphas);
/* For process `rank`: bits_of_all and alphas_of_all have its part from all processes, in rank order; served [its part]
 * is s. Writes its part of bits [count / 8] and sigmas [unit_count]. */
void onebit_serve(const struct onebit_layout *layout, const struct onebit_update *update, uint32_t rank,
                  const uint8_t *bits_of_all, const float *alphas_of_all, float *served, uint8_t *bits, float *sigmas);
/* Computes m and p from the bits and sigmas of all parts. */
void onebit_apply(const struct onebit_layout *layout, const struct onebit_update *update, const uint8_t *bits,
                  const float *sigmas);
