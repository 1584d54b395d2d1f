/* The state of a build, shared by its files: build_plan.c (what to do, and where), build.c (the flow), build_seal.c
 * (spills → shards and manifest). Only these include it. */
#pragma once

#include "base/file.h"
#include "base/progress.h"
#include "base/ranks.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/build/repeats.h"
#include "pipeline/build/extents.h"
#include "pipeline/input/inputs.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/input/spool.h"
#include "pipeline/store/journal.h"
#include "pipeline/build/summary.h"

struct build {
    struct dsdata_settings *settings;
    struct opt_paths bare; /* inputs */
    struct ranks *ranks;   /* NULL: a single process */
    struct inputs inputs;
    struct dataset_recipe recipe;
    json_t *identity; /* see directory.h */
    char *directory;  /* as the user names it; locked */
    char *site;       /* where the dataset is built: the directory itself, or with --fresh .fresh in it */
    bool replaced;    /* this start has finished replacing the old dataset, which an earlier start with --fresh had
                       * begun */
    struct lock lock;
    struct spool spool;   /* standard input on disk, if it is read twice */
    bool made;            /* this build created the directory */
    struct buf templates; /* of the dump: templates.txt */
    bool templates_kept;  /* kept by an earlier start */
    struct resource_plan plan;
    struct vocab *vocab;
    struct tokenizer_files files; /* of a byte-level BPE, but vocab.txt */
    struct tokenizer *tokenizer;
    struct journal journal;
    struct spill_set sets[SETS_MAX];
    struct repeats repeats; /* to be dropped */
    struct extents extents;
    struct extent whole;      /* the sum of all extents */
    struct build_facts facts; /* for the summary */
    struct progress progress;
    double started; /* clock */
};

static inline bool build_is_first(const struct build *build)
{
    return ranks_rank(build->ranks) == 0;
}

/* Run a step in all processes, or in the first only, which does what a single process must do. All call this together,
 * and all fail if one has failed. */
typedef int build_step(struct build *build, struct error *err);
int build_by_all(struct build *build, build_step *step, struct error *err);
int build_by_first(struct build *build, build_step *step, struct error *err);

/* build_plan.c.
 * An earlier start with --fresh may have been interrupted while it put its dataset in place. That is finished first,
 * because --vocab may name a file that is being moved. First process only. */
int build_settle_fresh(struct build *build, struct error *err);
/* build_open opens the inputs. It writes nothing, unless standard input has to be read twice: then the directory is
 * created and locked, and standard input is stored in it. build_templates gets the renderings of the dump's own
 * templates, made by the first process or kept by an earlier start; all processes call it together.
 * build_keep_templates keeps them in the directory, once it is ours. */
int build_open(struct build *build, struct error *err);
int build_templates(struct build *build, struct error *err);
int build_keep_templates(struct build *build, struct error *err);
/* build_plan determines recipe and plan. build_check_directory refuses a directory that a build cannot use, while
 * nothing has been read or written (first process only). build_identify needs the templates. */
int build_plan(struct build *build, struct error *err);
int build_check_directory(struct build *build, struct error *err);
int build_identify(struct build *build, struct error *err);
/* Checks that all processes see the same inputs and options. */
int build_compare(struct build *build, struct error *err);
/* Creates, locks and examines the directory. First process only. Returns an enum directory_state, or < 0. */
int build_claim(struct build *build, struct error *err);
/* Says that DIR/.fresh exists: it was left by a failed build. */
void build_say_unfinished(const struct build *build);

/* build_seal.c. Spills → shards and manifest. */
int build_finish(struct build *build, struct error *err);
