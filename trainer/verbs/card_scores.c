#include "trainer/verbs/card_parts.h"

#include "base/log.h"
#include "base/mem.h"
#include "trainer/tune/confidence.h"
#include "trainer/tune/tune_kinds.h"

#define DEPTH       4
#define CLASSES_MAX 100u /* that have a row of their own */
#define CELL_SIZE   64

void card_escaped(struct buf *card, const char *text)
{
    const size_t size = strlen(text) + 1;
    SCOPED(mem_free_at) char *safe = mem_alloc(size);
    for (const char *at = log_safe(text, safe, size); *at; at++) {
        if (strchr("|<>`*_[]\\#&", *at))
            buf_add_byte(card, '\\');
        buf_add_byte(card, *at);
    }
}

void card_table(struct buf *card, const char *title)
{
    buf_addf(card, "\n## %s\n\n| | |\n|---|---|\n", title);
}

void card_row(struct buf *card, const char *key, const char *value)
{
    buf_add_text(card, "| ");
    card_escaped(card, key);
    buf_add_text(card, " | ");
    card_escaped(card, value);
    buf_add_text(card, " |\n");
}

void card_value(struct buf *card, const char *key, const json_t *value)
{
    SCOPED(buf_release) struct buf text = {0};
    if (json_is_string(value))
        buf_add_text(&text, json_string_value(value));
    else if (json_is_real(value))
        buf_addf(&text, "%.6g", json_real_value(value));
    else if (json_is_integer(value))
        buf_addf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        buf_add_text(&text, json_is_true(value) ? "yes" : "no");
    if (text.size > 0)
        card_row(card, key, buf_text(&text));
}

/* Adds a row for each value of an object. Objects in it are followed to `depth`; their keys are joined by blanks:
 * "by_paradigm agreement". */
static void add_object(struct buf *card, const json_t *object, const char *before, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        struct buf name = {0};
        buf_addf(&name, "%s%s", before, key);
        card_value(card, buf_text(&name), value);
        if (json_is_object(value) && depth > 0) {
            buf_add_byte(&name, ' ');
            add_object(card, value, buf_text(&name), depth - 1);
        }
        buf_release(&name);
    }
}

enum form { FORM_SHARE, FORM_PERCENT, FORM_COEFFICIENT, FORM_VALUE };

/* How a score is written, by its name. SQuAD's are in per cent already. */
static enum form form_of(const json_t *scores, const char *key)
{
    static const char *const coefficients[] = {"mcc", "pearson", "spearman", "corr", NULL};
    if (json_object_get(scores, "exact_match"))
        return FORM_PERCENT;
    if (str_starts(str_of(key), STR("rmse")))
        return FORM_VALUE;
    for (const char *const *name = coefficients; *name; name++)
        if (str_starts(str_of(key), str_of(*name)))
            return FORM_COEFFICIENT;
    return FORM_SHARE;
}

static char *score_text(enum form form, double value, char out[CELL_SIZE])
{
    if (form == FORM_VALUE)
        snprintf(out, CELL_SIZE, "%.4g", value);
    else if (form == FORM_COEFFICIENT)
        snprintf(out, CELL_SIZE, "%.3f", value);
    else
        snprintf(out, CELL_SIZE, "%.2f %%", form == FORM_SHARE ? 100 * value : value);
    return out;
}

static char *interval_text(enum form form, struct confidence interval, char out[CELL_SIZE])
{
    if (form == FORM_COEFFICIENT)
        snprintf(out, CELL_SIZE, "%.3f to %.3f", interval.low, interval.high);
    else
        snprintf(out, CELL_SIZE, "%.1f to %.1f %%", 100 * interval.low, 100 * interval.high);
    return out;
}

static double number_in(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The number of samples that a score is of: rows, words or questions; of GLUE's tasks with two sets, those of its set.
 * 0: not known. */
static double samples_of(const json_t *scores, const char *key)
{
    const json_t *dev = json_object_get(scores, "dev");
    if (json_is_array(dev))
        dev = json_array_get(dev, json_array_size(dev) > 1 && str_ends(str_of(key), STR("-mm")) ? 1 : 0);
    const double count = json_number_value(dev ? dev : json_object_get(scores, "total"));
    return count > 0 ? count : 0;
}

/* The interval of F1 where precision, recall and support are known; "" where nothing was right, as they do not say how
 * much was found. */
static char *counted_f1(const json_t *one, char out[CELL_SIZE])
{
    const double truth = number_in(one, "support"), precision = number_in(one, "precision");
    const double right = round(number_in(one, "recall") * truth), found = precision > 0 ? round(right / precision) : 0;
    out[0] = '\0';
    if (right > 0 && found >= right && truth >= right)
        interval_text(FORM_SHARE, confidence_f1(right, found, truth), out);
    return out;
}

/* The counts of a tagging are in its types. */
static char *spans_text(const json_t *scores, char out[CELL_SIZE])
{
    double truth = 0;
    const char *name;
    json_t *type, *all = json_copy((json_t *)scores);
    json_object_foreach(json_object_get(scores, "per_type"), name, type) truth += number_in(type, "support");
    json_object_set_new(all, "support", json_real(truth));
    counted_f1(all, out);
    json_decref(all);
    return out;
}

/* "" where there is no formula, or too little is known. */
static char *interval_of(const json_t *scores, const char *key, double value, char out[CELL_SIZE])
{
    static const char *const shares[] = {"accuracy", "acc", "subset_accuracy", "exact_match", NULL};
    const enum form form = form_of(scores, key);
    const double n = samples_of(scores, key), share = form == FORM_PERCENT ? value / 100 : value;
    const struct str name = str_of(key);
    bool is_share = false;
    out[0] = '\0';
    for (const char *const *at = shares; *at; at++)
        is_share |= strcmp(key, *at) == 0 || (strcmp(*at, "acc") == 0 && str_starts(name, STR("acc-")));
    if (is_share && n > 0 && share >= 0 && share <= 1)
        interval_text(form, confidence_share(share, n), out);
    else if (form == FORM_COEFFICIENT && n > 3 && fabs(value) < 1 &&
             (str_starts(name, STR("pearson")) || str_starts(name, STR("spearman"))))
        interval_text(form, confidence_correlation(value, n, str_starts(name, STR("spearman"))), out);
    else if (strcmp(key, "f1") == 0 && json_object_get(scores, "per_type"))
        spans_text(scores, out);
    return out;
}

/* Losses are in the tables of metrics. With one label for each row micro F1 is the accuracy, with several the subset
 * accuracy is. */
static bool is_elsewhere(const json_t *scores, const char *key)
{
    if (str_starts(str_of(key), STR("loss")) || str_starts(str_of(key), STR("eval_loss")))
        return true;
    if (strcmp(key, "accuracy") == 0 && json_object_get(scores, "subset_accuracy"))
        return true;
    return strcmp(key, "f1_micro") == 0 && json_is_array(json_object_get(scores, "confusion")) &&
           json_object_get(scores, "accuracy");
}

static void add_score(struct buf *card, const json_t *scores, const char *key, double value)
{
    const json_t *commonest = json_object_get(json_object_get(scores, SCORES_COMMONEST), key);
    const json_t *spread = json_object_get(json_object_get(scores, "spread"), key);
    const enum form form = form_of(scores, key);
    char text[CELL_SIZE];
    buf_add_text(card, "| ");
    card_escaped(card, key);
    buf_addf(card, " | %s | ", score_text(form, value, text));
    if (spread)
        buf_addf(card, "± %s", score_text(form, number_in(spread, "deviation"), text));
    else
        buf_add_text(card, interval_of(scores, key, value, text));
    buf_addf(card, " | %s |\n", json_is_number(commonest) ? score_text(form, json_number_value(commonest), text) : "");
}

static void add_classes(struct buf *card, const json_t *classes, const char *noun)
{
    size_t shown = 0;
    const char *name;
    char text[CELL_SIZE];
    json_t *one;
    buf_addf(card, "\n| %s | precision | recall | F1 | 95 %% interval | in the samples |\n|---|--:|--:|--:|---|--:|\n",
             noun);
    json_object_foreach((json_t *)classes, name, one)
    {
        static const char *const keys[] = {"precision", "recall", "f1"};
        if (shown++ == CLASSES_MAX)
            break;
        buf_add_text(card, "| ");
        card_escaped(card, name);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            buf_addf(card, " | %s", score_text(FORM_SHARE, number_in(one, keys[k]), text));
        buf_addf(card, " | %s", counted_f1(one, text));
        buf_addf(card, " | %.0f |\n", number_in(one, "support"));
    }
}

/* What was counted, in the order of the file: "dev 80, train 300, seed 42". */
static void add_counts(struct buf *card, const json_t *scores)
{
    const char *key;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)scores, key, value)
    {
        const json_t *counted = json_is_array(value) ? json_array_get(value, 0) : value;
        if (!json_is_integer(counted) || strcmp(key, "confusion") == 0)
            continue;
        buf_add_text(card, any ? ", " : "\n");
        any = true;
        card_escaped(card, key);
        for (size_t i = 0; i < (json_is_array(value) ? json_array_size(value) : 1); i++)
            buf_addf(card, "%s%" JSON_INTEGER_FORMAT, i > 0 ? " and " : " ",
                     json_integer_value(json_is_array(value) ? json_array_get(value, i) : value));
    }
    if (any)
        buf_add_text(card, ".\n");
}

static void add_task(struct buf *card, const json_t *scores)
{
    const bool spread = json_is_object(json_object_get(scores, "spread"));
    const json_t *classes = json_object_get(scores, "per_class"), *types = json_object_get(scores, "per_type");
    const char *key;
    json_t *value;
    buf_addf(card, "\n| | score | %s | always the commonest label |\n|---|--:|---|--:|\n",
             spread ? "deviation over the seeds" : "95 % interval");
    json_object_foreach((json_t *)scores, key, value) if (json_is_real(value) && !is_elsewhere(scores, key))
        add_score(card, scores, key, json_real_value(value));
    if (json_is_object(classes) && json_object_size(classes) > 0)
        add_classes(card, classes, "label");
    if (json_is_object(types) && json_object_size(types) > 0)
        add_classes(card, types, "type");
    add_counts(card, scores);
}

void card_scores(struct buf *card, const json_t *scores)
{
    const json_t *tasks = json_object_get(scores, "tasks");
    const char *name;
    json_t *task;
    if (json_is_object(tasks)) {
        json_object_foreach((json_t *)tasks, name, task)
        {
            buf_add_text(card, "\n### ");
            card_escaped(card, name);
            buf_add_byte(card, '\n');
            add_task(card, task);
        }
    } else if (json_is_string(json_object_get(scores, "task")) || json_object_get(scores, "exact_match")) {
        add_task(card, scores);
    } else {
        buf_add_text(card, "\n| | |\n|---|---|\n");
        add_object(card, scores, "", DEPTH);
    }
}
