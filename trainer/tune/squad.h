/* One fine-tuning on questions in SQuAD's form: what train_run trains on (setup.h), and what it leaves in its
 * directory,
 *
 *     predictions.json         id: text
 *     nbest_predictions.json   id: [{"text", "probability", "start_logit", "end_logit"}]
 *     null_odds.json           id: number (version 2)
 *     scores.json              exact_match, f1 in per cent; written last. In version 2 `no_answer` is
 *                              what never giving an answer would score, both ways
 *
 * Without questions to be answered (`dev` NULL) none of them. Without training, squad_answer alone. */
#ifndef TRAINER_TUNE_SQUAD_H
#define TRAINER_TUNE_SQUAD_H

#include "trainer/run/console.h"
#include "trainer/run/setup.h"
#include "trainer/tune/answers.h"
#include "trainer/tune/squad_windows.h"
#include "trainer/recipe/text.h"

struct squad {
    const char *train, *dev; /* files */
    const char *logits;      /* a file of logits instead of the model's; NULL: the model's */
    struct squad_limits limits;
    struct answer_rules rules;

    struct text text;
    struct squad_file train_file, dev_file;
    struct squad_features train_features, dev_features;
    struct squad_features valid_features; /* of `dev` with labels: the held-out loss during training */
    struct samples_reading run, split_train, split_valid;
};

/* The settings of the command line; opens nothing. */
struct squad squad_asked(const struct settings *settings);

int squad_open(void *squad, const struct settings *settings, const struct origin *origin, struct model_config *config,
               struct material *material, struct error *err);
const struct text *squad_text(void *squad);
struct task squad_task_of(void *squad, const struct recipe *recipe);
#define SQUAD_TUNING(squad)                                                                                            \
    {                                                                                                                  \
        (squad), squad_open, squad_text, squad_task_of, false                                                          \
    }
void squad_close(struct squad *squad); /* what squad_open took, also where it failed */

/* Answers the questions of `dev` with those logits, and writes the files to the directory; NULL: nowhere. *scores
 * becomes what scores.json has, unless `scores` is NULL; the caller json_decref's it. */
int squad_answer(struct squad *squad, const struct logits_source *logits, const char *directory, json_t **scores,
                 struct error *err);
/* Answers and scores the questions of `dev` with the model, and writes nothing. Collective, as predict is. */
int squad_evaluate(struct squad *squad, const struct evaluation_work *work, json_t **scores, struct error *err);
/* Prints the scores: "EM 81.2, F1 88.5   10,570 questions". */
void squad_say_scores(console_line line, const json_t *scores);

#endif
