/* An architecture is what models of a kind compute, a layout is how config.json and the names of tensors describe them.
 * An architecture has the layout of its checkpoints, and may have others that are read or exported to. Each is a row of
 * a list below and a struct that a file of this folder defines (CONTRIBUTING.md). Code asks a struct for a fact, and
 * never which one it is. */
#pragma once

#include "base/error.h"
#include "trainer/backend/ops.h"

#define ARCHITECTURES(ROW)                                                                                             \
    ROW(ARCHITECTURE_BERT, architecture_bert)     /* norms after each sum: Devlin et al. 2019 */                       \
    ROW(ARCHITECTURE_PRE, architecture_pre)       /* norms before each branch and after the last layer: DeepSpeed */   \
    ROW(ARCHITECTURE_LARGE, architecture_large)   /* the same, on a sum that begins at zero: Habana's large BERT */    \
    ROW(ARCHITECTURE_MODERN, architecture_modern) /* ModernBERT: Warner et al. 2024 */

#define ARCHITECTURE_NUMBER(number, row) number,
enum architecture_kind { ARCHITECTURES(ARCHITECTURE_NUMBER) ARCHITECTURE_KINDS };
#undef ARCHITECTURE_NUMBER

#define LAYOUTS(ROW)                                                                                                   \
    ROW(layout_bert)         /* transformers' BERT */                                                                  \
    ROW(layout_bert_variant) /* the same under a model_type that transformers does not know */                         \
    ROW(layout_roberta_pre)  /* transformers' RobertaPreLayerNorm */                                                   \
    ROW(layout_modern)       /* transformers' ModernBert */

struct model_config;

enum config_kind {
    CONFIG_COUNT,  /* int32_t */
    CONFIG_REAL,   /* double */
    CONFIG_CHOICE, /* an enum; null and an absent key mean the first choice */
    CONFIG_FIXED,  /* a choice of one, so there is nothing to keep; never written */
};
struct config_choice {
    const char *name;
    int value; /* several names may have it; the first of them is written */
};
/* A key of config.json for a field of struct model_config. */
struct config_key {
    const char *name;
    enum config_kind kind;
    bool required;                       /* else an absent count or real has the value of `defaults` */
    size_t at;                           /* offset of the field */
    const struct config_choice *choices; /* closed by a NULL name */
};

/* A piece of a tensor's name, ours (params.h) and the layout's. */
struct name_rule {
    const char *ours, *theirs;
    /* Of our tensors, from this one on, whose rows one of the layout's holds: 3 where query, key and value are one. 0:
     * the tensors are the same. */
    int32_t parts;
    uint32_t heads; /* only in models with one of these heads, where classes differ: bit h is head h; 0: in all */
};

struct layout {
    const char *model_type;
    enum architecture_kind architecture; /* of its models, unless `flagged` */
    bool flagged;     /* a key of config.json may name another architecture: the flag of that architecture's struct */
    const char *noun; /* "BERT", in messages and model cards */
    const struct config_key *keys; /* in the order in which they are written; closed by a NULL name */
    const char *defaults;          /* the named size (params.h) whose values absent keys mean */
    const char *class_begin;       /* "Bert" of transformers' BertForMaskedLM */
    uint32_t lacks;                /* heads for which transformers has no class: bit h is head h */
    bool pads_positions; /* the positions of tokens count from pad_token_id + 1; rows before it are not used */
    bool names_ends;     /* config.json names the pieces at a text's ends: their defaults are others */
    int32_t pad_id;      /* if positions are padded: that of a config.json without pad_token_id */
    bool unties;         /* tie_word_embeddings false gives the decoder a tensor of its own */
    bool erf_head;       /* the head of masked tokens has the erf GELU, whatever the layers have */
    /* Reads what `keys` cannot say, after them; ERR_UNSAFE names the key. And writes it. NULL: there is nothing. */
    int (*take)(const char *path, const json_t *json, struct model_config *config, struct error *err);
    void (*add)(json_t *json, const struct model_config *config);
    const struct name_rule *names; /* applied in order, in either direction; closed by NULL. NULL: the names are ours */
    const char *const *starts;     /* how names begin that are this layout's and not ours; closed by NULL */
};

extern const struct layout *const layouts[]; /* closed by NULL */
#define LAYOUT_DECLARED(row) extern const struct layout row;
LAYOUTS(LAYOUT_DECLARED)
#undef LAYOUT_DECLARED

/* Replaces `from` in a name by `to`: at its end if `ends`, else where it occurs first. Returns whether it occurs. */
bool name_replace(char *name, size_t size, const char *from, const char *to, bool ends);
/* The name that a layout gives to the tensor with our name, of a model with these heads. Returns how many of ours that
 * tensor holds, 1 or more. */
int32_t layout_name(const struct layout *layout, uint32_t heads, const char *ours, char *out, size_t size);
/* The reverse. Returns how many of ours, of which *out is the first; 0: the name is none that only this layout has. */
int32_t layout_ours(const struct layout *layout, const char *theirs, char *out, size_t size);

/* Tensors that some models lack. */
enum optional {
    OPTIONAL_NONE,
    OPTIONAL_POSITION_TABLE,
    OPTIONAL_TYPE_TABLE,
    OPTIONAL_ENTRY_NORM, /* the norm before the first layer's first branch, where others have one */
    OPTIONAL_NORM_BIASES,
    OPTIONAL_ATTENTION_BIASES,
    OPTIONAL_FEED_FORWARD_BIASES,
    OPTIONAL_HEAD_BIASES,  /* of the first product of heads that transform */
    OPTIONAL_DECODER_BIAS, /* of its last */
};

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
    /* Make activation and up, and dup, for the rows of a batch. */
    void (*forward)(const struct model *model, const struct layer *layer, const struct batch *batch);
    void (*backward)(const struct model *model, const struct layer *layer, const struct batch *batch);
};
extern const struct feed_forward feed_forward_gelu; /* gelu(x W_up) W_down, of either GELU: encoder.c */
extern const struct feed_forward feed_forward_glu;  /* (act(u) g) W_down, [u | g] = x W_up, n = 2 */

struct architecture {
    const struct layout *layout;   /* of its checkpoints */
    const struct layout *exported; /* what `dstrain export` makes of them: another layout with the same keys; NULL: the
                                    * same layout */
    const char *unpublished;       /* why transformers cannot load what is exported; NULL: it can */
    const char *flag;              /* a key of config.json and of a run's identity that is true for it; NULL: BERT */
    const char *suffix;            /* of the names of its models: "-preln" */
    struct norm_order norms;
    const struct feed_forward *feed_forward;
    bool transforms;   /* heads of fine-tuning begin with the masked head's transform, where others have a pooler or
                      * nothing */
    bool drops_inside; /* dropout is before W_down, where others have it after */
    bool untried;      /* no card has computed it yet: --device cuda says so */
};

extern const struct architecture *const architectures[ARCHITECTURE_KINDS];
#define ARCHITECTURE_DECLARED(number, row) extern const struct architecture row;
ARCHITECTURES(ARCHITECTURE_DECLARED)
#undef ARCHITECTURE_DECLARED
