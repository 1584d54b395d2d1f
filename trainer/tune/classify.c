/* One fine-tuning on a user's table (class_task.h). Its scores are those of class_scores.h. */
#include <inttypes.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/tune/class_scores.h"
#include "trainer/tune/labelled.h"

#define RARE 5 /* rows of a class */

struct classify {
    struct class_job job;
    bool numbers, several; /* what a label is */
    char separator;        /* of several */
    uint32_t labels;       /* 1: a number */
    float *weights;        /* [labels] of the classes; NULL: none */
    struct labelled train, dev;
};

static struct label_set label_set_of(const struct classify *c)
{
    return (struct label_set){"the table", NULL, c->labels, c->job.names.names, NULL, c->several};
}

static void say_rare(const char *const *names, const uint64_t *counts, size_t count)
{
    size_t rare = 0, first = 0;
    for (size_t i = 0; i < count; i++)
        if (counts[i] < RARE && rare++ == 0)
            first = i;
    if (rare > 0)
        log_warn("%zu of %zu classes have fewer than %d rows to train on: %.60s has %" PRIu64, rare, count, RARE,
                 names[first], counts[first]);
}

/* Whether these are labels that can be learned. */
static int check_names(const struct classify *c, const char *const *names, const uint64_t *counts, size_t count,
                       struct error *err)
{
    const char *path = c->job.train_path;
    size_t once = 0;
    for (size_t i = 0; i < count; i++)
        once += counts[i] == 1;
    if (count <= 1)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                       "has one label only, \"%.60s\": there is nothing to learn", count > 0 ? names[0] : "");
    if (count > 2 && 2 * once > count) {
        fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET,
                "has %zu labels, of which %zu occur once: they are texts or numbers, not classes", count, once);
        return hint(err, "--label names another column; --kind regression learns numbers");
    }
    const size_t most = c->several ? BITS_LABELS : LABELS_MAX;
    if (count > most)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has %zu labels; the most is %zu", count, most);
    return 0;
}

/* --class-weights balanced, as scikit-learn defines it: rows / (classes x rows of the class). */
static void weigh(struct classify *c, const uint64_t *counts)
{
    const double rows = (double)c->train.samples.count;
    c->weights = mem_array(c->job.names.count, sizeof *c->weights);
    for (uint32_t i = 0; i < c->job.names.count; i++)
        c->weights[i] = (float)(rows / (c->job.names.count * (double)counts[i]));
}

static int find_names(struct classify *c, struct error *err)
{
    const char **names;
    uint64_t *counts;
    const size_t count = labelled_names(&c->train, &names, &counts);
    const int result = check_names(c, names, counts, count, err);
    if (result == 0) {
        say_rare(names, counts, count);
        class_names_take(&c->job.names, names, count);
        if (c->job.settings->class_weights)
            weigh(c, counts);
    }
    mem_free(names);
    mem_free(counts);
    return result;
}

static int read_table(const struct classify *c, const char *path, struct labelled *rows, struct labelled *held,
                      struct error *err)
{
    const struct settings *s = c->job.settings;
    const struct labelled_options options = {
        .path = path,
        .columns = {s->text, s->text2, s->label},
        .numbers = c->numbers,
        .several = c->several,
        .quiet = c->train.samples.count > 0, /* said of the first table */
        .text = &c->job.text,
        .length = c->job.length,
    };
    return labelled_read(&options, rows, held, err);
}

static void say_dev(const struct classify *c)
{
    const char *dev = c->job.dev_path ? c->job.dev_path : "the held-out rows";
    char rows[56];
    const uint64_t shared = labelled_shared(&c->dev, &c->train);
    if (c->dev.unknown > 0)
        log_warn("%s of dev with labels that are not in training, such as \"%.60s\": left out of the scores",
                 format_counted(c->dev.unknown, "row", rows), c->dev.first);
    if (shared > 0)
        log_warn("%" PRIu64 " of %zu texts of %s are in the training too: the scores are too good", shared,
                 c->dev.samples.count, dev);
    if (c->train.empty + c->dev.empty > 0)
        log_warn("%s without text", format_counted(c->train.empty + c->dev.empty, "row", rows));
}

static void say_data(const struct classify *c)
{
    SCOPED(buf_release) struct buf names = {0};
    for (uint32_t i = 0; i < c->labels && i < 8 && !c->numbers; i++)
        buf_addf(&names, "%s%.40s", i > 0 ? ", " : "", c->job.names.names[i]);
    if (c->numbers)
        buf_add_text(&names, "numbers");
    if (c->several)
        buf_addf(&names, "%s, any of them, separated by \"%c\"", c->labels > 8 ? ", …" : "", c->separator);
    log_say("labels     %s%s   %zu rows to train on, %zu to score%s", buf_text(&names),
            !c->numbers && !c->several && c->labels > 8 ? ", …" : "", c->train.samples.count, c->dev.samples.count,
            c->job.dev_path ? "" : " (every tenth text, by its hash)");
}

static int split_cells(struct classify *c, struct error *err)
{
    c->separator = labelled_separator(c->job.answers ? &c->dev : &c->train);
    TRY(labelled_split(&c->train, c->separator, c->job.train_path, err));
    return labelled_split(&c->dev, c->separator, (c->job.dev_path ? c->job.dev_path : c->job.train_path), err);
}

static int read_tables(struct classify *c, const struct model_config *config, struct error *err)
{
    if (c->job.answers) {
        c->several = config->several;
        if (c->several && config->labels > BITS_LABELS)
            return fail(err, ERR_MISMATCH, "the model gives a text any of %d labels; scores are for at most %d",
                        (int)config->labels, BITS_LABELS);
        c->numbers = config->labels == 1 && !c->several;
        TRY(read_table(c, c->job.dev_path, &c->dev, NULL, err));
        if (c->several)
            TRY(split_cells(c, err));
        if (!c->numbers)
            class_names_of(&c->job.names, config);
    } else {
        TRY(read_table(c, c->job.train_path, &c->train, c->job.dev_path ? NULL : &c->dev, err));
        if (c->job.dev_path)
            TRY(read_table(c, c->job.dev_path, &c->dev, NULL, err));
        if (c->several)
            TRY(split_cells(c, err));
        if (!c->numbers)
            TRY(find_names(c, err));
    }
    if (c->numbers) {
        c->labels = 1;
        return 0;
    }
    c->labels = c->job.names.count;
    labelled_resolve(&c->train, c->job.names.names, c->labels);
    labelled_resolve(&c->dev, c->job.names.names, c->labels);
    return 0;
}

static int read(struct class_job *job, const struct model_config *config, struct error *err)
{
    struct classify *c = (struct classify *)job;
    c->numbers = job->settings->kind == CLASSIFY_NUMBERS;
    c->several = job->settings->kind == CLASSIFY_SEVERAL;
    TRY(read_tables(c, config, err));
    if (c->train.pairs || c->dev.pairs)
        TRY(class_check_pairs(&job->text, config, err));
    if (c->dev.samples.count == 0)
        return class_nothing(job, "row", err);
    say_dev(c);
    job->dev[0] = &c->dev.samples;
    job->hash = c->numbers ? 0 : hash64(job->names.texts, c->labels * sizeof *job->names.texts);
    if (job->answers)
        return 0;
    say_data(c);
    job->train = &c->train.samples;
    job->labels = label_set_of(c);
    job->weights = c->weights;
    return 0;
}

static void release(struct class_job *job)
{
    struct classify *c = (struct classify *)job;
    labelled_release(&c->train);
    labelled_release(&c->dev);
    mem_free(c->weights);
}

/* Keys of single numbers of the scores of always predicting the commonest label. */
static json_t *commonest_scores(const struct label_set *set, const uint32_t *truth, size_t count)
{
    uint32_t *always = mem_array(count, sizeof *always), most = 0;
    size_t *counts = mem_clear(set->count, sizeof *counts);
    json_t *commonest = json_object();
    for (size_t i = 0; i < count; i++)
        counts[truth[i]]++;
    for (uint32_t i = 1; i < set->count; i++)
        most = counts[i] > counts[most] ? i : most;
    for (size_t i = 0; i < count; i++)
        always[i] = most;
    json_t *scores = class_scores(set, always, truth, count);
    for (const char *const *key = class_score_keys(scores); *key; key++)
        json_object_set(commonest, *key, json_object_get(scores, *key));
    json_decref(scores);
    mem_free(counts);
    mem_free(always);
    return commonest;
}

static void score(const struct class_job *job, int i, const struct class_predictions *p, json_t *scores)
{
    const struct classify *c = (const struct classify *)job;
    const struct label_set set = label_set_of(c);
    json_auto_t *own = class_predictions_scores(&set, p);
    (void)i;
    if (c->job.names.count > 0 && !c->several)
        json_object_set_new(own, SCORES_COMMONEST, commonest_scores(&set, p->truth, p->count));
    json_object_set_new(scores, "dev", json_integer((json_int_t)p->count));
    json_object_set_new(scores, "left_out", json_integer((json_int_t)c->dev.unknown));
    if (job->train)
        json_object_set_new(scores, "train", json_integer((json_int_t)job->train->count));
    json_object_update(scores, own);
}

static const struct class_kind class_kind = {
    .size = sizeof(struct classify),
    .read = read,
    .score = score,
    .release = release,
};

static size_t fits(const json_t *config, const char *data, const char **names)
{
    const char *task = json_string_value(json_object_get(config, "finetuning_task"));
    (void)data;
    names[0] = "classify";
    return task && strcmp(task, names[0]) == 0;
}

const struct tune_kind tune_classify = {
    .verb = "classify",
    .tasks = "classify",
    .head = HEAD_CLASS,
    .seq = GLUE_SEQ,
    .batch = GLUE_BATCH,
    .data = "dev",
    .data_is = "table of texts and labels",
    .data_hint = "--dev FILE is a table like the one that the model was trained on",
    .options = (const char *const[]){"text", "text2", "label", NULL},
    .tuning = CLASS_TUNING,
    .classes = &class_kind,
    .holds_out = true,
    .fits = fits,
    .keys = class_keys,
    .make = class_make,
    .evaluate = class_evaluate,
    .release = class_release,
    .say_scores = class_say_scores,
    .asks = "--train FILE --dev FILE --out DIR",
};
