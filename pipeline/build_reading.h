/* All inputs → the spills of all extents: the belt of a build, run for every extent that this process has to read,
 * until what the processes have read apart fits together. */
#ifndef PIPELINE_BUILD_READING_H
#define PIPELINE_BUILD_READING_H

#include "base/ranks.h"
#include "pipeline/collector.h"
#include "pipeline/extents.h"
#include "pipeline/resource_plan.h"
#include "pipeline/summary.h"

struct reading_options {
    const char *directory;
    const struct inputs *inputs;
    const struct dataset_recipe *recipe;
    const struct resource_plan *plan;
    const struct vocab *vocab;
    const struct tokenizer *tokenizer;
    const struct duplicates *duplicates; /* as in struct digest_options */
    bool only_hashes;
    const struct spill_set *sets;
    size_t set_count;
    struct ranks *ranks;
};

/* 0: every window is in the spills. ERR_STOPPED: stopped on request. Fills facts->loads and what earlier starts
 * took. */
int reading_run(const struct reading_options *options, struct build_facts *facts, struct error *err);

#endif
