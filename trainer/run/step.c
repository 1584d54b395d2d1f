#include "trainer/run/step.h"

#include <time.h>

#include "base/faults.h"
#include "base/progress.h"

double step_loss_scale(const struct position *position)
{
    const double scale = position->state.scaler.scale;
    return scale > 0 ? scale : 1;
}

static uint64_t next_number(const struct position *position)
{
    return position->state.step + position->queued + 1;
}

struct step_counts step_fetch(struct step_samples *samples)
{
    struct step_counts counts = {0};
    if (!samples->loader)
        return counts;
    if (!samples->first && samples->err.kind == ERR_NONE) {
        const double waited = loader_waited(samples->loader);
        const int result = loader_next(samples->loader, &samples->first, &samples->err);
        assert(result != 0); /* the loader was given the number of samples that the run takes */
        assert(result < 0 || samples->first->begins);
        samples->waited = loader_waited(samples->loader) - waited;
    }
    if (!samples->first)
        return counts;
    counts.sequences = samples->first->sequences;
    counts.tokens = samples->first->tokens;
    memcpy(counts.marks, samples->first->marks, sizeof counts.marks);
    return counts;
}

static int passes(struct engine *engine, struct step_samples *samples, const struct halt *halt, struct error *err)
{
    const struct micro_batch *micro = samples->first;
    for (;;) {
        if (halt->asked(halt->context))
            return fail(err, ERR_STOPPED, "stopped on request");
        if (!micro)
            return 0; /* an empty share */
        engine_pass(engine, micro);
        fault_slow(engine->processes ? engine->processes->rank : 0, micro->batch.sequences);
        if (micro->ends)
            return 0;
        const int result = loader_next(samples->loader, &micro, err);
        TRY(result);
        assert(result == 1 && !micro->begins); /* the batch goes on until a micro-batch ends it */
    }
}

int step_gradients(struct engine *engine, struct position *position, struct step_samples *samples,
                   const struct step_counts *counts, const struct halt *halt, struct error *err)
{
    const uint64_t number = next_number(position);
    struct queued_step *step = &position->queue[number % STEPS_QUEUED];
    const double waited = samples->loader ? loader_waited(samples->loader) - samples->waited : 0;
    assert(position->queued < STEPS_QUEUED);
    if (samples->err.kind != ERR_NONE) {
        *err = samples->err;
        return -1;
    }
    if (position->queued == 0)
        position->clock = fmax(position->clock, clock_now() - samples->waited); /* count waiting only once */
    step->loss_scale = step_loss_scale(position);
    engine_begin(engine, number, counts->marks, step->loss_scale);
    const double from = clock_now(), before = samples->loader ? loader_waited(samples->loader) : 0;
    samples->sequences = samples->first ? samples->first->sequences : 0;
    assert(samples->sequences <= counts->sequences); /* a share of the whole */
    TRY(passes(engine, samples, halt, err));
    samples->computed = clock_now() - from - exchange_waited(engine->exchange);
    samples->computed -= samples->loader ? loader_waited(samples->loader) - before : 0;
    samples->first = NULL;
    TRY(engine_finish(engine, err));
    step->wire_bytes = exchange_wire_bytes(engine->exchange);
    step->counts = (struct model_metrics){.sequences = counts->sequences, .tokens = counts->tokens};
    for (int h = 0; h < HEAD_KINDS; h++)
        step->counts.heads[h].count = counts->marks[h];
    step->waited = samples->loader ? loader_waited(samples->loader) - waited : 0;
    return 0;
}

int step_update(struct engine *engine, struct position *position, struct error *err)
{
    const uint64_t number = next_number(position), update = position->state.updates + position->queued + 1;
    struct queued_step *step = &position->queue[number % STEPS_QUEUED];
    assert(position->queued < STEPS_QUEUED);
    TRY(engine_update(engine, number, update, step->loss_scale, &step->rate, err));
    position->state.freeze = exchange_frozen(engine->exchange);
    position->queued++;
    return 0;
}

static struct step_facts facts_of(const struct engine *engine, const struct position *position,
                                  const struct queued_step *step, const struct step_record *record)
{
    struct model_metrics metrics = step->counts;
    model_metrics_add(&metrics, record->sums);
    struct step_facts facts = {
        .number = position->state.step + 1,
        .outcome = record->skipped ? STEP_NOT_FINITE : STEP_APPLIED,
        .means = evaluation_of(engine->task, &metrics),
        .rate = step->rate,
        .norm = record->norm,
        .loss_scale = step->loss_scale,
        .next_scale = step->loss_scale,
        .seconds = clock_now() - position->clock,
        .waited = step->waited,
        .wire_bytes = step->wire_bytes,
    };
    for (int h = 0; h < HEAD_KINDS; h++)
        facts.counts[h] = step->counts.heads[h].count;
    return facts;
}

/* For fp16: a step that overflowed is skipped, unless the scale cannot be lowered further. Adjusts the scale, which
 * must happen before the next step is queued. */
static void scale_loss(const struct scaler_settings *settings, struct position *position, struct step_facts *facts)
{
    struct scaler_state *scaler = &position->state.scaler;
    const bool overflow = facts->outcome == STEP_NOT_FINITE;
    if (overflow && scaler_exhausted(settings, scaler))
        return;
    if (overflow)
        facts->outcome = STEP_SKIPPED;
    scaler_update(settings, scaler, position->state.step, overflow);
    facts->next_scale = scaler->scale;
}

static void move_on(struct position *position, const struct queued_step *step, const struct step_facts *facts)
{
    struct checkpoint_state *state = &position->state;
    state->step++;
    state->samples += (uint64_t)step->counts.sequences;
    state->tokens += (uint64_t)step->counts.tokens;
    position->seconds += facts->seconds;
    position->clock += facts->seconds;
    position->step_longest = fmax(position->step_longest, facts->seconds);
    if (facts->outcome == STEP_SKIPPED)
        return;
    state->updates++;
    assert(state->updates <= state->step);
    if ((float)facts->norm > (float)state->norm_max) {
        state->norm_max = (double)(float)facts->norm; /* a float survives the 15 digits of state.json exactly */
        state->norm_max_step = state->step;
    }
}

void step_receive(struct engine *engine, struct position *position, struct step_facts *facts)
{
    const uint64_t number = position->state.step + 1;
    const struct queued_step *step = &position->queue[number % STEPS_QUEUED];
    struct step_record record;
    assert(position->queued > 0);
    engine_receive(engine, number, &record);
    *facts = facts_of(engine, position, step, &record);
    position->queued--;
    if (engine->ops->precision == PRECISION_FP16)
        scale_loss(&engine->recipe->scaling, position, facts);
    if (facts->outcome != STEP_NOT_FINITE)
        move_on(position, step, facts);
}
