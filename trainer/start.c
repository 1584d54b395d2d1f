/* Opening a training: options and files in, a struct training out that stands at the step where the run goes on. What
 * can be wrong with the command is found before anything is written. */
#include "trainer/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/backend.h"
#include "trainer/config.h"
#include "trainer/keep/json.h"
#include "trainer/origin.h"
#include "trainer/record.h"
#include "trainer/timings.h"

/* ---- vocabulary and model ---- */

static int tokenizer_open(struct training *t, const struct origin *origin, int32_t positions, struct error *err)
{
    struct buf vocab = {0};
    char *path = path_join(t->data.directory, VOCAB_NAME);
    int result = file_read_all(path, 256u << 20, &vocab, err);
    if (result == 0 && origin->files)
        result = origin_check_vocabulary(origin, buf_str(&vocab), err);
    const struct manifest *manifest = &t->data.manifest;
    const struct tokenizer_words words = {.cased = manifest->cased,
                                          .strip_accents = !manifest->accents_kept,
                                          .joined = manifest_option(manifest, "handle-chinese-chars")};
    if (result == 0)
        result = tokenizer_make(&t->tokenizer, path, buf_str(&vocab), &words, (uint32_t)positions, err);
    buf_release(&vocab);
    mem_free(path);
    return result;
}

static int config_of(const struct training *t, const struct origin *origin, struct model_config *config,
                     struct error *err)
{
    const struct manifest *manifest = &t->data.manifest;
    if (origin->files) {
        char *path = path_join(origin->files, "config.json");
        const int result = config_read(path, config, err);
        mem_free(path);
        TRY(result);
        if (config->vocabulary != (int32_t)manifest->vocab_size)
            return fail_at(err, ERR_MISMATCH, origin->files, ERROR_NO_OFFSET,
                           "has a vocabulary of %" PRId32 " pieces, the dataset's has %" PRIu32, config->vocabulary,
                           manifest->vocab_size);
    } else {
        TRY(config_choose(t->settings->model ? t->settings->model : "base", config, err));
    }
    config->vocabulary = (int32_t)manifest->vocab_size;
    config->next_sentence = manifest->pairs != PAIRS_NONE;
    if (config->types < 2 && config->next_sentence)
        return fail(err, ERR_MISMATCH, "the model knows one segment, the dataset's samples have two");
    return 0;
}

struct model_budget training_budget(const struct training *t)
{
    const int64_t layers = t->recipe.config.layers, groups = (int64_t)t->recipe.checkpoints;
    return (struct model_budget){
        .token_rows_max = t->limits.tokens,
        .masked_rows_max = t->limits.masked,
        .sequences_max = t->limits.sequences,
        .length_max = (int32_t)t->recipe.seq,
        .recompute_every = groups == 0       ? 0
                           : groups < layers ? (int32_t)((layers + groups - 1) / groups)
                                             : 1,
    };
}

/* The budget of a micro-batch, in full sequences. The host's caches want few tokens, a GPU as many as its memory has
 * room for with a tenth to spare, in whole waves where a batch is more than one micro-batch, and up to WAVES of them:
 * beyond, nothing is gained. */
#define WAVES 4
static uint32_t micro_batch_of(struct training *t)
{
    const struct recipe *recipe = &t->recipe;
    if (recipe->micro_batch > 0 || t->ops->memory == 0)
        return recipe_micro_batch(recipe->micro_batch, recipe->batch, recipe->seq);
    const uint32_t wave = (uint32_t)t->ops->wave_rows / recipe->seq;
    uint32_t micro = WAVES * wave > 0 ? WAVES * wave : 1;
    struct model_plan *plan = mem_clear(1, sizeof *plan);
    for (micro = micro < recipe->batch ? micro : recipe->batch; micro > 1; micro -= micro / 16 + 1) {
        t->limits = recipe_limits(micro, recipe->batch, &t->data.layout);
        const struct model_budget budget = training_budget(t);
        model_plan(&recipe->config, t->ops, &budget, plan);
        const uint64_t params = plan->rows[0].bytes; /* moments have their size */
        if ((double)(plan->bytes + 2 * params) < 0.9 * (double)t->ops->memory)
            break;
    }
    mem_free(plan);
    return micro < recipe->batch && micro > wave && wave > 0 ? micro / wave * wave : micro;
}

/* Product algorithms: the table that is given, else the run's copy of the one it was given before; NULL: none. The
 * caller mem_free's it. */
static char *tune_of(const struct training *t)
{
    if (t->settings->tune)
        return mem_copy_text(t->settings->tune);
    char *kept = t->device == DEVICE_CUDA && t->run.directory ? path_join(t->run.directory, TUNE_NAME) : NULL;
    if (kept && path_exists(kept))
        return kept;
    mem_free(kept);
    return NULL;
}

static int backend_begin(struct training *t, const struct cpu_options *options, struct error *err)
{
    char *tune = tune_of(t);
    t->ops = backend_open(t->device, options, tune, err);
    if (!t->ops && tune && !t->settings->tune && err->kind == ERR_MISMATCH) {
        log_warn("the run's %s is not used: %s", TUNE_NAME, err->text);
        t->ops = backend_open(t->device, options, NULL, err);
    }
    mem_free(tune);
    return t->ops ? 0 : -1;
}

int training_backend(struct training *t, const char *recorded, struct error *err)
{
    const struct settings *settings = t->settings;
    struct cpu_options options = {
        .precision = t->recipe.precision,
        .level = settings_given(settings, "cpu") ? (enum cpu_level)settings->cpu : cpu_level(),
        .threads = settings->threads > 0 ? (unsigned)settings->threads : cores_allowed(),
    };
    t->threads = options.threads;
    if (!t->recipe.precision_given)
        options.precision = recorded ? precision_named(recorded) : backend_default_precision(t->device, options.level);
    TRY(backend_begin(t, &options, err));
    t->recipe.precision = options.precision;
    t->micro_batch = micro_batch_of(t);
    t->limits = recipe_limits(t->micro_batch, t->recipe.batch, &t->data.layout);
    return 0;
}

static int model_begin(struct training *t, struct error *err)
{
    TRY(training_backend(t, run_precision(&t->run), err));
    if (t->settings->timings)
        t->ops = timings_open(t->ops);
    const struct model_budget budget = training_budget(t);
    t->model = model_open(&t->recipe.config, t->ops, &budget);
    const struct params *params = model_table(t->model);
    t->first = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    t->second = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    optimizer_work_init(&t->work, params);
    if (t->recipe.precision == PRECISION_FP16)
        t->state.scaler = scaler_begin(&t->recipe.scaling);
    return 0;
}

struct flat_state training_map(struct training *t, enum map_mode mode)
{
    const struct ops *ops = t->ops;
    const size_t bytes = model_table(t->model)->size * sizeof(float);
    return (struct flat_state){
        .params = ops->map(ops->device, model_params(t->model), bytes, mode),
        .first = ops->map(ops->device, t->first, bytes, mode),
        .second = ops->map(ops->device, t->second, bytes, mode),
    };
}

void training_unmap(struct training *t, const struct flat_state *flat, enum map_mode mode)
{
    const struct ops *ops = t->ops;
    const size_t bytes = model_table(t->model)->size * sizeof(float);
    ops->unmap(ops->device, model_params(t->model), flat->params, bytes, mode);
    ops->unmap(ops->device, t->first, flat->first, bytes, mode);
    ops->unmap(ops->device, t->second, flat->second, bytes, mode);
}

static int weights_begin(struct training *t, const struct origin *origin, const struct flat_state *flat,
                         struct error *err)
{
    const struct params *params = model_table(t->model);
    if (!origin->files) {
        params_draw_all(params, t->recipe.seed, flat->params);
        return 0;
    }
    struct names_report report;
    int result = names_read(origin->weights, params, t->recipe.seed, flat->params, &report, err);
    if (result == 0)
        screen_init(origin->name, buf_text(&report.drawn), buf_text(&report.unused));
    names_report_release(&report);
    if (result == 0 && origin->moments)
        result = checkpoint_read(origin->files, params, NULL, flat->first, flat->second, err);
    if (result == 0 && origin->goes_on) {
        const struct scaler_state fresh = t->state.scaler;
        t->state = origin->state;
        if (fresh.scale == 0 || t->state.scaler.scale == 0) /* one of the two runs is not of fp16 */
            t->state.scaler = fresh;
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
    TRY(checkpoint_locate(t->run.directory, &source, files, err));
    while (checkpoint_verify(*files, &t->state, identity, err) < 0) {
        const char *slash = strrchr(*files, '/');
        char *before = err->kind == ERR_VERIFY && slash ? checkpoint_before(t->run.directory, slash + 1) : NULL;
        if (!before)
            return -1;
        if (!t->settings->skip_damaged) {
            hint(err, "the checkpoint before it is %.200s; --skip-damaged goes on from there", before);
            mem_free(before);
            return -1;
        }
        log_warn("%s is damaged; going on from %s", slash + 1, before);
        char *directory = path_join(t->run.directory, CHECKPOINTS_NAME);
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
        run_differences(identity, t->identity, &differences);
        if (differences.size > 0)
            result = fail_at(err, ERR_MISMATCH, files, ERROR_NO_OFFSET, "is a checkpoint of another run: %.300s",
                             buf_text(&differences));
        buf_release(&differences);
    }
    if (result == 0 &&
        (t->state.step > t->recipe.schedule.steps || t->state.updates > t->state.step ||
         t->state.samples != t->recipe.samples_before + (t->state.step - t->recipe.steps_before) * t->recipe.batch))
        result = fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "its state.json contradicts itself");
    if (result == 0)
        result = checkpoint_read(files, model_table(t->model), flat->params, flat->first, flat->second, err);
    if (result == 0) /* a crash may have come before the last save did it */
        result = checkpoint_keep(t->run.directory, t->state.step, t->settings->keep_last, t->settings->keep_every, err);
    if (result == 0)
        t->seconds = run_seconds(&t->run, t->state.step);
    json_decref(identity);
    mem_free(files);
    return result;
}

static bool has_checkpoint(const struct run *run)
{
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
    json_object_set(before, "initial_weights", json_object_get(t->identity, "initial_weights"));
    json_object_set(before, "resumed_step", json_object_get(t->identity, "resumed_step"));
    json_object_set(before, "resumed_samples", json_object_get(t->identity, "resumed_samples"));
    run_differences(before, t->identity, &differences);
    log_say("note       goes on from %s at step %" PRIu64 "; differs: %s", origin->name, origin->state.step,
            differences.size > 0 ? buf_text(&differences) : "nothing");
    json_decref(before);
    buf_release(&differences);
}

/* ---- all together ---- */

static int data_open(struct training *t, struct error *err)
{
    const struct settings *settings = t->settings;
    if (!settings->shards) {
        fail(err, ERR_USAGE, "--shards DIR is missing: the dataset to train on");
        return hint(err, "dsdata build makes one");
    }
    TRY(dataset_open(&t->data, settings->shards, (uint32_t)settings->seq, SPLIT_TRAIN, err));
    if (t->data.samples == 0)
        return fail_at(err, ERR_MISMATCH, settings->shards, ERROR_NO_OFFSET,
                       "has no training samples of length %" PRIu32, t->data.layout.seq);
    return dataset_open(&t->valid, settings->shards, t->data.layout.seq, SPLIT_VALID, err);
}

/* Where to compute, and whether the model can be computed there. */
static int device_choose(struct training *t, struct error *err)
{
    const struct settings *settings = t->settings;
    const struct model_config *config = &t->recipe.config;
    t->device = settings_given(settings, "device") ? (enum device_kind)settings->device : backend_default();
    TRY(backend_look(t->device, NULL, err));
    if (t->device == DEVICE_CPU && settings->tune)
        return fail(err, ERR_USAGE, "--tune names product algorithms of CUDA; this computes on the CPU");
    if (t->device == DEVICE_CUDA && config->hidden / config->heads != CUDA_HEAD_SIZE) {
        fail(err, ERR_USAGE, "attention on CUDA has heads of %d, this model has %" PRId32, CUDA_HEAD_SIZE,
             config->hidden / config->heads);
        return hint(err, "--device cpu takes any");
    }
    return 0;
}

int training_prepare(struct training *t, const struct settings *settings, struct origin *origin, struct error *err)
{
    struct model_config config;
    *t = (struct training){.settings = settings, .metrics = METRICS_CLOSED};
    *origin = (struct origin){0};
    TRY(data_open(t, err));
    TRY(origin_find(origin, settings, err));
    TRY(config_of(t, origin, &config, err));
    TRY(recipe_make(settings, &t->data, &config, origin, &t->recipe, err));
    TRY(model_config_check(&t->recipe.config, err));
    TRY(device_choose(t, err));
    TRY(tokenizer_open(t, origin, config.positions, err));
    t->identity = recipe_identity(&t->recipe);
    return 0;
}

/* Weights, moments and position in the data, from a checkpoint of this run or from where it begins. */
static int state_begin(struct training *t, const struct origin *origin, struct error *err)
{
    TRY(checkpoint_tidy(t->run.directory, err));
    const struct flat_state flat = training_map(t, MAP_FILL);
    const int result = has_checkpoint(&t->run) ? resume(t, &flat, err) : weights_begin(t, origin, &flat, err);
    training_unmap(t, &flat, MAP_FILL);
    model_refresh(t->model);
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
        .dataset = &t->data,
        .shuffled = t->recipe.shuffled,
        .masks = t->recipe.masks,
        .seed = t->recipe.seed,
        .first = t->state.samples,
        .count = (t->recipe.schedule.steps - t->state.step) * t->recipe.batch,
        .batch = t->recipe.batch,
        .limits = t->limits,
    };
}

static int open_all(struct training *t, const struct settings *settings, struct origin *origin, struct error *err)
{
    TRY(training_prepare(t, settings, origin, err));
    t->deadline = deadline_of(settings);
    TRY(record_take(t, err));
    if (t->run.kind == RUN_FINISHED)
        return 0;
    TRY(model_begin(t, err));
    TRY(state_begin(t, origin, err));
    TRY(record_begin(t, err));
    if (origin->goes_on && t->state.step == origin->state.step)
        say_branch(t, origin);
    t->begun_at = t->saved_step = t->state.step;
    t->saved_clock = clock_now();
    if (t->state.step == t->recipe.schedule.steps)
        return 0; /* only the evaluation is missing */
    const struct loader_options samples = training_samples(t);
    t->loader = loader_open(&samples);
    return 0;
}

int training_open(struct training *training, const struct settings *settings, struct error *err)
{
    struct origin origin = {0};
    const int result = open_all(training, settings, &origin, err);
    origin_release(&origin);
    return result;
}

void training_close(struct training *training)
{
    loader_close(training->loader);
    metrics_close(&training->metrics);
    if (training->model)
        model_close(training->model);
    if (training->ops) {
        training->ops->release(training->ops->device, training->first);
        training->ops->release(training->ops->device, training->second);
        training->ops->close(training->ops);
    }
    optimizer_work_release(&training->work);
    run_close(&training->run);
    json_decref(training->identity);
    tokenizer_release(&training->tokenizer);
    dataset_close(&training->valid);
    dataset_close(&training->data);
    *training = (struct training){0};
}
