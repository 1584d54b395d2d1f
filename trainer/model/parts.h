/* The internals of the model, for the files of this folder: every buffer by name, and the stages of a pass. Shapes: T
 * token rows, R rows that heads read (both rounded up), H hidden, I intermediate; storage unless noted. In the last
 * layer all but keys and values have R rows instead of T. */
#pragma once

#include "trainer/model/head.h"
#include "trainer/model/model.h"

#include <assert.h>

/* Buffers kept from the forward to the backward pass, a struct for each depth: that of the n-th layer that a pass has,
 * because layers may be dropped. Where activations are recomputed, depths share memory, except what the first of the
 * next group reads. */
struct layer {
    int32_t number;        /* of the layer in the table */
    float share;           /* divides its branches (layer drop); 0: they are not divided */
    void *qkv;             /* [T, 3H]; the last layer: K, V [T, 2H], then Q [R, H] */
    void *log_sums;        /* [heads, T] real */
    void *context;         /* [T, H] */
    void *attention_sum;   /* [T, H]: before its LayerNorm */
    void *attention_stats; /* [T, 2] real */
    void *attention_out;   /* [T, H]: after it */
    void *up;              /* [T, n I]: of all n up matrices, before GELU */
    void *activation;      /* [T, I] */
    void *down_sum;        /* [T, H]: before the LayerNorm after it */
    void *down_stats;      /* [T, 2] real */
    void *out;             /* [T, H]: after it */
};

struct model {
    struct model_config config;
    struct model_budget budget; /* rows rounded up */
    const struct ops *ops;
    struct params table;
    void *params, *gradients; /* flat, real; params has only vectors where the budget is divided (model.h) */
    void *weights;            /* flat, storage; params itself where the types are the same */
    struct step_settings step;
    bool training;                            /* the pass under way uses dropout and goes backward */
    const struct gradient_listener *listener; /* of this pass, or NULL */
    size_t final_from;                        /* gradients from here on were reported as final */
    double *sums;                /* [STEP_SUMS], the device's: of passes that no caller has asked about yet */
    struct model_metrics counts; /* of the same passes, without losses and hits */

    void *embed_sum, *embed_stats, *embed_out; /* [T, H], [T, 2] real, [T, H] */
    void *entry;          /* where there is an entry norm: that norm of embed_out; else embed_out */
    void *entry_stats;    /* [T, 2] real; of that norm */
    float *label_weights; /* [labels] of classes in the loss; NULL: all 1 */
    void *turns[2]; /* [positions of the budget, head size] real: of rotary positions, in local and global layers */
    struct layer *layers;
    int32_t present; /* layers of the pass under way */
    /* for the last layer, where heads do not read all rows */
    void *read_in;  /* [R, H]: its input; later the gradient of it */
    void *read_sum; /* [R, H]: the sum that its first branch is added to, where that is not the input */

    void *head_buffers[HEAD_KINDS][HEAD_BUFFERS_MAX]; /* by the heads' rows (head.h); NULL: of heads that it lacks */

    /* gradients on their way down */
    void *dhidden;  /* [T, H]: of the sum that runs through all layers */
    void *dread;    /* [R, H]: the same, in the last layer */
    void *dbranch;  /* [T, H]: of a branch, or of a norm of the sum */
    void *dup;      /* [T, n I] */
    void *dgated;   /* [T, I]: of a gated unit's result */
    void *dqkv;     /* as a layer's qkv */
    void *dcontext; /* [T, H] */

    void *scratch;
};

/* Whether a norm is between the embedding and the first layer's first branch. */
static inline bool has_entry_norm(const struct model *model)
{
    return architecture_of(&model->config)->norms.pre_norm && !(model->config.lacks >> OPTIONAL_ENTRY_NORM & 1);
}

static inline struct norm_order norms_of(const struct model *model)
{
    return architecture_of(&model->config)->norms;
}

int32_t read_rows_max(const struct model *model); /* at most R; 0: heads read all rows */

/* Walks over every buffer in order: counts it in `plan` and, unless `block` is NULL, sets its pointer into `block`. */
void plan_buffers(struct model *model, struct model_plan *plan, char *block);

/* A tensor as the ops want it: a matrix of weights (storage), a vector (real), a gradient (real). NULL for a tensor
 * that the model lacks. */
static inline const void *weight_of(const struct model *model, const struct param *param)
{
    return param ? (const char *)model->weights + param->offset * model->ops->storage_size : NULL;
}
static inline bool has_vectors_alone(const struct model *model)
{
    return model->budget.divided && model->ops->storage_size != model->ops->real_size;
}
static inline const void *vector_of(const struct model *model, const struct param *param)
{
    if (!param)
        return NULL;
    assert(param->dimensions == 1);
    return (const char *)model->params +
           (has_vectors_alone(model) ? param->vector : param->offset) * model->ops->real_size;
}
static inline void *gradient_of(const struct model *model, const struct param *param)
{
    const struct gradient_listener *listener = model->listener;
    if (!param)
        return NULL;
    if (model->budget.placed)
        return listener->place(listener->context, param->offset);
    return (char *)model->gradients + param->offset * model->ops->real_size;
}

/* Where dropout happens. */
enum dropout_site {
    SITE_EMBEDDING,
    SITE_PROBABILITIES,
    SITE_ATTENTION, /* the attention's output */
    SITE_INNER,     /* what W_down multiplies */
    SITE_DOWN,      /* the feed-forward part's output */
    SITE_HEAD       /* of a head of fine-tuning; its layer is the one after the last */
};
struct dropout dropout_at(const struct model *model, int32_t layer, enum dropout_site site);

void choose_layers(struct model *model);                       /* the layers of the pass, and their shares */
void report_final(struct model *model, size_t from);           /* gradients from there on are final */
void forward(struct model *model, const struct batch *batch);  /* embedding to the last layer's output */
void backward(struct model *model, const struct batch *batch); /* from output_gradient down to the tables */

/* The gradient of the last layer's output, [rows that heads read, H]. */
static inline void *output_gradient(const struct model *model, const struct batch *batch)
{
    return batch_read(batch) != batch ? model->dread : model->dhidden;
}

static inline struct rows token_rows(const struct batch *batch)
{
    return (struct rows){batch->tokens, batch->token_rows};
}

static inline int32_t rows_rounded(int32_t rows)
{
    return (rows + BATCH_ROW_MULTIPLE - 1) / BATCH_ROW_MULTIPLE * BATCH_ROW_MULTIPLE;
}
