/* How a model's directory says that the vectors of texts are made: the files of sentence-transformers. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define MODULES_NAME  "modules.json"
#define SENTENCE_NAME "sentence_bert_config.json"
#define POOLING_NAME  "1_Pooling"

struct embed_modules {
    bool found;        /* the directory has modules.json; without, the pooling is the mean, and nothing is done to it */
    int pooling;       /* enum pooling */
    bool normalize;    /* vectors have length 1 */
    bool lower;        /* texts are lowered before they are cut */
    uint64_t length;   /* of a text in tokens; 0: not said */
    char others[96];   /* modules that are no Transformer, Pooling or Normalize; empty: none */
    char poolings[96]; /* a pooling that is none of ours, as the file has it; empty: none */
};

/* Reads modules.json, and the files of its modules beside it. ERR_UNSAFE: one of them is not what it should be. */
int embed_modules_read(const char *directory, struct embed_modules *out, struct error *err);
