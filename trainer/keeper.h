/* What only the process that writes has: the run's directory, its checkpoints and metrics, the screen.
 *
 *     keeper_take → keeper_begin → keeper_open_screen
 *       → { keeper_step | keeper_save | keeper_evaluation } … → keeper_close_screen → keeper_finish → keeper_closing
 *     keeper_close
 *
 * A silent one, of a process beside the one that writes, takes the same calls, keeps the same account of what was saved
 * and evaluated, and writes and says nothing. */
#ifndef TRAINER_KEEPER_H
#define TRAINER_KEEPER_H

#include "base/error.h"
#include "trainer/energy.h"
#include "trainer/engine.h"
#include "trainer/interval.h"
#include "trainer/keep/metrics.h"
#include "trainer/metric.h"
#include "trainer/norms.h"
#include "trainer/run.h"
#include "trainer/screen.h"
#include "trainer/setup.h"
#include "trainer/step.h"

#include <stdbool.h>
#include <stdint.h>

struct keeper {
    bool silent;
    const struct setup *setup; /* borrowed; outlives the keeper */
    struct run run;            /* silent: none */
    struct metrics metrics;
    const uint64_t *borders; /* of --share auto: shares of `processes`, for the lines; else NULL */
    uint32_t processes;
    struct screen screen;
    struct energy energy; /* of this start */
    struct {
        double seconds, waited;
        uint64_t samples;
        struct interval steps;
    } since; /* the last line of metrics */

    uint64_t saved_step;          /* of the newest checkpoint, or the step of the start */
    uint64_t tried_step;          /* the last at which a save was made or failed */
    double saved_clock;           /* clock_now of that save, or of the start */
    double save_longest, saving;  /* seconds of the longest save, and of all */
    uint64_t evaluated_step;      /* after which the last evaluation was made; KEEPER_NEVER: there is none */
    struct evaluation evaluation; /* the last one of this start; of no samples: none */
    /* of each dataset of a mixture; as many as the held-out split has parts */
    struct evaluation each[MIXTURE_MAX];
    struct metrics_best best; /* of the whole run; of the process that writes */
    double kept_loss;         /* held-out loss of the checkpoint that `best` names; INFINITY: it names none */
};
#define KEEPER_NEVER UINT64_MAX

/* Takes the directory that --out or the identity names (run_open); keeper->run.kind says what is there. On error too
 * the caller calls keeper_close. */
int keeper_take(struct keeper *keeper, const struct setup *setup, bool silent, struct error *err);
/* Records this start, of `ranks` (record_ranks) or NULL, writes the tokenizer's files, opens the metrics after the step
 * of `position`. */
int keeper_begin(struct keeper *keeper, const struct engine *engine, const struct position *position, json_t *ranks,
                 struct error *err);
void keeper_close(struct keeper *keeper); /* safe on a zeroed one */

void keeper_open_screen(struct keeper *keeper, const struct engine *engine, const struct position *position,
                        const struct estimate *estimate);
void keeper_close_screen(struct keeper *keeper); /* clears the progress line */
/* The closing lines, or that the run was finished before; this start took `seconds`. */
void keeper_closing(struct keeper *keeper, const struct engine *engine, const struct position *position,
                    double seconds);

/* Reports a step that was received. */
int keeper_step(struct keeper *keeper, const struct position *position, const struct step_facts *facts,
                struct error *err);
/* Of the step that was received last. */
int keeper_norms(struct keeper *keeper, const struct position *position, const struct norms *norms, struct error *err);
/* `each` as in the keeper. */
int keeper_evaluation(struct keeper *keeper, const struct position *position, const struct evaluation *evaluation,
                      const struct evaluation *each, struct error *err);
/* A checkpoint of `position`, whose steps are all received; on error the one before it is as whole as before. With
 * `go_on` (--save-fails) a disk that is full is a warning, and the next save makes it good. */
int keeper_save(struct keeper *keeper, struct engine *engine, const struct position *position, bool go_on,
                struct error *err);
/* Is what was evaluated last, after `step`, to be kept as the best (--keep-best) and not kept yet? */
bool keeper_keeps(const struct keeper *keeper, uint64_t step);
/* The run is finished: after its last step, or `early` (--patience). */
int keeper_finish(struct keeper *keeper, const struct position *position, bool early, struct error *err);

#endif
