/* Inside predict: what predict_verb.c, predict_tags.c and predict_answers.c share. */
#pragma once

#include "trainer/tune/class_task.h"
#include "trainer/tune/columns.h"
#include "trainer/tune/reading.h"

#define WINDOW 4096u /* rows */

struct predicting {
    const struct settings *settings;
    const char *model, *file;
    json_t *record; /* the run's run.json, or NULL */
    struct reading reading;
    struct class_names names; /* zeroed: the model gives a number */
    uint32_t outputs;         /* columns of the logits */
    bool several;             /* a text may have several of the names */
    struct table table;
    struct columns columns;

    struct class_cutter cutter;
    struct samples samples; /* of the window */
    struct buf raws, out;
    size_t raw_ends[WINDOW];
    float *logits;
    double *shares; /* [outputs] probabilities of a row */
    uint64_t rows, empty;

    /* Of the rows that have a label which the model knows: */
    struct class_predictions scored;
    size_t room;
    double labels[WINDOW]; /* of the window: class or number; NAN: none */
    struct file to;
    bool to_stdout;
    struct progress progress;
};

/* The value of an option in the run's record; NULL: there is none. */
const char *predicting_recorded(const struct predicting *p, const char *option);
/* The name of a column that the command, else the run's record gives; NULL: neither. */
const char *predicting_column(const struct predicting *p, const char *given, const char *option);
/* The number of a label: its class in bytewise order, or itself; NAN: the model has no such label. */
double predicting_label(const struct predicting *p, struct str text);
/* Computes p->logits of the samples. */
int predicting_compute(struct predicting *p, const struct samples *samples, struct error *err);
/* Writes p->out and empties it. */
int predicting_write(struct predicting *p, struct error *err);
/* A JSON object without its closing brace, and without the blanks around it. */
struct str predicting_opened(struct str object);

/* Sentences of words, for a head of tokens: the file again with the tag as one more column, the last. *scores becomes
 * those of the words if all of them have tags that the model knows, else NULL. */
int predict_tags(struct predicting *p, json_t **scores, struct error *err);

/* Questions in SQuAD's form, for a head of spans: the file again with `prediction` and `probability` in each question.
 * *scores becomes those of the answers if every question has one to compare with, else NULL. ERR_USAGE: a question has
 * such keys; else as squad_read. */
int predict_answers(struct predicting *p, json_t **scores, struct error *err);
