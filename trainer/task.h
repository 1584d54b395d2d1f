/* What is trained: where samples come from, which heads run on them, what their sums are called, how a split is
 * evaluated. Pre-training (pretraining.h) is the first task; all else is the same for every task. */
#ifndef TRAINER_TASK_H
#define TRAINER_TASK_H

#include "base/error.h"
#include "shards/format.h"
#include "trainer/data/loader.h"
#include "trainer/metric.h"
#include "trainer/model/model.h"
#include "trainer/team.h"
#include "trainer/verdict.h"

#include <stdint.h>

struct evaluation_work {
    const struct task *task;
    struct model *model;
    const struct source *source;
    uint64_t samples;                 /* the first ones of the source, at most all */
    const struct pack_limits *limits; /* of a micro-batch */
    const struct halt *halt;          /* asked before every micro-batch */
    struct team *team;                /* over whose processes the samples are divided; NULL: one process */
    uint64_t step;                    /* after which, for messages */
    struct evaluation *each;          /* [source->parts] of each of its datasets; NULL: not asked for */
};

struct task {
    uint32_t heads; /* those that run: bit h is head h */
    struct metric_table metrics;
    struct source samples;        /* of the run, in its order */
    struct source splits[SPLITS]; /* of each split, always the same ones: for evaluations; SPLIT_VALID may be empty */

    /* Means, and what else the task's metrics are. ERR_STOPPED where `halt` said so; else errors are the source's. */
    int (*evaluate)(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err);

    /* What is made of the model after the last step, before the run counts as finished: files in its directory. By the
     * process that writes, alone. NULL: nothing. Errors as above. */
    int (*finish)(const struct evaluation_work *work, const char *directory, struct error *err);
    const void *context; /* of finish */
};

#endif
