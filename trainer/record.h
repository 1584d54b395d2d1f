/* What a start leaves in the run's directory beside checkpoints and metrics. */
#ifndef TRAINER_RECORD_H
#define TRAINER_RECORD_H

#include "base/error.h"
#include "trainer/engine.h"
#include "trainer/run.h"
#include "trainer/setup.h"

#include <stdint.h>

/* Records this start at `step` in run.json, of `ranks` or NULL; says what differs from the start before it that may
 * change the last bits. */
int record_start(struct run *run, const struct setup *setup, const struct engine *engine, json_t *ranks, uint64_t step,
                 struct error *err);
/* Of all: what run.json says of each process, in rank order: host, device, and how many samples of a batch are its
 * share. NULL for one alone. The caller json_decref's it. */
int record_ranks(struct team *team, const struct engine *engine, uint64_t share, json_t **ranks, struct error *err);
/* What of this process may give other last bits than a recorded start had: "device A (now B)"; empty: nothing. */
void record_differences(const json_t *start, const struct setup *setup, const struct engine *engine, struct buf *out);
/* The tokenizer's files, and the table of product algorithms. */
int record_files(const struct run *run, const struct setup *setup, const struct engine *engine, struct error *err);

#endif
