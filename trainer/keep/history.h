/* The history of a run: the lines of its metrics.jsonl as numbers, with loss spikes marked. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define HISTORY_KEYS      40u /* at most this many keys are kept: the first ones in the file that the report uses */
#define HISTORY_KEY_BYTES 48u

struct history_line {
    uint64_t step;
    bool valid; /* an evaluation after this step */
    bool spike; /* a training step whose loss is far above the logged ones before it (trainer/keep/spikes.h) */
    double values[HISTORY_KEYS]; /* by key; NAN: null or absent */
};

struct history {
    char keys[HISTORY_KEYS][HISTORY_KEY_BYTES]; /* from the file: untrusted text */
    size_t key_count;
    struct history_line *lines; /* [count], steps never decrease */
    size_t count, capacity;
};

/* The key of the held-out loss of a mixture's dataset number `dataset`, from 0: "dataset_2_loss" for 1. */
char *history_dataset_key(size_t dataset, char out[HISTORY_KEY_BYTES]);

/* Reads metrics.jsonl of a run's directory. An absent file is the same as an empty one, and an incomplete last line,
 * which a crash may leave, is ignored. ERR_VERIFY names file and line if one is not what dstrain writes. Nothing needs
 * to be released after an error. */
int history_read(struct history *history, const char *directory, struct error *err);
void history_release(struct history *history); /* safe on a zeroed one */

/* Index of a key, or SIZE_MAX. */
size_t history_key(const struct history *history, const char *key);
/* The last line of a split, or NULL. */
const struct history_line *history_last(const struct history *history, bool valid);
/* A value of a line by key; NAN if there is none. `line` may be NULL. */
double history_value(const struct history *history, const struct history_line *line, const char *key);
