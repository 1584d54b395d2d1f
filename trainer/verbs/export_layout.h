/* Writes a model in another layout than that of its checkpoints, because transformers knows it in that one only: a
 * pre-LN model as RobertaPreLayerNorm. Its tensors get the layout's names, and heads that the layout lacks are left
 * out. */
#pragma once

#include "base/error.h"
#include "trainer/model/architecture.h"

/* Reads the config and the weights in `from`, which holds weights, and writes config.json and model.safetensors into
 * `to`. */
int export_layout(const char *from, const char *to, const struct layout *layout, struct error *err);
