/* What a start writes to the run's directory besides checkpoints and metrics. */
#pragma once

#include "trainer/run/engine.h"
#include "trainer/run/run.h"
#include "trainer/run/setup.h"

/* Records this start at `step` in run.json, with `ranks` (may be NULL), and logs differences from the previous start
 * that may change the last bits. ERR_MISMATCH: there are such differences, with --same-bits. */
int record_start(struct run *run, const struct setup *setup, const struct engine *engine, json_t *ranks, uint64_t step,
                 struct error *err);
/* Whether an earlier start of this very command (--restarts) made the run that is there. */
bool record_is_ours(const char *directory);
/* The step at which the first start of this command began, or `step` if this is the first. */
uint64_t record_first_step(const struct run *run, uint64_t step);
/* Collective (process_group.h): the entries of all processes for run.json, in rank order: host, device, and the samples
 * of a batch that are its share. NULL for a single process. The caller json_decref's it. */
int record_ranks(struct process_group *processes, const struct engine *engine, uint64_t share, json_t **ranks,
                 struct error *err);
/* Appends the differences from a recorded start that may change the last bits: "device A (now B)"; nothing if there are
 * none. */
void record_differences(const json_t *start, const struct setup *setup, const struct engine *engine, struct buf *out);
/* Writes the tokenizer's files and the table of product algorithms. */
int record_files(const struct run *run, const struct setup *setup, const struct engine *engine, struct error *err);
