/* The compression of 1-bit Adam (Tang et al. 2021, "1-bit Adam: Communication Efficient Large-Scale Training with
 * Adam's Convergence Speed"), for process i of N, once v is frozen:
 *
 *     m_i = b1 m + (1 - b1) c h_i;  b = m_i + e_i
 *     of each unit of K elements:  alpha = |b| / sqrt(K);  q = sign(b), sign(0) = +;  e_i = b - alpha q
 *     who serves the unit:         a = (1 / N) sum of alpha_i q_i, in rank order, + s;  sigma = |a| / sqrt(K)
 *                                  Q = sign(a);  s = a - sigma Q
 *     everybody:                   m = sigma Q;  p -= rate (m / (sqrt(v) + eps) + decay p)
 *
 * A unit is a chunk of the table. Where v is 0, no gradient ever came: b, a, e, s and m are 0 there, and such elements
 * do not count in K. With `group` it is as in DeepSpeed (runtime/comm/nccl.py): one alpha for all elements, which are
 * padded to a multiple of N lcm(8, N) with zeros that count and have errors too, and one sigma for each process's part.
 *
 * Here elements stand one after another without the gaps of flat memory: in "compact" arrays. Of a chunk they begin at
 * a whole byte of bits, but with `group` they do not. Bits: 1 for +, the first element in the most significant one.
 * Pure but for threads, on which nothing depends; the host's memory. */
#ifndef TRAINER_OPTIM_ONEBIT_H
#define TRAINER_OPTIM_ONEBIT_H

#include "trainer/model/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements with one scale, and the process that serves them. */
struct onebit_unit {
    size_t from, to; /* compact, whole bytes */
};

struct onebit_layout {
    const struct params *table;
    bool group;
    uint32_t size;             /* processes */
    size_t count;              /* compact elements, padding included; a multiple of 8 */
    size_t *at;                /* [chunk_count] compact place of each chunk's first element */
    struct onebit_unit *units; /* [unit_count] without a gap; that of a worker with `group` is all of them */
    size_t unit_count;
    size_t *part;  /* [size + 1] compact borders of what each process serves: whole units */
    size_t *first; /* [size + 1] their units */
};

/* `table` is borrowed. */
void onebit_layout_init(struct onebit_layout *layout, const struct params *table, bool group, uint32_t size);
void onebit_layout_release(struct onebit_layout *layout); /* safe on a zeroed one */

/* Flat arrays, and numbers of an update. */
struct onebit_update {
    float *params, *first;
    const float *second, *gradients;
    double gradient_factor; /* N c, without the loss scale: makes gradients c h_i */
    double beta1, rate, epsilon;
    double weight_decay, vector_decay; /* of chunks that decay, and of the others */
};

/* errors [count] become b, then e_i; bits [count / 8], alphas [unit_count] what is sent: of each part to who serves
 * it. */
void onebit_compress(const struct onebit_layout *layout, const struct onebit_update *update, float *errors,
                     uint8_t *bits, float *alphas);
/* Of process `rank`: bits and alphas of its part from all, one after another in rank order; served [its part] are s.
 * Writes its part's places in bits [count / 8] and sigmas [unit_count]. */
void onebit_serve(const struct onebit_layout *layout, const struct onebit_update *update, uint32_t rank,
                  const uint8_t *bits_of_all, const float *alphas_of_all, float *served, uint8_t *bits, float *sigmas);
/* The bits and sigmas of all parts into m and p. */
void onebit_apply(const struct onebit_layout *layout, const struct onebit_update *update, const uint8_t *bits,
                  const float *sigmas);

#endif
