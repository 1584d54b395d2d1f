/* dstrain show: what a run, a checkpoint or a model is, and a run's progress. Only small files are read; `verify` reads
 * the large ones. */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/model/head.h"
#include "trainer/model/label_names.h"
#include "trainer/run/health.h"
#include "base/json.h"
#include "trainer/keep/metrics.h"
#include "trainer/run/rerun.h"
#include "trainer/run/run.h"
#include "trainer/tune/tune_kinds.h"
#include "trainer/verbs/about.h"
#include "trainer/verbs/run_difference.h"
#include "trainer/verbs/use.h"

/* Reads an object from a file of a directory; *json is unchanged if there is no such file. */
static int read_beside(const char *directory, const char *name, size_t bytes_max, json_t **json, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return path_exists(path) ? json_read(path, bytes_max, ERR_VERIFY, json, err) : 0;
}

static void add_checkpoints(const char *run, json_t *facts)
{
    struct error ignored = {0};
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *directory = path_join(run, CHECKPOINTS_NAME);
    json_t *names = json_array();
    if (path_is_directory(directory) && path_list(&list, directory, &ignored) == 0)
        for (size_t i = 0; i < list.count; i++)
            if (state_is_step_name(list.names[i]))
                json_array_append_new(names, json_string(list.names[i]));
    json_object_set_new(facts, "checkpoints", names);
}

/* The number of starts that --restarts made. */
static size_t restarts_in(const json_t *record)
{
    size_t i, count = 0;
    const json_t *start;
    json_array_foreach(json_object_get(record, "starts"), i, start) count += json_object_get(start, "restart") != NULL;
    return count;
}

/* *continues becomes the command that continues a run that has stopped; NULL: it has not, or none is recorded. */
static int add_run(const char *directory, json_t *facts, struct health *health, char **continues, struct error *err)
{
    json_t *record = NULL;
    TRY(read_beside(directory, RUN_NAME, RUN_BYTES_MAX, &record, err));
    if (!record)
        return 0;
    json_object_set_new(facts, "kind", json_string("run"));
    json_object_set(facts, "finished", json_object_get(record, "finished"));
    json_object_set_new(facts, "starts", json_integer((json_int_t)json_array_size(json_object_get(record, "starts"))));
    json_object_set_new(facts, "restarts", json_integer((json_int_t)restarts_in(record)));
    json_object_set(facts, "precision", json_object_get(record, "precision"));
    json_object_set(facts, "identity", json_object_get(record, "identity"));
    json_object_set(facts, "settings", json_object_get(record, "settings"));
    add_checkpoints(directory, facts);
    metrics_last(directory, UINT64_MAX, facts);
    char who[LOCK_WHO_BYTES];
    if (lock_look(directory, who))
        json_object_set_new(facts, "running", json_name(who));
    *health = health_read(directory, record);
    json_object_set(facts, "health", health->findings);
    if (!json_is_true(json_object_get(record, "finished")) && !json_object_get(facts, "running"))
        *continues = rerun_continue(record);
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
    SCOPED(mem_free_at) char *path = path_join(files, STATE_NAME);
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
    return result;
}

static void add_text(json_t *facts, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(facts, key, json_name(text));
}

/* What its files and its run's record say about the model (about.h). */
static void add_about(const char *from, enum model_source source, const char *files, const struct model_config *config,
                      json_t *facts)
{
    struct about about;
    const char *code;
    json_t *ignored, *languages = json_array(), *labels = json_array();
    about_open(&about, from, source, files, NULL, config);
    add_text(facts, "precision", about.precision);
    add_text(facts, "base_model", about.base);
    add_text(facts, "tokenizer", about.tokenizer);
    const bool names_labels = model_names_labels(config);
    if (names_labels)
        add_text(facts, "finetuning_task", config->tuned_for);
    json_object_foreach(about.languages, code, ignored) json_array_append_new(languages, json_string(code));
    for (int32_t i = 0; names_labels && i < config->labels; i++) {
        char name[LABEL_NAME_SIZE];
        json_array_append_new(labels, json_name(label_name(config, i, name)));
    }
    if (json_array_size(languages) > 0)
        json_object_set(facts, "languages", languages);
    if (json_array_size(labels) > 0)
        json_object_set(facts, "labels", labels);
    if (json_is_true(json_object_get(facts, "finished")) && json_object_get(json_object_get(facts, "identity"), "task"))
        json_object_set_new(facts, "scores", about_read(from, SCORES_NAME, SCORES_BYTES_MAX));
    json_decref(languages);
    json_decref(labels);
    about_close(&about);
}

/* Tensors of the body that config.json has no place for. */
static void add_unused(const char *files, const struct model_config *config, json_t *facts)
{
    SCOPED(buf_release) struct buf unused = {0};
    SCOPED(mem_free_at) char *path = safetensors_locate(files, WEIGHTS_NAME);
    if (path)
        names_body_unused(path, config, &unused);
    if (unused.size > 0)
        json_object_set_new(facts, "unused", json_name(buf_text(&unused)));
}

/* Those of a model whose weights are not there. */
static uint64_t shape_parameters(const struct model_config *config)
{
    struct params params;
    params_shapes(&params, config);
    const uint64_t total = params.total;
    params_release(&params);
    return total;
}

static int add_model(const char *from, enum model_source source, const char *files, json_t *facts, struct error *err)
{
    struct model_config config;
    const struct use use = use_of(files);
    char name[32];
    char *path = config_locate(files);
    const int result =
        path_exists(path) ? config_read(path, &config, err) : checkpoint_refuse(files, "holds no config.json", err);
    mem_free(path);
    TRY(result);
    json_t *model =
        json_pack("{s:s, s:I, s:i, s:i, s:i, s:i, s:i, s:s}", "model", config_name(&config, name), "parameters",
                  (json_int_t)(use.parameters > 0 ? use.parameters : shape_parameters(&config)), "layers",
                  config.layers, "hidden", config.hidden, "heads", config.heads, "vocabulary", config.vocabulary,
                  "positions", config.positions, "activation", config_activation(&config));
    json_object_update(facts, model);
    json_decref(model);
    add_unused(files, &config, facts);
    add_about(from, source, files, &config, facts);
    return 0;
}

static double real_of(const json_t *facts, const char *name)
{
    return json_number_value(json_object_get(facts, name));
}

static uint64_t count_of(const json_t *facts, const char *name)
{
    const json_int_t value = json_integer_value(json_object_get(facts, name));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text_of(const json_t *facts, const char *name)
{
    const char *text = json_string_value(json_object_get(facts, name));
    return text ? text : "?";
}

/* Lists the keys that end in `end`, each with its baseline if there is one: "mlm 2.251, nsp 0.063". Returns their
 * number. */
static int list_means(const json_t *line, const char *end, double scale, const char *format, struct buf *out)
{
    static const char *const baselines[] = {BASELINE_COMMONEST, BASELINE_MAJORITY, NULL};
    const char *key;
    json_t *value;
    int count = 0;
    json_object_foreach((json_t *)line, key, value)
    {
        if (!json_is_number(value) || !str_ends(str_of(key), str_of(end)))
            continue;
        buf_addf(out, "%s%.*s ", count++ ? ", " : "", (int)(strlen(key) - strlen(end)), key);
        buf_addf(out, format, scale * json_number_value(value));
        for (const char *const *name = baselines; *name; name++) {
            char beside[METRIC_KEY_BYTES];
            snprintf(beside, sizeof beside, "%.40s_%s", key, *name);
            const json_t *baseline = json_object_get(line, beside);
            if (json_is_number(baseline))
                buf_addf(out, " (%s %.1f %%)", *name, 100 * json_number_value(baseline));
        }
    }
    return count;
}

static void say_means(const char *label, const json_t *line, const char *where)
{
    struct buf losses = {0}, accuracies = {0};
    char step[32], samples[32];
    if (!line || !json_is_number(json_object_get(line, "loss")))
        return;
    const bool several = list_means(line, "_loss", 1, "%.3f", &losses) > 1;
    list_means(line, "_accuracy", 100, "%.1f %%", &accuracies);
    SCOPED(buf_release) struct buf text = {0};
    buf_addf(&text, "loss %.3f", real_of(line, "loss"));
    if (several)
        buf_addf(&text, " (%s)", buf_text(&losses));
    if (accuracies.size > 0)
        buf_addf(&text, "   accuracy %s", buf_text(&accuracies));
    if (json_object_get(line, "valid_samples"))
        buf_addf(&text, "   %s samples", format_count(count_of(line, "valid_samples"), samples));
    output_line("%-10s %s, %s%s", label, buf_text(&text), where ? where : "step ",
                where ? "" : format_count(count_of(line, "step"), step));
    buf_release(&losses);
    buf_release(&accuracies);
}

/* The means of each dataset of a mixture, in the order of --shards. */
static void say_datasets(const json_t *datasets, const json_t *shards)
{
    size_t d;
    json_t *one;
    json_array_foreach((json_t *)datasets, d, one)
    {
        const char *name = json_string_value(json_array_get(shards, d));
        say_means("", one, name ? name : "?");
    }
}

static void say_run(const json_t *facts)
{
    const json_t *identity = json_object_get(facts, "identity"), *train = json_object_get(facts, "train");
    char step[32], steps[32];
    const uint64_t of = count_of(identity, "steps");
    const bool finished = json_is_true(json_object_get(facts, "finished"));
    output_line("%-10s %s", strcmp(text_of(facts, "kind"), "model") == 0 ? "folder" : text_of(facts, "kind"),
                text_of(facts, "path"));
    if (!identity)
        return;
    SCOPED(buf_release) struct buf far = {0};
    buf_addf(&far, "step %s of %s", format_count(count_of(facts, "step"), step), format_count(of, steps));
    if (of > 0)
        buf_addf(&far, ", %" PRIu64 " %%", (uint64_t)(100.0 * (double)count_of(facts, "step") / (double)of));
    if (finished)
        buf_add_text(&far, ", finished");
    else if (count_of(train, "step") > count_of(facts, "step")) /* metrics are ahead of the checkpoint */
        buf_addf(&far, "; trained to step %s, not saved yet", format_count(count_of(train, "step"), step));
    output_line("%-10s %s", "progress", buf_text(&far));
    if (json_object_get(facts, "running"))
        output_line("%-10s %s trains it: this is its state now", "running", text_of(facts, "running"));
}

/* For a checkpoint outside of its run the paths are not known. */
static void say_mixture(const json_t *identity, const json_t *shards)
{
    SCOPED(buf_release) struct buf names = {0};
    size_t i;
    json_t *text;
    json_array_foreach((json_t *)shards, i, text)
        buf_addf(&names, "%s%s", i > 0 ? " + " : "", json_string_value(text) ? json_string_value(text) : "?");
    output_line("%-10s %s, length %" PRIu64 ", masks %s", "data", names.size > 0 ? buf_text(&names) : "a mixture",
                count_of(identity, "seq"), text_of(identity, "masks"));
    output_line("%-10s %s", "mixture", text_of(identity, "mixture"));
}

static void say_about(const json_t *facts)
{
    const json_t *labels = json_object_get(facts, "labels"), *name;
    SCOPED(buf_release) struct buf list = {0};
    size_t i;
    if (json_object_get(facts, "tokenizer"))
        output_line("%-10s %s", "tokenizer", text_of(facts, "tokenizer"));
    json_array_foreach(labels, i, name)
    {
        char text[ABOUT_LABEL_SIZE];
        buf_addf(&list, "%s%s", i > 0 ? ", " : "",
                 about_label_text(json_string_value(json_object_get(facts, "finetuning_task")), (int32_t)i,
                                  json_string_value(name), text));
    }
    if (json_array_size(labels) == 1)
        output_line("%-10s none: it predicts a number", "labels");
    else if (list.size > 0)
        output_line("%-10s %s", "labels", buf_text(&list));
    if (json_object_get(facts, "base_model"))
        output_line("%-10s %s, weights %s", "base", text_of(facts, "base_model"),
                    text_of(json_object_get(facts, "identity"), "initial_weights"));
}

static void say_recipe(const json_t *facts)
{
    const json_t *identity = json_object_get(facts, "identity"), *settings = json_object_get(facts, "settings");
    char parameters[32], vocabulary[32], layers[56];
    output_line("%-10s %s, %s parameters, %s of %" PRIu64 ", vocabulary %s", "model", text_of(facts, "model"),
                format_count(count_of(facts, "parameters"), parameters),
                format_counted(count_of(facts, "layers"), "layer", layers), count_of(facts, "hidden"),
                format_count(count_of(facts, "vocabulary"), vocabulary));
    if (json_object_get(facts, "unused"))
        output_line("%-10s of that model, not used: %s", "note", text_of(facts, "unused"));
    say_about(facts);
    if (json_object_get(identity, "mixture"))
        say_mixture(identity, json_object_get(settings, "shards"));
    else if (json_object_get(identity, "task"))
        output_line("%-10s %s, samples %s, length %" PRIu64, "data", text_of(identity, "task"),
                    text_of(identity, "dataset"), count_of(identity, "seq"));
    else if (json_object_get(identity, "dataset"))
        output_line("%-10s %s, root %s, length %" PRIu64 ", masks %s", "data",
                    json_object_get(settings, "shards") ? text_of(settings, "shards") : "dataset",
                    text_of(identity, "dataset"), count_of(identity, "seq"), text_of(identity, "masks"));
    if (json_object_get(identity, "optimizer"))
        output_line("%-10s %s, lr %g, %s, warmup %g, batch %" PRIu64 ", dropout %g, seed %" PRIu64 "%s%s", "recipe",
                    text_of(identity, "optimizer"), real_of(identity, "lr"), text_of(identity, "schedule"),
                    real_of(identity, "warmup"), count_of(identity, "batch"), real_of(identity, "hidden_dropout"),
                    count_of(identity, "seed"), json_object_get(facts, "precision") ? ", " : "",
                    json_object_get(facts, "precision") ? text_of(facts, "precision") : "");
}

static void say_work(const json_t *facts)
{
    const json_t *train = json_object_get(facts, "train"), *names = json_object_get(facts, "checkpoints");
    const uint64_t starts = count_of(facts, "starts");
    const size_t checkpoints = json_array_size(names);
    const double seconds = real_of(train, "seconds");
    const double own = real_of(train, "samples") - real_of(json_object_get(facts, "identity"), "resumed_samples");
    const uint64_t restarts = count_of(facts, "restarts");
    char samples[32], tokens[32], time[32], step[32], speed[32], lost[64] = "";
    size_t i;
    const json_t *finding;
    if (json_object_get(facts, "samples"))
        output_line("%-10s %s samples, %s tokens", "read", format_count(count_of(facts, "samples"), samples),
                    format_count(count_of(facts, "tokens"), tokens));
    if (restarts > 0)
        snprintf(lost, sizeof lost, " (%" PRIu64 " by --restarts)", restarts);
    if (seconds > 0)
        output_line("%-10s %s sequences/s on average; %s in %" PRIu64 " start%s%s, %s", "speed",
                    rate_text(own / seconds, speed), format_seconds(seconds, time), starts, starts == 1 ? "" : "s",
                    lost, text_of(facts, "precision"));
    if (json_object_get(facts, "updates"))
        output_line("%-10s %" PRIu64 " steps skipped; largest |g| %.3g at step %s", "health",
                    count_of(facts, "skipped"), real_of(facts, "largest_grad_norm"),
                    format_count(count_of(facts, "largest_grad_norm_step"), step));
    json_array_foreach(json_object_get(facts, "health"), i, finding)
        output_line("%-10s %s: %s", i == 0 && !json_object_get(facts, "updates") ? "health" : "",
                    text_of(finding, "kind"), text_of(finding, "text"));
    if (names && checkpoints == 0)
        output_line("%-10s none yet", "saved");
    else if (names)
        output_line("%-10s %s, the last of %zu checkpoint%s", "saved",
                    json_string_value(json_array_get(names, checkpoints - 1)), checkpoints,
                    checkpoints == 1 ? "" : "s");
}

static void say_scores(const json_t *facts)
{
    const char *task = json_string_value(json_object_get(json_object_get(facts, "identity"), "task"));
    const json_t *scores = json_object_get(facts, "scores");
    const struct tune_task of = tune_task_recorded(task);
    if (scores && of.kind)
        of.kind->say_scores(output_line, of.name, scores);
}

/* The facts of --json in about twelve lines of text. */
static void say(const json_t *facts)
{
    say_run(facts);
    if (json_object_get(facts, "model"))
        say_recipe(facts);
    const json_t *valid = json_object_get(facts, "valid");
    say_means("train", json_object_get(facts, "train"), NULL);
    say_means("valid", valid, NULL);
    say_datasets(json_object_get(valid, "datasets"), json_object_get(json_object_get(facts, "settings"), "shards"));
    say_scores(facts);
    say_work(facts);
}

/* What can be done with it as it is: eval finds a dataset in a run's record only. */
static char *next_of(const json_t *facts, const char *name, bool begun, const char *continues)
{
    if (continues)
        return mem_copy_text(continues);
    if (!begun)
        return command_text("dstrain show %s", name);
    const uint64_t best = json_array_size(json_object_get(facts, "health")) > 0 ? checkpoint_best(name) : 0;
    if (best > 0) {
        char *path = checkpoint_path(name, best), *command = command_text("dstrain export %s --out DIR", path);
        mem_free(path);
        return command;
    }
    if (json_object_get(json_object_get(facts, "settings"), "shards"))
        return command_text("dstrain eval %s", name);
    if (json_object_get(facts, "identity"))
        return command_text("dstrain export %s --out DIR", name);
    return command_text("dstrain --shards DATASET --init %s", name);
}

/* What a run, a checkpoint or a model is, with what the screen says about it beside its facts. */
struct shown {
    json_t *facts;
    struct health health;
    char *continues;
    bool begun;
};

static void shown_release(struct shown *shown)
{
    health_release(&shown->health);
    json_decref(shown->facts);
    mem_free(shown->continues);
    *shown = (struct shown){0};
}

static int shown_read(struct shown *shown, const char *name, struct error *err)
{
    enum model_source source;
    char *files = NULL;
    TRY(checkpoint_locate(name, &source, &files, err));
    json_t *facts = json_pack("{s:o, s:s}", "path", json_name(name), "kind",
                              source == SOURCE_HUGGING_FACE ? "model" : "checkpoint");
    *shown = (struct shown){.facts = facts};
    int result = add_run(name, facts, &shown->health, &shown->continues, err);
    shown->begun = source != SOURCE_HUGGING_FACE || !json_object_get(facts, "starts");
    if (result == 0 && shown->begun) /* a run that was stopped before its first checkpoint has no model and no state */
        result = add_model(name, source, files, facts, err);
    if (result == 0 && shown->begun)
        result = add_state(files, facts, err);
    mem_free(files);
    if (result < 0)
        shown_release(shown);
    return result;
}

static int compare(const struct settings *settings, struct opt_paths bare, struct error *err)
{
    json_t *facts[SHOW_MAX];
    size_t count = 0;
    int result = bare.count > SHOW_MAX ? fail(err, ERR_USAGE, "at most %u can be compared", SHOW_MAX) : 0;
    while (result == 0 && count < bare.count) {
        struct shown shown;
        result = shown_read(&shown, bare.items[count], err);
        if (result == 0) {
            facts[count++] = json_incref(shown.facts);
            shown_release(&shown);
        }
    }
    if (result == 0)
        difference_print(facts, count, settings->json);
    while (count-- > 0)
        json_decref(facts[count]);
    return result;
}

int dstrain_show(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    struct shown shown;
    if (bare.count > 1)
        return compare(settings, bare, err);
    TRY(shown_read(&shown, bare.items[0], err));
    if (settings->json) {
        output_json(json_incref(shown.facts), JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    } else {
        say(shown.facts);
        say_next(shown.health.command ? mem_copy_text(shown.health.command)
                                      : next_of(shown.facts, bare.items[0], shown.begun, shown.continues));
    }
    shown_release(&shown);
    return 0;
}
