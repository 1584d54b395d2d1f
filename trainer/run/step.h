/* One step, and the position of a run between steps. A step is one update: the gradients of a whole batch, added up
 * micro-batch by micro-batch.
 *
 *     step_fetch → step_gradients → step_update → (later, the oldest first) step_receive
 *
 * The first two wait for samples, never for the device. The device itself decides whether a step counts: if its loss or
 * gradient is not finite it changes nothing, and neither do the steps after it (backend/update_numbers.h). So the host
 * can receive a step's results while the device computes the next one. One thread calls. */
#pragma once

#include "trainer/run/engine.h"

/* What the host knows about a step when it queues it. */
struct queued_step {
    double rate, loss_scale;
    double waited;               /* seconds waited for its samples */
    uint64_t wire_bytes;         /* sent for its gradients and parameters */
    struct model_metrics counts; /* of its batch; the sums are not known yet */
};

/* Counts of one batch, or of a process's share of it. All are int64_t, so that processes can add them up. */
struct step_counts {
    int64_t sequences, tokens;
    int64_t marks[HEAD_KINDS]; /* labels of each head */
};

/* The samples of the next step, of which the first may be fetched before the step begins. */
struct step_samples {
    struct loader *loader;           /* NULL: this process's share is empty */
    const struct micro_batch *first; /* NULL: not fetched yet */
    double waited;                   /* seconds waited for `first` */
    struct error err;                /* why it could not be fetched; else of kind ERR_NONE */
    double computed;                 /* seconds of the last step's passes, without waiting */
    int64_t sequences;               /* of the last step's share */
};

struct position {
    struct checkpoint_state state;          /* after the last step that was received */
    struct queued_step queue[STEPS_QUEUED]; /* the steps after that, at their number modulo STEPS_QUEUED */
    uint64_t queued;
    uint64_t begun_at;    /* step at which this start of the program began */
    uint64_t counts_from; /* rank 0: step at which the command began: with --restarts that of its first start */
    double seconds;       /* training time of the whole run, without evaluation and saving */
    double step_longest;  /* seconds of the longest step of this start */
    double clock;         /* clock_now from which the next step's seconds count */
};

enum step_outcome {
    STEP_APPLIED,
    STEP_SKIPPED,    /* fp16: it overflowed and was not applied; the loss scale is lowered */
    STEP_NOT_FINITE, /* it was not applied, and trying again would not help */
};

/* The results of a step. */
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
    double waited;       /* seconds of these spent waiting for data */
};

/* The factor by which fp16 multiplies the losses; 1 otherwise. */
double step_loss_scale(const struct position *position);

/* Waits for the first samples of the next step, unless they were fetched before, and returns the counts of this
 * process's share. An error is kept and returned by step_gradients. */
struct step_counts step_fetch(struct step_samples *samples);
/* Computes the gradients of the next batch; `counts` are those of the whole batch. `halt` is asked before every
 * micro-batch; if it returns true the batch is discarded: ERR_STOPPED, and nothing has changed. ERR_VERIFY: a damaged
 * shard. */
int step_gradients(struct engine *engine, struct position *position, struct step_samples *samples,
                   const struct step_counts *counts, const struct halt *halt, struct error *err);
/* Queues the update with those gradients; at most STEPS_QUEUED may be queued. Errors are those of engine_update. */
int step_update(struct engine *engine, struct position *position, struct error *err);
/* Waits for the results of the oldest queued step and, unless it is STEP_NOT_FINITE, advances the position. */
void step_receive(struct engine *engine, struct position *position, struct step_facts *facts);
