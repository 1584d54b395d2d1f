/* Architectures: a row for each has all in which its models differ from those of the others. Whoever computes or names
 * something asks the row for a fact, and never which architecture it is. A new one is a row of ARCHITECTURES and a file
 * that defines its struct, beside the operations that no architecture had before (CONTRIBUTING.md). */
#ifndef TRAINER_MODEL_ARCHITECTURE_H
#define TRAINER_MODEL_ARCHITECTURE_H

#include "trainer/backend/ops.h"

#include <stdbool.h>
#include <stdint.h>

#define ARCHITECTURES(ROW)                                                                                             \
    ROW(ARCHITECTURE_BERT, architecture_bert)   /* norms after each sum: Devlin et al. 2019 */                         \
    ROW(ARCHITECTURE_PRE, architecture_pre)     /* norms before each branch and after the last layer: DeepSpeed */     \
    ROW(ARCHITECTURE_LARGE, architecture_large) /* the same, on a sum that begins at zero: Habana's large BERT */

#define ARCHITECTURE_NUMBER(number, row) number,
enum architecture_kind { ARCHITECTURES(ARCHITECTURE_NUMBER) ARCHITECTURE_KINDS };
#undef ARCHITECTURE_NUMBER

/* Where the norms are; formulas: encoder.c. */
struct norm_order {
    bool unnormalised;   /* the sum that runs through the layers is not normed, and products read norms of it; else the
                          * sum is normed */
    bool from_embedding; /* an unnormalised sum begins with the embedding, else with zero */
    bool pre_norm;       /* a norm belongs to what reads it: one is before the first layer, another after the last */
    bool smaller;        /* matrices that end a branch have initial values smaller by sqrt(2 layers) */
};

struct model;
struct layer;

/* What a layer's second branch does between the rows that it reads and those that it multiplies by W_down. */
struct feed_forward {
    int32_t ups; /* n: matrices [I, H] that one product reads as [n I, H] */
    void (*forward)(const struct model *model, const struct layer *layer, struct rows rows);  /* makes activation, up */
    void (*backward)(const struct model *model, const struct layer *layer, struct rows rows); /* makes dup */
};
extern const struct feed_forward feed_forward_gelu; /* gelu(x W_up) W_down, of either GELU: encoder.c */

struct architecture {
    /* ---- what is computed ---- */
    struct norm_order norms;
    bool learned_positions; /* a row of a learned table is added to each embedding */
    bool layer_biases;      /* the products of layers add a bias; those of heads always do, and norms have their own */
    const struct feed_forward *feed_forward;
};

extern const struct architecture *const architectures[ARCHITECTURE_KINDS];
#define ARCHITECTURE_DECLARED(number, row) extern const struct architecture row;
ARCHITECTURES(ARCHITECTURE_DECLARED)
#undef ARCHITECTURE_DECLARED

#endif
