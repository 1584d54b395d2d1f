/* A training in progress: everything that is open, and how far it is.
 *
 *     training_open (start.c) → the loop (train.c) → training_close */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include "base/error.h"
#include "trainer/engine.h"
#include "trainer/estimate.h"
#include "trainer/evaluate.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/metrics.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/setup.h"
#include "trainer/step.h"

struct training {
    struct setup setup;       /* what stands */
    struct engine engine;     /* what computes */
    struct position position; /* where the run is */
    struct run run;
    struct {
        double seconds, waited;
        uint64_t samples;
    } since; /* the last line of metrics */
    uint64_t saved_step;
    double deadline;             /* clock_now by which to leave; INFINITY: none */
    double save_longest;         /* seconds, of this invocation */
    double saving;               /* seconds of all its saves */
    double saved_clock;          /* clock_now of the last save, or of the start */
    bool evaluated;              /* after state.step */
    struct evaluation valid_now; /* the last evaluation */
    struct metrics metrics;
    struct loader *loader;
    struct estimate estimate; /* of a step, by measure */
    struct screen screen;
};

/* Runs what training_open opened, to its end or to where it has to stop. */
int training_run(struct training *training, struct error *err);

/* train.c: one step, and what came of queued ones until `left` are still on their way. */
int training_step(struct training *training, struct error *err);
int training_settle(struct training *training, uint64_t left, struct error *err);

/* The samples from state.step on, to the end of the run. */
struct loader_options training_samples(const struct training *training);
/* Opens dataset, model, run; draws, reads or resumes the weights. A run that is finished (run.kind) opens no model. On
 * error too the caller calls training_close. */
int training_open(struct training *training, const struct settings *settings, struct error *err);
void training_close(struct training *training);

/* A checkpoint of the step that is done; on error the one before it is as whole as before. */
int training_save(struct training *training, struct error *err);
/* Is one due behind `step`? */
bool training_save_due(const struct training *training, uint64_t step);
/* The same where one is due behind the step that is done. Where it cannot be written and --save-fails says so, that is
 * told and the next one makes it good; the last one must succeed. */
int training_save_when_due(struct training *training, struct error *err);

#endif
