/* The output of `dsdata build`: the plan, the progress line, the closing screen, one JSON object under --json, and
 * build.json. The figures are computed elsewhere; nothing is decided here. */
#pragma once

#include "base/belt.h"
#include "base/progress.h"
#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/inputs.h"
#include "pipeline/build/resource_plan.h"
#include "pipeline/build/vocabulary.h"
#include "shards/manifest.h"

#define BUILD_STEPS 5 /* of the belt */

/* Facts about a build that are not part of the dataset. */
struct build_facts {
    struct belt_load loads[BUILD_STEPS];
    struct vocabulary_facts vocabulary;
    double read_share; /* of what this process has to read, the share that this start has read */
    double seal_seconds;
    double seconds;                      /* of all starts */
    uint64_t sealed;                     /* samples, by this process */
    uint64_t bytes_before, pages_before; /* by earlier starts */
    bool notes;                          /* the inputs are read for notes, and then again (repeats.h), */
    bool again;                          /* they are read again after notes of this start */
    bool seals;                          /* shards are made from what is read */
    double earlier_seconds;              /* of earlier starts */
    bool of_pages;                       /* inputs_of_pages */
    uint32_t processes;                  /* of this start */
    uint64_t duplicates;                 /* documents with the text of an earlier one, kept or dropped */
};

void summary_plan(const char *directory, const struct dsdata_settings *settings, const struct inputs *inputs,
                  const struct dataset_recipe *recipe, const struct resource_plan *plan);
/* Prints the rest of the plan; with --json the object. Returns 0. */
int summary_dry_run(const struct dsdata_settings *settings, const struct resource_plan *plan,
                    const struct dataset_recipe *recipe);
/* The estimated seconds of sealing, from the time taken to spill `share` of the input; -1: unknown. */
double summary_seal_seconds(const struct build_facts *facts, const struct resource_plan *plan, double share);
/* The progress line while inputs are read (`done` bytes of `total`, 0: of a pipe; `seconds` since the start), and while
 * shards are sealed. */
void summary_progress(struct progress *progress, uint64_t done, uint64_t total, const struct counts *counts,
                      const struct build_facts *facts, const struct resource_plan *plan, double seconds);
void summary_sealing(struct progress *progress, const struct build_facts *facts, uint64_t samples);
int summary_print(const char *directory, const struct dsdata_settings *settings, const struct resource_plan *plan,
                  const struct manifest *manifest, const struct counts *counts, const struct missing *missing,
                  const struct build_facts *facts, struct error *err);
/* The output for a dataset that is finished already. */
int summary_finished(const char *directory, const struct dsdata_settings *settings, const struct manifest *manifest,
                     struct error *err);
/* Writes DIR/build.json. */
int summary_build_json(const char *directory, const struct dsdata_settings *settings, const struct inputs *inputs,
                       const struct resource_plan *plan, json_t *identity, const struct counts *counts,
                       const struct missing *missing, const struct build_facts *facts, struct error *err);
