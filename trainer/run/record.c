#include "trainer/run/record.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/comm/board.h"
#include "trainer/model/config.h"
#include "base/json.h"

static int write_small(const char *directory, const char *name, const struct buf *text, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return file_write_all(path, text->data, text->size, err);
}

/* Facts that are not part of the run's identity but may change the last bits. */
static json_t *facts_of(const struct engine *engine)
{
    char device[OPS_NAME_SIZE];
    return json_pack("{s:o, s:i, s:i, s:s, s:i, s:i}", "device", json_name(ops_device(engine->ops, device)),
                     "micro_batch", (int)engine->micro_batch, "processes",
                     engine->processes ? (int)engine->processes->size : 1, "wire",
                     engine->recipe->wire_bf16 ? "bf16" : "fp32", "zero",
                     engine_divides(engine) ? (int)engine->recipe->zero : 0, "arithmetic_version", ARITHMETIC_VERSION);
}

/* The options, with the chosen values of those that were not given. */
static json_t *settings_in_force(const struct setup *setup, const struct engine *engine, const char *directory)
{
    char name[32];
    json_t *json = opts_json(setup->settings->program, setup->settings->result->verb, setup->settings);
    json_object_del(json, "epochs"); /* converted to steps */
    if (!settings_given(setup->settings, "cpu"))
        json_object_del(json, "cpu"); /* contained in the device's name */
    if (!settings_given(setup->settings, "device"))
        json_object_del(json, "device"); /* recorded with each start */
    if (!settings_given(setup->settings, "recipe"))
        json_object_del(json, "recipe"); /* none: its field would read as the first name of the table */
    json_object_set_new(json, "model", json_string(config_name(&setup->recipe.config, name)));
    json_object_set_new(json, "seq", json_sprintf("%" PRIu32, setup->recipe.seq));
    json_object_set_new(json, "steps", json_sprintf("%" PRIu64, setup->recipe.schedule.steps));
    json_object_set_new(json, "micro-batch", json_sprintf("%" PRIu32, engine->micro_batch));
    json_object_set_new(json, "lr", json_sprintf("%g", setup->recipe.schedule.rate));
    const struct batch_plan *batches = &setup->recipe.batches;
    json_object_set_new(json, "batch",
                        batches->steps > 0 ? json_sprintf("%" PRIu32 ":%" PRIu32, batches->first, batches->last)
                                           : json_sprintf("%" PRIu32, batches->last));
    json_object_set_new(json, "optimizer", json_string(optimizer_kinds[setup->recipe.optimizer.kind].name));
    json_object_set_new(json, "schedule", json_string(schedule_types[setup->recipe.schedule.kind].name));
    json_object_set_new(json, "dropout", json_sprintf("%g", setup->recipe.config.hidden_dropout));
    json_object_set_new(json, "precision", json_string(precision_name(engine->ops->precision)));
    json_object_set_new(json, "out", json_name(directory));
    if (setup->settings->shards.count > 0) /* eval and verify find it from any directory */
        json_object_set_new(json, "shards", shards_record(&setup->settings->shards));
    return json;
}

/* Whether a fact may change bits. With --same-bits the number of processes and the ZeRO stage do not, and in fp32 nor
 * does the level of the CPU. */
static bool decides(const char *fact, const json_t *before, const json_t *now, bool same_bits)
{
    if (!same_bits)
        return true;
    if (strcmp(fact, "device") == 0 && json_is_string(before))
        return !ops_same_everywhere(json_string_value(before)) || !ops_same_everywhere(json_string_value(now));
    return strcmp(fact, "processes") != 0 && strcmp(fact, "zero") != 0;
}

void record_differences(const json_t *start, const struct setup *setup, const struct engine *engine, struct buf *out)
{
    json_auto_t *facts = facts_of(engine), *before = json_object();
    const char *key;
    json_t *value;
    json_object_foreach(facts, key, value)
    {
        json_t *old = json_object_get(start, key);
        json_object_set(before, key, old && decides(key, old, value, setup->recipe.part > 0) ? old : value);
    }
    run_differences(before, facts, out);
}

int record_ranks(struct process_group *processes, const struct engine *engine, uint64_t share, json_t **ranks,
                 struct error *err)
{
    char device[OPS_NAME_SIZE], host[64] = "";
    struct buf mine = {0}, all = {0};
    *ranks = NULL;
    if (processes->size == 1)
        return 0;
    gethostname(host, sizeof host - 1);
    json_t *one = json_pack("{s:o, s:o, s:I}", "host", json_name(host), "device",
                            json_name(ops_device(engine->ops, device)), "share", (json_int_t)share);
    json_add_text(one, JSON_COMPACT, &mine);
    json_decref(one);
    const int result = process_group_gather_texts(processes, buf_str(&mine), &all, err);
    if (result == 0)
        *ranks = json_array();
    for (size_t at = 0; result == 0 && at < all.size; at += strlen(all.data + at) + 1)
        json_array_append_new(*ranks, json_loads(all.data + at, 0, NULL));
    buf_release(&mine);
    buf_release(&all);
    return result;
}

/* The first start in a run's record that this command made; NULL: there is none, or no --restarts. */
static const json_t *first_of_command(const json_t *record)
{
    size_t i;
    const json_t *start, *id;
    if (!board_start())
        return NULL;
    json_array_foreach(json_object_get(record, "starts"), i, start)
    {
        id = json_object_get(start, "command_id");
        if (json_is_string(id) && strcmp(json_string_value(id), board_start()->command) == 0)
            return start;
    }
    return NULL;
}

bool record_is_ours(const char *directory)
{
    struct error ignored = {0};
    json_auto_t *record = NULL;
    return run_read(directory, &record, &ignored) == 0 && first_of_command(record);
}

uint64_t record_first_step(const struct run *run, uint64_t step)
{
    const json_t *first = first_of_command(run->record);
    return first ? (uint64_t)json_integer_value(json_object_get(first, "step")) : step;
}

static void add_restart(json_t *facts)
{
    const struct board_start *start = board_start();
    if (!start)
        return;
    json_object_set_new(facts, "command_id", json_string(start->command));
    if (start->number > 0)
        json_object_set_new(
            facts, "restart",
            json_pack("{s:I, s:o}", "number", (json_int_t)start->number, "after", json_name(start->after)));
}

int record_start(struct run *run, const struct setup *setup, const struct engine *engine, json_t *ranks, uint64_t step,
                 struct error *err)
{
    struct buf differences = {0};
    const json_t *last = run_last_start(run);
    const bool same_bits = setup->recipe.part > 0;
    if (last && step > 0)
        record_differences(last, setup, engine, &differences);
    int result = 0;
    if (differences.size > 0 && same_bits)
        result = fail(err, ERR_MISMATCH, "--same-bits: %s: here the run would go on with other bits",
                      buf_text(&differences));
    else if (differences.size > 0)
        log_say("note       %s: the last bits may differ from an uninterrupted run", buf_text(&differences));
    buf_release(&differences);
    TRY(result);

    json_t *facts = facts_of(engine), *command = json_array();
    for (int i = 0; i < setup->settings->argc; i++)
        json_array_append_new(command, json_name(setup->settings->argv[i]));
    json_object_set_new(facts, "command", command);
    if (ranks)
        json_object_set(facts, "ranks", ranks);
    json_object_set_new(facts, "threads", json_integer((json_int_t)engine->threads));
    add_restart(facts);
    return run_start(run, step, precision_name(engine->ops->precision), facts,
                     settings_in_force(setup, engine, run->directory), err);
}

/* Keeps the table of product algorithms, given or measured, before the run's first step, so that later starts use the
 * same algorithms. */
static int keep_products(const char *directory, const struct engine *engine, struct error *err)
{
    SCOPED(buf_release) struct buf table = {0};
    if (engine->products.size > 0)
        return write_small(directory, TUNE_NAME, &engine->products, err);
    if (!engine->settings->tune)
        return 0;
    TRY(file_read_all(engine->settings->tune, TUNE_BYTES_MAX, &table, err));
    return write_small(directory, TUNE_NAME, &table, err);
}

int record_files(const struct run *run, const struct setup *setup, const struct engine *engine, struct error *err)
{
    const struct tokenizer_files *files = &setup->tokenizer;
    for (int i = 0; i < TOKENIZER_FILES; i++)
        if (files->all[i].size > 0)
            TRY(write_small(run->directory, tokenizer_file_names[i], &files->all[i], err));
    return keep_products(run->directory, engine, err);
}
