/* The task of BERT's authors: the pieces of masked tokens (masked LM), and where the dataset's samples are pairs,
 * whether B follows A (next sentence, or sentence order). */
#ifndef TRAINER_PRETRAINING_H
#define TRAINER_PRETRAINING_H

#include "trainer/data/mixture_source.h"
#include "trainer/data/shard_source.h"
#include "trainer/datasets.h"
#include "trainer/recipe.h"
#include "trainer/task.h"

extern const struct metric_table pretraining_metrics;

/* What the task's sources read; outlives the task. Of several datasets each has a seed of its own, d 2^32 + the run's,
 * for its order and its fresh masks: no two share a stream. */
struct pretraining {
    struct shard_reading run[MIXTURE_MAX], splits[SPLITS][MIXTURE_MAX];
    struct mixed_sources mixed;            /* of several datasets: the run, */
    struct chained_sources chains[SPLITS]; /* and what is evaluated */
};

/* Puts the heads on the model that the dataset has labels for. ERR_MISMATCH: pairs, and a model of one segment. */
int pretraining_heads(const struct manifest *manifest, struct model_config *config, struct error *err);

/* The task over both splits of the datasets, which outlive it. Of several datasets an evaluation takes `evaluated`
 * samples, divided among them by their sizes: the first ones of each, one dataset after another. */
struct task pretraining_task(struct pretraining *pretraining, const struct datasets *datasets,
                             const struct recipe *recipe, uint64_t evaluated);
void pretraining_release(struct pretraining *pretraining); /* safe on a zeroed one */

#endif
