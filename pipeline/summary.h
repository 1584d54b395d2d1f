/* What `dsdata build` tells: the plan, the progress line, the closing screen, one JSON object under --json, and
 * build.json. Figures come in finished; nothing is decided here. */
#ifndef PIPELINE_SUMMARY_H
#define PIPELINE_SUMMARY_H

#include "base/belt.h"
#include "base/progress.h"
#include "pipeline/inputs.h"
#include "pipeline/plan.h"
#include "pipeline/recipe.h"
#include "pipeline/vocabulary.h"
#include "shards/manifest.h"

#define BUILD_STEPS 5 /* of the belt */

/* What is known of a build that is no part of the dataset. */
struct build_facts {
    struct belt_load loads[BUILD_STEPS];
    struct vocabulary_facts vocabulary;
    double seal_seconds;
    double seconds; /* of all starts */
    uint64_t sealed;
};

void summary_plan(const char *directory, const struct settings *settings, const struct inputs *inputs,
                  const struct recipe *recipe, const struct plan *plan);
/* Prints the rest of the plan; with --json the object. Returns 0. */
int summary_dry_run(const struct settings *settings, const struct plan *plan, const struct recipe *recipe);
void summary_progress(struct progress *progress, const struct inputs *inputs, uint32_t file, uint64_t window,
                      const struct counts *counts, double seconds);
int summary_print(const char *directory, const struct settings *settings, const struct plan *plan,
                  const struct manifest *manifest, const struct counts *counts, const struct build_facts *facts,
                  struct error *err);
/* The same command on a finished dataset. */
int summary_finished(const char *directory, const struct settings *settings, const struct manifest *manifest,
                     struct error *err);
/* Writes DIR/build.json. */
int summary_build_json(const char *directory, const struct settings *settings, const struct inputs *inputs,
                       const struct plan *plan, json_t *identity, const struct counts *counts,
                       const struct build_facts *facts, struct error *err);

#endif
