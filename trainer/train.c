/* The recipe. Comes in: a command line. Goes out: a run directory with checkpoints, metrics.jsonl and a model.
 *
 *     open (start.c) → { evaluate when due → one step → tell → save when due } … → finish
 *
 * A step is one update: the gradients of a whole batch, laid up micro-batch by micro-batch, then clipped and applied.
 * What a step computes is named by its number, so a run that was stopped goes on to the same bits. */
#include "trainer/train.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "trainer/blame.h"
#include "trainer/optim/clip.h"
#include "trainer/timings.h"

#define PRODUCT_SECONDS 0.2 /* of products, before the first step */

/* ---- one step ---- */

static double loss_scale(const struct training *t)
{
    return t->recipe.precision == PRECISION_FP16 ? t->state.scaler.scale : 1;
}

/* Gradients of the next batch. A stop discards them: nothing has been changed. */
static int forward_backward(struct training *t, struct model_metrics *metrics, struct error *err)
{
    const struct micro_batch *micro;
    do {
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request");
        const int result = loader_next(t->loader, &micro, err);
        assert(result != 0); /* the loader was told how many samples the run takes */
        TRY(result);
        if (micro->begins)
            model_begin_step(t->model, &(struct step_settings){
                                           .seed = t->recipe.seed,
                                           .step = (uint32_t)t->state.step + 1,
                                           .dropout = true,
                                           .masked = micro->masked > 0 ? micro->masked : 1,
                                           .sequences = micro->sequences,
                                           .loss_scale = loss_scale(t),
                                       });
        model_forward_backward(t->model, &micro->batch, micro->ends ? metrics : NULL);
    } while (!micro->ends);
    return 0;
}

static bool is_finite(const struct step_facts *facts)
{
    return isfinite(facts->loss) && isfinite(facts->norm);
}

/* fp16: moves the scale; a step that overflowed is skipped, any other goes on. */
static int scale_loss(struct training *t, const struct step_facts *facts, struct error *err)
{
    struct scaler_state *scaler = &t->state.scaler;
    const double before = scaler->scale;
    if (!is_finite(facts) && scaler_exhausted(&t->recipe.scaling, scaler))
        return blame(t, facts, err);
    scaler_update(&t->recipe.scaling, scaler, t->state.step, !is_finite(facts));
    if (!is_finite(facts))
        log_detail("step %" PRIu64 " overflows and is skipped; loss scale %g, was %g", t->state.step + 1, scaler->scale,
                   before);
    return 0;
}

static void apply(struct training *t, const struct step_facts *facts, double scale)
{
    const struct params *params = model_table(t->model);
    struct optimizer optimizer = t->recipe.optimizer;
    const uint64_t update = ++t->state.updates;
    schedule_momentum(&t->recipe.schedule, update, &optimizer.beta1, &optimizer.beta2);
    optimizer_update(&optimizer, t->ops, params,
                     &(struct update_memory){model_params(t->model), t->first, t->second, model_gradients(t->model)},
                     &t->work, facts->rate, update, clip_factor(facts->norm, t->recipe.clipping, scale));
    model_refresh(t->model);
    if ((float)facts->norm > (float)t->state.norm_max) {
        t->state.norm_max = (double)(float)facts->norm; /* so that it comes back from 15 digits as it was */
        t->state.norm_max_step = t->state.step + 1;
    }
}

static int dump_gradients(const struct training *t, struct error *err)
{
    const struct params *params = model_table(t->model);
    const size_t bytes = params->size * sizeof(float);
    float *flat = t->ops->map(t->ops->device, model_gradients(t->model), bytes, MAP_READ);
    const int result = names_write(t->settings->dump_gradients, params, flat, NULL, err);
    t->ops->unmap(t->ops->device, model_gradients(t->model), flat, bytes, MAP_READ);
    return result;
}

static int step_run(struct training *t, struct step_facts *facts, struct error *err)
{
    const struct params *params = model_table(t->model);
    const double from = clock_now(), waited = loader_waited(t->loader), scale = loss_scale(t);
    struct model_metrics metrics = {0};
    TRY(forward_backward(t, &metrics, err));
    if (t->settings->dump_gradients && t->state.step == t->begun_at)
        TRY(dump_gradients(t, err));

    const struct evaluation means = evaluation_of(&metrics, t->recipe.config.next_sentence);
    *facts = (struct step_facts){
        .loss = means.loss,
        .mlm_loss = means.mlm_loss,
        .nsp_loss = means.nsp_loss,
        .mlm_accuracy = means.mlm_accuracy,
        .nsp_accuracy = means.nsp_accuracy,
        .rate = schedule_rate(&t->recipe.schedule, t->state.updates + 1),
        .norm = gradient_norm(t->ops, params, model_gradients(t->model), t->work.squares) / scale,
        .loss_scale = scale,
    };
    if (t->recipe.precision == PRECISION_FP16)
        TRY(scale_loss(t, facts, err));
    else if (!is_finite(facts))
        return blame(t, facts, err);
    if (is_finite(facts))
        apply(t, facts, scale);

    t->state.step++;
    t->state.samples += means.samples;
    t->state.tokens += means.tokens;
    t->evaluated = false;
    facts->seconds = clock_now() - from;
    facts->waited = loader_waited(t->loader) - waited;
    t->seconds += facts->seconds;
    t->step_longest = fmax(t->step_longest, facts->seconds);
    return 0;
}

/* ---- beside the steps ---- */

/* Would another step and a save end behind the time limit? Before the first save, 100 MB/s are taken for its speed. */
static bool time_is_up(const struct training *t)
{
    const double unseen = (double)checkpoint_bytes(model_table(t->model)) / 1e8;
    const double save = t->save_longest > 0 ? t->save_longest : unseen;
    return clock_now() + 1.5 * (t->step_longest + save) >= t->deadline;
}

static bool evaluation_due(const struct training *t)
{
    const uint64_t every = t->settings->eval_every;
    return !t->evaluated && t->valid.samples > 0 && t->settings->eval_samples > 0 &&
           (t->state.step == t->recipe.schedule.steps ||
            (every > 0 && t->state.step > 0 && t->state.step % every == 0));
}

static int evaluate_now(struct training *t, struct error *err)
{
    TRY(evaluate(t->model, &t->valid, t->settings->eval_samples, &t->limits, &t->valid_now, err));
    t->evaluated = true;
    screen_evaluation(t);
    return metrics_write(&t->metrics,
                         &(struct metrics_line){
                             .valid = true,
                             .step = t->state.step,
                             .loss = t->valid_now.loss,
                             .mlm_loss = t->valid_now.mlm_loss,
                             .nsp_loss = t->valid_now.nsp_loss,
                             .mlm_accuracy = t->valid_now.mlm_accuracy,
                             .nsp_accuracy = t->valid_now.nsp_accuracy,
                             .learning_rate = (double)NAN,
                             .grad_norm = (double)NAN,
                             .samples = t->state.samples,
                             .tokens = t->state.tokens,
                             .valid_samples = t->valid_now.samples,
                             .epoch = (double)t->state.samples / (double)t->data.samples,
                             .seconds = t->seconds,
                             .sequences_per_second = (double)NAN,
                             .data_wait_seconds = (double)NAN,
                             .loss_scale = loss_scale(t),
                             .skipped = t->state.step - t->state.updates,
                         },
                         err);
}

/* Sums since the last line of metrics. */
struct since {
    double seconds, waited;
    uint64_t samples;
};

static int tell(struct training *t, const struct step_facts *facts, struct since *since, struct error *err)
{
    since->seconds += facts->seconds;
    since->waited += facts->waited;
    screen_step(t, facts);
    if (t->state.step % t->settings->log_every != 0 && t->state.step != t->recipe.schedule.steps)
        return 0;
    const struct metrics_line line = {
        .step = t->state.step,
        .loss = facts->loss,
        .mlm_loss = facts->mlm_loss,
        .nsp_loss = facts->nsp_loss,
        .mlm_accuracy = facts->mlm_accuracy,
        .nsp_accuracy = facts->nsp_accuracy,
        .learning_rate = facts->rate,
        .grad_norm = facts->norm,
        .samples = t->state.samples,
        .tokens = t->state.tokens,
        .epoch = (double)t->state.samples / (double)t->data.samples,
        .seconds = t->seconds,
        .sequences_per_second = (double)(t->state.samples - since->samples) / since->seconds,
        .data_wait_seconds = since->waited,
        .loss_scale = facts->loss_scale,
        .skipped = t->state.step - t->state.updates,
    };
    *since = (struct since){.samples = t->state.samples};
    return metrics_write(&t->metrics, &line, err);
}

/* ---- the loop ---- */

static int loop(struct training *t, struct error *err)
{
    const uint64_t steps = t->recipe.schedule.steps, stop_after = t->settings->stop_after;
    struct since since = {.samples = t->state.samples};
    struct step_facts facts;
    for (;;) {
        if (evaluation_due(t))
            TRY(evaluate_now(t, err));
        if (t->state.step == steps)
            return 0;
        if (stop_after > 0 && t->state.step - t->begun_at == stop_after)
            return fail(err, ERR_STOPPED, "stopped after %" PRIu64 " steps", stop_after);
        if (time_is_up(t))
            return fail(err, ERR_STOPPED, "stopped by the time limit");
        TRY(step_run(t, &facts, err));
        TRY(tell(t, &facts, &since, err));
        TRY(training_save_when_due(t, err));
    }
}

/* What is done becomes resumable where only the way on is barred: by a request, or by a damaged shard. Behind a full
 * disk or a NaN the last checkpoint is the better place to go on from. */
static int leave(struct training *t, struct error *err)
{
    const bool whole = err->kind == ERR_STOPPED || err->kind == ERR_VERIFY;
    struct error second = {0};
    if (whole && t->saved_step != t->state.step && training_save(t, &second) < 0) {
        if (err->kind == ERR_STOPPED)
            *err = second; /* 75 would promise that all is saved */
        return -1;
    }
    if (err->kind == ERR_STOPPED) {
        char text[160];
        snprintf(text, sizeof text, "%.150s", err->text);
        fail(err, ERR_STOPPED, "%s, at step %" PRIu64 " of %" PRIu64 "; %s holds it", text, t->state.step,
             t->recipe.schedule.steps, t->run.directory);
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
    timings_say(t->ops, clock_now() - from, beside);
}

static int train(struct training *t, struct error *err)
{
    if (t->loader)
        TRY(estimate_make(t, t->model, PRODUCT_SECONDS, &t->estimate, err));
    if (t->settings->timings)
        timings_clear(t->ops);
    const double from = clock_now();
    screen_opening(t);
    int result = loop(t, err);
    screen_end_steps(t);
    result = result == 0 ? run_finish(&t->run, err) : leave(t, err);
    if (t->settings->timings)
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
        result = train(&training, err);
    if (result == 0)
        screen_closing(&training);
    if (result < 0 && err->kind == ERR_RESOURCE)
        hint_safe(&training, err);
    training_close(&training);
    return result;
}
