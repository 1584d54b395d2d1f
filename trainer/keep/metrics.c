#include "trainer/keep/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/json.h"

void metrics_best_add(struct metrics_best *best, uint64_t step, double loss)
{
    char text[32];
    snprintf(text, sizeof text, LOSS_FORMAT, loss);
    best->last = strtod(text, NULL);
    best->since++;
    if (best->last < best->loss) {
        best->loss = best->last;
        best->step = step;
        best->since = 0;
    }
}

/* Whether this is a line of a step up to `step`; if so and it is an evaluation, adds it to *past. */
static bool keeps(struct str line, uint64_t step, struct metrics_past *past)
{
    json_error_t why;
    json_auto_t *json = json_parse(line, METRICS_LINE_BYTES_MAX, &why);
    const json_t *number = json_object_get(json, "step"), *loss = json_object_get(json, "loss");
    const uint64_t at =
        json_is_integer(number) && json_integer_value(number) >= 0 ? (uint64_t)json_integer_value(number) : UINT64_MAX;
    const bool kept = at <= step && at != UINT64_MAX;
    if (kept && json_object_get(json, "split")) {
        metrics_best_add(&past->best, at, json_is_number(loss) ? json_number_value(loss) : (double)NAN);
        past->evaluated = at == step;
        if (at == past->kept_step)
            past->kept_loss = past->best.last;
    }
    return kept;
}

/* Bytes from the start of the file that are kept. */
static uint64_t kept_bytes(const struct mapping *file, uint64_t step, struct metrics_past *past)
{
    const char *begin = (const char *)file->data, *at = begin;
    while (at < begin + file->size) {
        const char *end = memchr(at, '\n', file->size - (size_t)(at - begin));
        if (!end || !keeps(str_range(at, end), step, past))
            break;
        at = end + 1;
    }
    return (uint64_t)(at - begin);
}

static int open_lines(struct metrics *metrics, const char *path, uint64_t step, struct metrics_past *past,
                      struct error *err)
{
    uint64_t kept = 0;
    if (path_exists(path)) {
        struct mapping file;
        TRY(file_map(&file, path, err));
        kept = file.size > 0 ? kept_bytes(&file, step, past) : 0;
        assert(kept <= file.size); /* truncating only takes away */
        file_unmap(&file);
    }
    TRY(file_append_open(&metrics->file, path, err));
    return file_truncate(&metrics->file, kept, err);
}

int metrics_open(struct metrics *metrics, const char *directory, uint64_t step, struct metrics_past *past,
                 struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, METRICS_NAME);
    *metrics = METRICS_CLOSED;
    *past = (struct metrics_past){.kept_step = past->kept_step, .kept_loss = HUGE_VAL, .best = METRICS_BEST_NONE};
    int result = open_lines(metrics, path, step, past, err);
    if (result == 0)
        result = events_open(&metrics->events, directory, step, past->evaluated, err);
    if (result < 0)
        metrics_close(metrics);
    return result;
}

static void add_real(struct buf *line, const char *key, double value, const char *format)
{
    buf_addf(line, ",\"%s\":", key);
    if (isfinite(value))
        buf_addf(line, format, value);
    else
        buf_add_text(line, "null");
}

static void add_interval(struct buf *text, const struct metrics_line *line)
{
    add_real(text, "loss_mean", line->interval->loss, LOSS_FORMAT);
    for (size_t i = 0; i < line->metrics->count; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_mean", line->metrics->rows[i].key);
        if (line->metrics->rows[i].kind == METRIC_LOSS)
            add_real(text, key, line->interval->values[i], LOSS_FORMAT);
    }
}

static void add_means(struct buf *text, const struct metric_table *metrics, const struct evaluation *means)
{
    add_real(text, "loss", means->loss, LOSS_FORMAT);
    for (size_t i = 0; i < metrics->count; i++)
        add_real(text, metrics->rows[i].key, means->values[i], metric_forms[metrics->rows[i].kind].written);
}

/* Beside the accuracies of an evaluation: always guessing the commonest label. */
static void add_baselines(struct buf *text, const struct metric_table *metrics, const struct evaluation *means)
{
    char key[METRIC_KEY_BYTES];
    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->rows[i].baseline)
            add_real(text, metric_baseline_key(&metrics->rows[i], key),
                     means->baselines[i] > 0 ? means->baselines[i] : (double)NAN, "%.6g");
}

static void add_each(struct buf *text, const struct metrics_line *line)
{
    for (uint32_t d = 0; d < line->datasets; d++) {
        buf_addf(text, "%s{\"valid_samples\":%" PRIu64, d == 0 ? ",\"datasets\":[" : ",", line->each[d].samples);
        add_means(text, line->metrics, &line->each[d]);
        add_baselines(text, line->metrics, &line->each[d]);
        buf_add_text(text, d + 1 == line->datasets ? "}]" : "}");
    }
}

int metrics_write(struct metrics *metrics, const struct metrics_line *line, struct error *err)
{
    struct buf text = {0};
    assert(line->valid || line->interval);
    assert(!line->borders || line->processes > 0);
    /* The event is written first, so an evaluation that has its line has its event too. */
    TRY(events_write(&metrics->events, line, err));
    if (line->valid)
        TRY(file_sync(&metrics->events.file, err));
    buf_addf(&text, "{\"step\":%" PRIu64, line->step);
    if (line->valid)
        buf_addf(&text, ",\"split\":\"valid\",\"valid_samples\":%" PRIu64, line->means->samples);
    add_means(&text, line->metrics, line->means);
    if (line->valid)
        add_baselines(&text, line->metrics, line->means);
    else
        add_interval(&text, line);
    add_real(&text, "learning_rate", line->learning_rate, "%.9g");
    add_real(&text, "grad_norm", line->grad_norm, "%.7g");
    buf_addf(&text, ",\"samples\":%" PRIu64 ",\"tokens\":%" PRIu64, line->samples, line->tokens);
    add_real(&text, "epoch", line->epoch, "%.6f");
    add_real(&text, "seconds", line->seconds, "%.3f");
    add_real(&text, "sequences_per_second", line->sequences_per_second, "%.5g");
    add_real(&text, "data_wait_seconds", line->data_wait_seconds, "%.3f");
    add_real(&text, "loss_scale", line->loss_scale, "%.17g");
    buf_addf(&text, ",\"skipped\":%" PRIu64, line->skipped);
    if (line->wire_bytes > 0)
        buf_addf(&text, ",\"wire_bytes\":%" PRIu64, line->wire_bytes);
    for (uint32_t r = 0; line->borders && r < line->processes; r++)
        buf_addf(&text, "%s%" PRIu64 "%s", r == 0 ? ",\"shares\":[" : ",", line->borders[r + 1] - line->borders[r],
                 r + 1 == line->processes ? "]" : "");
    add_each(&text, line);
    buf_add_text(&text, "}\n");
    int result = file_write(&metrics->file, text.data, text.size, err);
    if (result == 0 && line->valid)
        result = file_sync(&metrics->file, err);
    buf_release(&text);
    return result;
}

int metrics_sync(struct metrics *metrics, struct error *err)
{
    TRY(file_sync(&metrics->events.file, err));
    return file_sync(&metrics->file, err);
}

void metrics_close(struct metrics *metrics)
{
    events_close(&metrics->events);
    file_close(&metrics->file);
}

/* Takes a line if its step is at most `step_max` and it is the first of its kind, read from the end of the file;
 * `found` has a bit for each kind. */
static void take_line(struct str text, uint64_t step_max, json_t *facts, int *found)
{
    json_error_t why;
    json_auto_t *line = json_parse(text, METRICS_LINE_BYTES_MAX, &why);
    const bool valid = json_object_get(line, "split") != NULL;
    const json_t *step = json_object_get(line, "step");
    const bool numbered = json_is_integer(step) && json_integer_value(step) >= 0; /* else it is no line of ours */
    if (numbered && (uint64_t)json_integer_value(step) <= step_max && !(*found & 1 << valid)) {
        json_object_set(facts, valid ? "valid" : "train", line);
        *found |= 1 << valid;
    }
}

void metrics_last(const char *directory, uint64_t step_max, json_t *facts)
{
    struct error ignored = {0};
    struct mapping text = {0};
    char *path = path_join(directory, METRICS_NAME);
    const int result = path_exists(path) ? file_map(&text, path, &ignored) : -1;
    mem_free(path);
    const char *data = (const char *)text.data;
    size_t end = text.size;
    for (int found = 0; result == 0 && end > 0 && found != 3;) {
        size_t start = end - 1;
        while (start > 0 && data[start - 1] != '\n')
            start--;
        take_line((struct str){data + start, end - start}, step_max, facts, &found);
        end = start;
    }
    file_unmap(&text);
}
