/* One fine-tuning on a corpus with tags (class_task.h). Its scores are those of span_scores.h. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "trainer/tune/class_scores.h"
#include "trainer/tune/class_task.h"
#include "trainer/tune/corpus.h"
#include "trainer/tune/span_scores.h"

struct tagging {
    struct class_job job;
    struct corpus train, dev;
    uint64_t unknown; /* words of dev whose tag the training lacks */
};

/* The distinct tags of a corpus; the caller mem_free's them. */
static size_t distinct(const struct corpus *corpus, const char ***names)
{
    size_t count = 0;
    *names = mem_array(corpus->words + 1, sizeof **names);
    for (size_t i = 0; i < corpus->words; i++)
        (*names)[i] = corpus_tag(corpus, i);
    qsort(*names, corpus->words, sizeof **names, text_order);
    for (size_t i = 0; i < corpus->words; i++)
        if (count == 0 || strcmp((*names)[i], (*names)[count - 1]) != 0)
            (*names)[count++] = (*names)[i];
    return count;
}

static int check_names(const struct tagging *t, const char *const *names, size_t count, struct error *err)
{
    const char *path = t->job.train_path;
    if (count == 1)
        return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has one tag only, \"%.60s\": there is nothing to learn",
                       names[0]);
    if (count > LABELS_MAX) {
        fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has %zu tags; the most is %d", count, LABELS_MAX);
        return hint(err, "--column names the column of the tags, if it is not the last");
    }
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) >= LABEL_NAME_SIZE)
            return fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "has a tag that is longer than %d bytes: %.70s",
                           LABEL_NAME_SIZE - 1, names[i]);
    return 0;
}

static int find_names(struct tagging *t, struct error *err)
{
    const char **names;
    const size_t count = distinct(&t->train, &names);
    const int result = check_names(t, names, count, err);
    if (result == 0)
        class_names_take(&t->job.names, names, count);
    mem_free(names);
    return result;
}

static void say_data(const struct tagging *t)
{
    SCOPED(buf_release) struct buf names = {0};
    for (uint32_t i = 0; i < t->job.names.count && i < 8; i++)
        buf_addf(&names, "%s%.40s", i > 0 ? ", " : "", t->job.names.names[i]);
    log_say("tags       %s%s   %zu words in %zu sentences to train on, %zu in %zu to score%s", buf_text(&names),
            t->job.names.count > 8 ? ", …" : "", t->train.words, t->train.sentences, t->dev.words, t->dev.sentences,
            t->job.dev_path ? "" : " (every tenth sentence, by its hash)");
    if (!span_tags(t->job.names.names, t->job.names.count))
        log_say("note       the tags mark no spans (as B-PER, I-PER, O do): words are scored, not spans");
}

static void say_odd(const struct tagging *t)
{
    char count[56];
    if (t->unknown > 0)
        log_warn("%s of dev with tags that are not in training: counted as wrong",
                 format_counted(t->unknown, "word", count));
    if (t->train.cut + t->dev.cut > 0)
        log_say("note       %s longer than --seq, cut into windows that overlap by half",
                format_counted(t->train.cut + t->dev.cut, "sentence", count));
}

static int read_files(struct tagging *t, const struct model_config *config, struct error *err)
{
    const struct settings *s = t->job.settings;
    const uint32_t length = t->job.length;
    if (t->job.answers)
        class_names_of(&t->job.names, config);
    else
        TRY(corpus_read(&t->train, t->job.dev_path ? NULL : &t->dev, t->job.train_path, s->column, &t->job.text, length,
                        err));
    if (t->job.dev_path)
        TRY(corpus_read(&t->dev, NULL, t->job.dev_path, s->column, &t->job.text, length, err));
    if (!t->job.answers)
        TRY(find_names(t, err));
    if (t->dev.samples.mark_count == 0)
        return class_nothing(&t->job, "word", err);
    corpus_label(&t->train, t->job.names.names, t->job.names.count);
    t->unknown = corpus_label(&t->dev, t->job.names.names, t->job.names.count);
    return 0;
}

static int read(struct class_job *job, const struct model_config *config, struct error *err)
{
    struct tagging *t = (struct tagging *)job;
    TRY(read_files(t, config, err));
    if (!job->answers)
        say_data(t);
    say_odd(t);
    job->dev[0] = &t->dev.samples;
    job->hash = hash64(job->names.texts, job->names.count * sizeof *job->names.texts);
    if (job->answers)
        return 0;
    job->train = &t->train.samples;
    job->labels = (struct label_set){"the corpus", NULL, job->names.count, job->names.names, NULL, false};
    return 0;
}

static void release(struct class_job *job)
{
    struct tagging *t = (struct tagging *)job;
    corpus_release(&t->train);
    corpus_release(&t->dev);
}

/* The accuracy of giving every word the commonest tag. */
static json_t *score_commonest(const struct tagging *t, const char *const *truth, size_t count)
{
    size_t most = 0;
    for (uint32_t label = 0; label < t->job.names.count; label++) {
        size_t words = 0;
        for (size_t i = 0; i < count; i++)
            words += strcmp(truth[i], t->job.names.texts[label]) == 0;
        most = words > most ? words : most;
    }
    return json_pack("{s:f}", "accuracy", count > 0 ? (double)most / (double)count : 0);
}

/* Predicted and true tags of the words that have a piece, and where their sentences end. */
static json_t *score_words(const struct tagging *t, const float *logits)
{
    const struct corpus *dev = &t->dev;
    const size_t count = dev->samples.mark_count;
    const char **found = mem_array(2 * count, sizeof *found), **truth = found + count;
    size_t *ends = mem_array(dev->sentences, sizeof *ends), at = 0;
    for (size_t s = 0; s < dev->sentences; s++) {
        for (; at < count && dev->word_of[at] < dev->ends[s]; at++) {
            found[at] = t->job.names.texts[class_of(logits + at * t->job.names.count, t->job.names.count)];
            truth[at] = corpus_tag(dev, dev->word_of[at]);
        }
        ends[s] = at;
    }
    const bool spans = span_tags(t->job.names.names, t->job.names.count) && span_tags(truth, count);
    json_t *scores = span_scores(found, truth, count, ends, dev->sentences, spans);
    json_object_set_new(scores, SCORES_COMMONEST, score_commonest(t, truth, count));
    mem_free(found);
    mem_free(ends);
    return scores;
}

static void score(const struct class_job *job, int i, const struct class_predictions *p, json_t *scores)
{
    const struct tagging *t = (const struct tagging *)job;
    json_auto_t *own = score_words(t, p->logits);
    (void)i;
    json_object_set_new(scores, "dev", json_integer((json_int_t)t->dev.words));
    json_object_set_new(scores, "sentences", json_integer((json_int_t)t->dev.sentences));
    json_object_set_new(scores, "unknown", json_integer((json_int_t)t->unknown));
    if (job->train)
        json_object_set_new(scores, "train", json_integer((json_int_t)t->train.words));
    json_object_update(scores, own);
}

static const struct metric token_metrics[] = {
    {"token_loss", "token", METRIC_LOSS, HEAD_TOKEN, NULL},
    {"token_accuracy", "token", METRIC_ACCURACY, HEAD_TOKEN, BASELINE_MAJORITY},
};

static const struct class_kind class_kind = {
    .size = sizeof(struct tagging),
    .metrics = {token_metrics, 2},
    .read = read,
    .score = score,
    .release = release,
};

const struct tune_kind tune_tag = {
    .verb = "tag",
    .tasks = "tag",
    .head = HEAD_TOKEN,
    .seq = GLUE_SEQ,
    .batch = GLUE_BATCH,
    .data = "dev",
    .data_is = "sentences with tags",
    .data_hint = "--dev FILE is a file like the one that the model was trained on",
    .options = (const char *const[]){"column", NULL},
    .tuning = CLASS_TUNING,
    .classes = &class_kind,
    .holds_out = true,
    .keys = class_keys,
    .make = class_make,
    .evaluate = class_evaluate,
    .release = class_release,
    .say_scores = class_say_scores,
    .asks = "--train FILE --dev FILE --out DIR",
};
