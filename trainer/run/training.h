/* A training in progress, split into parts by their lifetime and by which processes have them.
 *
 *     training_open → train (train.c) → training_close */
#pragma once

#include "trainer/parallel/division.h"
#include "trainer/run/checkpointer.h"

/* A recorded run that is computed again from one of its checkpoints, without changing its files. Borrowed. */
struct training_again {
    const char *run;        /* its directory, at rank 0 */
    const char *precision;  /* recorded at its first start */
    const char *checkpoint; /* a directory, at rank 0; NULL: from the run's beginning */
};

struct training {
    struct setup setup;              /* what is fixed: recipe, datasets, identity */
    struct engine engine;            /* what computes: device, model, moments */
    struct position position;        /* the progress of the run */
    struct process_group *processes; /* the processes of the run; borrowed */
    uint64_t *borders; /* [processes->size + 1] process r has the samples [borders[r], borders[r + 1]) of every batch */
    struct speed speed;               /* for --share auto */
    struct step_samples samples;      /* of this process's share, from the position on */
    struct checkpointer checkpointer; /* used by the process that writes: directory, metrics, checkpoints, console */
    struct norms norms;               /* zeroed in a silent process or without --norms-every */
    double opening;                   /* seconds before the first step could begin */
    struct estimate estimate;         /* for this share, made before the first step; only at rank 0 */
    double evaluation_longest;        /* seconds of the longest evaluation of this start; 0: none yet */
    bool asked;      /* the message about the next turn has been started (process_group_control_begin) */
    double deadline; /* clock_now by which to leave; INFINITY: none */
    const struct training_again *again; /* NULL: a run is started or resumed */
    bool finished;                      /* the run had finished before this start */
    char *restored;                     /* at rank 0: the checkpoint that it resumed from, or NULL */
};

/* Collective (process_group.h). Opens dataset, device, run and model; rank 0 initializes, reads or resumes the weights
 * and sends them to all. If the run has finished (`finished`), no model is opened. `silent`: rank 0 has no directory
 * either (checkpointer.h). `again`: a recorded run is computed again, which must be silent; ERR_MISMATCH: its
 * checkpoint is not of the run that `settings` define. NULL: it is not. The caller calls training_close, on errors
 * too. */
int training_open(struct training *training, const struct settings *settings, struct process_group *processes,
                  const struct training_again *again, bool silent, struct error *err);
void training_close(struct training *training);
/* Collective, after the gradients of a step and before the samples of the next are fetched: divides the batch again if
 * that is due and gains (division.h). */
int training_redivide(struct training *training, struct error *err);

/* This process's share of the samples from the position to the end of the run. */
struct loader_options training_samples(const struct training *training);

/* train.c: runs an open training to its end or until it has to stop (ERR_STOPPED: the same command resumes it).
 * ERR_NUMERIC: a step is not finite. */
int train(struct training *training, struct error *err);
