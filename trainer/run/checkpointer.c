#include "trainer/run/checkpointer.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "trainer/comm/board.h"
#include "trainer/model/config.h"
#include "trainer/run/record.h"

/* A finished run whose last checkpoint cannot be read has no result: an error, or with --skip-damaged a run that goes
 * on from the newest checkpoint that is intact. */
static int check_finished(struct checkpointer *k, struct error *err)
{
    enum model_source source;
    struct checkpoint_state state = {0};
    const char *early;
    const uint64_t ended = run_ended(&k->run, &early);
    char *files = NULL, *before;
    int result = checkpoint_locate(k->run.directory, &source, &files, err);
    if (result == 0 && !path_is_directory(files))
        result =
            fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "is not there: the run is finished, its result is lost");
    if (result == 0)
        result = checkpoint_verify(files, &state, NULL, err);
    if (result == 0 && state.step != (early ? ended : k->setup->recipe.schedule.steps))
        result = fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "is not of the last step: the result is lost");
    mem_free(files);
    if (result == 0)
        return 0;
    before = checkpoint_before(k->run.directory, NULL);
    if (k->setup->settings->skip_damaged && before) {
        log_warn("%s: %s; the run goes on from an older checkpoint", err->file, err->text);
        *err = (struct error){0};
        run_unfinish(&k->run);
        result = 0;
    } else {
        hint(err, before ? "--skip-damaged computes the steps after the newest intact checkpoint again"
                         : "no checkpoint is kept; --fresh starts anew");
    }
    mem_free(before);
    return result;
}

int checkpointer_take(struct checkpointer *k, const struct setup *setup, bool silent, struct error *err)
{
    const struct recipe *recipe = &setup->recipe;
    char name[32], *moved = NULL;
    *k = (struct checkpointer){
        .silent = silent, .setup = setup, .metrics = METRICS_CLOSED, .evaluated_step = CHECKPOINTER_NEVER};
    if (silent)
        return 0;
    char *directory = setup->settings->out
                          ? mem_copy_text(setup->settings->out)
                          : run_directory(config_name(&recipe->config, name), recipe->seq, setup->identity);
    const bool fresh = setup->settings->fresh && !record_is_ours(directory); /* a restart has done it already */
    int result = run_open(&k->run, directory, setup->identity, fresh, &moved, err);
    if (result == 0 && k->run.kind == RUN_FINISHED)
        result = check_finished(k, err);
    if (moved)
        log_say("note       the run that was there is now %s", moved);
    mem_free(moved);
    mem_free(directory);
    return result;
}

bool checkpointer_keeps(const struct checkpointer *k, uint64_t step)
{
    return k->setup->settings->keep_best && !k->silent && k->evaluated_step == step && k->best.last < k->kept_loss;
}

/* Makes the checkpoint of this step the best one if its evaluation is; the previous best may then be removed. */
static int keep_best(struct checkpointer *k, uint64_t step, struct error *err)
{
    const struct settings *settings = k->setup->settings;
    if (!checkpointer_keeps(k, step) || k->saved_step != step)
        return 0;
    if (!checkpoint_exists(k->run.directory, step))
        return 0; /* where --resume begins, the checkpoint is the other run's */
    TRY(checkpoint_set_best(k->run.directory, step, err));
    k->kept_loss = k->best.last;
    return checkpoint_keep(k->run.directory, step, settings->keep_last, settings->keep_every, err);
}

int checkpointer_begin(struct checkpointer *k, const struct engine *engine, const struct position *position,
                       json_t *ranks, struct error *err)
{
    const uint64_t step = position->state.step;
    struct metrics_past past;
    k->saved_step = k->tried_step = step;
    k->saved_clock = clock_now();
    k->since.samples = position->state.samples;
    if (k->silent)
        return 0;
    board_save(step);
    TRY(record_start(&k->run, k->setup, engine, ranks, step,
                     err)); /* first, so that the files written after it are known to belong to a run */
    TRY(record_files(&k->run, k->setup, engine, err));
    past.kept_step = checkpoint_best(k->run.directory);
    TRY(metrics_open(&k->metrics, k->run.directory, step, &past, err));
    interval_read(&k->since.steps, &k->setup->task.metrics, run_since(&k->run, step));
    k->best = past.best;
    k->kept_loss = past.kept_loss;
    if (!past.evaluated)
        return 0;
    k->evaluated_step = step;
    return step > 0 ? keep_best(k, step, err) : 0; /* the last start may have crashed before it did this */
}

uint64_t checkpointer_counts_from(const struct checkpointer *k, uint64_t step)
{
    return k->silent ? step : record_first_step(&k->run, step);
}

void checkpointer_close(struct checkpointer *k)
{
    if (!k->setup)
        return;
    metrics_close(&k->metrics);
    run_close(&k->run);
    *k = (struct checkpointer){0};
}

void checkpointer_open_console(struct checkpointer *k, const struct engine *engine, const struct position *position,
                               const struct estimate *estimate)
{
    if (!k->silent)
        console_open(&k->console, k->setup, engine, k->run.directory, position->state.step, estimate);
}

void checkpointer_close_console(struct checkpointer *k)
{
    if (!k->silent)
        console_close(&k->console);
}

/* The fields that lines of training and of evaluation have in common. */
static struct metrics_line line_of(const struct checkpointer *k, const struct position *position,
                                   const struct evaluation *means)
{
    const struct checkpoint_state *state = &position->state;
    return (struct metrics_line){
        .step = state->step,
        .metrics = &k->setup->task.metrics,
        .means = means,
        .learning_rate = (double)NAN,
        .grad_norm = (double)NAN,
        .samples = state->samples,
        .tokens = state->tokens,
        .epoch = (double)state->samples / (double)k->setup->task.samples.samples,
        .seconds = position->seconds,
        .sequences_per_second = (double)NAN,
        .data_wait_seconds = (double)NAN,
        .skipped = state->step - state->updates,
    };
}

int checkpointer_step(struct checkpointer *k, const struct position *position, const struct step_facts *facts,
                      struct error *err)
{
    const uint64_t step = position->state.step, samples = position->state.samples;
    assert(step >= k->saved_step && samples >= k->since.samples);
    if (k->silent)
        return 0;
    if (facts->outcome == STEP_SKIPPED)
        log_detail("step %" PRIu64 " overflows and is skipped; loss scale %g, was %g", facts->number, facts->next_scale,
                   facts->loss_scale);
    k->since.seconds += facts->seconds;
    k->since.waited += facts->waited;
    interval_add(&k->since.steps, &k->setup->task.metrics, facts);
    console_step(&k->console, facts);
    if (step % k->setup->settings->log_every != 0 && step != k->setup->recipe.schedule.steps)
        return 0;
    const struct evaluation interval = interval_means(&k->since.steps, &k->setup->task.metrics);
    struct metrics_line line = line_of(k, position, &facts->means);
    line.interval = &interval;
    line.learning_rate = facts->rate;
    line.grad_norm = facts->norm;
    line.sequences_per_second = (double)(samples - k->since.samples) / k->since.seconds;
    line.data_wait_seconds = k->since.waited;
    line.loss_scale = facts->loss_scale;
    line.wire_bytes = facts->wire_bytes;
    line.borders = k->borders;
    line.processes = k->processes;
    k->since.seconds = k->since.waited = 0;
    k->since.steps = (struct interval){0};
    k->since.samples = samples;
    return metrics_write(&k->metrics, &line, err);
}

int checkpointer_norms(struct checkpointer *k, const struct position *position, const struct norms *norms,
                       struct error *err)
{
    return events_write_norms(&k->metrics.events, position->state.step, model_table(norms->engine->model),
                              norms->tensors, err);
}

int checkpointer_evaluation(struct checkpointer *k, const struct position *position,
                            const struct evaluation *evaluation, const struct evaluation *each, struct error *err)
{
    const uint32_t datasets = k->setup->task.splits[SPLIT_VALID].parts;
    assert(datasets <= MIXTURE_MAX);
    k->evaluation = *evaluation;
    memcpy(k->each, each, datasets * sizeof *each);
    k->evaluated_step = position->state.step;
    if (k->silent)
        return 0;
    if (position->state.step < k->setup->recipe.schedule.steps) { /* the summary shows the last evaluation */
        console_evaluation(&k->console, evaluation, position->state.step);
        console_datasets(log_say, k->console.metrics, each, datasets, &k->setup->datasets);
    }
    struct metrics_line line = line_of(k, position, evaluation);
    line.valid = true;
    line.each = each;
    line.datasets = datasets;
    line.loss_scale = step_loss_scale(position);
    TRY(metrics_write(&k->metrics, &line, err));
    metrics_best_add(&k->best, position->state.step, evaluation->loss);
    return keep_best(k, position->state.step, err);
}

static int write_checkpoint(struct checkpointer *k, struct engine *engine, const struct position *position,
                            struct error *err)
{
    const struct setup *setup = k->setup;
    const bool divided = engine_divides(engine);
    const struct flat_state flat = divided ? (struct flat_state){0} : engine_map(engine, MAP_READ);
    struct checkpoint_source source;
    struct checkpoint_errors errors;
    const struct checkpoint_parts parts = {
        .config = &setup->recipe.config,
        .pad_id = setup->pad_id,
        .cls_id = setup->cls_id,
        .sep_id = setup->sep_id,
        .params = model_table(engine->model),
        .weights = flat.params,
        .first = flat.first,
        .second = flat.second,
        .source = exchange_source(engine->exchange, &source) ? &source : NULL,
        .errors = exchange_errors(engine->exchange, &errors) ? &errors : NULL,
        .tokenizer = &setup->tokenizer,
        .identity = setup->identity,
    };
    /* Metrics and run.json first: a resume from this checkpoint needs the lines and the sums up to its step. */
    int result = metrics_sync(&k->metrics, err);
    if (result == 0)
        result = run_saved(&k->run, position->state.step, position->seconds,
                           interval_json(&k->since.steps, &setup->task.metrics), err);
    if (result == 0)
        result = checkpoint_write(k->run.directory, &parts, &position->state, setup->settings->keep_last,
                                  setup->settings->keep_every, err);
    if (!divided)
        engine_unmap(engine, &flat, MAP_READ);
    return result;
}

static void warn_unsaved(const struct checkpointer *k, uint64_t step, const struct error *err)
{
    char kept[80] = "there is none before it";
    if (k->saved_step > 0)
        snprintf(kept, sizeof kept, "the checkpoint of step %" PRIu64 " stays", k->saved_step);
    log_warn("step %" PRIu64 " is not saved: %s: %s; %s, training continues", step, err->file, err->text, kept);
}

int checkpointer_save(struct checkpointer *k, struct engine *engine, const struct position *position, bool go_on,
                      struct error *err)
{
    const double from = clock_now();
    assert(position->queued == 0); /* the arrays are those of position->state */
    const int result = k->silent ? 0 : write_checkpoint(k, engine, position, err);
    k->tried_step = position->state.step;
    k->saved_clock = clock_now();
    if (result == 0) {
        k->saved_step = position->state.step;
        if (!k->silent)
            board_save(k->saved_step);
        k->save_longest = fmax(k->save_longest, k->saved_clock - from);
        k->saving += k->saved_clock - from;
        return keep_best(k, position->state.step, err);
    }
    if (err->kind != ERR_RESOURCE || !go_on)
        return result;
    warn_unsaved(k, position->state.step, err);
    *err = (struct error){0};
    return 0;
}

int checkpointer_finish(struct checkpointer *k, const struct position *position, bool early, struct error *err)
{
    return k->silent ? 0 : run_finish(&k->run, position->state.step, early ? "patience" : NULL, err);
}
