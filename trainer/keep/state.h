/* state.json, the file that makes a directory a checkpoint: the run's progress and identity, the hash of every other
 * file, and its own hash. This writes and reads it. Also the names in a run's directory. */
#pragma once

#include "trainer/optim/freeze.h"
#include "trainer/optim/scaler.h"

#define STATE_NAME       "state.json"
#define STATE_BYTES_MAX  (1u << 20)
#define WEIGHTS_NAME     "model.safetensors"
#define MOMENTS_NAME     "optimizer.safetensors"
#define CHECKPOINTS_NAME "checkpoints"
#define RUN_NAME         "run.json"
#define LATEST_NAME      "latest"
#define BEST_NAME        "best"

/* Prefixes of the names in optimizer.safetensors. */
#define FIRST_PREFIX  "first_moment."
#define SECOND_PREFIX "second_moment."

/* The progress of a run. */
struct checkpoint_state {
    uint64_t step;    /* attempts; determines data and dropout, counted by --steps */
    uint64_t updates; /* attempts that were applied; determines schedule and bias correction */
    uint64_t samples, tokens;
    double norm_max; /* largest gradient norm so far (rounded to float), and its step; 0, 0: none yet */
    uint64_t norm_max_step;
    struct scaler_state scaler; /* with fp16; else its scale is 0 */
    struct freeze_state freeze; /* with an optimizer that compresses; else zeros */
};

/* Makes the JSON object; the caller json_decref's it. `hashes` maps names of files to XXH3 as text, `identity` is the
 * run's. */
json_t *state_json(const struct checkpoint_state *state, json_t *hashes, const json_t *identity);

/* Checks an object and reads the state from it; on success its keys `files` and `run` are objects. `path` is named in
 * errors. A wrong hash or type of value: ERR_VERIFY; a newer version: ERR_MISMATCH. Removes the key `hash`. */
int state_take(const char *path, json_t *json, struct checkpoint_state *state, struct error *err);

bool state_is_step_name(const char *name); /* "step-00001000" */
