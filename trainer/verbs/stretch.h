/* Which part of a recorded run is to be computed again: between two of its checkpoints, by the starts that run.json
 * holds. Nothing but names and run.json is read. */
#ifndef TRAINER_VERBS_STRETCH_H
#define TRAINER_VERBS_STRETCH_H

#include "base/error.h"
#include "trainer/settings.h"

#include <jansson.h>
#include <stdint.h>

/* "RUN/checkpoints/step-00001000"; the caller mem_free's it. */
char *stretch_checkpoint(const char *run, uint64_t step);

/* Reads run.json into *record, and makes *plan: {command: of the start that computed the first step, precision, task
 * (of a fine-tuning), seed, from: the step to begin after (0: where the run began), steps: [of the checkpoints to
 * compare, ascending; at least one]}, as --from and --to say. The caller json_decref's both, on error too. ERR_USAGE:
 * no run, or no such checkpoints. */
int stretch_plan(const char *run, const struct settings *asked, json_t **record, json_t **plan, struct error *err);

/* The first step that is computed: after `from`, or after where the run began (which --resume moves). */
uint64_t stretch_first(const json_t *record, uint64_t from);
/* The start that computed a step, or NULL, and the step after which a start began. */
const json_t *stretch_start(const json_t *record, uint64_t step);
uint64_t stretch_start_step(const json_t *start);

#endif
