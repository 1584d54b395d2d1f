#include "trainer/model/tensors.h"

const struct tensor_row embedding_tensors[] = {
    [PARAM_WORD] = MATRIX("bert.embeddings.word_embeddings.weight", OF_VOCABULARY, OF_HIDDEN),
    [PARAM_POSITION] = MATRIX("bert.embeddings.position_embeddings.weight", OF_POSITIONS, OF_HIDDEN,
                              .optional = OPTIONAL_POSITION_TABLE),
    [PARAM_TYPE] =
        MATRIX("bert.embeddings.token_type_embeddings.weight", OF_TYPES, OF_HIDDEN, .optional = OPTIONAL_TYPE_TABLE),
    [PARAM_NORM_WEIGHT] = GAIN("bert.embeddings.LayerNorm.weight", OF_HIDDEN),
    [PARAM_NORM_BIAS] = NORM_BIAS("bert.embeddings.LayerNorm.bias", ),
};
_Static_assert(sizeof embedding_tensors / sizeof *embedding_tensors == PARAM_LAYER, "a row for every place");

const struct tensor_row layer_tensors[] = {
    [LAYER_QUERY_WEIGHT] = MATRIX("attention.self.query.weight", OF_HIDDEN, OF_HIDDEN),
    [LAYER_KEY_WEIGHT] = MATRIX("attention.self.key.weight", OF_HIDDEN, OF_HIDDEN, .adjacent = true),
    [LAYER_VALUE_WEIGHT] = MATRIX("attention.self.value.weight", OF_HIDDEN, OF_HIDDEN, .adjacent = true),
    [LAYER_QUERY_BIAS] = BIAS("attention.self.query.bias", OF_HIDDEN, .optional = OPTIONAL_ATTENTION_BIASES),
    [LAYER_KEY_BIAS] =
        BIAS("attention.self.key.bias", OF_HIDDEN, .adjacent = true, .optional = OPTIONAL_ATTENTION_BIASES),
    [LAYER_VALUE_BIAS] =
        BIAS("attention.self.value.bias", OF_HIDDEN, .adjacent = true, .optional = OPTIONAL_ATTENTION_BIASES),
    [LAYER_OUTPUT_WEIGHT] = MATRIX("attention.output.dense.weight", OF_HIDDEN, OF_HIDDEN, .smaller = true),
    [LAYER_OUTPUT_BIAS] = BIAS("attention.output.dense.bias", OF_HIDDEN, .optional = OPTIONAL_ATTENTION_BIASES),
    [LAYER_ATTENTION_NORM_WEIGHT] = GAIN("attention.output.LayerNorm.weight", OF_HIDDEN, .before = true,
                                         .name_pre = "PreAttentionLayerNorm.weight"),
    [LAYER_ATTENTION_NORM_BIAS] =
        NORM_BIAS("attention.output.LayerNorm.bias", .before = true, .name_pre = "PreAttentionLayerNorm.bias"),
    [LAYER_UP_WEIGHT] = MATRIX("intermediate.dense.weight", OF_UP, OF_HIDDEN),
    [LAYER_UP_BIAS] = BIAS("intermediate.dense.bias", OF_UP, .optional = OPTIONAL_FEED_FORWARD_BIASES),
    [LAYER_DOWN_WEIGHT] = MATRIX("output.dense.weight", OF_HIDDEN, OF_INTERMEDIATE, .smaller = true),
    [LAYER_DOWN_BIAS] = BIAS("output.dense.bias", OF_HIDDEN, .optional = OPTIONAL_FEED_FORWARD_BIASES),
    [LAYER_NORM_WEIGHT] = GAIN("output.LayerNorm.weight", OF_HIDDEN, .name_pre = "PostAttentionLayerNorm.weight"),
    [LAYER_NORM_BIAS] = NORM_BIAS("output.LayerNorm.bias", .name_pre = "PostAttentionLayerNorm.bias"),
};
_Static_assert(sizeof layer_tensors / sizeof *layer_tensors == LAYER_PARAMS, "a row for every place");

const struct tensor_row final_tensors[] = {
    [FINAL_NORM_WEIGHT] = GAIN("bert.encoder.FinalLayerNorm.weight", OF_HIDDEN),
    [FINAL_NORM_BIAS] = NORM_BIAS("bert.encoder.FinalLayerNorm.bias", ),
};
_Static_assert(sizeof final_tensors / sizeof *final_tensors == FINAL_PARAMS, "a row for every place");

bool model_has_tensor(const struct model_config *config, const struct tensor_row *row, int32_t layer)
{
    const bool enters = row->before && layer == 0, transforms = architecture_of(config)->transforms;
    if (row->begin != ANY_BEGIN && transforms != (row->begin == OF_TRANSFORM))
        return false;
    if (row->untied && !model_is_untied(config))
        return false;
    return !(config->lacks >> row->optional & 1) && !(enters && config->lacks >> OPTIONAL_ENTRY_NORM & 1);
}

int32_t size_of(const struct model_config *config, int32_t size)
{
    switch (size) {
    case OF_HIDDEN:
        return config->hidden;
    case OF_INTERMEDIATE:
        return config->intermediate;
    case OF_UP:
        return config->intermediate * architecture_of(config)->feed_forward->ups;
    case OF_VOCABULARY:
        return config->vocabulary;
    case OF_POSITIONS:
        return config->positions;
    case OF_TYPES:
        return config->types;
    case OF_LABELS:
        return config->labels;
    default:
        return size;
    }
}
