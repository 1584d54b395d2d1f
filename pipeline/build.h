/* One build under way, as its files hand it on: build_plan.c (what is to be done, and where), build.c (the flow),
 * build_seal.c (spills → shards and manifest). Only these include it. */
#ifndef PIPELINE_BUILD_H
#define PIPELINE_BUILD_H

#include "base/file.h"
#include "base/progress.h"
#include "base/ranks.h"
#include "pipeline/dsdata_settings.h"
#include "pipeline/duplicates.h"
#include "pipeline/extents.h"
#include "pipeline/inputs.h"
#include "pipeline/resource_plan.h"
#include "pipeline/spool.h"
#include "pipeline/store/journal.h"
#include "pipeline/summary.h"

struct build {
    struct dsdata_settings *settings;
    struct ranks *ranks; /* NULL: one process alone */
    struct inputs inputs;
    struct dataset_recipe recipe;
    json_t *identity; /* see directory.h */
    char *directory;  /* as the user names it; locked */
    char *site;       /* where the dataset is built: the directory itself, or with --fresh .fresh in it */
    bool replaced;    /* this start has finished what an earlier one with --fresh had begun to put in place */
    struct lock lock;
    struct spool spool;   /* of standard input that is read twice */
    bool made;            /* the directory was made for it */
    struct buf templates; /* of the dump: templates.txt */
    bool templates_kept;  /* by an earlier start */
    struct resource_plan plan;
    struct vocab *vocab;
    struct tokenizer *tokenizer;
    struct journal journal;
    struct spill_set sets[SETS_MAX];
    struct duplicates duplicates; /* to be dropped */
    struct extents extents;
    struct extent whole;      /* their sum */
    struct build_facts facts; /* for the summary */
    struct progress progress;
    double started; /* clock */
};

/* What one process alone may do is done by this one. */
static inline bool build_is_first(const struct build *build)
{
    return ranks_rank(build->ranks) == 0;
}

/* build_plan.c.
 * An earlier start with --fresh was interrupted while it put its dataset in place: that is done first of all, because
 * --vocab may name a file that is on its way. By the first process. */
int build_settle_fresh(struct build *build, struct error *err);
/* Opens the inputs; then what the dump's own templates show, made by the first process, or taken from an earlier start;
 * then, once the directory is ours, they are kept in it. The second is called by all processes together. */
int build_open(struct build *build, struct opt_paths bare, struct error *err);
int build_templates(struct build *build, struct error *err);
int build_keep_templates(struct build *build, struct error *err);
/* Opens the inputs and settles recipe, plan and identity. Writes nothing, unless standard input has to be read twice:
 * then the directory is made and locked, and standard input lies in it. */
int build_plan(struct build *build, struct error *err);
/* Several processes must see the same inputs and options. */
int build_compare(struct build *build, struct error *err);
/* The directory is made, locked and looked at; by the first process. An enum directory_state, or < 0. */
int build_claim(struct build *build, struct error *err);
/* Says that DIR/.fresh is there: what a failed build left. */
void build_say_unfinished(const struct build *build);

/* build_seal.c. Spills → shards and manifest. */
int build_finish(struct build *build, struct error *err);

#endif
