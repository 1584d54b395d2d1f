/* The task of BERT's authors: the pieces of masked tokens (masked LM), and where the dataset's samples are pairs, whether
 * B follows A (next sentence, or sentence order). */
#ifndef TRAINER_PRETRAINING_H
#define TRAINER_PRETRAINING_H

#include "shards/dataset.h"
#include "trainer/data/shard_source.h"
#include "trainer/recipe.h"
#include "trainer/task.h"

extern const struct metric_table pretraining_metrics;

/* What the task's sources read; outlives the task. */
struct pretraining {
    struct shard_reading run, splits[SPLITS];
};

/* Puts the heads on the model that the dataset has labels for. ERR_MISMATCH: pairs, and a model of one segment. */
int pretraining_heads(const struct manifest *manifest, struct model_config *config, struct error *err);

/* The task over two splits of a dataset, which outlive it. */
struct task pretraining_task(struct pretraining *pretraining, const struct dataset *train, const struct dataset *valid,
                             const struct recipe *recipe);

#endif
