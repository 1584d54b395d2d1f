/* Saves and reports a run: its directory, checkpoints, metrics and console output. Only rank 0 does that.
 *
 *     checkpointer_take → checkpointer_begin → checkpointer_open_console
 *       → { checkpointer_step | checkpointer_save | checkpointer_evaluation } …
 *       → checkpointer_close_console → checkpointer_finish → checkpointer_summary
 *     checkpointer_close
 *
 * The checkpointer of any other process is silent: it gets the same calls and keeps track of what was saved and
 * evaluated, but writes and logs nothing. */
#pragma once

#include "trainer/keep/metrics.h"
#include "trainer/run/norms.h"
#include "trainer/run/run.h"
#include "trainer/run/console.h"
#include "trainer/run/setup.h"

struct checkpointer {
    bool silent;
    const struct setup *setup; /* borrowed; outlives the checkpointer */
    struct run run;            /* empty if silent */
    struct metrics metrics;
    const uint64_t *borders; /* with --share auto: the shares of `processes`, for metrics; else NULL */
    uint32_t processes;
    struct console console;
    struct {
        double seconds, waited;
        uint64_t samples;
        struct interval steps;
    } since; /* the last line of metrics */

    uint64_t saved_step;          /* of the newest checkpoint, or the step of the start */
    uint64_t tried_step;          /* of the last attempt to save, successful or not */
    double saved_clock;           /* clock_now after that attempt, or of the start */
    double save_longest, saving;  /* seconds of the longest save, and of all */
    uint64_t evaluated_step;      /* of the last evaluation; CHECKPOINTER_NEVER: none */
    struct evaluation evaluation; /* the last one of this start; without samples: none */
    /* The same for each dataset of a mixture; as many as the held-out split has parts. */
    struct evaluation each[MIXTURE_MAX];
    struct metrics_best best; /* of the whole run; not if silent */
    double kept_loss;         /* held-out loss of the checkpoint that `best` names; INFINITY: it names none */
};
#define CHECKPOINTER_NEVER UINT64_MAX

/* Opens the directory that --out or the identity names (run_open); checkpointer->run.kind says what it contains. The
 * caller calls checkpointer_close, on errors too. */
int checkpointer_take(struct checkpointer *checkpointer, const struct setup *setup, bool silent, struct error *err);
/* Records this start, with `ranks` (record_ranks; may be NULL), writes the tokenizer's files, and opens the metrics at
 * the step of `position`. */
int checkpointer_begin(struct checkpointer *checkpointer, const struct engine *engine, const struct position *position,
                       json_t *ranks, struct error *err);
/* The step at which this command began, before its restarts; `step` is where this start began. */
uint64_t checkpointer_counts_from(const struct checkpointer *checkpointer, uint64_t step);
void checkpointer_close(struct checkpointer *checkpointer); /* safe on a zeroed one */

void checkpointer_open_console(struct checkpointer *checkpointer, const struct engine *engine,
                               const struct position *position, const struct estimate *estimate);
void checkpointer_close_console(struct checkpointer *checkpointer); /* clears the progress line */
/* run_summary.c: prints the summary, or that the run had already finished. `seconds` is how long this start took, with
 * opening, saving and evaluating. */
void checkpointer_summary(const struct checkpointer *checkpointer, const struct engine *engine,
                          const struct position *position, double seconds);

/* Reports a step that was received. */
int checkpointer_step(struct checkpointer *checkpointer, const struct position *position,
                      const struct step_facts *facts, struct error *err);
/* Writes the norms of the step that was received last. */
int checkpointer_norms(struct checkpointer *checkpointer, const struct position *position, const struct norms *norms,
                       struct error *err);
/* Reports an evaluation; `each` as in the checkpointer. */
int checkpointer_evaluation(struct checkpointer *checkpointer, const struct position *position,
                            const struct evaluation *evaluation, const struct evaluation *each, struct error *err);
/* Writes a checkpoint of `position`, whose steps must all be received; on error the previous one is untouched. With
 * `go_on` (--save-fails go-on) a full disk is only a warning. */
int checkpointer_save(struct checkpointer *checkpointer, struct engine *engine, const struct position *position,
                      bool go_on, struct error *err);
/* Whether the last evaluation is of `step` and better than that of the checkpoint kept as best, so that this step must
 * be kept too (--keep-best). */
bool checkpointer_keeps(const struct checkpointer *checkpointer, uint64_t step);
/* Records that the run has finished, after its last step or `early` (--patience). */
int checkpointer_finish(struct checkpointer *checkpointer, const struct position *position, bool early,
                        struct error *err);
