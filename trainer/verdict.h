/* What is to be done between two steps: save, evaluate, stop, or go on. A pure function of what the command asked
 * for and of facts that the loop gathered, clocks and signals among them; nothing below the loop asks those to
 * decide anything. A verdict is a few small integers, so that one process can make it for all. */
#ifndef TRAINER_VERDICT_H
#define TRAINER_VERDICT_H

#include "base/error.h"
#include "base/opts.h"

#include <stdbool.h>
#include <stdint.h>

/* What the command asked for; steps are the run's, counted from 1, and 0 is before the first one. */
struct rules {
    uint64_t steps;                      /* after which the run is finished */
    uint64_t stop_at;                    /* step; 0: none (--stop-after) */
    struct opt_count_or_time save_every; /* --save-every */
    uint64_t keep_every;                 /* these are saved too; 0: none (--keep-every) */
    bool evaluates;                      /* there is something to evaluate on: */
    uint64_t eval_every;                 /* 0: after the last step only (--eval-every) */
    uint64_t patience; /* evaluations without a better one that end the run; 0: none do (--patience) */
    double deadline;   /* clock by which to leave; INFINITY: none (--time-limit) */
};

struct verdict_facts {
    uint64_t step;           /* the last one that is queued or done */
    uint64_t queued;         /* steps that were not received yet */
    uint64_t saved_step;     /* of the newest checkpoint, or where this start began */
    uint64_t tried_step;     /* at which a save was last made, or failed and was passed over */
    uint64_t evaluated_step; /* after which was last evaluated; more than `steps`: never */
    bool keep;               /* what was evaluated after this step is the best: it is to be saved (--keep-best) */
    uint64_t since_best;     /* evaluations after the best one */
    double now, saved_clock; /* seconds of one clock: this moment, and the last save or the start */
    double step_seconds, save_seconds, evaluation_seconds; /* the longest so far; before the first, an estimate */
    bool fresh;              /* nothing was done yet since the start: estimates are taken as they are */
    bool asked;              /* to stop, by a signal */
    enum error_kind failure; /* of what the last verdict ordered; ERR_STOPPED: it was discarded, asked to or in time */
};

enum stop_cause {
    STOP_NONE,
    STOP_FINISHED, /* nothing is left to do */
    STOP_ENOUGH,   /* as many evaluations as --patience says were not better: the run is finished too */
    STOP_ASKED,    /* by a signal */
    STOP_AFTER,    /* as many steps as --stop-after says */
    STOP_TIME,     /* another step or evaluation, and a save, might end after the deadline */
    STOP_FAILED,
};

/* With `stop` the run ends, after a save where `save` says so; else what it says is done and the next verdict is asked
 * for; nothing at all: a step. */
struct verdict {
    bool save, evaluate;
    enum stop_cause stop;
};

struct verdict verdict_of(const struct rules *rules, const struct verdict_facts *facts);

/* Is what is under way to be discarded? Long work asks at the border of two micro-batches; the loop answers. */
struct halt {
    bool (*asked)(void *context);
    void *context;
};

#endif
