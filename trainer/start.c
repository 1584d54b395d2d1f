/* Opening a training: options and files in, a struct training out that stands at the step where the run goes on. What
 * can be wrong with the command is found before anything is written. */
#include "trainer/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/config.h"
#include "trainer/cpu/cpu.h"
#include "trainer/keep/json.h"
#include "trainer/origin.h"

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

static int model_begin(struct training *t, struct error *err)
{
    const enum precision recorded =
        run_precision(&t->run) && strcmp(run_precision(&t->run), "bf16") == 0 ? PRECISION_BF16 : PRECISION_FP32;
    struct cpu_options options = {
        .precision = t->recipe.precision,
        .level = cpu_level(),
        .threads = t->settings->threads > 0 ? (unsigned)t->settings->threads : cores_allowed(),
    };
    t->threads = options.threads;
    if (!t->recipe.precision_given)
        options.precision = run_precision(&t->run) ? recorded : cpu_default_precision(options.level);
    t->ops = cpu_open(&options, err);
    if (!t->ops)
        return -1;
    t->recipe.precision = options.precision;
    t->micro_batch = recipe_micro_batch(t->settings->micro_batch, t->recipe.batch, t->recipe.seq);
    t->limits = recipe_limits(t->micro_batch, t->recipe.batch, &t->data.layout);
    t->model = model_open(&t->recipe.config, t->ops,
                          &(struct model_budget){.token_rows_max = t->limits.tokens,
                                                 .masked_rows_max = t->limits.masked,
                                                 .sequences_max = t->limits.sequences,
                                                 .length_max = (int32_t)t->recipe.seq});
    const struct params *params = model_table(t->model);
    t->first = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    t->second = t->ops->allocate(t->ops->device, params->size * sizeof(float));
    t->squares = mem_array(params->chunk_count, sizeof *t->squares);
    return 0;
}

static int weights_begin(struct training *t, const struct origin *origin, struct error *err)
{
    const struct params *params = model_table(t->model);
    if (!origin->files) {
        params_draw_all(params, t->recipe.seed, model_params(t->model));
        return 0;
    }
    struct names_report report;
    int result = names_read(origin->weights, params, t->recipe.seed, model_params(t->model), &report, err);
    if (result == 0)
        screen_init(t->settings->init, buf_text(&report.drawn), buf_text(&report.unused));
    names_report_release(&report);
    if (result == 0 && t->settings->init_moments)
        result = checkpoint_read(origin->files, params, NULL, t->first, t->second, err);
    return result;
}

/* ---- the run ---- */

/* Names the checkpoint before the damaged one: to go on from there is the user's decision. */
static int say_what_is_left(const char *run, const char *damaged, struct error *err)
{
    struct error ignored = {0};
    struct path_list list = {0};
    char *directory = path_join(run, CHECKPOINTS_NAME), *before = NULL;
    const char *name = strrchr(damaged, '/');
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = 0; i < list.count; i++)
            if (name && strcmp(list.names[i], name + 1) < 0)
                before = list.names[i];
    if (before)
        hint(err, "the checkpoint before it is %.200s; to go on from there: echo %.60s > %.200s/" LATEST_NAME, before,
             before, run);
    path_list_release(&list);
    mem_free(directory);
    return -1;
}

static int resume(struct training *t, struct error *err)
{
    enum model_source source;
    char *files = NULL;
    json_t *identity = NULL;
    TRY(checkpoint_locate(t->run.directory, &source, &files, err));
    int result = checkpoint_verify(files, &t->state, &identity, err);
    if (result == 0) {
        struct buf differences = {0};
        run_differences(identity, t->identity, &differences);
        if (differences.size > 0)
            result = fail_at(err, ERR_MISMATCH, files, ERROR_NO_OFFSET, "is a checkpoint of another run: %.300s",
                             buf_text(&differences));
        buf_release(&differences);
    }
    if (result == 0 && (t->state.step > t->recipe.schedule.steps || t->state.updates > t->state.step ||
                        t->state.samples != t->state.step * t->recipe.batch))
        result = fail_at(err, ERR_VERIFY, files, ERROR_NO_OFFSET, "its state.json contradicts itself");
    if (result == 0)
        result = checkpoint_read(files, model_table(t->model), model_params(t->model), t->first, t->second, err);
    if (result < 0 && err->kind == ERR_VERIFY)
        say_what_is_left(t->run.directory, files, err);
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

static int write_small(const char *directory, const char *name, const struct buf *text, struct error *err)
{
    char *path = path_join(directory, name);
    const int result = file_write_all(path, text->data, text->size, err);
    mem_free(path);
    return result;
}

/* What may change the last bits and yet is the same run. */
static json_t *facts_of(const struct training *t)
{
    const char *comma = strrchr(t->ops->name, ','); /* the threads stand behind it; they change nothing */
    const size_t size = comma ? (size_t)(comma - t->ops->name) : strlen(t->ops->name);
    return json_pack("{s:s%, s:i}", "device", t->ops->name, size, "micro_batch", (int)t->micro_batch);
}

static const char *precision_of(const struct training *t)
{
    return t->recipe.precision == PRECISION_BF16 ? "bf16" : "fp32";
}

/* The options as text, with what was chosen where they were left open. */
static json_t *settings_in_force(const struct training *t)
{
    struct buf echo = {0};
    char name[32];
    json_t *json = json_object();
    opts_echo(t->settings->program, t->settings->result->verb, t->settings, &echo);
    for (const char *line = buf_text(&echo), *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *equals = memchr(line, '=', (size_t)(end - line));
        if (equals)
            json_object_setn_new(json, line, (size_t)(equals - line),
                                 json_stringn(equals + 1, (size_t)(end - equals) - 1));
    }
    buf_release(&echo);
    json_object_del(json, "epochs"); /* steps say it */
    json_object_set_new(json, "model", json_string(config_name(&t->recipe.config, name)));
    json_object_set_new(json, "seq", json_sprintf("%" PRIu32, t->recipe.seq));
    json_object_set_new(json, "steps", json_sprintf("%" PRIu64, t->recipe.schedule.steps));
    json_object_set_new(json, "micro-batch", json_sprintf("%" PRIu32, t->micro_batch));
    json_object_set_new(json, "lr", json_sprintf("%g", t->recipe.schedule.rate));
    json_object_set_new(json, "dropout", json_sprintf("%g", t->recipe.config.hidden_dropout));
    json_object_set_new(json, "precision", json_string(precision_of(t)));
    json_object_set_new(json, "out", json_string(t->run.directory));
    return json;
}

static int record_start(struct training *t, struct error *err)
{
    struct buf differences = {0};
    json_t *facts = facts_of(t), *before = json_object();
    const json_t *last = run_last_start(&t->run);
    const char *key;
    json_t *value;
    json_object_foreach(facts, key, value) if (last && t->state.step > 0)
        json_object_set(before, key, json_object_get(last, key));
    if (json_object_size(before) > 0)
        run_differences(before, facts, &differences);
    if (differences.size > 0)
        log_say("note       %s: the last bits may differ from an uninterrupted run", buf_text(&differences));
    buf_release(&differences);
    json_decref(before);

    json_t *command = json_array();
    for (int i = 0; i < t->settings->argc; i++)
        json_array_append_new(command, json_string(t->settings->argv[i]));
    json_object_set_new(facts, "command", command);
    json_object_set_new(facts, "threads", json_integer((json_int_t)t->threads));
    return run_start(&t->run, t->state.step, precision_of(t), facts, settings_in_force(t), err);
}

static int directory_begin(struct training *t, struct error *err)
{
    const char *directory = t->run.directory;
    char *metrics = path_join(directory, "metrics.jsonl");
    int result = record_start(t, err); /* first: what comes behind is then known to be a run's */
    if (result == 0)
        result = write_small(directory, "vocab.txt", &t->tokenizer.vocab, err);
    if (result == 0)
        result = write_small(directory, "tokenizer.json", &t->tokenizer.tokenizer, err);
    if (result == 0)
        result = write_small(directory, "tokenizer_config.json", &t->tokenizer.config, err);
    if (result == 0)
        result = metrics_open(&t->metrics, metrics, t->state.step, &t->evaluated, err);
    mem_free(metrics);
    return result;
}

static int run_take(struct training *t, struct error *err)
{
    char name[32], *moved = NULL;
    char *directory = t->settings->out
                          ? mem_copy_text(t->settings->out)
                          : run_directory(config_name(&t->recipe.config, name), t->recipe.seq, t->identity);
    const int result = run_open(&t->run, directory, t->identity, t->settings->fresh, &moved, err);
    if (moved)
        log_say("note       the run that was there is now %s", moved);
    mem_free(moved);
    mem_free(directory);
    return result;
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

static int open_all(struct training *t, struct origin *origin, struct error *err)
{
    struct model_config config;
    char initial[sizeof t->recipe.initial] = "random";
    TRY(data_open(t, err));
    TRY(origin_find(origin, t->settings, initial, sizeof initial, err));
    TRY(config_of(t, origin, &config, err));
    TRY(recipe_make(t->settings, &t->data, &config, &t->recipe, err));
    TRY(model_config_check(&t->recipe.config, err));
    memcpy(t->recipe.initial, initial, sizeof initial);
    TRY(tokenizer_open(t, origin, config.positions, err));
    t->identity = recipe_identity(&t->recipe);
    TRY(run_take(t, err));
    if (t->run.kind == RUN_FINISHED)
        return 0;

    TRY(model_begin(t, err));
    TRY(checkpoint_tidy(t->run.directory, err));
    if (has_checkpoint(&t->run))
        TRY(resume(t, err));
    else
        TRY(weights_begin(t, origin, err));
    model_refresh(t->model);
    TRY(directory_begin(t, err));
    t->begun_at = t->saved_step = t->state.step;
    t->saved_clock = clock_now();
    if (t->state.step == t->recipe.schedule.steps)
        return 0; /* only the evaluation is missing */
    t->loader = loader_open(&(struct loader_options){
        .dataset = &t->data,
        .shuffled = t->recipe.shuffled,
        .masks = t->recipe.masks,
        .seed = t->recipe.seed,
        .first = t->state.step * t->recipe.batch,
        .count = (t->recipe.schedule.steps - t->state.step) * t->recipe.batch,
        .batch = t->recipe.batch,
        .limits = t->limits,
    });
    return 0;
}

int training_open(struct training *training, const struct settings *settings, struct error *err)
{
    struct origin origin = {0};
    *training = (struct training){.settings = settings, .metrics = METRICS_CLOSED};
    const int result = open_all(training, &origin, err);
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
    mem_free(training->squares);
    run_close(&training->run);
    json_decref(training->identity);
    tokenizer_release(&training->tokenizer);
    dataset_close(&training->valid);
    dataset_close(&training->data);
    *training = (struct training){0};
}
