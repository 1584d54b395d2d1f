/* One step, and where a run is between steps. A step is one update: the gradients of a whole batch, added up
 * micro-batch by micro-batch.
 *
 *     step_fetch → step_gradients → step_update → (later, the oldest first) step_receive
 *
 * The first two wait for samples, never for the device, which works out by itself whether a step counts: one whose
 * loss or gradient is not finite changes nothing, nor do those after it (optim/update_numbers.h). So the host may hear
 * of a step while the device is at the next one. One thread calls. */
#ifndef TRAINER_STEP_H
#define TRAINER_STEP_H

#include "base/error.h"
#include "trainer/data/loader.h"
#include "trainer/engine.h"
#include "trainer/keep/state.h"
#include "trainer/metric.h"
#include "trainer/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* What the host knew of a step when it queued it. */
struct queued_step {
    double rate, loss_scale;
    double waited;               /* seconds, for its samples */
    uint64_t wire_bytes;         /* sent for its gradients and parameters */
    struct model_metrics counts; /* of its batch; what it sums up is not known yet */
};

/* Of one batch, or of a process's share of it. All int64_t, so that processes can add them up. */
struct step_counts {
    int64_t sequences, tokens;
    int64_t marks[HEAD_KINDS]; /* labels of each head */
};

/* The samples of the next step: what the loader gave of them before the step begins. */
struct step_samples {
    struct loader *loader;           /* NULL: this process's share is empty */
    const struct micro_batch *first; /* NULL: not fetched yet */
    double waited;                   /* seconds, for it */
    struct error err;                /* why it could not be fetched; else of kind ERR_NONE */
    double computed;                 /* seconds of the last step's passes, without what they waited for */
    int64_t sequences;               /* of that share */
    double slowed;                   /* seconds that a test wants each sequence to take longer */
};

struct position {
    struct checkpoint_state state;          /* after the last step that was received */
    struct queued_step queue[STEPS_QUEUED]; /* the steps after it, at their number modulo STEPS_QUEUED */
    uint64_t queued;
    uint64_t begun_at;   /* step at which this start of the program began */
    double seconds;      /* training time of the whole run, without evaluation and saving */
    double step_longest; /* seconds, of this start */
    double clock;        /* clock_now from which the next step's seconds count */
};

enum step_outcome {
    STEP_APPLIED,
    STEP_SKIPPED,    /* fp16: it overflowed; the next one has a smaller loss scale */
    STEP_NOT_FINITE, /* nothing was changed, and trying again would not help */
};

/* What came of a step. */
struct step_facts {
    uint64_t number;
    enum step_outcome outcome;
    struct evaluation means;    /* over the step's batch */
    int64_t counts[HEAD_KINDS]; /* labels of each head in it */
    double rate;                /* learning rate used */
    double norm;                /* of the gradients, before clipping */
    double loss_scale, next_scale;
    uint64_t wire_bytes; /* sent by this process for gradients and parameters; 0: one process */
    double seconds;      /* of the step, waiting included */
    double waited;       /* of that, for data */
};

/* What fp16 multiplies the losses by; 1 otherwise. */
double step_loss_scale(const struct position *position);

/* Waits for the first samples of the next step, unless it has them, and counts the share of this process. What fails is
 * told by step_gradients. */
struct step_counts step_fetch(struct step_samples *samples);
/* Gradients of the next batch, which has `counts` in all. `halt` is asked before every micro-batch; where it says so,
 * the batch is discarded: ERR_STOPPED, and nothing has been changed. ERR_VERIFY: a damaged shard. */
int step_gradients(struct engine *engine, struct position *position, struct step_samples *samples,
                   const struct step_counts *counts, const struct halt *halt, struct error *err);
/* Queues the update by those gradients; at most STEPS_QUEUED before they are received. Fails as engine_update does. */
int step_update(struct engine *engine, struct position *position, struct error *err);
/* Receives the oldest queued step and, unless it is STEP_NOT_FINITE, moves the position on. */
void step_receive(struct engine *engine, struct position *position, struct step_facts *facts);

#endif
