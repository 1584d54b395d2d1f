/* The files of an exported model. */
#ifndef TRAINER_VERBS_EXPORT_FILES_H
#define TRAINER_VERBS_EXPORT_FILES_H

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>

/* Whether an export can have a file of this name. */
bool export_is_file(const char *name);
/* Writes config.json and model.safetensors into `to`: those of `from` byte for byte, except that weights in several
 * files are written in one, and that a bert_config.json, which has no "model_type", gets the one that transformers
 * needs. ERR_USAGE: one of them is missing. */
int export_model(const char *from, const char *to, struct error *err);
/* Copies the tokenizer's files, of any kind of tokenizer, and appends their names to `copied`: those with usual names,
 * and those that tokenizer_config.json names. */
int export_tokenizer(const char *from, const char *to, json_t *copied, struct error *err);
/* Copies licences, and the author's README.md under another name, because the export has a card of its own; appends
 * their names to `copied`, and says so. */
int export_papers(const char *from, const char *to, json_t *copied, struct error *err);
/* Appends the lines about the licence in the head (YAML) of the directory's README.md, as they are; none: nothing. */
void export_licence(const char *directory, struct buf *out);
/* The mask token that the tokenizer's files in this directory name, which the caller mem_free's; where they name none,
 * that of BERT or, beside a vocab.json, of RoBERTa. */
char *export_mask_token(const char *directory);

#endif
