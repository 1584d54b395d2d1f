/* A training in; its run directory out: which one it is, and what run.json says of this start. */
#include "trainer/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "trainer/config.h"

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
    const char *comma = strrchr(t->engine.ops->name, ','); /* the threads stand behind it; they change nothing */
    const size_t size = comma ? (size_t)(comma - t->engine.ops->name) : strlen(t->engine.ops->name);
    return json_pack("{s:s%, s:i}", "device", t->engine.ops->name, size, "micro_batch", (int)t->engine.micro_batch);
}

/* The options as text, with what was chosen where they were left open. */
static json_t *settings_in_force(const struct training *t)
{
    struct buf echo = {0};
    char name[32];
    json_t *json = json_object();
    opts_echo(t->setup.settings->program, t->setup.settings->result->verb, t->setup.settings, &echo);
    for (const char *line = buf_text(&echo), *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *equals = memchr(line, '=', (size_t)(end - line));
        if (equals)
            json_object_setn_new(json, line, (size_t)(equals - line),
                                 json_stringn(equals + 1, (size_t)(end - equals) - 1));
    }
    buf_release(&echo);
    json_object_del(json, "epochs"); /* steps say it */
    if (!settings_given(t->setup.settings, "cpu"))
        json_object_del(json, "cpu"); /* the device says it */
    if (!settings_given(t->setup.settings, "device"))
        json_object_del(json, "device"); /* each start says it */
    json_object_set_new(json, "model", json_string(config_name(&t->setup.recipe.config, name)));
    json_object_set_new(json, "seq", json_sprintf("%" PRIu32, t->setup.recipe.seq));
    json_object_set_new(json, "steps", json_sprintf("%" PRIu64, t->setup.recipe.schedule.steps));
    json_object_set_new(json, "micro-batch", json_sprintf("%" PRIu32, t->engine.micro_batch));
    json_object_set_new(json, "lr", json_sprintf("%g", t->setup.recipe.schedule.rate));
    json_object_set_new(json, "batch", json_sprintf("%" PRIu32, t->setup.recipe.batch));
    json_object_set_new(json, "optimizer", json_string(optimizer_name(t->setup.recipe.optimizer.kind)));
    json_object_set_new(json, "schedule", json_string(schedule_types[t->setup.recipe.schedule.kind].name));
    json_object_set_new(json, "dropout", json_sprintf("%g", t->setup.recipe.config.hidden_dropout));
    json_object_set_new(json, "precision", json_string(precision_name(t->engine.ops->precision)));
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
    json_object_foreach(facts, key, value) if (last && t->position.state.step > 0)
        json_object_set(before, key, json_object_get(last, key));
    if (json_object_size(before) > 0)
        run_differences(before, facts, &differences);
    if (differences.size > 0)
        log_say("note       %s: the last bits may differ from an uninterrupted run", buf_text(&differences));
    buf_release(&differences);
    json_decref(before);

    json_t *command = json_array();
    for (int i = 0; i < t->setup.settings->argc; i++)
        json_array_append_new(command, json_string(t->setup.settings->argv[i]));
    json_object_set_new(facts, "command", command);
    json_object_set_new(facts, "threads", json_integer((json_int_t)t->engine.threads));
    return run_start(&t->run, t->position.state.step, precision_name(t->engine.ops->precision), facts,
                     settings_in_force(t), err);
}

/* A table that is given or was made becomes the run's, before its first step: later starts choose the same. */
static int keep_tune(const struct training *t, struct error *err)
{
    struct buf table = {0};
    if (t->engine.products.size > 0)
        return write_small(t->run.directory, TUNE_NAME, &t->engine.products, err);
    if (!t->setup.settings->tune)
        return 0;
    int result = file_read_all(t->setup.settings->tune, TUNE_BYTES_MAX, &table, err);
    if (result == 0)
        result = write_small(t->run.directory, TUNE_NAME, &table, err);
    buf_release(&table);
    return result;
}

int record_begin(struct training *t, struct error *err)
{
    const char *directory = t->run.directory;
    int result = record_start(t, err); /* first: what comes behind is then known to be a run's */
    if (result == 0)
        result = write_small(directory, "vocab.txt", &t->setup.tokenizer.vocab, err);
    if (result == 0)
        result = write_small(directory, "tokenizer.json", &t->setup.tokenizer.tokenizer, err);
    if (result == 0)
        result = write_small(directory, "tokenizer_config.json", &t->setup.tokenizer.config, err);
    if (result == 0)
        result = keep_tune(t, err);
    if (result == 0)
        result = metrics_open(&t->metrics, directory, t->position.state.step, &t->evaluated, err);
    return result;
}

int record_take(struct training *t, struct error *err)
{
    char name[32], *moved = NULL;
    char *directory = t->setup.settings->out ? mem_copy_text(t->setup.settings->out)
                                             : run_directory(config_name(&t->setup.recipe.config, name),
                                                             t->setup.recipe.seq, t->setup.identity);
    const int result = run_open(&t->run, directory, t->setup.identity, t->setup.settings->fresh, &moved, err);
    if (moved)
        log_say("note       the run that was there is now %s", moved);
    mem_free(moved);
    mem_free(directory);
    return result;
}
