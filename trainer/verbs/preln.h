/* A pre-LN model for others: transformers' BERT has its norms after the sums, but its RobertaPreLayerNorm is the same
 * model under other names, whose positions count from pad + 1. It has no next-sentence head, and its masked-LM head
 * knows the erf GELU alone. */
#ifndef TRAINER_VERBS_PRELN_H
#define TRAINER_VERBS_PRELN_H

#include "base/error.h"

/* Reads config.json and model.safetensors in `from` and writes both into `to`. */
int preln_write(const char *from, const char *to, struct error *err);

#endif
