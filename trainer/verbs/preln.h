/* Writes a pre-LN model for transformers, whose BERT has its norms after the sums. Its RobertaPreLayerNorm is the same
 * model with other names and with positions that count from pad + 1. Its heads are those of BERT (that of
 * classification contains the pooler), except that it has no next-sentence head, and only the erf GELU in the
 * masked-LM head. */
#ifndef TRAINER_VERBS_PRELN_H
#define TRAINER_VERBS_PRELN_H

#include "base/error.h"

/* Reads the config and the weights in `from`, which holds weights, and writes config.json and model.safetensors into
 * `to`. */
int preln_write(const char *from, const char *to, struct error *err);

#endif
