/* A byte-level BPE's files, for tokenizer_files.c: a tokenizer.json, or vocab.json and merges.txt, and the settings
 * beside them. */
#pragma once

#include "base/error.h"
#include "tokenizer/vocab.h"

#include <jansson.h>

/* Makes the vocabulary of a tokenizer.json whose model is BPE. `root` is its content; `directory`, or NULL, has the
 * files beside it, whose settings may hold instead, as in AutoTokenizer. ERR_UNSAFE: rules that are not supported,
 * which the message quotes; ERR_INPUT: damaged. */
int bpe_read_json(struct vocab **vocab, const char *path, const json_t *root, const char *directory, struct error *err);

/* The same from vocab.json and merges.txt of a directory. */
int bpe_read_merges(struct vocab **vocab, const char *directory, struct error *err);
