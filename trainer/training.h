/* A training in progress, cut by how long its parts live and by who has them.
 *
 *     training_open → train (train.c) → training_close */
#ifndef TRAINER_TRAINING_H
#define TRAINER_TRAINING_H

#include "base/error.h"
#include "trainer/data/loader.h"
#include "trainer/engine.h"
#include "trainer/keeper.h"
#include "trainer/setup.h"
#include "trainer/step.h"

#include <stdbool.h>

struct training {
    struct setup setup;       /* what stands: recipe, datasets, identity */
    struct engine engine;     /* what computes: device, model, moments */
    struct position position; /* where the run is */
    struct loader *loader;    /* the samples from there on; NULL: no step is left */
    struct keeper keeper;     /* what only the process that writes has: directory, metrics, checkpoints, screen */
    double deadline;          /* clock_now by which to leave; INFINITY: none */
};

/* Opens dataset, device, run and model; draws, reads or resumes the weights. A run that is finished (keeper.run.kind)
 * opens no model. `silent`: another process has the run's directory (keeper.h). On error too the caller calls
 * training_close. */
int training_open(struct training *training, const struct settings *settings, bool silent, struct error *err);
void training_close(struct training *training);

/* The samples from the position on, to the end of the run. */
struct loader_options training_samples(const struct training *training);

/* train.c: runs what training_open opened, to its end or to where it has to stop (ERR_STOPPED: the same command goes on
 * from there). ERR_NUMERIC: a step is not finite. */
int train(struct training *training, struct error *err);

#endif
