#include "trainer/keep/history.h"

#include "base/json.h"
#include "base/mem.h"
#include "trainer/keep/metrics.h"
#include "trainer/keep/spikes.h"

#include <assert.h>
#include <inttypes.h>

static const char *const kept[] = {"loss",         "loss_mean", "learning_rate", "grad_norm", "sequences_per_second",
                                   "seconds",      "samples",   "tokens",        "epoch",     "skipped",
                                   "valid_samples"};
static const char *const kept_ends[] = {"_loss", "_loss_mean", "_accuracy", "_" BASELINE_COMMONEST,
                                        "_" BASELINE_MAJORITY};

static bool is_kept(const char *key)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(key, kept[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof kept_ends / sizeof *kept_ends; i++)
        if (str_ends(str_of(key), str_of(kept_ends[i])))
            return true;
    return false;
}

size_t history_key(const struct history *history, const char *key)
{
    for (size_t i = 0; i < history->key_count; i++)
        if (strcmp(history->keys[i], key) == 0)
            return i;
    return SIZE_MAX;
}

/* The index of a key, which is added if the report uses it and there is room; SIZE_MAX: the key is dropped. */
static size_t place_of(struct history *history, const char *key)
{
    const size_t at = history_key(history, key);
    if (at != SIZE_MAX || history->key_count == HISTORY_KEYS || !is_kept(key) || strlen(key) >= HISTORY_KEY_BYTES)
        return at;
    memcpy(history->keys[history->key_count], key, strlen(key) + 1);
    return history->key_count++;
}

static struct history_line *add_line(struct history *history)
{
    history->lines = mem_room(history->lines, history->count + 1, &history->capacity, sizeof *history->lines);
    struct history_line *line = &history->lines[history->count++];
    *line = (struct history_line){0};
    for (size_t i = 0; i < HISTORY_KEYS; i++)
        line->values[i] = (double)NAN;
    return line;
}

char *history_dataset_key(size_t dataset, char out[HISTORY_KEY_BYTES])
{
    snprintf(out, HISTORY_KEY_BYTES, "dataset_%zu_loss", dataset + 1);
    return out;
}

/* Takes the held-out losses of a mixture's datasets. */
static void take_datasets(struct history *history, const json_t *datasets, struct history_line *line)
{
    char key[HISTORY_KEY_BYTES];
    for (size_t d = 0; d < json_array_size(datasets); d++) {
        const json_t *loss = json_object_get(json_array_get(datasets, d), "loss");
        const size_t at = place_of(history, history_dataset_key(d, key));
        if (at != SIZE_MAX && json_is_number(loss))
            line->values[at] = json_number_value(loss);
    }
}

/* Adds a line. Returns NULL, or what is wrong with it. */
static const char *take(struct history *history, const json_t *json, struct spikes *spikes)
{
    const json_t *step = json_object_get(json, "step"), *split = json_object_get(json, "split"), *value;
    const char *key;
    if (!json_is_object(json) || !json_is_integer(step) || json_integer_value(step) < 0)
        return "holds no step";
    if (split && !json_is_string(split))
        return "names no split";
    if (history->count > 0 && (uint64_t)json_integer_value(step) < history->lines[history->count - 1].step)
        return "has a step before that of the line above";
    struct history_line *line = add_line(history);
    line->step = (uint64_t)json_integer_value(step);
    line->valid = split != NULL;
    json_object_foreach((json_t *)json, key, value)
    {
        const size_t at = is_kept(key) ? place_of(history, key) : SIZE_MAX;
        if (at == SIZE_MAX)
            continue;
        if (!json_is_number(value) && !json_is_null(value))
            return "has something other than a number where one belongs";
        line->values[at] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    take_datasets(history, json_object_get(json, "datasets"), line);
    double mean, deviations;
    if (!line->valid)
        line->spike = spikes_add(spikes, line->step, history_value(history, line, "loss"), &mean, &deviations);
    return NULL;
}

static int take_text(struct history *history, const char *path, struct str text, struct error *err)
{
    struct spikes spikes = {0};
    const char *at = text.data, *end;
    for (uint64_t number = 1; text.data && at < text.data + text.size; number++, at = end + 1) {
        json_error_t why;
        end = memchr(at, '\n', text.size - (size_t)(at - text.data));
        if (!end)
            return 0;
        json_t *json = json_parse(str_range(at, end), METRICS_LINE_BYTES_MAX, &why);
        const char *wrong = json ? take(history, json, &spikes) : "is not a JSON object";
        json_decref(json);
        if (wrong) {
            fail_at(err, ERR_VERIFY, path, (uint64_t)(at - text.data), "line %" PRIu64 " %s", number, wrong);
            return hint(err, "remove that line, or let the run write its metrics anew");
        }
    }
    return 0;
}

int history_read(struct history *history, const char *directory, struct error *err)
{
    struct mapping file = {0};
    char *path = path_join(directory, METRICS_NAME);
    *history = (struct history){0};
    int result = path_exists(path) ? file_map(&file, path, err) : 0;
    if (result == 0)
        result = take_text(history, path, (struct str){(const char *)file.data, file.size}, err);
    file_unmap(&file);
    mem_free(path);
    if (result < 0)
        history_release(history);
    return result;
}

void history_release(struct history *history)
{
    mem_free(history->lines);
    *history = (struct history){0};
}

const struct history_line *history_last(const struct history *history, bool valid)
{
    for (size_t i = history->count; i-- > 0;)
        if (history->lines[i].valid == valid)
            return &history->lines[i];
    return NULL;
}

double history_value(const struct history *history, const struct history_line *line, const char *key)
{
    const size_t at = line ? history_key(history, key) : SIZE_MAX;
    assert(at == SIZE_MAX || at < history->key_count);
    return at == SIZE_MAX ? (double)NAN : line->values[at];
}
