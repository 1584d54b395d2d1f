/* A training in progress: everything that is open, and how far it is.
 *
 *     training_open (start.c) → the loop (train.c) → training_close */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include "base/error.h"
#include "shards/dataset.h"
#include "trainer/backend.h"
#include "trainer/data/loader.h"
#include "trainer/estimate.h"
#include "trainer/evaluate.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/tokenizer.h"
#include "trainer/model/model.h"
#include "trainer/origin.h"
#include "trainer/ops.h"
#include "trainer/recipe.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/settings.h"

/* A step that the device was asked for, and what the host knew of it then. */
struct queued_step {
    double rate, loss_scale;
    double waited;                     /* seconds, for its samples */
    int64_t masked, sequences, tokens; /* of its batch */
};
#define STEPS_QUEUED 2 /* at most; each has a slot of its own (ops.h) */

struct training {
    const struct settings *settings;
    struct recipe recipe; /* the mathematics */
    struct dataset data, valid;
    struct tokenizer_files tokenizer;
    json_t *identity;
    struct run run;

    enum device_kind device;
    struct ops *ops;
    struct model *model;
    void *first, *second; /* moments, flat: the device's */
    struct update_work work;
    bool products_given; /* product algorithms, by a table that the run had or was given */
    struct buf products; /* the table that was made now; empty: none was */
    unsigned threads;
    uint32_t micro_batch;
    struct pack_limits limits;

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

/* What a micro-batch may bring, and how much of it the model keeps. */
struct model_budget training_budget(const struct training *training);

/* What can be known before anything is written: dataset, recipe, tokenizer files, identity. On error too the caller
 * calls training_close and origin_release. */
int training_prepare(struct training *training, const struct settings *settings, struct origin *origin,
                     struct error *err);
/* Runs what training_open opened, to its end or to where it has to stop. */
int training_run(struct training *training, struct error *err);

/* step.c: asks the device for the next step, and waits for nothing but samples; at most STEPS_QUEUED before they are
 * settled. ERR_STOPPED: it was asked for nothing that counts. */
int training_queue_step(struct training *training, struct error *err);
/* Receives what queued steps came to, the oldest first, until `left` are still on their way: moves the state on, tells.
 * ERR_NUMERIC: a step came to no number (fp16: and will not), and was told in full. */
int training_settle(struct training *training, uint64_t left, struct error *err);
/* One micro-batch of step `number`, forward and backward. */
void training_pass(struct training *training, const struct micro_batch *micro, uint64_t number);
/* What fp16 multiplies the losses by; 1 otherwise. */
double training_loss_scale(const struct training *training);

/* The samples from state.step on, to the end of the run. */
struct loader_options training_samples(const struct training *training);
/* device.c: which device computes, and whether it can compute the model; opens the backend and sets the micro-batch
 * (`recorded` is the precision of an earlier start, or NULL); the model, and the memory of its updates. */
int training_device(struct training *training, struct error *err);
int training_backend(struct training *training, const char *recorded, struct error *err);
int training_model(struct training *training, struct error *err);

/* Bytes of the device's memory by arithmetic: of the model alone, or with the moments of a training. */
enum training_memory { MEMORY_MODEL, MEMORY_TRAINING };
uint64_t training_bytes(const struct training *training, enum training_memory kind);
/* Before they are taken, of an open backend. ERR_RESOURCE: the device has less left; the hint has the micro-batch that
 * fits. On error the limits are no longer those of the micro-batch. */
int training_fits(struct training *training, enum training_memory kind, struct error *err);

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

/* Parameters and moments, flat [params->size], where the host can follow them (ops.h); one at a time. */
struct flat_state {
    float *params, *first, *second;
};
struct flat_state training_map(struct training *training, enum map_mode mode);
void training_unmap(struct training *training, const struct flat_state *flat, enum map_mode mode);

#endif
