/* The heads on the last layer. A struct head is all that the rest of the program knows about a head: what it computes
 * (tensors, the rows it reads, buffers, work, pass), and its names in other programs and their files. A new head is a
 * row of HEADS (trainer/data/heads.h) and a file in heads/. */
#pragma once

#include "trainer/model/tensors.h"

/* The rows of the last layer that a head reads. The gradient of the other rows is zero, so the last layer is computed
 * only for the union of its heads' rows (struct batch's read). */
enum head_reads {
    READS_MARKED, /* those with labels: some in each sequence, more in longer ones */
    READS_FIRST,  /* the first of each sequence, [CLS], which has the label; with pools_mean the mean of its rows */
    READS_ALL,    /* all rows, whether or not they have labels */
};

/* [the head's rows, columns], kept from the forward to the backward pass. */
struct head_buffer {
    const char *name; /* in the plan: "masked.logits" */
    int32_t columns;  /* a number or a size (tensors.h); the vocabulary's is padded */
    bool real;        /* else storage */
    bool transform;   /* only in models that transform (struct architecture) */
};
#define HEAD_BUFFERS_MAX 8

struct model;

struct head {
    enum head_reads reads;
    const struct tensor_row *tensors; /* with full names */
    size_t tensor_count;
    const struct head_buffer *buffers; /* in a model: head_buffers of parts.h */
    size_t buffer_count;               /* at most HEAD_BUFFERS_MAX */
    size_t logits;                     /* which of the buffers has them */
    /* Multiply-adds per row that it reads, forward. */
    double (*work)(const struct model_config *config);
    /* Forward pass and loss of a batch with at least one label: sums +=. In training also the backward pass: the head's
     * gradients, those of tensors that it shares with the model, and output_gradient +=. */
    void (*pass)(struct model *model, const struct batch *batch);

    /* transformers' classes: BertForMaskedLM, RobertaPreLayerNormForMaskedLM, AutoModelForMaskedLM. */
    const char *class_end;          /* "ForMaskedLM" */
    const char *prefix;             /* how the names of its mandatory tensors begin */
    const char *prefix_transformed; /* the same in models that transform; NULL: the same */
    bool prefix_tells;              /* the prefix is of this class alone */
    /* A head of fine-tuning: the model's only one, whose class config.json names; a file's head for another task is
     * ignored. False: a head of pre-training. */
    bool tuned;
    /* The problem_type of config.json, which tells heads of one class apart. NULL: none. */
    const char *(*problem)(const struct model_config *config);
    const char *pipeline; /* of transformers, and the model hub's name of the task: "fill-mask"; NULL: there is none */
    /* A Python program that tries the model. Its arguments are the model's directory and, for fill-mask, a sentence
     * with a mask. NULL: there is no short one. */
    const char *trial;
};

/* A trial that calls a pipeline. */
#define PIPELINE(task, words)                                                                                          \
    "import sys; from transformers import pipeline; print(pipeline(\"" task "\", sys.argv[1])" words ")"

extern const struct head *const head_kinds[HEAD_KINDS];

/* The rows of a batch that a head reads. */
struct head_rows {
    struct rows rows;
    const int32_t *index; /* [rows.total] index of each row in batch_read; NULL: all token rows */
};
struct head_rows head_rows(enum head_kind head, const struct batch *batch);

/* Whether a head needs every row of the last layer. */
bool head_reads_all(enum head_kind head, const struct model_config *config);
/* The number of labels that a head chooses from: the columns of its logits, without the vocabulary's padding. */
int32_t head_labels(enum head_kind head, const struct model_config *config);
/* Whether a model has a head whose labels config.json names: its logits have OF_LABELS columns. */
bool model_names_labels(const struct model_config *config);
/* The head of a fine-tuned model; HEAD_KINDS: it has none. */
enum head_kind model_tuned_head(const struct model_config *config);
/* How the model's class name in transformers ends: "ForPreTraining" with both heads of pre-training. */
const char *model_class_end(const struct model_config *config);
