/* One update of all parameters. With g the clipped gradient of a tensor, t the number of the update, and
 *     m = b1 m + b3 g;  v = b2 v + (1 - b2) g^2;  M = m / (1 - b1^t), V = v / (1 - b2^t), without bias correction m, v
 * where b3 = 1 - b1 (1 without gradient_average), the optimizers are
 *
 *     adam     p -= rate (M / (sqrt(V) + eps) + decay p)
 *              Kingma and Ba 2015; Loshchilov and Hutter 2019. decoupled false adds decay p to g instead.
 *     lamb     u = m / (sqrt(v) + eps) + decay p;  p -= rate s ratio u
 *              DeepSpeed's FusedLamb. ratio = |p| / |u| clamped to [ratio_min, ratio_max] (the ratio, not |p|), 1 where
 *              a norm is 0; s = sqrt(1 - b2^t) / (1 - b1^t) with bias correction, which scales the decay too.
 *     nvlamb   u = M / (sqrt(V) + eps) + decay p;  p -= rate ratio u
 *              apex FusedLAMB. ratio = |p| / |u|, not clamped; 1 on tensors without decay, unless ratio_always
 *              ("use_nvlamb"). So biases and norms take Adam's steps here, but have ratios in lamb.
 *     lans     h = g / (|g| + eps), in place of g in m and v
 *              r = M / (sqrt(V) + eps) + decay p;  c = h / (sqrt(V) + eps) + decay p
 *              p -= rate (b1 |p|/|r| r + b3 |p|/|c| c), a quotient being 1 where a norm is 0
 *              Zheng et al. 2020. Clipping changes it through eps only, since h has length 1.
 *     muon     hidden matrices as optimizer.c says; the rest by adam, with the rate times other_rate
 *     onebit   adam without bias correction; after freeze_step updates v stays, and onebit.h takes over
 *     stableadamw   with betas b = B (1 - B^(t-1)) / (1 - B^t) in place of both B, which corrects the bias of m and v
 *              p -= s (m / (sqrt(v) + eps) + decay / peak p);  s = rate / max(1, rms), rms^2 the tensor's mean of
 *              g^2 / max(v, eps^2). Wortsman et al. 2023 as in optimi, with decouple_lr; without it decay p, as adam.
 *              peak is the schedule's highest rate. Clipping changes little: rms does not change with the scale of g.
 *
 * Norms are those of the original tensors. (Under DeepSpeed's ZeRO, LANS and LAMB get flat partitions, whose norms
 * depend on the number of processes; not here.) They are summed over the fixed chunks of the table, so no bit depends
 * on threads. */
#pragma once

#include "trainer/model/params.h"
#include "trainer/optim/json_field.h"

struct optimizer {
    enum optimizer_kind kind;
    double beta1, beta2;
    double epsilon;
    double weight_decay;
    bool bias_correction;
    bool decoupled;        /* adam: false adds decay to the gradient (L2) */
    bool scaled_rate;      /* adam: bias correction scales the rate and leaves eps as it is (HetSeq) */
    bool decay_all;        /* also decays biases and LayerNorm, which the table exempts (HetSeq) */
    double tensor_norm;    /* adam: clips each tensor's gradient to this norm (BertAdam); 0: no */
    double ratio_min;      /* lamb: min_coeff */
    double ratio_max;      /* lamb: max_coeff */
    bool gradient_average; /* nvlamb, lans: b3 = 1 - b1, else 1 */
    bool ratio_always;     /* nvlamb */
    double norm_max;       /* nvlamb, lans: a clip of their own after the run's, g / max(1, |g| / norm_max); 0: no */
    double momentum;       /* muon: mu */
    bool nesterov;         /* muon */
    bool match_rms;        /* muon: adjust_lr_fn is match_rms_adamw, else original */
    double other_rate;     /* muon: Adam's rate for all but hidden matrices, as a multiple of the rate */
    double freeze_step;    /* onebit: v is frozen after this many updates; 0: by freeze_ratio (freeze.h) */
    double freeze_ratio;   /* onebit: freezes v once |v| of 1 / (1 - b2) updates ago is at least this share of |v| */
    bool group;            /* onebit: one scale for all parameters, as in DeepSpeed; else one per chunk */
    bool decouple_rate;    /* stableadamw: weight decay is multiplied by rate / peak; else by the rate */
    double peak;           /* stableadamw: max_lr; 0: the schedule's, which keys_apply sets */
};

/* A value of optimizer.type in JSON, with the defaults of the original program. */
struct optimizer_type {
    const char *name;
    double rate; /* its default */
    struct optimizer optimizer;
};
/* In any case of letters, as in DeepSpeed. NULL: unknown. */
const struct optimizer_type *optimizer_type(const char *name);
const struct optimizer_type *optimizer_type_at(size_t i); /* those of optimizer_kinds first; NULL: no more */

/* What changes with each update. */
struct update {
    uint64_t number; /* from 1 */
    double rate;
    double norm_max;    /* clips the norm of all gradients, before all else; 0: no clip */
    double loss_scale;  /* carried by the gradients; 1 except in fp16 */
    bool halts;         /* a non-finite step stops all updates after it (struct update_step) */
    const double *sums; /* [STEP_SUMS] of losses, the device's: model_sums, or zeros */
};

/* How a kind updates a hidden matrix as a whole (struct param), instead of Adam's pass. */
struct matrix_method {
    /* Elements in storage that `update` needs in work->lent for a matrix of this shape. */
    size_t (*numbers)(int64_t rows, int64_t columns);
    double (*flops)(int64_t rows, int64_t columns); /* of the products of an update */
    void (*update)(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                   const struct update_work *work, const struct update *update, const struct update_matrix *matrix);
};

#define OPTIMIZER_PARAMS_MAX 8

/* All facts about a kind of optimizer, except its formulas: step_of, update_numbers.h and the backends' files update
 * and matrix. */
struct optimizer_facts {
    const char *name; /* --optimizer's choice, and the name in a run's identity */
    const char *help; /* for --help, in a few words */
    bool by_tensor;   /* needs norms of whole tensors: ops moments, shares and apply; else op adam */
    const struct matrix_method *matrices; /* not NULL: updates hidden matrices, in place of op adam */
    bool compresses;                      /* once its v is frozen (freeze.h) */
    struct optimizer_type type;           /* the JSON that --optimizer stands for */
    /* Keys of optimizer.params, besides those of every optimizer (recipe/table.c); ends with a NULL key. A
     * max_grad_norm among them is the optimizer's own clip; otherwise it is the run's, gradient_clipping. */
    struct json_field params[OPTIMIZER_PARAMS_MAX];
};
extern const struct optimizer_facts optimizer_kinds[]; /* [OPTIMIZER_KINDS], by kind */

/* Allocates device memory for updates of this kind, and fills its table. */
void optimizer_work_init(struct update_work *work, enum optimizer_kind kind, const struct ops *ops,
                         const struct params *params);
void optimizer_work_release(struct update_work *work, const struct ops *ops); /* safe on a zeroed one */
/* Bytes of work->lent, which grow with the model's matrices; 0 except for a kind that updates them whole. */
size_t optimizer_lent_bytes(enum optimizer_kind kind, const struct ops *ops, const struct params *params);
/* Floating-point operations of the products in an update of all parameters; 0 except for a kind that updates matrices
 * whole. */
double optimizer_flops(enum optimizer_kind kind, const struct params *params);

/* Queues an update; work->record then has its result. */
void optimizer_update(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                      const struct update_work *work, const struct update *update);

/* The same in stages. All but factors take any range of chunks, so that a process can hold moments of its part alone,
 * or update chunks whose gradients are summed while it waits for the rest.
 *
 *     optimizer_squares … → optimizer_factors → optimizer_moments … → optimizer_apply …
 *
 * Factors need all work->squares; op shares needs the work->sums of whole tensors. Those that another process computes
 * must be copied here between the stages. The ranges change no bit; but a kind with whole matrices (struct
 * matrix_method) needs ranges that cut none of them. */
void optimizer_squares(const struct ops *ops, const struct update_memory *memory, const struct update_work *work,
                       struct chunk_range range);
void optimizer_factors(const struct optimizer *optimizer, const struct ops *ops, const struct update_work *work,
                       const struct update *update);
/* Does nothing except for a kind that is by_tensor. */
void optimizer_moments(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                       const struct update_work *work, const struct update *update, struct chunk_range range);
void optimizer_apply(const struct optimizer *optimizer, const struct ops *ops, const struct update_memory *memory,
                     const struct update_work *work, const struct update *update, struct chunk_range range);
