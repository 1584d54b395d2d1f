/* Determines which part of a recorded run is computed again: the steps between two of its checkpoints, and the starts
 * in run.json that computed them. Only file names and run.json are read. */
#pragma once

#include "trainer/recipe/settings.h"

/* Lists the steps of the existing checkpoints, ascending; the caller mem_free's them, on errors too. */
int stretch_kept(const char *run, uint64_t **steps, size_t *count, struct error *err);

/* Reads run.json, or the file of --provenance, into *record and makes *plan by --from and --to: {command: that of the
 * start that computed the first step, shards, precision, task (of a fine-tuning), seed, from: the step to start after
 * (0: the run's beginning), steps: [of the checkpoints to compare, ascending; at least one]}. The caller json_decref's
 * both, on errors too. ERR_USAGE: not a run, or no such checkpoints. With --provenance only checkpoints that it names
 * count; ERR_VERIFY: one that it names is not there; ERR_MISMATCH: it does not name one that was asked for. */
int stretch_plan(const char *run, const struct settings *asked, json_t **record, json_t **plan, struct error *err);

/* The first step that is computed: the one after `from`, or the run's first step, which with --resume is not 1. */
uint64_t stretch_first(const json_t *record, uint64_t from);
/* The start that computed a step, or NULL; and the step after which a start began. */
const json_t *stretch_start(const json_t *record, uint64_t step);
uint64_t stretch_start_step(const json_t *start);
