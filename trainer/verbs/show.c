/* dstrain show: a run, a checkpoint or a Hugging Face directory in; what it is and how far it came out. Reads the small
 * files only: whether the large ones are whole, `verify` says. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/config.h"
#include "trainer/keep/checkpoint.h"
#include "trainer/keep/json.h"
#include "trainer/keep/metrics.h"
#include "trainer/run.h"
#include "trainer/settings.h"

/* An object in a file of a directory, or NULL where there is no such file. */
static int read_beside(const char *directory, const char *name, size_t bytes_max, json_t **json, struct error *err)
{
    char *path = path_join(directory, name);
    const int result = path_exists(path) ? json_read(path, bytes_max, ERR_VERIFY, json, err) : 0;
    mem_free(path);
    return result;
}

static void add_checkpoints(const char *run, json_t *facts)
{
    struct error ignored = {0};
    struct path_list list = {0};
    char *directory = path_join(run, CHECKPOINTS_NAME);
    json_t *names = json_array();
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = 0; i < list.count; i++)
            if (state_is_step_name(list.names[i]))
                json_array_append_new(names, json_string(list.names[i]));
    json_object_set_new(facts, "checkpoints", names);
    path_list_release(&list);
    mem_free(directory);
}

static int add_run(const char *directory, json_t *facts, struct error *err)
{
    json_t *record = NULL;
    TRY(read_beside(directory, RUN_NAME, RUN_BYTES_MAX, &record, err));
    if (!record)
        return 0;
    json_object_set_new(facts, "kind", json_string("run"));
    json_object_set(facts, "finished", json_object_get(record, "finished"));
    json_object_set_new(facts, "starts", json_integer((json_int_t)json_array_size(json_object_get(record, "starts"))));
    json_object_set(facts, "precision", json_object_get(record, "precision"));
    json_object_set(facts, "identity", json_object_get(record, "identity"));
    json_object_set(facts, "settings", json_object_get(record, "settings"));
    add_checkpoints(directory, facts);
    metrics_last(directory, UINT64_MAX, facts);
    json_decref(record);
    return 0;
}

static int add_state(const char *files, json_t *facts, struct error *err)
{
    struct checkpoint_state state;
    json_t *json = NULL;
    TRY(read_beside(files, STATE_NAME, STATE_BYTES_MAX, &json, err));
    if (!json)
        return 0;
    char *path = path_join(files, STATE_NAME);
    const int result = state_take(path, json, &state, err);
    if (result == 0) {
        json_t *far =
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:I}", "step", (json_int_t)state.step, "updates",
                      (json_int_t)state.updates, "skipped", (json_int_t)(state.step - state.updates), "samples",
                      (json_int_t)state.samples, "tokens", (json_int_t)state.tokens, "largest_grad_norm",
                      state.norm_max, "largest_grad_norm_step", (json_int_t)state.norm_max_step);
        if (state.scaler.scale > 0)
            json_object_set_new(far, "loss_scale", json_real(state.scaler.scale));
        json_object_update(facts, far);
        json_decref(far);
        if (!json_object_get(facts, "identity"))
            json_object_set(facts, "identity", json_object_get(json, "run"));
    }
    json_decref(json);
    mem_free(path);
    return result;
}

static int add_model(const char *files, json_t *facts, struct error *err)
{
    struct model_config config;
    struct params params;
    char name[32];
    char *path = path_join(files, "config.json");
    int result = path_exists(path) ? config_read(path, &config, err)
                                   : fail_at(err, ERR_USAGE, files, ERROR_NO_OFFSET, "holds no config.json");
    mem_free(path);
    if (result < 0)
        return -1;
    params_init(&params, &config);
    json_t *model = json_pack("{s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:s}", "model", config_name(&config, name),
                              "parameters", (json_int_t)params.total, "layers", config.layers, "hidden", config.hidden,
                              "heads", config.heads, "vocabulary", config.vocabulary, "positions", config.positions,
                              "activation", config_activation(&config));
    params_release(&params);
    json_object_update(facts, model);
    json_decref(model);
    return 0;
}

/* One line per fact; objects in one line each. */
static void say(const json_t *facts)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)facts, key, value)
    {
        struct buf text = {0};
        if (json_is_string(value))
            buf_add_text(&text, json_string_value(value));
        else
            json_add_text(value, JSON_ENCODE_ANY, &text);
        output_line("%-22s %s", key, buf_text(&text));
        buf_release(&text);
    }
}

int verb_show(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    enum model_source source;
    char *files = NULL;
    TRY(checkpoint_locate(bare.items[0], &source, &files, err));
    json_t *facts = json_pack("{s:o, s:s}", "path", json_name(bare.items[0]), "kind",
                              source == SOURCE_HUGGING_FACE ? "model" : "checkpoint");
    int result = add_run(bare.items[0], facts, err);
    const bool begun = source != SOURCE_HUGGING_FACE || !json_object_get(facts, "starts");
    if (result == 0 && begun) /* a run that was stopped before its first checkpoint has neither */
        result = add_model(files, facts, err);
    if (result == 0 && begun)
        result = add_state(files, facts, err);
    if (result == 0 && settings->json) {
        output_json(json_incref(facts), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    } else if (result == 0) {
        say(facts);
        say_next(command_of("dstrain", begun ? "eval" : "show", bare.items[0], NULL));
    }
    json_decref(facts);
    mem_free(files);
    return result;
}
