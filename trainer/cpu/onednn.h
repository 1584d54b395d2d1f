/* Matrix products of bf16 on tiles (AMX) by oneDNN 2.x, each computed in the calling thread. Where the library was not
 * found (DS_ONEDNN), onednn_open returns NULL. */
#ifndef TRAINER_CPU_ONEDNN_H
#define TRAINER_CPU_ONEDNN_H

#include "trainer/cpu/cpu_backend.h"

#include <stdbool.h>
#include <stdint.h>

/* C [m, n] (+)= A [m, k] B [k, n] + bias [n]. A(i, l) = a[i * a_row + l * a_column], B(l, j) likewise; C has rows of
 * adjacent numbers. A, B in storage, bias in real; C in storage, or in real. The struct has no padding: shapes are
 * compared as bytes. */
struct product_shape {
    int64_t m, n, k;
    int64_t a_row, a_column, b_row, b_column, c_row;
    int32_t bias, add, real_c; /* flags */
    int32_t zero;              /* 0 */
};

struct onednn;
struct onednn_product; /* a prepared product */

/* NULL without the library, for numbers other than bf16, and below AMX unless `always`: our own loops are as fast
 * there. */
struct onednn *onednn_open(enum precision precision, enum cpu_level level, bool always, int threads);
void onednn_close(struct onednn *onednn);

/* Prepared by the first call for a shape, kept until close. NULL: oneDNN has no such product. One thread at a time. */
const struct onednn_product *onednn_prepare(struct onednn *onednn, const struct product_shape *shape);
/* From inside parallel(): `thread` is the caller's number, below onednn_open's threads. */
void onednn_multiply(const struct onednn_product *product, void *c, const void *a, const void *b, const void *bias,
                     int thread);

const char *onednn_version(void); /* "oneDNN 2.6.3", or "own products" */

#endif
