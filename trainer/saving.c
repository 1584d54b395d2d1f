/* Checkpoints of a training: when one is due, what it is made of, and what happens where it cannot be written. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/progress.h"
#include "trainer/train.h"

int training_save(struct training *t, struct error *err)
{
    const double from = clock_now();
    const struct flat_state flat = engine_map(&t->engine, MAP_READ);
    const struct checkpoint_parts parts = {
        .config = &t->setup.recipe.config,
        .pad_id = t->setup.data.manifest.special.pad,
        .params = model_table(t->engine.model),
        .weights = flat.params,
        .first = flat.first,
        .second = flat.second,
        .tokenizer = &t->setup.tokenizer,
        .identity = t->setup.identity,
    };
    int result = metrics_sync(&t->metrics, err);
    if (result == 0)
        result = run_saved(&t->run, t->position.state.step, t->position.seconds, err);
    if (result == 0)
        result = checkpoint_write(t->run.directory, &parts, &t->position.state, t->setup.settings->keep_last,
                                  t->setup.settings->keep_every, err);
    engine_unmap(&t->engine, &flat, MAP_READ);
    TRY(result);
    t->saved_step = t->position.state.step;
    t->saved_clock = clock_now();
    t->save_longest = fmax(t->save_longest, t->saved_clock - from);
    t->saving += t->saved_clock - from;
    return 0;
}

bool training_save_due(const struct training *t, uint64_t step)
{
    const struct opt_count_or_time every = t->setup.settings->save_every;
    const uint64_t keep = t->setup.settings->keep_every;
    if (step == t->saved_step)
        return false;
    return step == t->setup.recipe.schedule.steps || (keep > 0 && step % keep == 0) ||
           (every.count > 0 ? step % every.count == 0 : clock_now() - t->saved_clock >= (double)every.seconds);
}

int training_save_when_due(struct training *t, struct error *err)
{
    char kept[80] = "there is none before it";
    if (!training_save_due(t, t->position.state.step))
        return 0;
    const int result = training_save(t, err);
    if (result == 0 || err->kind != ERR_RESOURCE || !t->setup.settings->save_fails ||
        t->position.state.step == t->setup.recipe.schedule.steps)
        return result;
    if (t->saved_step > 0)
        snprintf(kept, sizeof kept, "the checkpoint of step %" PRIu64 " stays", t->saved_step);
    log_warn("step %" PRIu64 " is not saved: %s: %s; %s, training goes on", t->position.state.step, err->file,
             err->text, kept);
    *err = (struct error){0};
    t->saved_clock = clock_now();
    return 0;
}
