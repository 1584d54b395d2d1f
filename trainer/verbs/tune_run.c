#include "trainer/verbs/tune_run.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/target.h"
#include "trainer/run/run.h"
#include "trainer/tune/glue_scores.h"

int tune_run(const struct tune_kind *kind, const char *task, struct settings *all, uint64_t seed, const char *out,
             struct error *err)
{
    struct settings settings = *all;
    struct tuning tuning = kind->tuning;
    tuning.scored = tune_scores(kind, all);
    settings.tuning = &tuning;
    settings.seed = seed;
    settings.out = out;
    settings.json = all->json && !tuning.scored; /* one object for the whole command: the scores */
    tuning.context = kind->make(kind, task, &settings, TUNE_TRAIN);
    const int result = train_run(&settings, err);
    all->mute = settings.mute;
    kind->release(tuning.context);
    return result;
}

int tune_read_scores(const char *out, json_t **scores, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(out, SCORES_NAME);
    return json_read(path, SCORES_BYTES_MAX, ERR_VERIFY, scores, err);
}

int tune_write_scores(const char *out, const json_t *scores, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(out, SCORES_NAME);
    return json_file_write(path, scores, err);
}

void tune_say_next(const char *model, bool is_run)
{
    say_next(command_text("dstrain eval %s --dev FILE", model));
    say_next_too(command_text("dstrain predict %s FILE --out FILE", model));
    if (is_run)
        say_next_too(command_text("dstrain report %s", model));
    say_next_too(command_text("dstrain export %s --out DIR", model));
}

/* *scores becomes the content of the run's scores.json, in the process that writes. */
static int run_one(const struct tune_kind *kind, const char *task, struct settings *settings, uint64_t seed,
                   const char *out, json_t **scores, struct error *err)
{
    TRY(tune_run(kind, task, settings, seed, out, err));
    if (settings->launch->rank > 0)
        return 0;
    TRY(tune_read_scores(out, scores, err));
    kind->say_scores(log_say, task, *scores);
    return 0;
}

/* The spread of one key over several runs [count > 0]: {"mean", "deviation" (of a sample), "median", "best"}. */
static json_t *spread_of(const struct tune_kind *kind, const char *task, const json_t *runs)
{
    char keys[TUNE_KEYS_MAX][TUNE_KEY_SIZE];
    json_t *spread = json_object();
    const size_t count = json_array_size(runs), all = kind->keys(task, json_array_get(runs, 0), keys);
    SCOPED(mem_free_at) double *values = mem_array(count, sizeof *values);
    for (size_t i = 0; i < all; i++) {
        for (size_t k = 0; k < count; k++)
            values[k] = json_number_value(json_object_get(json_array_get(runs, k), keys[i]));
        json_object_set_new(spread, keys[i], glue_spread(values, count));
    }
    return spread;
}

/* The scores that were undefined in any of the runs. */
static json_t *undefined_of(const json_t *runs)
{
    json_t *names = json_object(), *list = json_array(), *run, *name;
    size_t i, k;
    const char *key;
    json_array_foreach((json_t *)runs, i, run) json_array_foreach(json_object_get(run, "undefined"), k, name)
        json_object_set(names, json_string_value(name), name);
    json_object_foreach(names, key, name) json_array_append(list, name);
    json_decref(names);
    return list;
}

static void say_spread(const char *task, const json_t *spread, const json_t *commonest, size_t runs)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)spread, key, value)
    {
        char always[64] = "";
        if (json_object_get(commonest, key))
            snprintf(always, sizeof always, "; always the commonest label: %.4f",
                     json_number_value(json_object_get(commonest, key)));
        log_say("seeds      %s: %s %.4f ± %.4f, median %.4f, best %.4f of %zu runs%s", task, key,
                json_number_value(json_object_get(value, "mean")),
                json_number_value(json_object_get(value, "deviation")),
                json_number_value(json_object_get(value, "median")), json_number_value(json_object_get(value, "best")),
                runs, always);
    }
}

static bool is_seed(const char *name)
{
    return strncmp(name, "seed-", 5) == 0;
}

static bool is_scores(const char *name)
{
    return strcmp(name, SCORES_NAME) == 0 || strcmp(name, SCORES_NAME ".tmp") == 0;
}

static int check_scores(const struct settings *settings, const char *out, struct error *err)
{
    static const struct target_form form = {.begins = "{\n  \"task\": \""};
    SCOPED(mem_free_at) char *path = path_join(out, SCORES_NAME);
    const struct target target = {
        .option = "out", .path = path, .force = settings->force, .forms = &form, .form_count = 1};
    return path_exists(path) ? target_check(&target, err) : 0;
}

int tune_check_several(const struct settings *settings, const char *out, bool (*ours)(const char *name),
                       struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    const char *other = NULL;
    int result = path_is_directory(out) ? path_list(&list, out, err) : 0;
    for (size_t i = 0; i < list.count && !(other && strcmp(other, RUN_NAME) == 0); i++)
        if (!ours(list.names[i]) && !is_scores(list.names[i]))
            other = list.names[i];
    if (other && strcmp(other, RUN_NAME) == 0)
        result = fail_at(err, ERR_MISMATCH, out, ERROR_NO_OFFSET,
                         "holds one run: several seeds or tasks need a directory of their own, give another --out");
    else if (other)
        result = fail_at(err, ERR_USAGE, out, ERROR_NO_OFFSET,
                         "is not empty and holds more than such runs (it holds %.100s): give another --out", other);
    return result < 0 ? -1 : check_scores(settings, out, err);
}

static int write_spread(const char *task, const char *out, const struct tune_kind *kind, const json_t *runs,
                        const json_t *seeds, json_t **scores, struct error *err)
{
    json_t *spread = spread_of(kind, task, runs),
           *commonest = json_object_get(json_array_get(runs, 0), SCORES_COMMONEST);
    const char *key;
    json_t *value;
    say_spread(task, spread, commonest, json_array_size(runs));
    *scores = json_pack("{s:s, s:O, s:O, s:O, s:o}", "task", task, "seeds", seeds, "runs", runs, "spread", spread,
                        "undefined", undefined_of(runs));
    json_object_foreach(spread, key, value) json_object_set(*scores, key, json_object_get(value, "mean"));
    if (commonest)
        json_object_set(*scores, SCORES_COMMONEST, commonest);
    json_decref(spread);
    return tune_write_scores(out, *scores, err);
}

int tune_seeds(const struct tune_kind *kind, const char *task, struct settings *settings, const char *out,
               json_t **scores, struct error *err)
{
    if (settings->seeds == 1)
        return run_one(kind, task, settings, settings->seed, out, scores, err);
    json_auto_t *runs = json_array(), *seeds = json_array();
    TRY(tune_check_several(settings, out, is_seed, err));
    for (uint64_t k = 0; k < settings->seeds; k++) {
        char name[32];
        json_t *one = NULL;
        snprintf(name, sizeof name, "seed-%" PRIu64, settings->seed + k);
        SCOPED(mem_free_at) char *path = path_join(out, name);
        TRY(run_one(kind, task, settings, settings->seed + k, path, &one, err));
        json_array_append_new(seeds, json_integer((json_int_t)(settings->seed + k)));
        if (one)
            json_array_append_new(runs, one);
    }
    return write_spread(task, out, kind, runs, seeds, scores, err);
}

void tune_say_next_seed(const char *out, const json_t *scores)
{
    const json_t *seeds = json_object_get(scores, "seeds");
    char name[32];
    snprintf(name, sizeof name, "seed-%" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(seeds, 0)));
    SCOPED(mem_free_at) char *run = seeds ? path_join(out, name) : mem_copy_text(out);
    tune_say_next(run, true);
}
