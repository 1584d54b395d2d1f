/* Products by cuBLASLt, with their results finished in the same kernel where the library can. A matrix of ours,
 * row-major [rows, columns], is the library's column-major [columns, rows]; so with D = op(A) op(B) of m x n x k
 *
 *     forward    y^T  [out, rows] = W x^T           A = W (transposed), B = x                 m out, n rows, k in
 *     input      dx^T [in, rows]  = W^T dy^T        A = W,              B = dy                m in,  n rows, k out
 *     weight     dW^T [in, out]   = x^T dy          A = x,              B = dy (transposed)   m in,  n out,  k rows
 *
 * A plan is what the library needs for one shape and alignment; it is made when it is first needed, and kept. Its
 * algorithm comes from the table (tune.c), or is the library's first choice among those that add in float and in a
 * fixed order. Nothing is chosen by time here. */
#pragma once

#include "trainer/cuda/device.h"

#include <cublasLt.h>

enum product_kind { PRODUCT_FORWARD, PRODUCT_INPUT, PRODUCT_WEIGHT };

enum product_finish {
    FINISH_NONE,
    FINISH_BIAS,      /* + vector, in storage */
    FINISH_GELU,      /* tanh-GELU; its input goes to aux */
    FINISH_BIAS_GELU, /* + vector, then as FINISH_GELU */
    FINISH_SLOPE,     /* times the slope of tanh-GELU at aux */
    FINISH_SUMS,      /* weight products: vector [out] (real) = column sums of dy */
};

/* Has no padding: plans are found by its bytes. */
struct product_key {
    int32_t kind, finish; /* enum product_kind, enum product_finish */
    int32_t beta;         /* D = … + beta D */
    int32_t rows, out, in;
    int32_t align_a, align_b, align_d, align_beside; /* alignments in bytes, at most 256; beside: of vector and aux */
};

struct product_operands {
    void *d;
    const void *a, *b;
    void *vector, *aux;
};

/* One algorithm of the library, as the table keeps it; it serves operands aligned to PRODUCT_ALIGNED bytes. */
#define PRODUCT_ALIGNED 32
struct product_choice {
    int32_t kind, finish, precision;
    int32_t rows, out, in;
    cublasLtMatmulAlgo_t algorithm;
};

/* `tune` may be NULL. ERR_USAGE, ERR_MISMATCH: the table cannot be used. */
struct products *products_open(enum precision precision, const char *tune, struct error *err);
void products_close(struct products *products);

/* False: the library cannot do this, and nothing was done. */
bool product_run(struct products *products, cudaStream_t stream, enum product_kind kind, enum product_finish finish,
                 int beta, struct rows rows, int32_t out, int32_t in, const struct product_operands *operands);

/* Copies the choices, which are the table from now on; forgets plans made before. */
void products_choose(struct products *products, const struct product_choice *choices, size_t count);
/* Whether a product was run as this choice says; false where the library refused it and something else was done. */
bool product_ran(const struct products *products, const struct product_choice *choice);
/* True if this choice computes the product without its finish, which kernels of our own then do. */
bool choice_is_plain(const struct product_choice *choice);
/* All algorithms that the library offers for a product, its first choice first; returns how many, at most `most`. Does
 * not touch the memory of `operands`. */
#define PRODUCT_OFFERS 16
int product_offers(struct products *products, const struct product_choice *product,
                   const struct product_operands *operands, cublasLtMatmulAlgo_t *offers, int most);

/* Whether linear layers ask the library for this finish at all, in this precision and with this GELU. */
bool linear_fuses(enum precision precision, enum product_finish finish, enum gelu gelu);

/* Reads the whole table, which the caller mem_free's; *count is the number of its rows. */
int tune_read(const char *path, struct product_choice **choices, size_t *count, struct error *err);
void tune_make(struct ops *ops, const struct tune_sizes *sizes, bool all, struct buf *table);
