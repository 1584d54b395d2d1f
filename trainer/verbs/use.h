/* What a model is for: the heads that its file has, and the class of transformers that loads them. */
#pragma once

#include <stdint.h>

struct use {
    const char *tag;     /* the model hub's name of the task, as "fill-mask"; NULL: it has none */
    char class[48];      /* of transformers: "AutoModelForMaskedLM"; it draws no head at random */
    const char *trial;   /* a Python program that tries it (head.h); NULL: there is no short one */
    uint64_t parameters; /* in the file, tied copies once; 0: the file cannot be read */
};

/* Looks at the model in this directory. The first of config.json's `architectures` decides where the file has its head,
 * else the head of pre-training or of questions that the file has, else there is none. */
struct use use_of(const char *files);
