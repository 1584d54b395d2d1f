/* Reads a model's shape from the name of a size or from a Hugging Face config.json, and writes a config.json. */
#pragma once

#include "trainer/model/params.h"

#define CONFIG_NAME      "config.json"
#define CONFIG_BYTES_MAX (16u << 20) /* of a config.json, or of a --config file */

#define MODEL_DEFAULT "base" /* of a training without --model */
/* Reads --model: a name of MODEL_NAMES or the path of a config.json. The caller replaces the vocabulary size in it. */
int config_choose(const char *name, struct model_config *config, struct error *err);
/* Reads a Hugging Face config.json of any layout. ERR_UNSAFE: of none, or with unsupported parts. */
int config_read(const char *path, struct model_config *config, struct error *err);
/* The classes of a model's head: the size of id2label, else num_labels, else 2, transformers' default. */
size_t config_labels(const json_t *json);
/* The path of a model's config in its directory: config.json, or, where only that is there, bert_config.json, the name
 * that BERT's authors used. The caller mem_free's it. */
char *config_locate(const char *directory);
/* Makes the config.json of the architecture's own layout; the caller json_decref's it. */
json_t *config_json(const struct model_config *config, uint32_t pad_id);
/* Adds the flag of its architecture and the initializer, where they are not those of plain BERT. */
void config_add_variant(const struct model_config *config, json_t *json);

/* "base", "base-preln", "base-lnlarge"; or "4x256" (layers x hidden) if the shape has no name. Returns out. */
char *config_name(const struct model_config *config, char out[32]);
const char *config_activation(const struct model_config *config); /* "gelu_new" or "gelu" */
