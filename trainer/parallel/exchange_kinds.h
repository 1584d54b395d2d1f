/* The ways of gradient_exchange.h, for its files. */
#pragma once

#include "trainer/parallel/gradient_exchange.h"
#include "trainer/parallel/gradient_sum.h"
#include "trainer/parallel/loss_sum.h"
#include "trainer/parallel/onebit_exchange.h"
#include "trainer/parallel/zero.h"

struct gradient_exchange {
    const struct exchange_kind *kind;
    struct exchange_options options;
    struct model *model;

    struct comm *comm; /* from exchange_join; NULL: not joined, or alone */
    struct rendezvous *rendezvous;
    struct loss_sum losses;
    double *sums; /* [STEP_SUMS] of losses, in the device's memory; NULL: the model has them */

    /* Each NULL where the way does without. */
    struct gradient_sum *sum;
    struct zero2 *zero2; /* gradients of the own slices */
    struct zero *zero;
    struct onebit *onebit;
    struct freeze_state freeze;
};

struct exchange_update {
    const struct optimizer *optimizer;
    const struct update_memory *memory;
    const struct update_work *work;
    const struct update *update;
};

/* A function that is NULL does nothing. */
struct exchange_kind {
    bool every_pass; /* gradients are sent in every pass, not in the last only */
    void (*bytes)(const struct exchange_options *options, struct exchange_bytes *bytes); /* adds */
    void (*open)(struct gradient_exchange *x);
    void (*join)(struct gradient_exchange *x, const struct gradient_sum_options *sums);
    void (*begin)(struct gradient_exchange *x, uint64_t number, double loss_scale);
    const struct gradient_listener *(*listener)(struct gradient_exchange *x, const struct batch *batch, bool last);
    void (*pass)(struct gradient_exchange *x);
    int (*finish)(struct gradient_exchange *x, int64_t *refused, struct error *err);
    int (*update)(struct gradient_exchange *x, const struct exchange_update *how, struct error *err); /* never NULL */
    void (*freeze)(struct gradient_exchange *x, const struct freeze_state *state, uint64_t updates);
    int (*serve)(struct gradient_exchange *x, struct error *err);
    int (*end_serving)(struct gradient_exchange *x, struct error *err);
};

extern const struct exchange_kind exchange_alone, exchange_all_reduce, exchange_zero1, exchange_zero2, exchange_onebit;

/* Of all_reduce, for the ways that begin with it; each does nothing without a gradient_sum. */
void sum_bytes(const struct exchange_options *options, struct exchange_bytes *bytes);
void sum_join(struct gradient_exchange *x, const struct gradient_sum_options *sums);
void sum_begin(struct gradient_exchange *x, uint64_t number, double loss_scale);
const struct gradient_listener *sum_listener(struct gradient_exchange *x, const struct batch *batch, bool last);
void sum_pass(struct gradient_exchange *x);
int sum_finish(struct gradient_exchange *x, int64_t *refused, struct error *err);
int whole_update(struct gradient_exchange *x, const struct exchange_update *how, struct error *err);
