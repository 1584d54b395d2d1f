/* A training in progress, cut by how long its parts live and by who has them.
 *
 *     training_open → train (train.c) → training_close */
#ifndef TRAINER_TRAINING_H
#define TRAINER_TRAINING_H

#include "base/error.h"
#include "trainer/adapt.h"
#include "trainer/data/loader.h"
#include "trainer/engine.h"
#include "trainer/estimate.h"
#include "trainer/keeper.h"
#include "trainer/norms.h"
#include "trainer/setup.h"
#include "trainer/step.h"
#include "trainer/team.h"

#include <stdbool.h>

/* A recorded run that is to be computed again from one of its checkpoints; nothing of it is changed. Borrowed. */
struct training_again {
    const char *run;        /* its directory, at rank 0 */
    const char *precision;  /* that its first start recorded */
    const char *checkpoint; /* a directory, at rank 0; NULL: from where the run began */
};

struct training {
    struct setup setup;       /* what stands: recipe, datasets, identity */
    struct engine engine;     /* what computes: device, model, moments */
    struct position position; /* where the run is */
    struct team *team;        /* the processes that train it; borrowed */
    uint64_t *borders;  /* [team->size + 1] in samples: of every batch, process r has [borders[r], borders[r + 1]) */
    struct adapt adapt; /* of --share auto */
    struct step_samples samples; /* of this process's share, from the position on */
    struct keeper keeper;        /* what only the process that writes has: directory, metrics, checkpoints, screen */
    struct norms norms;          /* zeroed: of a silent process, or without --norms-every */
    double opening;              /* seconds before the first step could begin */
    struct estimate estimate;    /* of this share, before the first step; rank 0 alone has it */
    double evaluation_longest;   /* seconds, of this start; 0: none was made */
    bool asked;                  /* the message of the next turn is under way (team_control_begin) */
    double deadline;             /* clock_now by which to leave; INFINITY: none */
    const struct training_again *again; /* NULL: a run is begun or goes on */
    bool finished;                      /* before this start */
    char *restored;                     /* at rank 0, while it opens: the checkpoint that it goes on from, or NULL */
};

/* Of all processes of the team. Opens dataset, device, run and model; draws, reads or resumes the weights, at rank 0,
 * and gives them to all. A run that is finished (`finished`) opens no model. `silent`: rank 0 has no directory either
 * (keeper.h). On error too the caller calls training_close. */
int training_open(struct training *training, const struct settings *settings, struct team *team, bool silent,
                  struct error *err);
/* The same of a run that is computed again, silently. ERR_MISMATCH: the checkpoint is of another run than
 * `settings`. */
int training_open_again(struct training *training, const struct settings *settings, struct team *team,
                        const struct training_again *again, struct error *err);
void training_close(struct training *training);
/* Of all, after the gradients of a step and before the samples of the next are fetched: cuts the batch anew where that
 * is due and gains. */
int training_adapt(struct training *training, struct error *err);

/* This process's share of the samples from the position on, to the end of the run. */
struct loader_options training_samples(const struct training *training);

/* train.c: runs what training_open opened, to its end or to where it has to stop (ERR_STOPPED: the same command goes on
 * from there). ERR_NUMERIC: a step is not finite. */
int train(struct training *training, struct error *err);

#endif
