/* Opens a model and the dataset that it is evaluated on: for eval, and for report, which shows the model's guesses. */
#pragma once

#include "trainer/run/engine.h"
#include "trainer/run/setup.h"

struct evaluating {
    struct settings settings; /* with the dataset and length from run.json if none were given */
    struct setup setup;
    struct engine engine;
    struct origin origin;
    struct process_group processes;
    json_t *recorded;           /* run.json, or NULL */
    struct opt_paths shards;    /* the datasets in `recorded`, if none were given */
    struct names_report report; /* from reading the weights */
};

/* ERR_USAGE: no dataset is given, and `directory` records none.
 * `directory` is a run, a checkpoint or a Hugging Face directory; the string must outlive *e. The caller calls
 * evaluating_close, on errors too. *e must not be moved in memory. */
int evaluating_open(struct evaluating *e, const struct settings *settings, const char *directory, struct error *err);
/* Returns what process_group_leave does. */
bool evaluating_close(struct evaluating *e, int result, struct error *err);

/* Makes the model's guesses for settings.shown of the samples (tune/guesses.h). */
int evaluating_guesses(struct evaluating *e, json_t **guesses, struct error *err);
