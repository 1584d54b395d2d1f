/* The recipe. Comes in: a command line. Goes out: a run directory with checkpoints, metrics.jsonl and a model.
 *
 *     open (start.c) → { save, evaluate when due → queue a step → tell what the one before it came to } … → finish
 *
 * What a step is stands in step.c. What it computes is named by its number, so a run that was stopped goes on to the same
 * bits. */
#include "trainer/train.h"

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
    const double save = t->save_longest > 0 ? t->save_longest : unseen;
    return clock_now() + 1.5 * ((double)(t->position.queued + 1) * t->position.step_longest + save) >= t->deadline;
}

static bool evaluation_due(const struct training *t, uint64_t step)
{
    const uint64_t every = t->setup.settings->eval_every;
    return !t->evaluated && t->setup.valid.samples > 0 && t->setup.settings->eval_samples > 0 &&
           (step == t->setup.recipe.schedule.steps || (every > 0 && step > 0 && step % every == 0));
}

static int evaluate_now(struct training *t, struct error *err)
{
    TRY(evaluate(t->engine.model, &t->setup.valid, t->setup.settings->eval_samples, &t->engine.limits, &on_signal,
                 &t->valid_now, err));
    t->evaluated = true;
    screen_evaluation(t);
    return metrics_write(&t->metrics,
                         &(struct metrics_line){
                             .valid = true,
                             .step = t->position.state.step,
                             .loss = t->valid_now.loss,
                             .mlm_loss = t->valid_now.mlm_loss,
                             .nsp_loss = t->valid_now.nsp_loss,
                             .mlm_accuracy = t->valid_now.mlm_accuracy,
                             .nsp_accuracy = t->valid_now.nsp_accuracy,
                             .learning_rate = (double)NAN,
                             .grad_norm = (double)NAN,
                             .samples = t->position.state.samples,
                             .tokens = t->position.state.tokens,
                             .valid_samples = t->valid_now.samples,
                             .epoch = (double)t->position.state.samples / (double)t->setup.data.samples,
                             .seconds = t->position.seconds,
                             .sequences_per_second = (double)NAN,
                             .data_wait_seconds = (double)NAN,
                             .loss_scale = step_loss_scale(&t->engine, &t->position),
                             .skipped = t->position.state.step - t->position.state.updates,
                         },
                         err);
}

/* ---- a step ---- */

int training_step(struct training *t, struct error *err)
{
    const char *dump = t->setup.settings->dump_gradients;
    TRY(step_gradients(&t->engine, &t->position, t->loader, &on_signal, err));
    if (dump && t->position.state.step + t->position.queued == t->position.begun_at)
        TRY(engine_dump_gradients(&t->engine, dump, err));
    step_update(&t->engine, &t->position);
    t->evaluated = false;
    return 0;
}

static int report(struct training *t, const struct step_facts *facts, struct error *err)
{
    if (facts->outcome == STEP_SKIPPED)
        log_detail("step %" PRIu64 " overflows and is skipped; loss scale %g, was %g", facts->number, facts->next_scale,
                   facts->loss_scale);
    t->since.seconds += facts->seconds;
    t->since.waited += facts->waited;
    screen_step(t, facts);
    if (t->position.state.step % t->setup.settings->log_every != 0 &&
        t->position.state.step != t->setup.recipe.schedule.steps)
        return 0;
    const struct metrics_line line = {
        .step = t->position.state.step,
        .loss = facts->loss,
        .mlm_loss = facts->mlm_loss,
        .nsp_loss = facts->nsp_loss,
        .mlm_accuracy = facts->mlm_accuracy,
        .nsp_accuracy = facts->nsp_accuracy,
        .learning_rate = facts->rate,
        .grad_norm = facts->norm,
        .samples = t->position.state.samples,
        .tokens = t->position.state.tokens,
        .epoch = (double)t->position.state.samples / (double)t->setup.data.samples,
        .seconds = t->position.seconds,
        .sequences_per_second = (double)(t->position.state.samples - t->since.samples) / t->since.seconds,
        .data_wait_seconds = t->since.waited,
        .loss_scale = facts->loss_scale,
        .skipped = t->position.state.step - t->position.state.updates,
    };
    t->since.seconds = t->since.waited = 0;
    t->since.samples = t->position.state.samples;
    return metrics_write(&t->metrics, &line, err);
}

int training_settle(struct training *t, uint64_t left, struct error *err)
{
    struct step_facts facts;
    while (t->position.queued > left) {
        step_receive(&t->engine, &t->position, &facts);
        if (facts.outcome == STEP_NOT_FINITE) {
            struct loader_options samples = training_samples(t);
            samples.count = samples.batch;
            return blame(&t->engine, &samples, &facts, t->run.directory, t->saved_step, err);
        }
        TRY(report(t, &facts, err));
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
    return step == t->setup.recipe.schedule.steps || training_save_due(t, step) || evaluation_due(t, step) ||
           stop_due(t, step) || time_is_up(t);
}

static int pause_steps(struct training *t, struct error *err)
{
    TRY(training_settle(t, 0, err));
    TRY(training_save_when_due(t, err));
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
    t->since.samples = t->position.state.samples;
    for (;;) {
        if (pause_due(t, t->position.state.step + t->position.queued))
            TRY(pause_steps(t, err));
        if (t->position.state.step == t->setup.recipe.schedule.steps)
            return 0;
        TRY(training_step(t, err));
        TRY(training_settle(t, left, err));
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
    if (is_whole(err) && training_settle(t, 0, &second) < 0)
        *err = second;
    return -1;
}

/* What is done becomes resumable where only the way on is barred. Behind a full disk or a NaN the last checkpoint is the
 * better place to go on from. */
static int leave(struct training *t, struct error *err)
{
    const bool whole = is_whole(err);
    struct error second = {0};
    if (whole && t->saved_step != t->position.state.step && training_save(t, &second) < 0) {
        if (err->kind == ERR_STOPPED)
            *err = second; /* 75 would promise that all is saved */
        return -1;
    }
    if (err->kind == ERR_STOPPED) {
        char text[160];
        snprintf(text, sizeof text, "%.150s", err->text);
        fail(err, ERR_STOPPED, "%s, at step %" PRIu64 " of %" PRIu64 "; %s holds it", text, t->position.state.step,
             t->setup.recipe.schedule.steps, t->run.directory);
        hint(err, "the same command goes on from there");
    }
    return -1;
}

static void say_timings(const struct training *t, double from)
{
    const struct timings_beside beside[] = {
        {"waiting for data", t->loader ? loader_waited(t->loader) : 0},
        {"saving", t->saving},
        {.name = NULL},
    };
    timings_say(t->engine.ops, clock_now() - from, &(struct timings_limits){0}, beside);
}

int training_run(struct training *t, struct error *err)
{
    if (t->loader)
        TRY(estimate_make(&t->engine, &t->setup.data, t->engine.model, PRODUCT_SECONDS, &t->estimate, err));
    if (t->setup.settings->timings)
        timings_clear(t->engine.ops);
    const double from = clock_now();
    screen_opening(t);
    int result = loop(t, err);
    if (result < 0)
        result = end_steps(t, err);
    screen_end_steps(t);
    result = result == 0 ? run_finish(&t->run, err) : leave(t, err);
    if (t->setup.settings->timings)
        say_timings(t, from);
    return result;
}

static void hint_safe(const struct training *t, struct error *err)
{
    if (err->hint[0])
        return;
    if (t->saved_step == 0)
        hint(err, "what is on disk is safe: the same command goes on from there");
    else
        hint(err, "the checkpoint of step %" PRIu64 " is safe: the same command goes on from there", t->saved_step);
}

int verb_train(void *settings, struct opt_paths bare, struct error *err)
{
    struct training training;
    if (((const struct settings *)settings)->dry_run)
        return verb_plan(settings, bare, err);
    stop_on_signals();
    int result = training_open(&training, settings, err);
    if (result == 0 && training.run.kind != RUN_FINISHED)
        result = training_run(&training, err);
    if (result == 0)
        screen_closing(&training);
    if (result < 0 && err->kind == ERR_RESOURCE)
        hint_safe(&training, err);
    training_close(&training);
    return result;
}
