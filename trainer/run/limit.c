#include "trainer/run/limit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "trainer/comm/board.h"

#define SAVE_SPEED 1e8 /* bytes/s, assumed for the disk before the first save */

double limit_deadline(const struct settings *settings)
{
    const char *end = getenv("SLURM_JOB_END_TIME");
    const struct board_start *start = board_start();
    if (settings->time_limit > 0)
        return (start ? start->began : clock_now()) + (double)settings->time_limit;
    if (!end || strtod(end, NULL) <= 0)
        return HUGE_VAL;
    return clock_now() + strtod(end, NULL) - (double)time(NULL);
}

double limit_step_seconds(const struct training *t)
{
    return t->position.step_longest > 0 ? t->position.step_longest : t->estimate.step;
}

double limit_save_seconds(const struct training *t)
{
    const double unseen = (double)checkpoint_bytes(model_table(t->engine.model)) / SAVE_SPEED;
    return t->checkpointer.save_longest > 0 ? t->checkpointer.save_longest : unseen;
}

/* A forward pass is a third of a step. */
double limit_evaluation_seconds(const struct training *t)
{
    const uint64_t held_out = t->setup.task.splits[SPLIT_VALID].samples, most = t->setup.settings->eval_samples;
    const double samples = (double)(held_out < most ? held_out : most);
    if (t->evaluation_longest > 0)
        return t->evaluation_longest;
    return samples / t->setup.recipe.batch * limit_step_seconds(t) / 3;
}

bool limit_moved(const struct training *t)
{
    return t->position.state.step > t->position.begun_at || t->evaluation_longest > 0;
}

int limit_check(const struct training *t, struct error *err)
{
    const double left = t->deadline - clock_now();
    return limit_step_seconds(t) + limit_save_seconds(t) >= left ? limit_fail(t, err) : 0;
}

int limit_fail(const struct training *t, struct error *err)
{
    char limit[120];
    const char *end = getenv("SLURM_JOB_END_TIME");
    const bool steps = t->position.state.step < t->setup.recipe.schedule.steps;
    if (board_start() && board_start()->number > 0) { /* the limit was long enough for the starts before this one */
        fail(err, ERR_STOPPED, "stopped by the time limit, before a step of restart %" PRIu32, board_start()->number);
        return hint(err, "the same command continues from the last checkpoint");
    }
    if (t->setup.settings->time_limit > 0)
        snprintf(limit, sizeof limit, "--time-limit %" PRIu64 "s is too short", t->setup.settings->time_limit);
    else
        snprintf(limit, sizeof limit, "the Slurm job ends too soon (SLURM_JOB_END_TIME is %.20s, %s)", end ? end : "?",
                 t->deadline <= clock_now() ? "which is past" : "seconds since 1970");
    if (!steps) {
        fail(err, ERR_USAGE, "%s for what comes after the last step", limit);
        return hint(err, "the next start could not do it either; the last step's checkpoint is safe");
    }
    fail(err, ERR_USAGE, "%s: opening took %.1f s, a step takes about %.1f s and a checkpoint about %.1f s", limit,
         t->opening, limit_step_seconds(t), limit_save_seconds(t));
    if (t->setup.settings->time_limit == 0 && !limit_moved(t))
        return hint(err,
                    "if the variable is left over from a job that has ended, unset it, or give --time-limit; no step "
                    "was made, earlier checkpoints are unchanged");
    return hint(err, "no step was made, and the next start could make none either; earlier checkpoints are unchanged");
}
