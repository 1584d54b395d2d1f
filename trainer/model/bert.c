/* BERT in its three orders of norms. */
#include "trainer/model/architecture.h"

const struct architecture architecture_bert = {
    .learned_positions = true,
    .layer_biases = true,
    .feed_forward = &feed_forward_gelu,
};

/* The initial values are DeepSpeed's too. */
const struct architecture architecture_pre = {
    .norms = {.unnormalised = true, .from_embedding = true, .pre_norm = true, .smaller = true},
    .learned_positions = true,
    .layer_biases = true,
    .feed_forward = &feed_forward_gelu,
};

const struct architecture architecture_large = {
    .norms = {.unnormalised = true},
    .learned_positions = true,
    .layer_biases = true,
    .feed_forward = &feed_forward_gelu,
};
