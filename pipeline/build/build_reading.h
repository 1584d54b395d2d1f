/* Reads all inputs into the spills of all extents: runs the belt of a build for every extent that this process is
 * assigned, until the extents that the processes have read separately fit together. */
#pragma once

#include "base/ranks.h"
#include "pipeline/build/collector.h"
#include "pipeline/build/extents.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/summary.h"

/* What is done with each group where it is not digested: pure, on any thread; then in order. */
struct reading_work {
    const char *name;
    void (*work)(void *worker, const struct inputs *inputs, void *job);
    int (*collect)(struct collector *collector, void *job, struct error *err); /* see collector_count */
    size_t job_size;
    void (*job_release)(void *job);
    void *(*worker_open)(const void *options);
    void (*worker_close)(void *worker);
    const void *worker_options;
};

struct reading_options {
    const char *directory;
    const struct inputs *inputs;
    const struct dataset_recipe *recipe;
    const struct resource_plan *plan;
    const struct vocab *vocab;
    const struct tokenizer *tokenizer;
    const struct repeats *repeats; /* as in struct digest_options */
    bool only_notes;
    const struct spill_set *sets;
    size_t set_count;
    const struct reading_work *work; /* NULL: digest */
    struct ranks *ranks;
};

/* 0: every window is in the spills. ERR_STOPPED: stopped on request. Sets facts->loads and the figures of earlier
 * starts. */
int reading_run(const struct reading_options *options, struct build_facts *facts, struct error *err);
