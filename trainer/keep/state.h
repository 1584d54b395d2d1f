/* state.json, the file that makes a directory a checkpoint: how far the run is, which run it is, and the hash of every
 * file beside it; its own hash closes it. Both ways are here. Also the names in a run's directory. */
#ifndef TRAINER_KEEP_STATE_H
#define TRAINER_KEEP_STATE_H

#include "base/error.h"
#include "trainer/optim/freeze.h"
#include "trainer/optim/scaler.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define STATE_NAME       "state.json"
#define STATE_BYTES_MAX  (1u << 20)
#define WEIGHTS_NAME     "model.safetensors"
#define MOMENTS_NAME     "optimizer.safetensors"
#define CHECKPOINTS_NAME "checkpoints"
#define LATEST_NAME      "latest"
#define BEST_NAME        "best"

/* Before the names of optimizer.safetensors. */
#define FIRST_PREFIX  "first_moment."
#define SECOND_PREFIX "second_moment."

/* How far a run is. */
struct checkpoint_state {
    uint64_t step;    /* attempts: data, dropout, --steps */
    uint64_t updates; /* of them applied: schedule, bias correction */
    uint64_t samples, tokens;
    double norm_max; /* largest gradient norm so far (as float), and its step; 0, 0: none yet */
    uint64_t norm_max_step;
    struct scaler_state scaler; /* of fp16; else its scale is 0 */
    struct freeze_state freeze; /* of an optimizer that compresses; else zeros */
};

/* The whole object; the caller json_decref's it. `hashes` maps names of files to XXH3 as text, `identity` is the
 * run's. */
json_t *state_json(const struct checkpoint_state *state, json_t *hashes, const json_t *identity);

/* Checks an object read from `path` (for errors) and takes the state out of it; its keys `files` and `run` are objects
 * then. Another hash or kind of value: ERR_VERIFY; a newer version: ERR_MISMATCH. Removes the key `hash`. */
int state_take(const char *path, json_t *json, struct checkpoint_state *state, struct error *err);

bool state_is_step_name(const char *name); /* "step-00001000" */

#endif
