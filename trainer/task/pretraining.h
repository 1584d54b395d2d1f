/* The task of BERT's authors: predicting the pieces of masked tokens (masked LM) and, if the dataset's samples are
 * pairs, whether B follows A (next sentence, or sentence order). */
#pragma once

#include "trainer/data/mixture_source.h"
#include "trainer/recipe/recipe.h"
#include "trainer/task/task.h"

extern const struct metric_table pretraining_metrics;

/* The sources of the task; outlives the task. Dataset d of a mixture has the seed d 2^32 + the run's for its order and
 * fresh masks, so no two datasets share a random stream. */
struct pretraining {
    struct shard_reading run[MIXTURE_MAX], splits[SPLITS][MIXTURE_MAX];
    struct mixed_sources mixed;            /* for several datasets: what the run reads */
    struct chained_sources chains[SPLITS]; /* for several datasets: what is evaluated */
};

/* Gives the model the heads for which the dataset has labels. ERR_MISMATCH: pairs, but a model for one segment. */
int pretraining_heads(const struct manifest *manifest, struct model_config *config, struct error *err);

/* The task over both splits of the datasets, which outlive it. With several datasets an evaluation takes `evaluated`
 * samples, divided among the datasets by size: the first ones of each, one dataset after another. */
struct task pretraining_task(struct pretraining *pretraining, const struct datasets *datasets,
                             const struct recipe *recipe, uint64_t evaluated);
void pretraining_release(struct pretraining *pretraining); /* safe on a zeroed one */
