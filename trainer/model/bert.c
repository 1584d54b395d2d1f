/* BERT in its three orders of norms, and the layouts of files that hold such models. */
#include "trainer/model/params.h"

/* transformers' names of the two formulas. */
static const struct config_choice activations[] = {
    {"gelu", GELU_ERF},
    {"gelu_python", GELU_ERF},
    {"gelu_new", GELU_TANH},
    {"gelu_pytorch_tanh", GELU_TANH},
    {"gelu_fast", GELU_TANH},
    {"gelu_accurate", GELU_TANH},
    {NULL, 0},
};
static const struct config_choice position_types[] = {{"absolute", 0}, {NULL, 0}};

#define AT(field) offsetof(struct model_config, field)
static const struct config_key keys[] = {
    {"position_embedding_type", CONFIG_FIXED, .choices = position_types},
    {"vocab_size", CONFIG_COUNT, .at = AT(vocabulary)},
    {"hidden_size", CONFIG_COUNT, .required = true, .at = AT(hidden)},
    {"num_hidden_layers", CONFIG_COUNT, .required = true, .at = AT(layers)},
    {"num_attention_heads", CONFIG_COUNT, .required = true, .at = AT(heads)},
    {"intermediate_size", CONFIG_COUNT, .at = AT(intermediate)},
    {"max_position_embeddings", CONFIG_COUNT, .at = AT(positions)},
    {"type_vocab_size", CONFIG_COUNT, .at = AT(types)},
    {"hidden_act", CONFIG_CHOICE, .at = AT(gelu), .choices = activations},
    {"hidden_dropout_prob", CONFIG_REAL, .at = AT(hidden_dropout)},
    {"attention_probs_dropout_prob", CONFIG_REAL, .at = AT(attention_dropout)},
    {"layer_norm_eps", CONFIG_REAL, .at = AT(norm_epsilon)},
    {"initializer_range", CONFIG_REAL, .at = AT(initializer_range)},
    {.name = NULL},
};

const struct layout layout_bert = {
    .model_type = "bert",
    .architecture = ARCHITECTURE_BERT,
    .flagged = true,
    .noun = "BERT",
    .keys = keys,
    .defaults = "base",
    .class_begin = "Bert",
};

/* As "bert", transformers would load a model with other norms and compute something else. */
const struct layout layout_bert_variant = {
    .model_type = "dstrain-bert",
    .architecture = ARCHITECTURE_BERT,
    .flagged = true,
    .noun = "BERT",
    .keys = keys,
    .defaults = "base",
    .class_begin = "Bert",
};

static const struct name_rule roberta_names[] = {
    {"bert.encoder.FinalLayerNorm", "roberta_prelayernorm.LayerNorm", 0, 0},
    {"PreAttentionLayerNorm", "attention.LayerNorm", 0, 0},
    {"PostAttentionLayerNorm", "intermediate.LayerNorm", 0, 0},
    {"cls.predictions.transform.dense", "lm_head.dense", 0, 0},
    {"cls.predictions.transform.LayerNorm", "lm_head.layer_norm", 0, 0},
    {"cls.predictions.decoder", "lm_head.decoder", 0, 0},
    {"cls.predictions.bias", "lm_head.bias", 0, 0},
    {"bert.pooler.dense", "classifier.dense", 0, 0}, /* in its head of classification */
    {"classifier.weight", "classifier.out_proj.weight", 0, 1u << HEAD_CLASS},
    {"classifier.bias", "classifier.out_proj.bias", 0, 1u << HEAD_CLASS},
    {"bert.", "roberta_prelayernorm.", 0, 0},
    {NULL, NULL, 0, 0},
};
static const char *const roberta_starts[] = {"roberta_prelayernorm.", "lm_head.", "classifier.dense.",
                                             "classifier.out_proj.", NULL};

/* Its head of classification contains the pooler. */
const struct layout layout_roberta_pre = {
    .model_type = "roberta-prelayernorm",
    .architecture = ARCHITECTURE_PRE,
    .noun = "BERT",
    .keys = keys,
    .defaults = "base",
    .class_begin = "RobertaPreLayerNorm",
    .lacks = 1u << HEAD_NEXT,
    .pads_positions = true,
    .pad_id = 1,
    .erf_head = true,
    .names = roberta_names,
    .starts = roberta_starts,
};

const struct architecture architecture_bert = {
    .layout = &layout_bert,
    .suffix = "",
    .feed_forward = &feed_forward_gelu,
};

/* The initial values are DeepSpeed's too. */
const struct architecture architecture_pre = {
    .layout = &layout_bert_variant,
    .exported = &layout_roberta_pre,
    .flag = "pre_layer_norm",
    .suffix = "-preln",
    .norms = {.unnormalised = true, .from_embedding = true, .pre_norm = true, .smaller = true},
    .feed_forward = &feed_forward_gelu,
};

const struct architecture architecture_large = {
    .layout = &layout_bert_variant,
    .unpublished = "transformers has no model with this placement of layer norms",
    .flag = "layer_norm_large_model",
    .suffix = "-lnlarge",
    .norms = {.unnormalised = true},
    .feed_forward = &feed_forward_gelu,
};
