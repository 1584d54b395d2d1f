/* The recipe. Comes in: a command line. Goes out: a run directory with checkpoints, metrics.jsonl and a model.
 *
 *     open (start.c) → { save, evaluate when due → queue a step → tell what the one before it came to } … → finish
 *
 * What a step is stands in step.c. What it computes is named by its number, so a run that was stopped goes on to the same
 * bits. */
#include "trainer/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "trainer/blame.h"
#include "trainer/timings.h"

#define PRODUCT_SECONDS 0.2 /* of products, before the first step */

/* ---- beside the steps ---- */

static bool signalled(void *nothing)
{
    (void)nothing;
    return stop_requested();
}
static const struct halt on_signal = {signalled, NULL};

/* Would the steps on their way, another one and a save end behind the time limit? Before the first save, 100 MB/s are
 * taken for its speed. */
static bool time_is_up(const struct training *t)
{
    const double unseen = (double)checkpoint_bytes(model_table(t->engine.model)) / 1e8;
    const double save = t->keeper.save_longest > 0 ? t->keeper.save_longest : unseen;
    return clock_now() + 1.5 * ((double)(t->position.queued + 1) * t->position.step_longest + save) >= t->deadline;
}

static bool save_due(const struct training *t, uint64_t step)
{
    const struct opt_count_or_time every = t->setup.settings->save_every;
    const uint64_t keep = t->setup.settings->keep_every;
    if (step == t->keeper.saved_step)
        return false;
    return step == t->setup.recipe.schedule.steps || (keep > 0 && step % keep == 0) ||
           (every.count > 0 ? step % every.count == 0 : clock_now() - t->keeper.saved_clock >= (double)every.seconds);
}

/* Only the last save must succeed. */
static bool may_fail(const struct training *t)
{
    return t->setup.settings->save_fails && t->position.state.step < t->setup.recipe.schedule.steps;
}

static bool evaluation_due(const struct training *t, uint64_t step)
{
    const uint64_t every = t->setup.settings->eval_every;
    return t->keeper.evaluated_step != step && t->setup.valid.samples > 0 && t->setup.settings->eval_samples > 0 &&
           (step == t->setup.recipe.schedule.steps || (every > 0 && step > 0 && step % every == 0));
}

static int evaluate_now(struct training *t, struct error *err)
{
    struct evaluation evaluation;
    TRY(evaluate(t->engine.model, &t->setup.valid, t->setup.settings->eval_samples, &t->engine.limits, &on_signal,
                 &evaluation, err));
    return keeper_evaluation(&t->keeper, &t->position, &evaluation, err);
}

/* ---- a step ---- */

static int step(struct training *t, struct error *err)
{
    const char *dump = t->setup.settings->dump_gradients;
    TRY(step_gradients(&t->engine, &t->position, t->loader, &on_signal, err));
    if (dump && t->position.state.step + t->position.queued == t->position.begun_at)
        TRY(engine_dump_gradients(&t->engine, dump, err));
    step_update(&t->engine, &t->position);
    return 0;
}

static int settle(struct training *t, uint64_t left, struct error *err)
{
    struct step_facts facts;
    while (t->position.queued > left) {
        step_receive(&t->engine, &t->position, &facts);
        if (facts.outcome == STEP_NOT_FINITE) {
            struct loader_options samples = training_samples(t);
            samples.count = samples.batch;
            return blame(&t->engine, &samples, &facts, t->keeper.run.directory, t->keeper.saved_step, err);
        }
        TRY(keeper_step(&t->keeper, &t->position, &facts, err));
    }
    return 0;
}

/* ---- the loop ---- */

static bool stop_due(const struct training *t, uint64_t step)
{
    const uint64_t after = t->setup.settings->stop_after;
    return after > 0 && step - t->position.begun_at == after;
}

/* Must all be known that was queued up to `step`, because of what is to be done behind it? */
static bool pause_due(const struct training *t, uint64_t step)
{
    return step == t->setup.recipe.schedule.steps || save_due(t, step) || evaluation_due(t, step) ||
           stop_due(t, step) || time_is_up(t);
}

static int pause_steps(struct training *t, struct error *err)
{
    TRY(settle(t, 0, err));
    if (save_due(t, t->position.state.step))
        TRY(keeper_save(&t->keeper, &t->engine, &t->position, may_fail(t), err));
    if (evaluation_due(t, t->position.state.step))
        TRY(evaluate_now(t, err));
    if (t->position.state.step == t->setup.recipe.schedule.steps)
        return 0;
    if (stop_due(t, t->position.state.step))
        return fail(err, ERR_STOPPED, "stopped after %" PRIu64 " steps", t->setup.settings->stop_after);
    if (time_is_up(t))
        return fail(err, ERR_STOPPED, "stopped by the time limit");
    return 0;
}

/* While the device is at a step, the host queues the next one and hears of the one before. fp16 must know of an overflow
 * first, and a device that is done when an op returns has no step to hide behind. */
static int loop(struct training *t, struct error *err)
{
    const uint64_t left = t->engine.ops->late && t->engine.ops->precision != PRECISION_FP16 ? STEPS_QUEUED - 1 : 0;
    for (;;) {
        if (pause_due(t, t->position.state.step + t->position.queued))
            TRY(pause_steps(t, err));
        if (t->position.state.step == t->setup.recipe.schedule.steps)
            return 0;
        TRY(step(t, err));
        TRY(settle(t, left, err));
    }
}

/* Is only the way on barred, by a request or by a damaged shard? */
static bool is_whole(const struct error *err)
{
    return err->kind == ERR_STOPPED || err->kind == ERR_VERIFY;
}

/* What was queued before the steps ended is told with the others; it may have come to no number. */
static int end_steps(struct training *t, struct error *err)
{
    struct error second = {0};
    if (is_whole(err) && settle(t, 0, &second) < 0)
        *err = second;
    return -1;
}

/* What is done becomes resumable where only the way on is barred. Behind a full disk or a NaN the last checkpoint is the
 * better place to go on from. */
static int leave(struct training *t, struct error *err)
{
    const bool whole = is_whole(err);
    struct error second = {0};
    if (whole && t->keeper.saved_step != t->position.state.step &&
        keeper_save(&t->keeper, &t->engine, &t->position, false, &second) < 0) {
        if (err->kind == ERR_STOPPED)
            *err = second; /* 75 would promise that all is saved */
        return -1;
    }
    if (err->kind == ERR_STOPPED && !t->keeper.silent) {
        char text[160];
        snprintf(text, sizeof text, "%.150s", err->text);
        fail(err, ERR_STOPPED, "%s, at step %" PRIu64 " of %" PRIu64 "; %s holds it", text, t->position.state.step,
             t->setup.recipe.schedule.steps, t->keeper.run.directory);
        hint(err, "the same command goes on from there");
    }
    return -1;
}

static void say_timings(const struct training *t, double from)
{
    const struct timings_beside beside[] = {
        {"waiting for data", t->loader ? loader_waited(t->loader) : 0},
        {"saving", t->keeper.saving},
        {.name = NULL},
    };
    timings_say(t->engine.ops, clock_now() - from, &(struct timings_limits){0}, beside);
}

int train(struct training *t, struct error *err)
{
    struct estimate estimate = {0};
    if (t->loader && !t->keeper.silent)
        TRY(estimate_make(&t->engine, &t->setup.data, t->engine.model, PRODUCT_SECONDS, &estimate, err));
    if (t->setup.settings->timings)
        timings_clear(t->engine.ops);
    const double from = clock_now();
    keeper_open_screen(&t->keeper, &t->engine, &t->position, &estimate);
    int result = loop(t, err);
    if (result < 0)
        result = end_steps(t, err);
    keeper_close_screen(&t->keeper);
    result = result == 0 ? keeper_finish(&t->keeper, err) : leave(t, err);
    if (t->setup.settings->timings)
        say_timings(t, from);
    return result;
}

static void hint_safe(const struct training *t, struct error *err)
{
    if (err->hint[0])
        return;
    if (t->keeper.saved_step == 0)
        hint(err, "what is on disk is safe: the same command goes on from there");
    else
        hint(err, "the checkpoint of step %" PRIu64 " is safe: the same command goes on from there",
             t->keeper.saved_step);
}

int verb_train(void *settings, struct opt_paths bare, struct error *err)
{
    struct training training;
    if (((const struct settings *)settings)->dry_run)
        return verb_plan(settings, bare, err);
    stop_on_signals();
    int result = training_open(&training, settings, false, err);
    if (result == 0 && training.keeper.run.kind != RUN_FINISHED)
        result = train(&training, err);
    if (result == 0)
        keeper_closing(&training.keeper, &training.engine, &training.position);
    if (result < 0 && err->kind == ERR_RESOURCE)
        hint_safe(&training, err);
    training_close(&training);
    return result;
}
