/* The metrics of a run: metrics.jsonl, one JSON object per line, and the same as TensorBoard's events (events.h). Each
 * line is written in one call, so readers never see half a line and a killed run leaves complete ones. A resume cuts
 * off the lines after its checkpoint, so every step is there once. */
#pragma once

#include "trainer/keep/events.h"
#include "trainer/data/metric.h"

#define METRICS_NAME           "metrics.jsonl"
#define METRICS_LINE_BYTES_MAX (64u << 10) /* for readers; lines of ours take about 1 % of it */

/* One line. Its keys are fixed, except those that the task's table of metrics names. NAN is written as null. */
struct metrics_line {
    bool valid; /* "split": "valid": an evaluation after this step; else the training step itself */
    uint64_t step;
    const struct metric_table *metrics;
    const struct evaluation *means;    /* means->samples is written only for an evaluation */
    const struct evaluation *each;     /* [datasets] means per dataset, for an evaluation of a mixture */
    uint32_t datasets;                 /* 0: a single dataset, or not an evaluation */
    const struct evaluation *interval; /* means of all steps since the previous line; unused by an evaluation */
    double learning_rate;              /* the one used */
    double grad_norm;                  /* averaged, before clipping */
    uint64_t samples, tokens;          /* trained on, including this step */
    double epoch;
    double seconds;              /* training time of the whole run */
    double sequences_per_second; /* since the previous line */
    double data_wait_seconds;    /* since the previous line */
    double loss_scale;
    uint64_t skipped;        /* steps that were not applied */
    const uint64_t *borders; /* [processes + 1] of the current shares; NULL: shares never change; not written */
    uint32_t processes;
    uint64_t wire_bytes; /* sent by rank 0 for the gradients of this step; 0: one process; not written */
};

/* The held-out losses of a run so far. */
struct metrics_best {
    double loss;    /* the least; INFINITY: none yet */
    uint64_t step;  /* of that evaluation */
    uint64_t since; /* evaluations since then, none of them better */
    double last;    /* of the last evaluation */
};
#define METRICS_BEST_NONE ((struct metrics_best){.loss = HUGE_VAL, .last = HUGE_VAL})
/* Rounds the loss as its line in the file does, so that a resumed run decides as an uninterrupted one. */
void metrics_best_add(struct metrics_best *best, uint64_t step, double loss);

/* What metrics_open learns from the lines that it keeps. */
struct metrics_past {
    uint64_t kept_step; /* input: the step whose held-out loss is wanted */
    double kept_loss;   /* of the evaluation after that step; INFINITY: none */
    bool evaluated;     /* there is an evaluation of exactly the `step` given to metrics_open */
    struct metrics_best best;
};

struct metrics {
    struct file file;
    struct events events;
};
#define METRICS_CLOSED ((struct metrics){FILE_CLOSED, EVENTS_CLOSED})

/* Opens the files in a directory for lines after `step`, creating them if absent. Truncates them at the first line of a
 * later step, or at anything that is not a complete line. past->kept_step is read, all else in *past is filled in. On
 * error both files are closed. */
int metrics_open(struct metrics *metrics, const char *directory, uint64_t step, struct metrics_past *past,
                 struct error *err);
/* Syncs evaluations to disk before it returns: nothing would repeat the evaluation of a finished run. */
int metrics_write(struct metrics *metrics, const struct metrics_line *line, struct error *err);
/* Syncs all lines so far to disk. Called before a checkpoint is written, which a resume continues after. */
int metrics_sync(struct metrics *metrics, struct error *err);
void metrics_close(struct metrics *metrics); /* safe on METRICS_CLOSED */

/* Adds to `facts` the last lines of the file in a run's directory, of steps up to step_max: "train", the last line of a
 * training step, and "valid", the last one of an evaluation. Lines that are absent or unreadable are left out. */
void metrics_last(const char *directory, uint64_t step_max, json_t *facts);
