/* A model and the dataset that it is evaluated on, opened: for eval, and for report, which shows what it guesses. */
#ifndef TRAINER_VERBS_DSTRAIN_EVAL_H
#define TRAINER_VERBS_DSTRAIN_EVAL_H

#include "trainer/engine.h"
#include "trainer/origin.h"
#include "trainer/setup.h"
#include "trainer/team.h"

struct evaluating {
    struct settings settings; /* with the dataset and length that run.json records, where none were given */
    struct setup setup;
    struct engine engine;
    struct origin origin;
    struct team team;
    json_t *recorded;           /* settings in run.json, or NULL */
    struct opt_paths shards;    /* the datasets in them, where none were given */
    struct names_report report; /* of the weights that were read */
};

/* `directory` is a run, a checkpoint or a Hugging Face directory; outlives the rest. On error too the caller calls
 * evaluating_close. Must not be moved. */
int evaluating_open(struct evaluating *e, const struct settings *settings, const char *directory, struct error *err);
/* Returns what team_leave does. */
bool evaluating_close(struct evaluating *e, int result, struct error *err);

/* settings.shown of the samples with the model's guesses (tune/guesses.h). */
int evaluating_guesses(struct evaluating *e, json_t **guesses, struct error *err);

#endif
