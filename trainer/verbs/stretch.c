#include "trainer/verbs/stretch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trainer/run/run.h"
#include "trainer/verbs/proof.h"

static int by_step(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int stretch_kept(const char *run, uint64_t **steps, size_t *count, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(mem_free_at) char *directory = path_join(run, CHECKPOINTS_NAME);
    const int result = path_is_directory(directory) ? path_list(&list, directory, err) : 0;
    *steps = mem_array(list.count + 1, sizeof **steps);
    *count = 0;
    for (size_t i = 0; i < list.count; i++)
        if (state_is_step_name(list.names[i]))
            (*steps)[(*count)++] = strtoull(list.names[i] + strlen("step-"), NULL, 10);
    qsort(*steps, *count, sizeof **steps, by_step);
    return result;
}

static int not_kept(const char *run, const struct settings *asked, const json_t *record, const char *option,
                    uint64_t step, const uint64_t *steps, size_t count, struct error *err)
{
    if (asked->provenance && proof_names(record, step))
        return fail_at(err, ERR_VERIFY, run, ERROR_NO_OFFSET,
                       "has no " CHECKPOINTS_NAME "/step-%08" PRIu64 ", which is named in %.80s", step,
                       asked->provenance);
    if (asked->provenance)
        return fail_at(err, ERR_MISMATCH, asked->provenance, ERROR_NO_OFFSET,
                       "names no checkpoint of step %" PRIu64 " (--%s)", step, option);
    fail_at(err, ERR_USAGE, run, ERROR_NO_OFFSET, "has no checkpoint of step %" PRIu64 " (--%s)", step, option);
    return hint(err, "the oldest is of step %" PRIu64 ", the newest of step %" PRIu64, steps[0], steps[count - 1]);
}

static bool is_kept(uint64_t step, const uint64_t *steps, size_t count)
{
    return bsearch(&step, steps, count, sizeof step, by_step) != NULL;
}

/* Removes the steps that the file of --provenance does not name; returns how many are left. */
static size_t keep_named(const json_t *provenance, uint64_t *steps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (proof_names(provenance, steps[i]))
            steps[kept++] = steps[i];
    return kept;
}

/* Fills `from` and `steps` of the plan. */
static int choose_steps(const char *run, const struct settings *asked, const json_t *record, const uint64_t *steps,
                        size_t count, json_t *plan, struct error *err)
{
    if (count == 0 && asked->provenance) {
        fail_at(err, ERR_VERIFY, run, ERROR_NO_OFFSET,
                "has none of the checkpoints named in %.80s, such as " CHECKPOINTS_NAME "/step-%08" PRIu64,
                asked->provenance, proof_last(record));
        return hint(err,
                    "copy two of them there, or the last one and add --from 0; an exported model is not a checkpoint");
    }
    if (count == 0)
        return fail_at(err, ERR_USAGE, run, ERROR_NO_OFFSET, "has no checkpoint");
    const uint64_t to = settings_given(asked, "to") ? asked->to : steps[count - 1];
    const uint64_t from = settings_given(asked, "from") ? asked->from : steps[0] < to ? steps[0] : 0;
    if (!is_kept(to, steps, count))
        return not_kept(run, asked, record, "to", to, steps, count, err);
    if (from > 0 && !is_kept(from, steps, count))
        return not_kept(run, asked, record, "from", from, steps, count, err);
    if (from >= to)
        return fail(err, ERR_USAGE, "--from %" PRIu64 " is not before --to %" PRIu64, from, to);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (steps[i] > from && steps[i] <= to)
            json_array_append_new(list, json_integer((json_int_t)steps[i]));
    json_object_set_new(plan, "steps", list);
    json_object_set_new(plan, "from", json_integer((json_int_t)from));
    return 0;
}

uint64_t stretch_start_step(const json_t *start)
{
    return (uint64_t)json_integer_value(json_object_get(start, "step"));
}

/* The start that computed `step`: the last one that began before it. If a later start resumed from an older checkpoint,
 * it has overwritten the checkpoints after that one. NULL if no start did. */
const json_t *stretch_start(const json_t *record, uint64_t step)
{
    const json_t *starts = json_object_get(record, "starts");
    for (size_t i = json_array_size(starts); i-- > 0;)
        if (stretch_start_step(json_array_get(starts, i)) < step)
            return json_array_get(starts, i);
    return NULL;
}

uint64_t stretch_first(const json_t *record, uint64_t from)
{
    const uint64_t began = stretch_start_step(json_array_get(json_object_get(record, "starts"), 0));
    return (from > began ? from : began) + 1;
}

static bool is_command(const json_t *command)
{
    size_t i;
    const json_t *word;
    bool texts = json_array_size(command) > 0;
    json_array_foreach(command, i, word) texts = texts && json_is_string(word);
    return texts;
}

int stretch_plan(const char *run, const struct settings *asked, json_t **record, json_t **plan, struct error *err)
{
    uint64_t *steps = NULL;
    size_t count = 0;
    TRY(asked->provenance ? proof_read(asked->provenance, record, err) : run_read(run, record, err));
    if (!*record) {
        fail_at(err, ERR_USAGE, run, ERROR_NO_OFFSET,
                "is not a run: --replay needs its " RUN_NAME ", or --provenance FILE");
        return checkpoint_hint_place(run, err);
    }
    *plan = json_object();
    int result = stretch_kept(run, &steps, &count, err);
    if (asked->provenance)
        count = keep_named(*record, steps, count);
    if (result == 0)
        result = choose_steps(run, asked, *record, steps, count, *plan, err);
    mem_free(steps);
    TRY(result);
    const uint64_t first = stretch_first(*record, (uint64_t)json_integer_value(json_object_get(*plan, "from")));
    json_t *command = json_object_get(stretch_start(*record, first), "command");
    json_t *precision = json_object_get(*record, "precision");
    if (!is_command(command) || !json_is_string(precision))
        return fail_at(err, ERR_VERIFY, run, ERROR_NO_OFFSET, RUN_NAME " does not say what computed step %" PRIu64,
                       first);
    json_object_set(*plan, "command", command);
    json_object_set(*plan, "shards", json_object_get(json_object_get(*record, "settings"), "shards"));
    json_object_set(*plan, "precision", precision);
    const json_t *identity = json_object_get(*record, "identity");
    json_object_set(*plan, "task", json_object_get(identity, "task"));
    json_object_set(*plan, "seed", json_object_get(identity, "seed"));
    return 0;
}
