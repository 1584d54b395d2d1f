/* What a run tells: metrics.jsonl, one JSON object a line, and the same as TensorBoard's events (events.h). Each line
 * is written in one call, so a reader never sees half a line and a killed run leaves whole ones. On resume what lies
 * after the checkpoint is cut off: every step stands once. */
#ifndef TRAINER_KEEP_METRICS_H
#define TRAINER_KEEP_METRICS_H

#include "base/error.h"
#include "base/file.h"
#include "trainer/keep/events.h"
#include "trainer/metric.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define METRICS_NAME           "metrics.jsonl"
#define METRICS_LINE_BYTES_MAX (64u << 10) /* of which a line of ours takes 1 % */

/* Keys are fixed, those of the task's metrics by its table. NAN is written as null. */
struct metrics_line {
    bool valid; /* "split": "valid": an evaluation after this step; else the training step itself */
    uint64_t step;
    const struct metric_table *metrics;
    const struct evaluation *means;    /* its samples are written for an evaluation alone */
    const struct evaluation *each;     /* [datasets] of an evaluation of a mixture: of each dataset's samples */
    uint32_t datasets;                 /* 0: there is one, or this is no evaluation */
    const struct evaluation *interval; /* means of all steps since the line before; not of an evaluation */
    double learning_rate;              /* the one used */
    double grad_norm;                  /* averaged, before clipping */
    uint64_t samples, tokens;          /* trained on, up to and with this step */
    double epoch;
    double seconds;              /* training time of the whole run */
    double sequences_per_second; /* since the line before */
    double data_wait_seconds;    /* since the line before */
    double loss_scale;
    uint64_t skipped;        /* steps that were not applied */
    const uint64_t *borders; /* [processes + 1] of the shares in force; NULL: they never change, and are not written */
    uint32_t processes;
    uint64_t wire_bytes; /* sent by rank 0 for this very step's gradients; 0: one process, and not written */
};

/* What evaluations of a run came to. */
struct metrics_best {
    double loss;    /* the least; INFINITY: none yet */
    uint64_t step;  /* after which it was found */
    uint64_t since; /* evaluations after it, none of which was better */
    double last;    /* of the last evaluation */
};
#define METRICS_BEST_NONE ((struct metrics_best){.loss = HUGE_VAL, .last = HUGE_VAL})
/* A loss counts as its line has it, so that a run that goes on decides as one that was never stopped. */
void metrics_best_add(struct metrics_best *best, uint64_t step, double loss);

/* What the lines that stay say. */
struct metrics_past {
    uint64_t kept_step; /* in: a step of interest */
    double kept_loss;   /* of the evaluation after that step; INFINITY: there is none */
    bool evaluated;     /* an evaluation after exactly the step of the opening is there */
    struct metrics_best best;
};

struct metrics {
    struct file file;
    struct events events;
};
#define METRICS_CLOSED ((struct metrics){FILE_CLOSED, EVENTS_CLOSED})

/* Opens the files in a directory for lines after `step`, made where absent: cuts them at the first line of a later
 * step and at anything that is no whole line. */
int metrics_open(struct metrics *metrics, const char *directory, uint64_t step, struct metrics_past *past,
                 struct error *err);
/* An evaluation is on disk when this returns: a run that is finished has nobody to make it again. */
int metrics_write(struct metrics *metrics, const struct metrics_line *line, struct error *err);
/* All lines so far are on disk: a checkpoint goes on after them, so they come before it. */
int metrics_sync(struct metrics *metrics, struct error *err);
void metrics_close(struct metrics *metrics); /* safe on METRICS_CLOSED */

/* Adds to `facts` what the file in a run's directory says last, of steps up to step_max: "train", the last line of a
 * training step, and "valid", that of an evaluation. What is not there or not readable is left out. */
void metrics_last(const char *directory, uint64_t step_max, json_t *facts);

#endif
