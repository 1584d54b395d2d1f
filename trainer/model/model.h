/* BERT (Devlin et al. 2019) with the heads of a task (head.h), forward and backward by hand over struct ops.
 *
 *     model_open → fill model_params → model_refresh
 *       → per step: model_begin_step → model_forward_backward (each micro-batch) → optimizer_update → model_refresh
 *       → at any time: model_evaluate
 *     model_close
 *
 * The step's loss is the sum of its heads' mean losses, each over the head's labels in the whole step. A head's
 * gradients are scaled by loss_scale / (number of those labels) and only added up, so how a step is cut into
 * micro-batches changes nothing but rounding (Law 4). All memory is planned and taken by model_open. */
#pragma once

#include "trainer/model/params.h"

/* The largest batch of any call. */
struct model_budget {
    int32_t token_rows_max;            /* rounded up to BATCH_ROW_MULTIPLE internally */
    int32_t head_rows_max[HEAD_KINDS]; /* the same, for each head's labels; may be 0 */
    int32_t sequences_max;
    int32_t length_max; /* tokens of one sequence, at most the config's positions */
    /* Keeps activations only at every recompute_every-th layer, and recomputes the others from there in the backward
     * pass: less memory, a third more work, the same bits. 0: keeps all. DeepSpeed's JSON: activation_checkpointing. */
    int32_t recompute_every;
    /* Master copies are held elsewhere, in parts: where storage is not the real type, model_params has only vectors. */
    bool divided;
    /* The model has no memory for gradients: the listener of every pass says where each tensor's are. */
    bool placed;
};

/* What memory is needed for, in the order in which it is taken; known without taking it. */
#define PLAN_ROWS_MAX 64
struct model_plan {
    struct plan_row {
        char name[32];  /* "layer.qkv" */
        int32_t copies; /* one per layer, or 1 */
        uint64_t bytes; /* of all copies */
    } rows[PLAN_ROWS_MAX];
    size_t count;
    uint64_t bytes; /* all rows */
};

struct model;

void model_plan(const struct model_config *config, const struct ops *ops, const struct model_budget *budget,
                struct model_plan *plan);

/* Takes all memory (cleared). Config must have passed model_config_check; ops must outlive the model. */
struct model *model_open(const struct model_config *config, const struct ops *ops, const struct model_budget *budget);
void model_close(struct model *model);

const struct params *model_table(const struct model *model);
const struct model_config *model_config(const struct model *model);
const struct ops *model_ops(const struct model *model);
/* Flat memory of the device (ops->map) in ops' real type: float, or double under PRECISION_FP64. After changing
 * parameters call model_refresh, which makes the storage copy (nothing to do where storage is the real type). */
void *model_params(struct model *model);
void *model_gradients(struct model *model); /* NULL where the listener places them */
void model_refresh(struct model *model);
void *model_weights(struct model *model); /* the storage copy; model_params where storage is the real type */
/* Elements of model_params: the table's vector_size if it has only vectors, otherwise its size. */
size_t model_params_count(const struct model *model);

struct step_settings {
    uint32_t seed, step;        /* the key of dropout; steps count from 1 */
    double loss_scale;          /* multiplies every gradient; 1 but for fp16 */
    int64_t counts[HEAD_KINDS]; /* labels of each head in the whole step, over all micro-batches and processes; >= 1 */
};

/* Sums that calls add to. */
struct head_metrics {
    double loss;   /* of all labels: cross-entropy in nats; divide by count for the mean */
    double hits;   /* labels that have the largest logit */
    int64_t count; /* labels */
};
struct model_metrics {
    struct head_metrics heads[HEAD_KINDS];
    int64_t sequences, tokens;
};

/* Clears the gradients and keeps the settings. Discards sums that no call has asked for. */
void model_begin_step(struct model *model, const struct step_settings *settings);
/* Rows of the word table whose gradient the decoder computes next. */
struct word_block {
    int32_t from, to; /* rows of the word table, multiples of WEIGHT_BLOCK or its end */
    void *gradient;   /* [to - from, H] real */
};
/* Learns which gradients are final, in the last micro-batch of a step, or in every one if it places them: elements
 * [from, to) of flat memory, in consecutive ranges from its end down to 0: heads, layers from the last to the first,
 * embeddings. A layer becomes final in three parts, from LAYER_DOWN_WEIGHT, LAYER_UP_WEIGHT and LAYER_QUERY_WEIGHT on,
 * but a range may have several. The device may not have computed them yet, but nothing queued later changes them. */
struct gradient_listener {
    void (*final)(void *context, size_t from, size_t to);
    /* NULL, or called once the heads are done: from then on the pass changes, of the word table's gradient, only the
     * rows that its input names. Returns the batch for the backward pass: the same, or one with other ids if rows were
     * moved. */
    const struct batch *(*words)(void *context, const struct batch *batch);
    void *context;
    /* NULL, or: the decoder's gradient of the word table is computed in blocks of rows. Each call sets the next
     * block and where its gradient is to be added; false: there is none left. The rows that the input names keep
     * this gradient until `words`, and then the batch that it returns says where in the word table's memory they
     * are. */
    bool (*block)(void *context, struct word_block *block);
    /* For a model whose gradients are placed: the address of element `element` of flat memory, valid for all of its
     * group (the heads, a part of a layer, the embeddings) until that is final. The memory begins cleared. Otherwise
     * NULL. */
    void *(*place)(void *context, size_t element);
};
/* Forward and backward: gradients +=; metrics +=, which waits for the device. Where metrics is NULL, the sums are kept
 * for the next call that asks for them, and in model_sums. `listener`: for the last micro-batch, or for every one if
 * gradients are placed; otherwise NULL. */
void model_forward_backward(struct model *model, const struct batch *batch, const struct gradient_listener *listener,
                            struct model_metrics *metrics);
/* Forward only, without dropout; leaves gradients and the step alone, but discards sums of training passes that no call
 * has asked for. */
void model_evaluate(struct model *model, const struct batch *batch, struct model_metrics *metrics);
/* A head's logits of the last pass, which must have been model_evaluate: [the head's rows, columns] in storage, in
 * device memory (ops->map). Those of masked tokens have a column for each piece of the padded vocabulary. */
void *model_logits(const struct model *model, enum head_kind head);
/* The same for the results of the masked head: [live, 2], each label's loss in nats, and 1 where it has the largest
 * logit. */
const double *model_results(const struct model *model);

/* The sums that metrics are made of, in device memory [STEP_SUMS], for the record of a step (update_numbers.h).
 * model_metrics_add adds such sums to metrics, without the counts. */
const double *model_sums(const struct model *model);
void model_metrics_add(struct model_metrics *metrics, const double sums[STEP_SUMS]);
bool model_metrics_finite(const struct model_metrics *metrics); /* whether the losses are */
/* The same sums, taken from metrics. */
void model_metrics_sums(const struct model_metrics *metrics, double sums[STEP_SUMS]);

/* theta of a step; steps count from 1. */
double layer_drop_theta(const struct layer_drop *drop, uint32_t step);

/* For tests and debugging, after a forward pass, or after a backward pass if nothing is recomputed: the last layer's
 * output [token_rows, H] in storage. */
const void *model_hidden(const struct model *model);

/* Floating-point operations of forward and backward for a sequence of `length` tokens with marks[h] labels of head h: 2
 * per multiply-add of the matrix products; the backward pass counts as twice the forward pass. */
double model_flops(const struct model_config *config, double length, const double marks[HEAD_KINDS]);
