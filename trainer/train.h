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

/* A step that the device was asked for, and what the host knew of it then. */
struct queued_step {
    double rate, loss_scale;
    double waited;                     /* seconds, for its samples */
    int64_t masked, sequences, tokens; /* of its batch */
};

struct training {
    struct setup setup;   /* what stands */
    struct engine engine; /* what computes */
    struct run run;

    struct checkpoint_state state;          /* behind the last step whose facts are known */
    struct queued_step queue[STEPS_QUEUED]; /* the steps behind it, by number */
    uint64_t queued;
    double told_clock; /* clock_now from which the next step's seconds count */
    struct {
        double seconds, waited;
        uint64_t samples;
    } since;           /* the last line of metrics */
    double seconds;    /* training time of the whole run, without evaluation and saving */
    uint64_t begun_at; /* step at which this invocation began */
    uint64_t saved_step;
    double deadline;                   /* clock_now by which to leave; INFINITY: none */
    double step_longest, save_longest; /* seconds, of this invocation */
    double saving;                     /* seconds of all its saves */
    double saved_clock;                /* clock_now of the last save, or of the start */
    bool evaluated;                    /* after state.step */
    struct evaluation valid_now;       /* the last evaluation */
    struct metrics metrics;
    struct loader *loader;
    struct estimate estimate; /* of a step, by measure */
    struct screen screen;
};

/* Runs what training_open opened, to its end or to where it has to stop. */
int training_run(struct training *training, struct error *err);

/* step.c: asks the device for the next step, and waits for nothing but samples; at most STEPS_QUEUED before they are
 * settled. ERR_STOPPED: it was asked for nothing that counts. */
int training_queue_step(struct training *training, struct error *err);
/* Receives what queued steps came to, the oldest first, until `left` are still on their way: moves the state on, tells.
 * ERR_NUMERIC: a step came to no number (fp16: and will not), and was told in full. */
int training_settle(struct training *training, uint64_t left, struct error *err);
/* What fp16 multiplies the losses by; 1 otherwise. */
double training_loss_scale(const struct training *training);

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
