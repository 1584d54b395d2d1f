/* The one table of parameters: which tensors a model has, under Hugging Face's names and shapes (BertForPreTraining,
 * without the tied decoder), their initial values, whether they decay, and where each is in flat memory. Parameters,
 * gradients, moments and 16-bit copies are all flat arrays of params->size elements with the same offsets.
 *
 *     │ word │ position │ type │ LayerNorm │ layer 0: q k v weights, q k v biases, … │ layer 1 … │ pooler │ heads │
 *
 * Tensors start on 64-byte borders, except that q, k, v are adjacent, so that one product serves them. The vocabulary
 * is padded to a multiple of 64 rows; the padding and all gaps are zero and stay zero. Spare rows, for which a
 * published model has no piece, lie before the padding and stay as they were read: no chunk covers them. */
#pragma once

#include "trainer/model/architecture.h"

/* The initial values of matrices. In config.json: initializer "normal" or "truncated_normal". */
enum initializer {
    INITIALIZER_NORMAL,
    INITIALIZER_TRUNCATED, /* drawn again while beyond two deviations: Google's BERT */
    INITIALIZERS,
};

/* Progressive layer drop (Zhang and He 2020), formulas in layer_drop.c. Part of the recipe, not of config.json. In
 * DeepSpeed's JSON: progressive_layer_drop {enabled, theta, gamma}, there 0.5 and 0.001. */
struct layer_drop {
    double theta; /* what the deepest layer's share falls towards, in (0, 1]; 0: no layer is ever dropped */
    double gamma; /* per step, at least 0 */
    bool compat;  /* count steps and scale as DeepSpeed's code does */
};

#define LAYERS_MAX      1024
#define LABELS_MAX      65536
#define LABEL_NAME_SIZE 64
struct model_config {
    int32_t layers;
    int32_t hidden; /* H, a multiple of heads */
    int32_t heads;
    int32_t intermediate; /* of the feed-forward part, 4 H in the named sizes */
    int32_t vocabulary;   /* rows of the word table, not padded: pieces, and spare rows of published models */
    int32_t spare;        /* how many of them, the last ones, have no piece: kept, never predicted or trained */
    int32_t positions;    /* longest sequence */
    int32_t types;        /* segments */
    int32_t window;       /* of layers that are not global (struct attention_shape); 0: all layers are */
    uint64_t global_layers[LAYERS_MAX / 64]; /* bit i: layer i sees whole sequences, although there is a window */
    double theta_global, theta_local;        /* of rotary positions, in those layers and in the others; 0: none */
    enum gelu gelu;
    uint32_t task_heads;            /* heads on the last layer: bit h is head h of enum head_kind */
    int32_t labels;                 /* of the head whose labels config.json names; 1: a number */
    const char *const *label_names; /* [labels] as in config.json (label_names.h); NULL: LABEL_0, LABEL_1, … */
    const float *label_weights;     /* [labels] of classes in the loss, the task's; NULL: each counts 1. Not stored */
    bool several;                   /* a text may have several of the labels, or none */
    bool pools_mean;                /* a text's class is read from the mean of its rows, not from the first */
    char tuned_for[16];             /* finetuning_task in config.json, as "sst-2"; empty: not known */
    double norm_epsilon;            /* of every LayerNorm */
    double initializer_range;       /* standard deviation of initial weights */
    double hidden_dropout;    /* probability: attention output; unless drops_inside also the places of the next three */
    double embedding_dropout; /* with drops_inside (architecture.h): embeddings */
    double inner_dropout;     /* what W_down multiplies */
    double head_dropout;      /* what heads of fine-tuning multiply last */
    double attention_dropout; /* attention weights */
    enum architecture_kind architecture;
    uint32_t lacks; /* tensors: bit p is enum optional p */
    enum initializer initializer;
    bool own_decoder;             /* tie_word_embeddings is false: see model_is_untied */
    struct layer_drop layer_drop; /* needs norms before the branches */
};

static inline const struct architecture *architecture_of(const struct model_config *config)
{
    return architectures[config->architecture];
}

/* Whether tokens of a layer see their whole sequence. */
static inline bool model_layer_is_global(const struct model_config *config, int32_t layer)
{
    return config->window == 0 || config->global_layers[layer / 64] >> layer % 64 & 1;
}

/* Whether a text may have two segments: there are two types, or types add nothing. */
static inline bool model_takes_pairs(const struct model_config *config)
{
    return config->types > 1 || config->lacks >> OPTIONAL_TYPE_TABLE & 1;
}

static inline bool model_has(const struct model_config *config, enum head_kind head)
{
    return config->task_heads >> head & 1;
}

/* Whether the decoder of masked tokens is a tensor of its own. Else it is the word table, and with `own_decoder` files
 * must hold an equal copy of that. */
static inline bool model_is_untied(const struct model_config *config)
{
    return config->own_decoder && architecture_of(config)->layout->unties;
}

/* The number of pieces: what the softmax runs over. */
static inline int32_t model_pieces(const struct model_config *config)
{
    return config->vocabulary - config->spare;
}

#define MODEL_NAMES                                                                                                    \
    "tiny|mini|small|medium|base|large|1.5b|modern-micro|modern-tiny|modern-mini|modern-17m|modern-32m|modern-68m|"    \
    "modern-base|modern-large"
#define MODEL_VOCABULARY_MULTIPLE 64

/* A BERT of the named size with dropout 0.1, tanh-GELU, 512 positions, 2 types, both heads of pre-training, vocabulary
 * 30,522; or a ModernBERT with its paper's settings and 8,192 positions (modern.c). -1: no such name. */
int model_config_named(const char *name, struct model_config *config);
/* Sets the probability of dropout at every place where models of its architecture have some. */
void model_set_dropout(struct model_config *config, double share);
int modern_config_named(const char *name, struct model_config *config); /* those of modern.c */
/* Checks sizes against the limits that the arithmetic relies on. ERR_UNSAFE: beyond (a config file is untrusted).
 * ERR_USAGE: a layer drop that does not fit. */
int model_config_check(const struct model_config *config, struct error *err);
int32_t vocabulary_padded(const struct model_config *config);

/* Places in the table. A layer's tensors follow PARAM_LAYER; params_layer gives them. Those of the heads come last, in
 * the order of head.h. A norm's bias follows its weight. A model may lack the tensor of a place. */
enum param_place {
    PARAM_WORD,
    PARAM_POSITION,
    PARAM_TYPE,
    PARAM_NORM_WEIGHT,
    PARAM_NORM_BIAS,
    PARAM_LAYER,
};
enum layer_place {
    LAYER_QUERY_WEIGHT, /* [H, H]; key and value follow without a gap: [3H, H] */
    LAYER_KEY_WEIGHT,
    LAYER_VALUE_WEIGHT,
    LAYER_QUERY_BIAS, /* [H]; the same: [3H] */
    LAYER_KEY_BIAS,
    LAYER_VALUE_BIAS,
    LAYER_OUTPUT_WEIGHT, /* attention.output.dense [H, H] */
    LAYER_OUTPUT_BIAS,
    LAYER_ATTENTION_NORM_WEIGHT, /* after the attention; before it where architectures norm before (struct norm_order) */
    LAYER_ATTENTION_NORM_BIAS,
    LAYER_UP_WEIGHT, /* intermediate.dense [4H, H]; [n 4H, H] where the feed-forward part has n of them */
    LAYER_UP_BIAS,
    LAYER_DOWN_WEIGHT, /* output.dense [H, 4H] */
    LAYER_DOWN_BIAS,
    LAYER_NORM_WEIGHT, /* after the feed-forward part; or before it */
    LAYER_NORM_BIAS,
    LAYER_PARAMS, /* their number */
};
/* After the layers, where norms are before the branches. */
enum final_place {
    FINAL_NORM_WEIGHT,
    FINAL_NORM_BIAS,
    FINAL_PARAMS,
};

enum param_init { INIT_ZERO, INIT_ONE, INIT_NORMAL };

struct param {
    char name[80];
    int32_t dimensions; /* 1 or 2 */
    int64_t shape[2];   /* as Hugging Face has it, vocabulary not padded; shape[1] is 1 for vectors */
    size_t count;       /* elements: shape[0] * shape[1], dense from offset on */
    size_t trained;     /* the first of them, which updates change and norms count: all but those of spare rows */
    size_t offset;      /* elements from the start of flat memory */
    size_t vector;      /* of a vector: elements from the start of an array that has only vectors */
    enum param_init init;
    double deviation; /* of INIT_NORMAL */
    bool decay;
    bool hidden;   /* a matrix of an encoder layer, which an optimizer may update as a whole */
    int32_t parts; /* how many, from this on, are one tensor in checkpoints (struct name_rule); 0: of the one before */
};

struct params {
    struct param *items; /* in the order of their offsets */
    size_t count;
    const struct param **places; /* the tensor of every place, NULL where the model lacks it; closed by NULL */
    size_t size;                 /* elements of a flat array, padding and gaps included; a multiple of 16 */
    size_t vector_size;          /* elements of an array of only the vectors, padding and gaps included */
    size_t total;                /* number of parameters: the sum of items' counts */
    struct param_chunk *chunks;  /* PARAM_CHUNK elements each, or what is left, of what is trained of every tensor */
    size_t chunk_count;
    int32_t layers;
    int32_t finals;           /* 2 where a norm follows the last layer, else 0 */
    size_t heads[HEAD_KINDS]; /* first place of each head that the model has */
    enum initializer initializer;
    const struct layout *layout; /* of checkpoints */
    uint32_t task_heads;         /* as in the config */
    bool own_decoder, untied;    /* as in the config; model_is_untied */
};

void params_init(struct params *params, const struct model_config *config);
/* The same without chunks, whose number grows with the sizes: for a config.json that nothing has confirmed yet. */
void params_shapes(struct params *params, const struct model_config *config);
void params_release(struct params *params);

const struct param *params_find(const struct params *params, const char *name); /* NULL: no such tensor */
/* The tensor of a place; NULL: the model lacks it. */
static inline const struct param *params_embedding(const struct params *params, enum param_place place)
{
    return params->places[place];
}
static inline const struct param *params_layer(const struct params *params, int32_t layer, enum layer_place place)
{
    return params->places[PARAM_LAYER + (size_t)layer * LAYER_PARAMS + place];
}
/* Of the norm after the last layer (where norms are before the branches). */
static inline const struct param *params_final(const struct params *params, enum final_place place)
{
    return params->places[PARAM_LAYER + (size_t)params->layers * LAYER_PARAMS + place];
}
/* Tensor `place` of a head that the model has, in the order of its row in head_kinds. */
static inline const struct param *params_head(const struct params *params, enum head_kind head, size_t place)
{
    return params->places[params->heads[head] + place];
}
/* The first tensor of the heads; places of tensors that the architecture lacks are NULL. */
static inline const struct param *params_heads(const struct params *params)
{
    size_t place = PARAM_LAYER + (size_t)params->layers * LAYER_PARAMS + (size_t)params->finals;
    while (!params->places[place])
        place++;
    return params->places[place];
}

/* Writes the initial values of one tensor to flat memory: normal(0, deviation), 0 or 1. Every value is keyed by (seed,
 * tensor's name, element), so a tensor drawn alone, or in a larger vocabulary, gets the same values. */
void params_draw(const struct params *params, const struct param *param, uint64_t seed, float *flat);
void params_draw_all(const struct params *params, uint64_t seed, float *flat);
