#include "trainer/run/training.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/run/limit.h"
#include "trainer/run/record.h"

#define PRODUCT_SECONDS 0.2 /* for measuring products before the first step */

static int weights_begin(struct training *t, const struct origin *origin, const struct flat_state *flat,
                         struct error *err)
{
    const struct params *params = model_table(t->engine.model);
    if (!origin->files) {
        params_draw_all(params, t->setup.recipe.seed, flat->params);
        return 0;
    }
    struct names_report report;
    int result =
        names_read_grown(origin->weights, params, &t->setup.growth, t->setup.recipe.seed, flat->params, &report, err);
    if (result == 0)
        head_choice_apply(&t->setup.recipe.head, params, t->setup.recipe.seed, flat->params);
    if (result == 0 && !t->checkpointer.silent) {
        const bool tells = head_choice_tells(&t->setup.recipe.head, &report);
        console_init(origin->name, buf_text(&report.drawn), buf_text(&report.unused));
        if (tells)
            head_choice_say(&t->setup.recipe.head, &report);
    }
    names_report_release(&report);
    if (result == 0 && origin->moments)
        result = checkpoint_read(origin->files, params, NULL, flat->first, flat->second, err);
    if (result == 0 && origin->goes_on) {
        const struct scaler_state fresh = t->position.state.scaler;
        t->position.state = origin->state;
        t->restored = mem_copy_text(origin->files);
        if (fresh.scale == 0 || t->position.state.scaler.scale == 0) /* one of the two runs does not use fp16 */
            t->position.state.scaler = fresh;
    }
    return result;
}

/* Verifies a checkpoint; ERR_VERIFY also if it is not there. */
static int verify_there(const char *files, struct checkpoint_state *state, json_t **identity, struct error *err)
{
    return path_is_directory(files) ? checkpoint_verify(files, state, identity, err)
                                    : fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "is not there");
}

/* Verifies the run's newest checkpoint; with --skip-damaged finds the newest one that is intact. *files becomes its
 * directory, which the caller mem_free's. */
static int find_checkpoint(struct training *t, char **files, json_t **identity, struct error *err)
{
    enum model_source source;
    TRY(checkpoint_locate(t->checkpointer.run.directory, &source, files, err));
    while (verify_there(*files, &t->position.state, identity, err) < 0) {
        const char *slash = strrchr(*files, '/');
        char *before =
            err->kind == ERR_VERIFY && slash ? checkpoint_before(t->checkpointer.run.directory, slash + 1) : NULL;
        if (!before)
            return err->kind == ERR_VERIFY ? hint(err, "no older checkpoint is kept; --fresh starts anew") : -1;
        if (!t->setup.settings->skip_damaged) {
            hint(err, "the checkpoint before it is %.200s; --skip-damaged continues from there", before);
            mem_free(before);
            return -1;
        }
        log_warn("%s %s; continuing from %s", slash + 1, path_is_directory(*files) ? "is damaged" : "is not there",
                 before);
        mem_free(*files);
        *files = before;
        *err = (struct error){0};
    }
    return 0;
}

/* Checks that a verified checkpoint is one of this run, then reads its weights and moments. */
static int take_checkpoint(const struct training *t, const char *files, const json_t *identity,
                           const struct flat_state *flat, struct error *err)
{
    const struct recipe *recipe = &t->setup.recipe;
    const struct checkpoint_state *state = &t->position.state;
    TRY(run_is_of(files, identity, t->setup.identity, err));
    if (state->step > recipe->schedule.steps || state->step < recipe->steps_before ||
        state->samples != recipe_samples(recipe, state->step))
        return fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "its state.json contradicts itself");
    return checkpoint_read(files, model_table(t->engine.model), flat->params, flat->first, flat->second, err);
}

/* Writes `latest` where there is none: readers of the run must find the checkpoint that it continues from. */
static int restore_latest(const struct training *t, uint64_t step, struct error *err)
{
    SCOPED(mem_free_at) char *latest = path_join(t->checkpointer.run.directory, LATEST_NAME);
    return path_exists(latest) ? 0 : checkpoint_set_latest(t->checkpointer.run.directory, step, err);
}

static int resume(struct training *t, const struct flat_state *flat, struct error *err)
{
    SCOPED(mem_free_at) char *files = NULL;
    json_auto_t *identity = NULL;
    TRY(find_checkpoint(t, &files, &identity, err));
    TRY(take_checkpoint(t, files, identity, flat, err));
    /* the last save may have crashed before it did these two */
    TRY(restore_latest(t, t->position.state.step, err));
    TRY(checkpoint_keep(t->checkpointer.run.directory, t->position.state.step, t->setup.settings->keep_last,
                        t->setup.settings->keep_every, err));
    t->restored = mem_copy_text(files);
    t->position.seconds = run_seconds(&t->checkpointer.run, t->position.state.step);
    return 0;
}

static int resume_again(struct training *t, const struct flat_state *flat, struct error *err)
{
    json_auto_t *identity = NULL;
    TRY(checkpoint_verify(t->again->checkpoint, &t->position.state, &identity, err));
    TRY(take_checkpoint(t, t->again->checkpoint, identity, flat, err));
    t->restored = mem_copy_text(t->again->checkpoint);
    return 0;
}

static bool has_checkpoint(const struct run *run)
{
    if (!run->directory)
        return false; /* the checkpointer is silent */
    enum model_source source;
    struct error ignored;
    SCOPED(mem_free_at) char *files = NULL;
    const bool there = checkpoint_locate(run->directory, &source, &files, &ignored) < 0 || source == SOURCE_RUN;
    return there; /* if `latest` is unreadable, resuming reports it */
}

/* Logs how a run that --resume branched off differs from the one it continues. */
static void say_branch(const struct training *t, const struct origin *origin)
{
    SCOPED(buf_release) struct buf differences = {0};
    json_auto_t *before = json_copy(origin->identity);
    json_object_set(before, "initial_weights", json_object_get(t->setup.identity, "initial_weights"));
    json_object_set(before, "resumed_step", json_object_get(t->setup.identity, "resumed_step"));
    json_object_set(before, "resumed_samples", json_object_get(t->setup.identity, "resumed_samples"));
    run_differences(before, t->setup.identity, &differences);
    log_say("note       goes on from %s at step %" PRIu64 "; differs: %s", origin->name, origin->state.step,
            differences.size > 0 ? buf_text(&differences) : "nothing");
}

/* Opens the model in the precision of the run's first start, which rank 0 knows, and with the run's own table of
 * product algorithms. */
static int model_begin(struct training *t, struct error *err)
{
    const struct run *run = &t->checkpointer.run;
    const char *directory = t->again ? t->again->run : run->directory;
    const char *recorded = t->again ? t->again->precision : run->record ? run_precision(run) : NULL;
    char *tune = directory ? path_join(directory, TUNE_NAME) : NULL;
    enum precision precision = engine_precision(&t->engine, recorded);
    int result = process_group_broadcast(t->processes, &precision, sizeof precision, err);
    if (result == 0)
        result = engine_open(&t->engine, precision, tune, err);
    mem_free(tune);
    if (result == 0)
        result = engine_load(&t->engine, ENGINE_TRAINING, err);
    TRY(process_group_barrier(t->processes, result, err));
    char device[OPS_NAME_SIZE];
    ops_device(t->engine.ops, device);
    /* With --same-bits it must not matter which process computes a part. Updates of whole matrices contain products,
     * whose results must be the same in all processes. Both need the same device everywhere, or with --same-bits one
     * whose level does not matter. */
    const bool same_bits = t->setup.recipe.part > 0;
    if (same_bits || optimizer_kinds[t->setup.recipe.optimizer.kind].matrices)
        TRY(process_group_compare(t->processes, "device",
                                  same_bits && ops_same_everywhere(device) ? "cpu fp32" : device, err));
    if (t->engine.ops->precision == PRECISION_FP16)
        t->position.state.scaler = scaler_begin(&t->setup.recipe.scaling);
    return 0;
}

/* Sets weights, moments and position, from a checkpoint of this run or from the origin. */
static int state_begin(struct training *t, const struct origin *origin, const struct flat_state *flat,
                       struct error *err)
{
    if (!t->checkpointer.silent)
        TRY(checkpoint_tidy(t->checkpointer.run.directory, err));
    return t->again && t->again->checkpoint       ? resume_again(t, flat, err)
           : has_checkpoint(&t->checkpointer.run) ? resume(t, flat, err)
                                                  : weights_begin(t, origin, flat, err);
}

/* This process's samples of the steps after `step`. */
static struct loader_options samples_after(const struct training *t, uint64_t step)
{
    const struct recipe *recipe = &t->setup.recipe;
    const uint64_t first = recipe_samples(recipe, step);
    assert(step <= recipe->schedule.steps);
    assert(t->borders[t->processes->rank] <= t->borders[t->processes->rank + 1]);
    return (struct loader_options){
        .source = &t->setup.task.samples,
        .first = first,
        .count = recipe_samples(recipe, recipe->schedule.steps) - first,
        .batch = recipe->batch,
        .plan = recipe->batches,
        .step = step,
        .share_from = (uint32_t)t->borders[t->processes->rank],
        .share_to = (uint32_t)t->borders[t->processes->rank + 1],
        .limits = t->engine.limits,
    };
}

struct loader_options training_samples(const struct training *t)
{
    return samples_after(t, t->position.state.step);
}

/* Makes the recipe, and checks the weights that it starts from before anything is written. */
static int setup_lead(struct training *t, const struct settings *settings, struct origin *origin, struct error *err)
{
    struct setup *s = &t->setup;
    TRY(setup_open(s, settings, origin, err));
    return origin->files ? names_check_kept(origin->weights, &s->recipe.config, &s->growth, s->recipe.head.drawn, err)
                         : 0;
}

/* Rank 0 makes the recipe; the others open only the dataset. */
static int setup_begin(struct training *t, const struct settings *settings, struct origin *origin, struct error *err)
{
    struct recipe recipe;
    struct setup *s = &t->setup;
    char hash[17];
    int result = process_group_is_leader(t->processes) ? setup_lead(t, settings, origin, err) : 0;
    TRY(process_group_barrier(t->processes, result, err));
    if (t->processes->size == 1)
        return 0;
    recipe = s->recipe;
    TRY(process_group_broadcast(t->processes, &recipe, sizeof recipe, err));
    if (!process_group_is_leader(t->processes))
        result = setup_follow(s, settings, &recipe, err);
    TRY(process_group_barrier(t->processes, result, err));
    return process_group_compare(t->processes, "dataset", hash_text(s->material.hash, hash), err);
}

/* Rank 0 takes the run's directory; all processes learn whether the run is finished. */
static int run_begin(struct training *t, bool silent, struct error *err)
{
    const int result =
        checkpointer_take(&t->checkpointer, &t->setup, silent || !process_group_is_leader(t->processes), err);
    TRY(process_group_barrier(t->processes, result, err));
    t->finished = t->checkpointer.run.kind == RUN_FINISHED;
    return process_group_broadcast(t->processes, &t->finished, sizeof t->finished, err);
}

/* The number of units that are divided into shares: samples, or with --same-bits whole parts. */
static uint64_t units_of_batch(const struct recipe *recipe)
{
    return recipe->part > 0 ? recipe_parts(recipe) : recipe->batch;
}

/* Converts the borders from units to samples. */
static void set_borders(struct training *t)
{
    const struct recipe *recipe = &t->setup.recipe;
    for (uint32_t r = 0; r <= t->processes->size; r++) {
        const uint64_t border = t->borders[r] * (recipe->part > 0 ? recipe->part : 1);
        t->borders[r] = border < recipe->batch ? border : recipe->batch;
    }
    assert(t->borders[0] == 0 && t->borders[t->processes->size] == recipe->batch); /* each sample has one process */
}

/* Divides the batch again by the seconds per sample of all processes (--share auto), if that gains. */
static void redivide(struct training *t, const double *seconds)
{
    const struct recipe *recipe = &t->setup.recipe;
    const uint32_t size = t->processes->size, each = recipe->part > 0 ? recipe->part : 1;
    const uint64_t step = t->position.state.step + t->position.queued + 1;
    for (uint32_t r = 0; r <= size; r++)
        t->borders[r] = (t->borders[r] + each - 1) / each;
    const bool gains = divide_by_speed(units_of_batch(recipe), seconds, size, t->borders);
    if (gains)
        exchange_redivide(t->engine.exchange, t->borders);
    set_borders(t);
    if (!gains)
        return;
    speed_reset(&t->speed);
    loader_close(t->samples.loader);
    const struct loader_options samples = samples_after(t, step);
    t->samples.loader = step < recipe->schedule.steps ? loader_open(&samples) : NULL;
}

int training_redivide(struct training *t, struct error *err)
{
    if (!t->processes->adapts || t->processes->size == 1)
        return 0;
    speed_note(&t->speed, t->samples.computed, t->samples.sequences);
    if (!speed_is_due(&t->speed))
        return 0;
    SCOPED(mem_free_at) double *seconds = mem_clear(t->processes->size, sizeof *seconds);
    seconds[t->processes->rank] = speed_seconds(&t->speed);
    const int result = process_group_all_reduce(t->processes, seconds, t->processes->size, err);
    if (result == 0)
        redivide(t, seconds);
    return result;
}

/* Divides the batch among the processes. */
static int shares_begin(struct training *t, struct error *err)
{
    const struct recipe *recipe = &t->setup.recipe;
    const uint32_t size = t->processes->size;
    const uint64_t units = units_of_batch(recipe);
    int64_t hosts = t->engine.ops->memory == 0; /* summed: processes whose gradients are in host memory */
    uint64_t *units_of = t->borders;
    if (units < size) {
        char text[56];
        fail(err, ERR_USAGE, "%" PRIu32 " processes, but a batch of only %s", size,
             format_counted(units, recipe->part > 0 ? "part" : "sample", text));
        if (recipe->part == 0)
            return -1;
        return recipe->batch >= size ? hint(err,
                                            "with --same-bits a part has --micro-batch samples: --micro-batch "
                                            "%" PRIu32 " makes enough of them",
                                            recipe->batch / size)
                                     : hint(err, "--same-bits gives a process whole samples: a larger --batch");
    }
    divide_by_weight(units, t->processes->weights, size, units_of);
    TRY(process_group_all_reduce_counts(t->processes, &hosts, 1, err));
    engine_join(&t->engine, t->processes, units_of, hosts == size);
    set_borders(t);
    if (t->processes->adapts && recipe->batches.first < recipe->batch)
        return fail(err, ERR_USAGE, "--share auto needs batches of one size, but --batch-warmup has several");
    if (t->processes->adapts && size > 1) {
        t->checkpointer.borders = t->borders;
        t->checkpointer.processes = size;
    }
    for (uint32_t r = 0; r < size; r++) { /* a share must not be empty in a smaller batch of the warm-up */
        const uint64_t share = t->borders[r + 1] - t->borders[r];
        if (share > 0 && share * recipe->batches.first < recipe->batch)
            return fail(err, ERR_USAGE,
                        "rank %" PRIu32 "'s share, %" PRIu64 " of %" PRIu32 " samples, has none of a batch of %" PRIu32
                        ", with which --batch-warmup begins",
                        r, share, recipe->batch, recipe->batches.first);
    }
    return 0;
}

/* Distributes the state that rank 0 initializes, reads or resumes when it is divided among the processes (ZeRO). Rank 0
 * needs memory for all of it until it is scattered; for the weights it uses the model's own if they are fp32 in host
 * memory. */
static int divide_state(struct training *t, const struct origin *origin, struct error *err)
{
    const size_t count = process_group_is_leader(t->processes) ? model_table(t->engine.model)->size : 0;
    struct model *model = t->engine.model;
    const bool own = t->engine.ops->memory == 0 && model_weights(model) == model_params(model);
    struct flat_state flat = {own ? model_params(model) : mem_clear(count, sizeof *flat.params),
                              mem_clear(count, sizeof *flat.first), mem_clear(count, sizeof *flat.second)};
    int result = process_group_barrier(
        t->processes, process_group_is_leader(t->processes) ? state_begin(t, origin, &flat, err) : 0, err);
    rendezvous_progress(t->processes->rendezvous, 0, "the first weights");
    if (result == 0)
        result = process_group_broadcast(t->processes, &t->position, sizeof t->position, err);
    if (result == 0 && exchange_scatter(t->engine.exchange, flat.params, flat.first, flat.second, err) < 0)
        result = process_group_fail(t->processes, err);
    if (!own)
        mem_free(flat.params);
    mem_free(flat.first);
    mem_free(flat.second);
    return result;
}

/* Copies the state that rank 0 has initialized, read or resumed to all processes. */
static int give_state(struct training *t, struct error *err)
{
    const size_t bytes = model_table(t->engine.model)->size * sizeof(float);
    if (t->processes->size == 1)
        return 0;
    rendezvous_progress(t->processes->rendezvous, 0, "the first weights");
    TRY(process_group_broadcast(t->processes, &t->position, sizeof t->position, err));
    const struct flat_state flat = engine_map(&t->engine, MAP_CHANGE);
    int result = process_group_broadcast(t->processes, flat.params, bytes, err);
    if (result == 0)
        result = process_group_broadcast(t->processes, flat.first, bytes, err);
    if (result == 0)
        result = process_group_broadcast(t->processes, flat.second, bytes, err);
    engine_unmap(&t->engine, &flat, MAP_CHANGE);
    model_refresh(t->engine.model);
    return result;
}

static int whole_state(struct training *t, const struct origin *origin, struct error *err)
{
    int result = 0;
    if (process_group_is_leader(t->processes)) {
        const struct flat_state flat = engine_map(&t->engine, MAP_FILL);
        result = state_begin(t, origin, &flat, err);
        engine_unmap(&t->engine, &flat, MAP_FILL);
        model_refresh(t->engine.model);
    }
    TRY(process_group_barrier(t->processes, result, err));
    return give_state(t, err);
}

/* Restores the compression errors of 1-bit Adam, if it has begun to compress. */
static int errors_begin(struct training *t, struct error *err)
{
    struct checkpoint_state *state = &t->position.state;
    bool mean = false;
    exchange_freeze(t->engine.exchange, &state->freeze, state->updates);
    state->freeze = exchange_frozen(t->engine.exchange);
    if (state->freeze.update == 0)
        return 0;
    TRY(process_group_barrier(t->processes, exchange_take_errors(t->engine.exchange, t->restored, &mean, err), err));
    if (mean && !t->checkpointer.silent)
        log_say("note       another number of processes: each begins with the mean of their errors");
    return 0;
}

static int start_checkpointer(struct training *t, struct error *err)
{
    const uint32_t rank = t->processes->rank;
    json_t *ranks;
    TRY(record_ranks(t->processes, &t->engine, t->borders[rank + 1] - t->borders[rank], &ranks, err));
    const int result = checkpointer_begin(&t->checkpointer, &t->engine, &t->position, ranks, err);
    json_decref(ranks);
    return process_group_barrier(t->processes, result, err);
}

static void samples_begin(struct training *t)
{
    const struct loader_options samples = training_samples(t);
    if (samples.share_from < samples.share_to)
        t->samples.loader = loader_open(&samples);
}

/* Estimates how long a step takes, and records how long opening took, this estimate included. A time limit that is too
 * short for a step is refused before anything is recorded. */
static int estimate_begin(struct training *t, double opened, struct error *err)
{
    const double share = (double)(t->borders[1] - t->borders[0]) / t->setup.recipe.batch;
    const bool estimates = process_group_is_leader(t->processes) && !t->checkpointer.silent && t->samples.loader;
    if (estimates) {
        TRY(estimate_make(&t->engine, &t->setup.task.samples, t->engine.model, PRODUCT_SECONDS, &t->estimate, err));
        t->estimate.step = share * (t->estimate.step - t->estimate.update) + t->estimate.update;
    }
    t->opening = clock_now() - opened;
    return estimates ? limit_check(t, err) : 0;
}

static int open_all(struct training *t, const struct settings *settings, bool silent, struct origin *origin,
                    struct error *err)
{
    const double from = clock_now();
    TRY(setup_begin(t, settings, origin, err));
    int chosen = engine_choose(&t->engine, settings, &t->setup.recipe, &t->setup.task, err);
    if (chosen == 0)
        chosen = engine_divide(&t->engine, t->processes->rank, t->processes->size, err);
    TRY(process_group_barrier(t->processes, chosen, err));
    t->deadline = limit_deadline(settings);
    TRY(run_begin(t, silent, err));
    if (t->finished)
        return 0;
    TRY(model_begin(t, err));
    if (settings->norms_every > 0 && !t->checkpointer.silent)
        norms_open(&t->norms, &t->engine);
    TRY(shares_begin(t, err));
    TRY(engine_divides(&t->engine) ? divide_state(t, origin, err) : whole_state(t, origin, err));
    TRY(errors_begin(t, err));
    assert(t->position.queued == 0 && t->position.state.updates <= t->position.state.step);
    t->position.begun_at = t->position.state.step;
    if (t->position.state.step < t->setup.recipe.schedule.steps) /* otherwise only the evaluation is missing */
        samples_begin(t);
    TRY(process_group_barrier(t->processes, estimate_begin(t, from, err), err));
    TRY(start_checkpointer(t, err));
    t->position.counts_from = checkpointer_counts_from(&t->checkpointer, t->position.begun_at);
    if (!t->checkpointer.silent && origin->goes_on && t->position.state.step == origin->state.step)
        say_branch(t, origin);
    return 0;
}

int training_open(struct training *t, const struct settings *settings, struct process_group *processes,
                  const struct training_again *again, bool silent, struct error *err)
{
    SCOPED(origin_release) struct origin origin = {0};
    *t = (struct training){
        .processes = processes, .again = again, .borders = mem_clear(processes->size + 1, sizeof *t->borders)};
    rendezvous_progress(processes->rendezvous, 0, "opening");
    rendezvous_set_working(processes->rendezvous, true);
    const int result = open_all(t, settings, silent, &origin, err);
    rendezvous_set_working(processes->rendezvous, false);
    return result;
}

void training_close(struct training *t)
{
    loader_close(t->samples.loader);
    checkpointer_close(&t->checkpointer);
    norms_close(&t->norms);
    engine_close(&t->engine);
    setup_close(&t->setup);
    mem_free(t->borders);
    mem_free(t->restored);
    *t = (struct training){0};
}
