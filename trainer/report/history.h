/* What happened in a run: the lines of its metrics.jsonl as numbers, with the spikes and starts among them. */
#ifndef TRAINER_REPORT_HISTORY_H
#define TRAINER_REPORT_HISTORY_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_KEYS      40u /* numbers of a line that are kept: the first ones that have a use here */
#define HISTORY_KEY_BYTES 48u

struct history_line {
    uint64_t step;
    bool valid;                  /* an evaluation after this step */
    bool spike;                  /* of training: its loss lies far above the logged ones before it (trainer/spikes.h) */
    double values[HISTORY_KEYS]; /* by key; NAN: null, or not there */
};

struct history {
    char keys[HISTORY_KEYS][HISTORY_KEY_BYTES]; /* from the file: anybody's text */
    size_t key_count;
    struct history_line *lines; /* [count], steps never fall */
    size_t count, capacity;
};

/* "dataset_2_loss": the key under which the held-out loss of dataset d of a mixture, from 0, is kept. */
char *history_dataset_key(size_t dataset, char out[HISTORY_KEY_BYTES]);

/* Reads metrics.jsonl of a run's directory; an absent file has no lines, nor has a last line without its end, which is
 * what a crash leaves. ERR_VERIFY names file and line where one is not what dstrain writes. On error nothing is
 * held. */
int history_read(struct history *history, const char *directory, struct error *err);
void history_release(struct history *history); /* safe on a zeroed one */

/* Index of a key, or SIZE_MAX. */
size_t history_key(const struct history *history, const char *key);
/* The last line of a split, or NULL. */
const struct history_line *history_last(const struct history *history, bool valid);
/* A value of a line by name; NAN where there is none. `line` may be NULL. */
double history_value(const struct history *history, const struct history_line *line, const char *key);

#endif
