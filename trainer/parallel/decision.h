/* Decides what to do between two steps: save, evaluate, stop, or continue. It is a pure function of the command's
 * options and of facts that the loop gathers, including clocks and signals; nothing below the loop uses those to decide
 * anything. A decision is a few small integers, so that one process can decide for all. */
#pragma once

#include "base/opts.h"

/* The command's options; steps are the run's, counted from 1, and 0 is before the first one. */
struct rules {
    uint64_t steps;                      /* the last step of the run */
    uint64_t stop_at;                    /* step to stop after; 0: none (--stop-after) */
    struct opt_count_or_time save_every; /* --save-every */
    uint64_t keep_every;                 /* multiples of this are saved too; 0: none (--keep-every) */
    bool evaluates;                      /* there is something to evaluate on */
    uint64_t eval_every;                 /* 0: only after the last step (--eval-every) */
    uint64_t patience; /* evaluations without improvement that end the run; 0: unlimited (--patience) */
    double deadline;   /* clock by which to leave; INFINITY: none (--time-limit) */
};

struct decision_facts {
    uint64_t step;           /* the last one that is queued or done */
    uint64_t queued;         /* steps whose results were not received yet */
    uint64_t saved_step;     /* step of the newest checkpoint, or where this start began */
    uint64_t tried_step;     /* step of the last attempt to save, whether it succeeded or its failure was ignored */
    uint64_t evaluated_step; /* step of the last evaluation; more than `steps`: none */
    bool keep;               /* the evaluation after this step is the best so far and must be saved (--keep-best) */
    uint64_t since_best;     /* evaluations since the best one */
    double now, saved_clock; /* seconds of one clock: now, and at the last save or the start */
    double step_seconds, save_seconds, evaluation_seconds; /* the longest so far; an estimate before the first */
    bool fresh;              /* nothing was done since the start: estimates are used without a margin */
    bool asked;              /* a signal asked to stop */
    enum error_kind failure; /* of what the last decision ordered; ERR_STOPPED: discarded on request or in time */
};

enum stop_cause {
    STOP_NONE,
    STOP_FINISHED, /* nothing is left to do */
    STOP_ENOUGH,   /* --patience has run out; the run is finished too */
    STOP_ASKED,    /* by a signal */
    STOP_AFTER,    /* after the steps of --stop-after */
    STOP_TIME,     /* another step or evaluation, and a save, might end after the deadline */
    STOP_FAILED,
};

/* With `stop` the run ends, after a save if `save` is set. Otherwise it saves or evaluates and asks for the next
 * decision; if nothing is set, it makes a step. */
struct decision {
    bool save, evaluate;
    enum stop_cause stop;
};

struct decision decision_of(const struct rules *rules, const struct decision_facts *facts);

/* Asks the loop whether to discard the work under way; called by long work between two micro-batches. */
struct halt {
    bool (*asked)(void *context);
    void *context;
};
