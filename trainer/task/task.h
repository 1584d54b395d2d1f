/* A task: where samples come from, which heads run on them, the names of the metrics, how a split is evaluated, and
 * what is done at the end. Everything else is the same for all tasks. pretraining.h is the first one. */
#pragma once

#include "shards/format.h"
#include "trainer/data/loader.h"
#include "trainer/data/metric.h"
#include "trainer/model/model.h"
#include "trainer/parallel/process_group.h"

struct evaluation_work {
    const struct task *task;
    struct model *model;
    const struct source *source;
    uint64_t samples;                 /* to evaluate: the first ones of the source, at most all */
    const struct pack_limits *limits; /* of a micro-batch */
    const struct halt *halt;          /* asked before every micro-batch */
    struct process_group *processes;  /* the processes that share the samples; NULL: one process */
    uint64_t step;                    /* the last step, for messages */
    struct evaluation *each;          /* [source->parts] results per dataset; NULL: not wanted */
    const char *weights; /* their file: numbers that are not finite are its error; NULL: they count as such */
};

struct task {
    uint32_t heads; /* that run: bit h is head h */
    struct metric_table metrics;
    struct source samples;        /* for training, in the run's order */
    struct source splits[SPLITS]; /* for evaluations, always the same samples; SPLIT_VALID may be empty */

    /* Computes the task's metrics. ERR_STOPPED: `halt` returned true; else errors are the source's. */
    int (*evaluate)(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err);

    /* Writes files into the run's directory after the last step, before the run counts as finished. Only rank 0 calls
     * it. May be NULL. Errors as above. */
    int (*finish)(const struct evaluation_work *work, const char *directory, struct error *err);
    const void *context; /* for finish */
};

/* evaluate.c: the `evaluate` of a task whose metrics are all means. */
int evaluate_means(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err);
/* The means of the sums of a model's heads, over a step or the samples of a source; over no samples they are NAN. */
struct evaluation evaluation_of(const struct task *task, const struct model_metrics *sums);
