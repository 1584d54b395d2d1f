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
    struct optimizer_work work;
    unsigned threads;
    uint32_t micro_batch;
    struct pack_limits limits;

    struct checkpoint_state state;
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
/* The samples from state.step on, to the end of the run. */
struct loader_options training_samples(const struct training *training);
/* Opens the backend and sets the micro-batch. `recorded` is the precision of an earlier start, or NULL. */
int training_backend(struct training *training, const char *recorded, struct error *err);

/* Opens dataset, model, run; draws, reads or resumes the weights. A run that is finished (run.kind) opens no model. On
 * error too the caller calls training_close. */
int training_open(struct training *training, const struct settings *settings, struct error *err);
void training_close(struct training *training);

/* A checkpoint of the step that is done; on error the one before it is as whole as before. */
int training_save(struct training *training, struct error *err);
/* The same where one is due. Where it cannot be written and --save-fails says so, that is told and the next one makes it
 * good; the last one must succeed. */
int training_save_when_due(struct training *training, struct error *err);

/* Parameters and moments, flat [params->size], where the host can follow them (ops.h); one at a time. */
struct flat_state {
    float *params, *first, *second;
};
struct flat_state training_map(struct training *training, enum map_mode mode);
void training_unmap(struct training *training, const struct flat_state *flat, enum map_mode mode);

#endif
