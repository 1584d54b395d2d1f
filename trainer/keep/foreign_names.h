/* Names of tensors in files that others wrote. Pure. */
#ifndef TRAINER_KEEP_FOREIGN_NAMES_H
#define TRAINER_KEEP_FOREIGN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define FOREIGN_NAME_BYTES 256 /* room for a translated name; a longer one is none of ours */

/* Translates a tensor's name to the one that our table uses: takes off the names of modules that wrap a model
 * (`module.`, `_orig_mod.`, `model.` and others, however often), adds `bert.` where the body has no prefix, and knows
 * `gamma` and `beta`, `dense_act`, and RobertaPreLayerNorm's names. Any other name stays as it is. Returns whether it
 * is one of RobertaPreLayerNorm's. */
bool foreign_name(const char *name, char *out, size_t out_size);

/* The name of a pre-LN model's tensor in transformers' RobertaPreLayerNorm. */
#define ROBERTA_PREFIX "roberta_prelayernorm."
void foreign_roberta(const char *name, char *out, size_t out_size);

/* For names of our table: the name of the tensor that transformers ties this one to, or NULL; whether it belongs to a
 * head; whether to one of a fine-tuned model, which is ignored where it is of another task. */
const char *foreign_tied(const char *name);
bool foreign_is_head(const char *name);
bool foreign_is_task_head(const char *name);

#endif
