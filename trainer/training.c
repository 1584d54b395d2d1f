/* Opening a training: a command line comes in, a struct training goes out that stands at the step where the run goes
 * on. */
#include "trainer/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/config.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/json.h"
#include "trainer/origin.h"

static int weights_begin(struct training *t, const struct origin *origin, const struct flat_state *flat,
                         struct error *err)
{
    const struct params *params = model_table(t->engine.model);
    if (!origin->files) {
        params_draw_all(params, t->setup.recipe.seed, flat->params);
        return 0;
    }
    struct names_report report;
    int result = names_read(origin->weights, params, t->setup.recipe.seed, flat->params, &report, err);
    if (result == 0 && !t->keeper.silent)
        screen_init(origin->name, buf_text(&report.drawn), buf_text(&report.unused));
    names_report_release(&report);
    if (result == 0 && origin->moments)
        result = checkpoint_read(origin->files, params, NULL, flat->first, flat->second, err);
    if (result == 0 && origin->goes_on) {
        const struct scaler_state fresh = t->position.state.scaler;
        t->position.state = origin->state;
        if (fresh.scale == 0 || t->position.state.scaler.scale == 0) /* one of the two runs is not of fp16 */
            t->position.state.scaler = fresh;
    }
    return result;
}

/* ---- the run ---- */

/* The newest checkpoint before `name` in a run, or NULL; the caller mem_free's it. */
static char *checkpoint_before(const char *run, const char *name)
{
    struct error ignored = {0};
    struct path_list list = {0};
    char *directory = path_join(run, CHECKPOINTS_NAME), *before = NULL;
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = list.count; i-- > 0 && !before;)
            if (state_is_step_name(list.names[i]) && strcmp(list.names[i], name) < 0)
                before = mem_copy_text(list.names[i]);
    path_list_release(&list);
    mem_free(directory);
    return before;
}

/* Verifies the run's newest checkpoint, or with --skip-damaged the newest that verifies; *files is then its directory,
 * which the caller mem_free's. */
static int find_checkpoint(struct training *t, char **files, json_t **identity, struct error *err)
{
    enum model_source source;
    TRY(checkpoint_locate(t->keeper.run.directory, &source, files, err));
    while (checkpoint_verify(*files, &t->position.state, identity, err) < 0) {
        const char *slash = strrchr(*files, '/');
        char *before = err->kind == ERR_VERIFY && slash ? checkpoint_before(t->keeper.run.directory, slash + 1) : NULL;
        if (!before)
            return -1;
        if (!t->setup.settings->skip_damaged) {
            hint(err, "the checkpoint before it is %.200s; --skip-damaged goes on from there", before);
            mem_free(before);
            return -1;
        }
        log_warn("%s is damaged; going on from %s", slash + 1, before);
        char *directory = path_join(t->keeper.run.directory, CHECKPOINTS_NAME);
        mem_free(*files);
        *files = path_join(directory, before);
        mem_free(directory);
        mem_free(before);
        *err = (struct error){0};
    }
    return 0;
}

static int resume(struct training *t, const struct flat_state *flat, struct error *err)
{
    char *files = NULL;
    json_t *identity = NULL;
    int result = find_checkpoint(t, &files, &identity, err);
    if (result == 0) {
        struct buf differences = {0};
        run_differences(identity, t->setup.identity, &differences);
        if (differences.size > 0)
            result = fail_at(err, ERR_MISMATCH, files, ERROR_NO_OFFSET, "is a checkpoint of another run: %.300s",
                             buf_text(&differences));
        buf_release(&differences);
    }
    if (result == 0 && (t->position.state.step > t->setup.recipe.schedule.steps ||
                        t->position.state.updates > t->position.state.step ||
                        t->position.state.samples !=
                            t->setup.recipe.samples_before +
                                (t->position.state.step - t->setup.recipe.steps_before) * t->setup.recipe.batch))
        result = fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "its state.json contradicts itself");
    if (result == 0)
        result = checkpoint_read(files, model_table(t->engine.model), flat->params, flat->first, flat->second, err);
    if (result == 0) /* a crash may have come before the last save did it */
        result = checkpoint_keep(t->keeper.run.directory, t->position.state.step, t->setup.settings->keep_last,
                                 t->setup.settings->keep_every, err);
    if (result == 0)
        t->position.seconds = run_seconds(&t->keeper.run, t->position.state.step);
    json_decref(identity);
    mem_free(files);
    return result;
}

static bool has_checkpoint(const struct run *run)
{
    if (!run->directory)
        return false; /* of a silent keeper */
    char *latest = path_join(run->directory, LATEST_NAME);
    const bool there = path_exists(latest);
    mem_free(latest);
    return there;
}

/* How a run that --resume branched off differs from the one it goes on from. */
static void say_branch(const struct training *t, const struct origin *origin)
{
    struct buf differences = {0};
    json_t *before = json_copy(origin->identity);
    json_object_set(before, "initial_weights", json_object_get(t->setup.identity, "initial_weights"));
    json_object_set(before, "resumed_step", json_object_get(t->setup.identity, "resumed_step"));
    json_object_set(before, "resumed_samples", json_object_get(t->setup.identity, "resumed_samples"));
    run_differences(before, t->setup.identity, &differences);
    log_say("note       goes on from %s at step %" PRIu64 "; differs: %s", origin->name, origin->state.step,
            differences.size > 0 ? buf_text(&differences) : "nothing");
    json_decref(before);
    buf_release(&differences);
}

/* ---- all together ---- */

/* In the precision of the run's first start, and with its own table of product algorithms. */
static int model_begin(struct training *t, struct error *err)
{
    const struct run *run = &t->keeper.run;
    char *tune = run->directory ? path_join(run->directory, TUNE_NAME) : NULL;
    int result = engine_open(&t->engine, run->record ? run_precision(run) : NULL, tune, err);
    mem_free(tune);
    if (result == 0)
        result = engine_load(&t->engine, ENGINE_TRAINING, err);
    if (result == 0 && t->engine.ops->precision == PRECISION_FP16)
        t->position.state.scaler = scaler_begin(&t->setup.recipe.scaling);
    return result;
}

/* Weights, moments and position in the data, from a checkpoint of this run or from where it begins. */
static int state_begin(struct training *t, const struct origin *origin, struct error *err)
{
    if (!t->keeper.silent)
        TRY(checkpoint_tidy(t->keeper.run.directory, err));
    const struct flat_state flat = engine_map(&t->engine, MAP_FILL);
    const int result = has_checkpoint(&t->keeper.run) ? resume(t, &flat, err) : weights_begin(t, origin, &flat, err);
    engine_unmap(&t->engine, &flat, MAP_FILL);
    model_refresh(t->engine.model);
    return result;
}

/* --time-limit, or the end of the Slurm job that we are in. */
static double deadline_of(const struct settings *settings)
{
    const char *end = getenv("SLURM_JOB_END_TIME");
    if (settings->time_limit > 0)
        return clock_now() + (double)settings->time_limit;
    if (!end || strtod(end, NULL) <= 0)
        return HUGE_VAL;
    return clock_now() + strtod(end, NULL) - (double)time(NULL);
}

struct loader_options training_samples(const struct training *t)
{
    return (struct loader_options){
        .source = &t->setup.task.samples,
        .first = t->position.state.samples,
        .count = (t->setup.recipe.schedule.steps - t->position.state.step) * t->setup.recipe.batch,
        .batch = t->setup.recipe.batch,
        .limits = t->engine.limits,
    };
}

static int open_all(struct training *t, const struct settings *settings, bool silent, struct origin *origin,
                    struct error *err)
{
    *t = (struct training){0};
    TRY(setup_open(&t->setup, settings, origin, err));
    TRY(engine_choose(&t->engine, settings, &t->setup.recipe, &t->setup.task, err));
    t->deadline = deadline_of(settings);
    TRY(keeper_take(&t->keeper, &t->setup, silent, err));
    if (t->keeper.run.kind == RUN_FINISHED)
        return 0;
    TRY(model_begin(t, err));
    TRY(state_begin(t, origin, err));
    TRY(keeper_begin(&t->keeper, &t->engine, &t->position, err));
    if (!silent && origin->goes_on && t->position.state.step == origin->state.step)
        say_branch(t, origin);
    t->position.begun_at = t->position.state.step;
    if (t->position.state.step == t->setup.recipe.schedule.steps)
        return 0; /* only the evaluation is missing */
    const struct loader_options samples = training_samples(t);
    t->loader = loader_open(&samples);
    return 0;
}

int training_open(struct training *t, const struct settings *settings, bool silent, struct error *err)
{
    struct origin origin = {0};
    const int result = open_all(t, settings, silent, &origin, err);
    origin_release(&origin);
    return result;
}

void training_close(struct training *t)
{
    loader_close(t->loader);
    keeper_close(&t->keeper);
    engine_close(&t->engine);
    setup_close(&t->setup);
    *t = (struct training){0};
}
