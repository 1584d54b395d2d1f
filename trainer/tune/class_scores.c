#include "trainer/tune/class_scores.h"

#include "trainer/tune/scores.h"

#define CLASSES_SHOWN 20
#define CONFUSION_MAX 1024

json_t *class_counts_json(const struct class_counts *c)
{
    return json_pack("{s:f, s:f, s:f, s:I}", "precision", score_ratio(c->right, c->found), "recall",
                     score_ratio(c->right, c->truth), "f1", score_ratio(2 * c->right, c->found + c->truth), "support",
                     (json_int_t)c->truth);
}

static json_t *confusion_json(const uint32_t *found, const uint32_t *truth, size_t count, uint32_t labels)
{
    SCOPED(mem_free_at) uint64_t *cells = mem_clear((size_t)labels * labels, sizeof *cells);
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++)
        cells[(size_t)truth[i] * labels + found[i]]++;
    for (uint32_t i = 0; i < labels; i++) {
        json_t *row = json_array();
        for (uint32_t k = 0; k < labels; k++)
            json_array_append_new(row, json_integer((json_int_t)cells[(size_t)i * labels + k]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static void add_means(const struct class_counts *classes, uint32_t labels, size_t count, json_t *scores)
{
    double right = 0, sum = 0, weighted = 0, there = 0;
    for (uint32_t i = 0; i < labels; i++) {
        const double f1 = score_ratio(2 * classes[i].right, classes[i].found + classes[i].truth);
        right += classes[i].right;
        sum += f1;
        weighted += f1 * classes[i].truth;
        there += classes[i].found + classes[i].truth > 0;
    }
    const double all = (double)count;
    json_auto_t *means =
        json_pack("{s:f, s:f, s:f, s:f}", "accuracy", score_ratio(right, all), "f1_macro", score_ratio(sum, there),
                  "f1_micro", score_ratio(right, all), "f1_weighted", score_ratio(weighted, all));
    json_object_update(scores, means);
}

json_t *class_scores(const struct label_set *set, const uint32_t *found, const uint32_t *truth, size_t count)
{
    SCOPED(mem_free_at) struct class_counts *classes = mem_clear(set->count, sizeof *classes);
    json_t *scores = json_object(), *each = json_object(), *names = json_array();
    for (size_t i = 0; i < count; i++) {
        classes[truth[i]].truth++;
        classes[found[i]].found++;
        classes[truth[i]].right += found[i] == truth[i];
    }
    add_means(classes, set->count, count, scores);
    for (uint32_t i = 0; i < set->count; i++) {
        json_object_set_new(each, set->names[i], class_counts_json(&classes[i]));
        json_array_append_new(names, json_string(set->names[i]));
    }
    json_object_set_new(scores, "per_class", each);
    json_object_set_new(scores, "labels", names);
    if (set->count <= CONFUSION_MAX)
        json_object_set_new(scores, "confusion", confusion_json(found, truth, count, set->count));
    return scores;
}

json_t *class_several_scores(const struct label_set *set, const uint32_t *found, const uint32_t *truth, size_t count)
{
    struct class_counts *classes = mem_clear(set->count, sizeof *classes), all = {0};
    double whole = 0, samples = 0, macro = 0, weighted = 0;
    json_t *each = json_object(), *names = json_array();
    for (size_t i = 0; i < count; i++) {
        const uint32_t both = found[i] & truth[i];
        whole += found[i] == truth[i];
        samples +=
            score_ratio(2.0 * __builtin_popcount(both), __builtin_popcount(found[i]) + __builtin_popcount(truth[i]));
        for (uint32_t k = 0; k < set->count; k++) {
            classes[k].truth += truth[i] >> k & 1;
            classes[k].found += found[i] >> k & 1;
            classes[k].right += both >> k & 1;
        }
    }
    for (uint32_t k = 0; k < set->count; k++) {
        const struct class_counts *c = &classes[k];
        const double f1 = score_ratio(2 * c->right, c->found + c->truth);
        macro += f1 / set->count;
        weighted += f1 * c->truth;
        all = (struct class_counts){all.right + c->right, all.found + c->found, all.truth + c->truth};
        json_object_set_new(each, set->names[k], class_counts_json(c));
        json_array_append_new(names, json_string(set->names[k]));
    }
    mem_free(classes);
    whole = score_ratio(whole, (double)count);
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "accuracy", whole, "subset_accuracy", whole,
                     "f1_samples", score_ratio(samples, (double)count), "f1_macro", macro, "f1_micro",
                     score_ratio(2 * all.right, all.found + all.truth), "f1_weighted", score_ratio(weighted, all.truth),
                     "per_class", each, "labels", names);
}

json_t *class_number_scores(const double *found, const double *truth, size_t count)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (found[i] - truth[i]) * (found[i] - truth[i]);
    return json_pack("{s:f, s:f, s:f}", "pearson", score_pearson(found, truth, count).value, "spearman",
                     score_spearman(found, truth, count).value, "rmse", sqrt(score_ratio(squares, (double)count)));
}

const char *const *class_score_keys(const json_t *scores)
{
    static const struct {
        const char *tells; /* a key that only scores of this kind have */
        const char *keys[6];
    } kinds[] = {
        {"rmse", {"pearson", "spearman", "rmse"}},
        {"subset_accuracy", {"subset_accuracy", "f1_samples", "f1_macro", "f1_micro", "f1_weighted"}},
        {"f1_macro", {"accuracy", "f1_macro", "f1_micro", "f1_weighted"}},
        {"f1", {"accuracy", "precision", "recall", "f1"}},
        {"accuracy", {"accuracy"}}, /* of words whose tags mark no spans */
    };
    size_t i = 0;
    while (i + 1 < sizeof kinds / sizeof *kinds && !json_object_get(scores, kinds[i].tells))
        i++;
    return kinds[i].keys;
}

size_t class_keys(const char *task, const json_t *scores, char out[TUNE_KEYS_MAX][TUNE_KEY_SIZE])
{
    size_t count = 0;
    (void)task;
    for (const char *const *key = class_score_keys(scores); *key; key++)
        snprintf(out[count++], TUNE_KEY_SIZE, "%s", *key);
    return count;
}

static void say_classes(console_line line, const json_t *each)
{
    const char *name;
    json_t *class;
    if (json_object_size(each) > CLASSES_SHOWN)
        return;
    json_object_foreach((json_t *)each, name, class) line(
        "           precision %.3f, recall %.3f, F1 %.3f of %" JSON_INTEGER_FORMAT "   %s",
        json_number_value(json_object_get(class, "precision")), json_number_value(json_object_get(class, "recall")),
        json_number_value(json_object_get(class, "f1")), json_integer_value(json_object_get(class, "support")), name);
}

void class_say_scores(console_line line, const char *task, const json_t *scores)
{
    const bool words = json_object_get(scores, "sentences");
    SCOPED(buf_release) struct buf text = {0};
    char rows[56];
    const json_t *commonest = json_object_get(scores, SCORES_COMMONEST);
    (void)task;
    for (const char *const *key = class_score_keys(scores); *key; key++) {
        buf_addf(&text, "%s%s %.4f", text.size > 0 ? ", " : "", *key, json_number_value(json_object_get(scores, *key)));
        if (json_object_get(commonest, *key))
            buf_addf(&text, " (%.4f)", json_number_value(json_object_get(commonest, *key)));
    }
    line("scores     %s   %s%s", buf_text(&text),
         format_counted((uint64_t)json_integer_value(json_object_get(scores, "dev")), words ? "word" : "row", rows),
         commonest ? "; in brackets: always the commonest label" : "");
    say_classes(line, json_object_get(scores, words ? "per_type" : "per_class"));
}
