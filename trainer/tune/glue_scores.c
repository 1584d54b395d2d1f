#include "trainer/tune/glue_scores.h"

#include <stdlib.h>

#include "trainer/tune/class_task.h"
#include "trainer/tune/scores.h"

const char *const *glue_keys(enum glue_metric metric)
{
    static const char *const keys[GLUE_METRICS][4] = {
        [GLUE_ACCURACY] = {"acc"},
        [GLUE_ACCURACY_F1] = {"acc", "f1", "acc_and_f1"},
        [GLUE_MATTHEWS] = {"mcc"},
        [GLUE_CORRELATIONS] = {"pearson", "spearmanr", "corr"},
    };
    return keys[metric];
}

struct scoring {
    const char *suffix;
    json_t *values, *undefined;
};

static void add(const struct scoring *s, const char *name, struct score score)
{
    char key[40];
    snprintf(key, sizeof key, "%s%s", name, s->suffix);
    json_object_set_new(s->values, key, json_real(score.value));
    if (score.undefined)
        json_array_append_new(s->undefined, json_string(key));
}

static struct score mean(struct score a, struct score b)
{
    return (struct score){(a.value + b.value) / 2, a.undefined || b.undefined};
}

static void score_classes(const struct scoring *s, const struct glue_task *task, const struct samples *samples,
                          const float *logits)
{
    const size_t count = samples->count;
    uint32_t *found = mem_array(2 * count, sizeof *found), *truth = found + count;
    for (size_t i = 0; i < count; i++) {
        found[i] = class_of(logits + i * task->labels, task->labels);
        truth[i] = samples->items[i].label;
    }
    const struct score accuracy = {score_accuracy(found, truth, count), false};
    if (task->metric == GLUE_MATTHEWS) {
        add(s, "mcc", score_matthews(found, truth, count, task->labels));
    } else {
        add(s, "acc", accuracy);
    }
    if (task->metric == GLUE_ACCURACY_F1) {
        const struct score f1 = score_f1(found, truth, count);
        add(s, "f1", f1);
        add(s, "acc_and_f1", mean(accuracy, f1));
    }
    mem_free(found);
}

static void score_numbers(const struct scoring *s, const struct samples *samples, const float *logits)
{
    const size_t count = samples->count;
    double *found = mem_array(2 * count, sizeof *found), *truth = found + count;
    for (size_t i = 0; i < count; i++) {
        float label;
        memcpy(&label, &samples->items[i].label, sizeof label);
        found[i] = (double)logits[i];
        truth[i] = (double)label;
    }
    const struct score pearson = score_pearson(found, truth, count), spearman = score_spearman(found, truth, count);
    add(s, "pearson", pearson);
    add(s, "spearmanr", spearman);
    add(s, "corr", mean(pearson, spearman));
    mem_free(found);
}

void glue_score(const struct glue_task *task, const struct samples *samples, const float *logits, const char *suffix,
                json_t *values, json_t *undefined)
{
    const struct scoring s = {suffix, values, undefined};
    if (task->labels == 1)
        score_numbers(&s, samples, logits);
    else
        score_classes(&s, task, samples, logits);
}

static uint32_t commonest_label(const struct samples *samples, uint32_t labels)
{
    SCOPED(mem_free_at) size_t *counts = mem_clear(labels, sizeof *counts);
    uint32_t most = 0;
    for (size_t i = 0; i < samples->count; i++)
        counts[samples->items[i].label]++;
    for (uint32_t i = 1; i < labels; i++)
        most = counts[i] > counts[most] ? i : most;
    return most;
}

void glue_score_commonest(const struct glue_task *task, const struct samples *samples, const char *suffix,
                          json_t *values)
{
    SCOPED(mem_free_at) float *logits = mem_clear(samples->count * task->labels, sizeof *logits);
    json_auto_t *ignored = json_array();
    const uint32_t label = task->labels > 1 ? commonest_label(samples, task->labels) : 0;
    for (size_t i = 0; i < samples->count; i++)
        logits[i * task->labels + label] = 1;
    glue_score(task, samples, logits, suffix, values, ignored);
}

/* "acc 0.842 (0.684), f1 0.889 (0.812)": the scores of every dev file. */
static void add_scores(const struct glue_task *task, const json_t *scores, struct buf *out)
{
    const json_t *commonest = json_object_get(scores, SCORES_COMMONEST);
    for (int i = 0; i < GLUE_DEVS_MAX && task->devs[i].dev; i++)
        for (const char *const *key = glue_keys(task->metric); *key; key++) {
            char name[40];
            snprintf(name, sizeof name, "%s%s", *key, task->devs[i].suffix);
            if (!json_object_get(scores, name))
                continue; /* only one file was scored */
            buf_addf(out, "%s%s %.4f", out->size > 0 ? ", " : "", name,
                     json_number_value(json_object_get(scores, name)));
            if (json_object_get(commonest, name))
                buf_addf(out, " (%.4f)", json_number_value(json_object_get(commonest, name)));
        }
}

static void say_passed_over(console_line line, const char *file, const json_t *rows)
{
    char count[56];
    if (json_integer_value(rows) > 0)
        line("note       too short, left out: %s of %s",
             format_counted((uint64_t)json_integer_value(rows), "row", count), file);
}

void glue_say_scores(console_line line, const struct glue_task *task, const json_t *scores)
{
    SCOPED(buf_release) struct buf text = {0};
    char rows[56];
    size_t i;
    const json_t *key;
    add_scores(task, scores, &text);
    line("scores     %s: %s   %s%s", task->name, buf_text(&text),
         format_counted((uint64_t)json_integer_value(json_array_get(json_object_get(scores, "dev"), 0)), "row", rows),
         !json_object_get(scores, SCORES_COMMONEST) ? ""
         : task->labels == 1                        ? "; in brackets: always the same number"
                                                    : "; in brackets: always the commonest label");
    json_array_foreach(json_object_get(scores, "undefined"), i, key)
        line("note       %s has no value here, as one side is always the same: counted as 0", json_string_value(key));
    say_passed_over(line, "train.tsv", json_object_get(scores, "passed_over"));
    json_array_foreach(json_object_get(scores, "dev_passed_over"), i, key)
        say_passed_over(line, task->devs[i].dev, key);
}

/* Writes the fewest digits that give the same number again, as Python does. */
static void add_number(struct buf *out, double value)
{
    char text[40];
    int digits = 1;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (digits++ < 17 && strtod(text, NULL) != value);
    buf_addf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

int glue_write_predictions(const struct glue_task *task, const char *path, const float *logits, size_t count,
                           struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, "index\tprediction\n");
    for (size_t i = 0; i < count; i++) {
        buf_addf(&text, "%zu\t", i);
        if (task->labels == 1)
            buf_addf(&text, "%.3f\n", (double)logits[i]);
        else
            buf_addf(&text, "%s\n", task->label_names[class_of(logits + i * task->labels, task->labels)]);
    }
    return file_write_all(path, text.data, text.size, err);
}

int glue_write_results(const char *path, const json_t *values, struct error *err)
{
    const size_t count = json_object_size(values);
    const char **keys = mem_array(count + 1, sizeof *keys), *key;
    struct buf text = {0};
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)values, key, value) keys[n++] = key;
    qsort(keys, count, sizeof *keys, text_order);
    for (size_t i = 0; i < count; i++) {
        value = json_object_get(values, keys[i]);
        buf_addf(&text, "%s = ", keys[i]);
        if (json_is_integer(value))
            buf_addf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        else
            add_number(&text, json_real_value(value));
        buf_add_byte(&text, '\n');
    }
    const int result = file_write_all(path, text.data, text.size, err);
    buf_release(&text);
    mem_free(keys);
    return result;
}

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, two = *(const double *)b;
    return one < two ? -1 : one > two;
}

json_t *glue_spread(const double *values, size_t count)
{
    double *sorted = mem_array(count, sizeof *sorted), sum = 0, squares = 0;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - sum / (double)count) * (values[i] - sum / (double)count);
    json_t *spread = json_pack("{s:f, s:f, s:f, s:f}", "mean", sum / (double)count, "deviation",
                               count > 1 ? sqrt(squares / (double)(count - 1)) : 0, "median",
                               (sorted[(count - 1) / 2] + sorted[count / 2]) / 2, "best", sorted[count - 1]);
    mem_free(sorted);
    return spread;
}
