#include "trainer/tune/class_task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trainer/model/label_names.h"
#include "trainer/task/evaluate.h"

static const struct metric class_metrics[] = {
    {"class_loss", "class", METRIC_LOSS, HEAD_CLASS, NULL},
    {"class_accuracy", "class", METRIC_ACCURACY, HEAD_CLASS, BASELINE_MAJORITY},
};
static const struct metric several_metrics[] = {
    {"class_loss", "class", METRIC_LOSS, HEAD_CLASS, NULL},
    {"class_accuracy", "class", METRIC_ACCURACY, HEAD_CLASS, NULL}, /* all labels of a text are right */
};
static const struct metric number_metrics[] = {
    {"squared_error", "squared error", METRIC_LOSS, HEAD_CLASS, NULL},
};

int class_check_pairs(const struct model_config *config, struct error *err)
{
    return model_takes_pairs(config) ? 0 : fail(err, ERR_MISMATCH, "the model knows one segment, the samples have two");
}

int class_open(const struct settings *settings, const struct origin *origin, struct model_config *config,
               struct text *text, struct error *err)
{
    if (settings->seq > (uint64_t)config->positions) {
        fail(err, ERR_MISMATCH, "--seq %" PRIu64 " is above the model's %" PRId32 " positions", settings->seq,
             config->positions);
        return hint(err, "--seq %" PRId32 " is the most", config->positions);
    }
    return text_open(text, origin->files, config, err);
}

static void put_head(enum head_kind head, const struct label_set *set, const char *tuned_for,
                     struct model_config *config)
{
    config->task_heads = 1u << head;
    config->labels = (int32_t)set->count;
    config->several = set->several;
    config->label_names = set->count > 1 ? label_names(set->names, set->count) : NULL;
    snprintf(config->tuned_for, sizeof config->tuned_for, "%s", tuned_for);
}

int class_head(enum head_kind head, const struct label_set *set, const char *tuned_for, const struct origin *origin,
               struct model_config *config, struct head_choice *choice, struct error *err)
{
    json_t *json = NULL;
    put_head(head, set, tuned_for, config);
    TRY(labels_read(origin->files, &json, err));
    labels_choose(json, head, json_string_value(json_object_get(origin->identity, "task")), set, choice);
    json_decref(json);
    return 0;
}

struct task class_task(struct class_sources *sources, uint32_t length, const struct recipe *recipe,
                       int (*finish)(const struct evaluation_work *work, const char *directory, struct error *err),
                       const void *context)
{
    sources->run = (struct samples_reading){sources->train, recipe->shuffled, recipe->seed};
    sources->split_train = (struct samples_reading){.samples = sources->train};
    sources->split_valid = (struct samples_reading){.samples = sources->valid};
    const struct model_config *config = &recipe->config;
    struct task task = {
        .heads = recipe->config.task_heads,
        .metrics = config->several       ? (struct metric_table){several_metrics, 2}
                   : config->labels == 1 ? (struct metric_table){number_metrics, 1}
                                         : (struct metric_table){class_metrics, 2},
        .samples = samples_source(&sources->run, length),
        .splits = {[SPLIT_TRAIN] = samples_source(&sources->split_train, length)},
        .evaluate = evaluate_means,
        .finish = finish,
        .context = context,
    };
    task.splits[SPLIT_VALID] = samples_source(&sources->split_valid, length);
    return task;
}

void class_cut(struct class_cutter *c, struct str a, const struct str *b, uint32_t label, struct samples *samples)
{
    struct task_sample sample = {.label = label};
    c->a.count = c->b.count = 0;
    tokenizer_ids(c->text->state, a, &c->a);
    if (b)
        tokenizer_ids(c->text->state, *b, &c->b);
    sample.a_length =
        features_pair(&c->a, b ? &c->b : NULL, c->text->vocab->cls, c->text->vocab->sep, c->length, &c->pieces);
    sample.length = (uint32_t)c->pieces.count;
    samples_add(samples, c->pieces.data, sample);
}

void class_cutter_release(struct class_cutter *c)
{
    ids_release(&c->a);
    ids_release(&c->b);
    ids_release(&c->pieces);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void class_names_take(struct class_names *names, const char *const *columns, size_t count)
{
    *names = (struct class_names){
        .names = mem_array(count, sizeof *names->names),
        .texts = mem_clear(count, sizeof *names->texts),
        .rank = mem_array(count, sizeof *names->rank),
        .count = (uint32_t)count,
    };
    for (size_t i = 0; i < count; i++) {
        snprintf(names->texts[i], LABEL_NAME_SIZE, "%s", columns[i]);
        names->names[i] = names->texts[i];
    }
    qsort(names->names, count, sizeof *names->names, by_text);
    for (size_t i = 0; i < count; i++)
        names->rank[(size_t)(names->names[i] - names->texts[0]) / LABEL_NAME_SIZE] = (uint32_t)i;
}

void class_names_of(struct class_names *names, const struct model_config *config)
{
    const size_t count = (size_t)config->labels;
    char(*texts)[LABEL_NAME_SIZE] = mem_clear(count, sizeof *texts);
    const char **columns = mem_array(count, sizeof *columns);
    for (size_t i = 0; i < count; i++)
        columns[i] = label_name(config, (int32_t)i, texts[i]);
    class_names_take(names, columns, count);
    mem_free(columns);
    mem_free(texts);
}

void class_names_release(struct class_names *names)
{
    mem_free(names->names);
    mem_free(names->texts);
    mem_free(names->rank);
    *names = (struct class_names){0};
}

uint32_t class_bits(const float *logits, const struct class_names *names)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < names->count && i < BITS_LABELS; i++)
        bits |= (uint32_t)(logits[i] > 0) << names->rank[i];
    return bits;
}

uint32_t class_of(const float *logits, uint32_t labels)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < labels; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}
