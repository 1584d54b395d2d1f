/* Which tensors a model has, as rows: name, sizes, initial values; params.c builds the table of parameters from them.
 * Which of them an architecture has follows from its facts (architecture.h). */
#pragma once

#include "trainer/model/params.h"

/* A size below is a number, or one of the model's; OF_UP is the columns of the first product of the feed-forward part,
 * OF_LABELS the labels that config.json names. */
enum {
    OF_HIDDEN = -1,
    OF_INTERMEDIATE = -2,
    OF_VOCABULARY = -3,
    OF_POSITIONS = -4,
    OF_TYPES = -5,
    OF_UP = -6,
    OF_LABELS = -7
};

enum head_begin { ANY_BEGIN, OF_POOLER, OF_TRANSFORM };

struct tensor_row {
    const char *name; /* Hugging Face's; a layer's without "bert.encoder.layer.N." */
    int32_t rows;
    int32_t columns; /* 0: a vector, which does not decay */
    enum param_init init;
    enum optional optional; /* models may lack it */
    bool before;   /* a norm before a layer's first branch, which OPTIONAL_ENTRY_NORM is about in the first layer */
    bool adjacent; /* follows the row before it without a gap */
    bool smaller;  /* initial values are smaller in orders of norms that say so */
    bool untied;   /* only in models whose decoder is not the word table */
    enum head_begin begin; /* of a head of fine-tuning: models that transform lack its pooler, others its transform */
    const char *name_pre;  /* where norms are before the branches, DeepSpeed's; NULL: the same */
    const char *name_transformed; /* in models that transform; NULL: the same */
};

/* A row of each kind; further fields follow by name. */
#define MATRIX(of_name, of_rows, of_columns, ...)                                                                      \
    {                                                                                                                  \
        .name = of_name, .rows = of_rows, .columns = of_columns, .init = INIT_NORMAL, __VA_ARGS__                      \
    }
#define BIAS(of_name, of_rows, ...)                                                                                    \
    {                                                                                                                  \
        .name = of_name, .rows = of_rows, .init = INIT_ZERO, __VA_ARGS__                                               \
    }
#define NORM_BIAS(of_name, ...) BIAS(of_name, OF_HIDDEN, .optional = OPTIONAL_NORM_BIASES, __VA_ARGS__)
#define GAIN(of_name, of_rows, ...)                                                                                    \
    {                                                                                                                  \
        .name = of_name, .rows = of_rows, .init = INIT_ONE, __VA_ARGS__                                                \
    }

extern const struct tensor_row embedding_tensors[]; /* [PARAM_LAYER] */
extern const struct tensor_row layer_tensors[];     /* [LAYER_PARAMS] */
extern const struct tensor_row final_tensors[];     /* [FINAL_PARAMS], where norms are before the branches */

/* `layer`: the number of the layer that it is in; -1: none. */
bool model_has_tensor(const struct model_config *config, const struct tensor_row *row, int32_t layer);
/* A size as a number; the vocabulary's is not padded. */
int32_t size_of(const struct model_config *config, int32_t size);
