/* A model's shape from what the user named: a size, or a Hugging Face config.json; and back to a config.json. */
#ifndef TRAINER_CONFIG_H
#define TRAINER_CONFIG_H

#include "base/error.h"
#include "trainer/model/params.h"

#include <jansson.h>
#include <stdint.h>

#define CONFIG_BYTES_MAX (1u << 20) /* of a config.json, or of a --config file */

/* --model: a name of MODEL_NAMES or the path of a config.json. The vocabulary in it is the caller's to replace. */
int config_choose(const char *name, struct model_config *config, struct error *err);
/* A Hugging Face config.json (bert). ERR_UNSAFE: not a BERT, or one with parts that we do not have. */
int config_read(const char *path, struct model_config *config, struct error *err);
/* What transformers reads as a BertConfig; the caller json_decref's it. Models whose norms stand elsewhere than BERT's
 * get a model_type that transformers does not know: as a BERT they would load and compute something else. */
json_t *config_json(const struct model_config *config, uint32_t pad_id);
#define MODEL_TYPE      "bert"
#define MODEL_TYPE_OURS "dstrain-bert"
/* transformers' name of a pre-LN model */
#define MODEL_TYPE_ROBERTA "roberta-prelayernorm"
/* Adds the keys by which a model is not plain BERT; none for most. */
void config_add_variant(const struct model_config *config, json_t *json);

/* "base", or "4x256" (layers x hidden) where the shape has no name; "base-preln", "base-lnlarge". Returns out. */
char *config_name(const struct model_config *config, char out[32]);
const char *config_activation(const struct model_config *config); /* "gelu_new" or "gelu" */

#endif
