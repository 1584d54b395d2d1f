/* One step: what the device is asked for, and what it came to.
 *
 *     training_queue_step: gradients of a batch → clipped and applied → its record is sent
 *     training_settle:     the record is received → the state moves on → screen, metrics
 *
 * A step is one update: the gradients of a whole batch, laid up micro-batch by micro-batch. Nothing in the first half
 * waits for the device, which works out by itself whether a step counts: one that comes to no number changes nothing,
 * nor do those behind it (optim/numbers.h), so that the host may hear of it late. */
#include "trainer/train.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "base/progress.h"
#include "trainer/blame.h"

/* ---- queueing a step ---- */

double training_loss_scale(const struct training *t)
{
    return t->engine.ops->precision == PRECISION_FP16 ? t->state.scaler.scale : 1;
}

/* Gradients of the next batch. A stop discards them: nothing has been changed. */
static int forward_backward(struct training *t, uint64_t number, struct queued_step *step, struct error *err)
{
    const struct micro_batch *micro;
    const double waited = loader_waited(t->loader);
    do {
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped on request");
        const int result = loader_next(t->loader, &micro, err);
        assert(result != 0); /* the loader was told how many samples the run takes */
        TRY(result);
        engine_pass(&t->engine, micro, number, training_loss_scale(t));
    } while (!micro->ends);
    step->masked = micro->masked;
    step->sequences = micro->sequences;
    step->tokens = micro->tokens;
    step->waited = loader_waited(t->loader) - waited;
    return 0;
}

int training_queue_step(struct training *t, struct error *err)
{
    const uint64_t number = t->state.step + t->queued + 1, update = t->state.updates + t->queued + 1;
    struct queued_step *step = &t->queue[number % STEPS_QUEUED];
    assert(t->queued < STEPS_QUEUED);
    if (t->queued == 0)
        t->told_clock = clock_now();
    TRY(forward_backward(t, number, step, err));
    if (t->setup.settings->dump_gradients && number == t->begun_at + 1)
        TRY(engine_dump_gradients(&t->engine, t->setup.settings->dump_gradients, err));
    step->loss_scale = training_loss_scale(t);
    step->rate = engine_update(&t->engine, number, update, step->loss_scale);
    t->queued++;
    t->evaluated = false;
    return 0;
}

/* ---- what a step came to ---- */

/* fp16: a step that overflowed was skipped; moves the scale, before the next step is queued. */
static int scale_loss(struct training *t, const struct step_facts *facts, bool overflow, struct error *err)
{
    struct scaler_state *scaler = &t->state.scaler;
    const double before = scaler->scale;
    if (overflow && scaler_exhausted(&t->setup.recipe.scaling, scaler))
        return blame(t, facts, err);
    scaler_update(&t->setup.recipe.scaling, scaler, t->state.step, overflow);
    if (overflow)
        log_detail("step %" PRIu64 " overflows and is skipped; loss scale %g, was %g", t->state.step + 1, scaler->scale,
                   before);
    return 0;
}

static struct step_facts facts_of(const struct training *t, const struct queued_step *step,
                                  const struct step_record *record)
{
    struct model_metrics metrics = {.masked = step->masked, .sequences = step->sequences, .tokens = step->tokens};
    model_metrics_add(&metrics, record->sums);
    const struct evaluation means = evaluation_of(&metrics, t->setup.recipe.config.next_sentence);
    return (struct step_facts){
        .loss = means.loss,
        .mlm_loss = means.mlm_loss,
        .nsp_loss = means.nsp_loss,
        .mlm_accuracy = means.mlm_accuracy,
        .nsp_accuracy = means.nsp_accuracy,
        .rate = step->rate,
        .norm = record->norm,
        .loss_scale = step->loss_scale,
        .seconds = clock_now() - t->told_clock,
        .waited = step->waited,
    };
}

/* The state moves on behind a step whose facts are known. */
static void step_over(struct training *t, const struct queued_step *step, const struct step_facts *facts, bool skipped)
{
    struct checkpoint_state *state = &t->state;
    state->step++;
    state->samples += (uint64_t)step->sequences;
    state->tokens += (uint64_t)step->tokens;
    t->seconds += facts->seconds;
    t->told_clock += facts->seconds;
    t->step_longest = fmax(t->step_longest, facts->seconds);
    if (skipped)
        return;
    state->updates++;
    if ((float)facts->norm > (float)state->norm_max) {
        state->norm_max = (double)(float)facts->norm; /* so that it comes back from 15 digits as it was */
        state->norm_max_step = state->step;
    }
}

static int tell(struct training *t, const struct step_facts *facts, struct error *err)
{
    t->since.seconds += facts->seconds;
    t->since.waited += facts->waited;
    screen_step(t, facts);
    if (t->state.step % t->setup.settings->log_every != 0 && t->state.step != t->setup.recipe.schedule.steps)
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
        .epoch = (double)t->state.samples / (double)t->setup.data.samples,
        .seconds = t->seconds,
        .sequences_per_second = (double)(t->state.samples - t->since.samples) / t->since.seconds,
        .data_wait_seconds = t->since.waited,
        .loss_scale = facts->loss_scale,
        .skipped = t->state.step - t->state.updates,
    };
    t->since.seconds = t->since.waited = 0;
    t->since.samples = t->state.samples;
    return metrics_write(&t->metrics, &line, err);
}

int training_settle(struct training *t, uint64_t left, struct error *err)
{
    const bool scaled = t->engine.ops->precision == PRECISION_FP16;
    while (t->queued > left) {
        const uint64_t number = t->state.step + 1, slot = number % STEPS_QUEUED;
        struct step_record record;
        engine_receive(&t->engine, number, &record);
        const struct step_facts facts = facts_of(t, &t->queue[slot], &record);
        t->queued--;
        if (scaled)
            TRY(scale_loss(t, &facts, record.skipped, err));
        else if (record.skipped)
            return blame(t, &facts, err);
        step_over(t, &t->queue[slot], &facts, record.skipped);
        TRY(tell(t, &facts, err));
    }
    return 0;
}
