#include "trainer/run/health.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/output.h"
#include "trainer/data/metric.h"
#include "trainer/optim/schedule.h"
#include "trainer/run/rerun.h"

/* Margins, in nats and in parts of the loss that is compared with; the larger one counts. They are beyond what healthy
 * runs of a few steps and small batches show: tests/flow/train_health.sh. */
static const struct margin {
    double nats, part;
} above_chance = {0.5, 0.05}, above_beginning = {0.3, 0.05}, above_best = {0.05, 0.02}, memorised = {0.02, 0.01};
#define NOISES       4.0 /* training losses must also differ by this many deviations of their means */
#define WINDOW       5   /* lines that the loss at the beginning and at the end is the mean of, if there are enough */
#define FLAT         0.2 /* the loss has settled if less than this part of its fall is in the second half */
#define FLAT_NOISES  3.0 /* or less than this many deviations of the means */
#define FLAT_UPDATES 100 /* fewer cannot tell */
#define FAR          1.0 /* nats above chance that no healthy run has, even for a time */
/* This far below chance a model knows how frequent pieces are; a healthy run may know nothing else for so long. */
#define PLATEAU       2000
#define CLIPPED       0.95  /* part of the steps */
#define CLIPPED_TIMES 5.0   /* the median norm over the limit, if the loss does not fall */
#define CLIPPED_FAR   100.0 /* if it does */
#define RISES         2     /* evaluations after the best one, each worse than the one before */

/* The lines as series of finite losses. */
struct series {
    double *loss; /* [count] */
    uint64_t *steps;
    size_t count;
};

struct judged {
    const struct history *history;
    const json_t *identity, *settings;
    struct series train, valid;
    double begin, end; /* training loss, over a window of lines */
    double noise;      /* deviation of a line's training loss */
    double chance;     /* loss of guessing every label alike; NAN: not known */
    double most;       /* of the training losses */
    double before;     /* training loss when the held-out loss was least; NAN */
    uint64_t updates;
    size_t best, window; /* the evaluation with the least loss; lines */
    json_t *findings;
};

static double larger(struct margin margin, double loss)
{
    return fmax(margin.nats, margin.part * loss);
}

static double mean_of(const double *values, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += values[i];
    return to > from ? sum / (double)(to - from) : (double)NAN;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count > 0 ? values[count / 2] : (double)NAN;
}

/* The deviation of a value around its neighbours, by the median of their differences, which a jump does not change. */
static double noise_of(const struct series *series)
{
    SCOPED(mem_free_at) double *differences = mem_array(series->count + 1, sizeof *differences);
    for (size_t i = 1; i < series->count; i++)
        differences[i - 1] = fabs(series->loss[i] - series->loss[i - 1]);
    const double median = series->count > 1 ? median_of(differences, series->count - 1) : 0;
    return median / (0.6745 * sqrt(2));
}

static double identity_real(const struct judged *j, const char *key)
{
    return json_number_value(json_object_get(j->identity, key));
}

/* "2.314"; "61,713" for losses that no healthy run has. */
static const char *loss_number(double loss, char out[32])
{
    if (loss >= 1000 && loss < 1e15)
        return format_count((uint64_t)loss, out);
    snprintf(out, 32, loss < 1000 ? "%.3f" : "%.3g", loss);
    return out;
}

static struct series series_of(const struct history *history, bool valid)
{
    struct series series = {
        .loss = mem_array(history->count + 1, sizeof *series.loss),
        .steps = mem_array(history->count + 1, sizeof *series.steps),
    };
    const bool means = !valid && history_key(history, "loss_mean") != SIZE_MAX;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_line *line = &history->lines[i];
        const double loss = history_value(history, line, means ? "loss_mean" : "loss");
        if (line->valid != valid || !isfinite(loss))
            continue;
        series.steps[series.count] = line->step;
        series.loss[series.count++] = loss;
    }
    return series;
}

/* The loss of guessing all pieces, and both orders of the segments, alike; of a task, of its most classes or places.
 * Of a user's table the record does not say how many classes it has. */
static double chance_of(const struct judged *j)
{
    const char *task = json_string_value(json_object_get(j->identity, "task"));
    const double spare = json_number_value(json_object_get(j->identity, "spare_rows"));
    if (!task && !(identity_real(j, "vocabulary") - spare > 1))
        return (double)NAN; /* not a record of ours */
    if (!task)
        return log(identity_real(j, "vocabulary") - spare) +
               (json_is_true(json_object_get(j->identity, "next_sentence")) ? log(2) : 0);
    if (strcmp(task, "classify") == 0)
        return (double)NAN;
    return history_key(j->history, "class_loss") != SIZE_MAX  ? log(3)
           : history_key(j->history, "span_loss") != SIZE_MAX ? log(identity_real(j, "seq"))
                                                              : (double)NAN;
}

static struct judged read_lines(const struct history *history, const json_t *record)
{
    struct judged j = {
        .history = history,
        .identity = json_object_get(record, "identity"),
        .settings = json_object_get(record, "settings"),
        .train = series_of(history, false),
        .valid = series_of(history, true),
        .findings = json_array(),
        .most = -(double)INFINITY,
        .before = (double)NAN,
    };
    const struct series *train = &j.train, *valid = &j.valid;
    j.window = train->count / 4 > WINDOW ? WINDOW : train->count < 4 ? 1 : train->count / 4;
    j.begin = mean_of(train->loss, 0, train->count < j.window ? train->count : j.window);
    j.end = mean_of(train->loss, train->count < j.window ? 0 : train->count - j.window, train->count);
    j.noise = noise_of(train);
    j.chance = chance_of(&j);
    for (size_t i = 0; i < valid->count; i++)
        j.best = valid->loss[i] < valid->loss[j.best] ? i : j.best;
    for (size_t i = 0; i < train->count; i++) {
        j.most = fmax(j.most, train->loss[i]);
        if (valid->count > 0 && train->steps[i] <= valid->steps[j.best])
            j.before = mean_of(train->loss, i + 1 < j.window ? 0 : i + 1 - j.window, i + 1);
    }
    const double skipped = history_value(history, history_last(history, false), "skipped");
    const double steps = train->count > 0 ? (double)train->steps[train->count - 1] : 0;
    j.updates = (uint64_t)fmax(0, steps - (isfinite(skipped) ? skipped : 0) - identity_real(&j, "resumed_step"));
    return j;
}

static __attribute__((format(printf, 3, 4))) void add(struct judged *j, const char *kind, const char *format, ...)
{
    char text[HEALTH_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(j->findings, json_pack("{s:s, s:s}", "kind", kind, "text", text));
}

static bool has(const json_t *findings, const char *kind)
{
    size_t i;
    const json_t *finding;
    json_array_foreach(findings, i,
                       finding) if (strcmp(json_string_value(json_object_get(finding, "kind")), kind) == 0) return true;
    return false;
}

/* Whether the training loss may rise in a healthy run, because more and more tokens are masked. */
static bool is_harder(const struct judged *j)
{
    return identity_real(j, "mask_prob_end") > identity_real(j, "mask_prob");
}

/* Whether the training loss `to`, a mean over a window of lines, is above `from` by the margin and by the noise. */
static bool is_above(const struct judged *j, double to, double from, struct margin margin)
{
    return to - from > fmax(larger(margin, from), NOISES * j->noise * sqrt(2.0 / (double)j->window));
}

/* Whether the last line of a split has a loss that is not finite, as with fp16, which skips such steps. */
static bool ends_infinite(const struct judged *j, bool valid)
{
    const struct history_line *last = history_last(j->history, valid);
    const bool means = !valid && history_key(j->history, "loss_mean") != SIZE_MAX;
    return last && !isfinite(history_value(j->history, last, means ? "loss_mean" : "loss"));
}

static void judge_diverged(struct judged *j)
{
    char end[32];
    loss_number(j->end, end);
    if (ends_infinite(j, false) || ends_infinite(j, true))
        add(j, "diverged", "the loss ends as no finite number; %.0f steps were skipped",
            fmax(0, history_value(j->history, history_last(j->history, false), "skipped")));
    else if (j->end > j->chance + larger(above_chance, j->chance))
        add(j, "diverged", "the training loss ends at %s; guessing every label alike gives %.3f", end, j->chance);
    else if (j->train.count > 1 && !is_harder(j) && is_above(j, j->end, j->begin, above_beginning))
        add(j, "diverged", "the training loss ends at %s, above the %.3f of its beginning", end, j->begin);
}

/* Whether the training loss has settled too high: it fell in the first half of the run only, or not at all. */
static bool is_flat(const struct judged *j)
{
    const struct series *train = &j->train;
    const size_t n = train->count;
    if (n < 4 || j->updates < (j->end < j->chance - FAR ? PLATEAU : FLAT_UPDATES))
        return false;
    const double late = mean_of(train->loss, n / 4, n / 2) - mean_of(train->loss, n - n / 4, n);
    const double fall = mean_of(train->loss, 0, n / 3) - mean_of(train->loss, n - n / 3, n);
    return late < FLAT * (train->loss[0] - j->end) || fall < FLAT_NOISES * j->noise * sqrt(2.0 / (double)(n / 3));
}

/* The first accuracy that has a baseline, both of the last evaluation. Returns the name of the baseline, or NULL. */
static const char *accuracy_of(const struct judged *j, double *accuracy, double *baseline, char name[HISTORY_KEY_BYTES])
{
    static const char *const baselines[] = {BASELINE_COMMONEST, BASELINE_MAJORITY};
    const struct history_line *last = history_last(j->history, true);
    for (size_t k = 0; last && k < j->history->key_count; k++)
        for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++) {
            const struct str key = str_of(j->history->keys[k]), end = str_of(baselines[i]);
            if (!str_ends(key, end) || key.size == end.size || !isfinite(last->values[k]))
                continue;
            snprintf(name, HISTORY_KEY_BYTES, "%.*s", (int)(key.size - end.size - 1), key.data);
            *accuracy = history_value(j->history, last, name);
            *baseline = last->values[k];
            return isfinite(*accuracy) ? baselines[i] : NULL;
        }
    return NULL;
}

static void judge_chance(struct judged *j)
{
    double accuracy, baseline;
    char name[HISTORY_KEY_BYTES];
    const char *what = accuracy_of(j, &accuracy, &baseline, name);
    if (what && accuracy <= baseline && (is_flat(j) || j->most > j->chance + FAR))
        add(j, "worse-than-chance", "held-out accuracy %.1f %% (%s) is not above the %.1f %% of always guessing the %s",
            100 * accuracy, name, 100 * baseline,
            strcmp(what, BASELINE_MAJORITY) == 0 ? "commoner class" : "commonest piece");
}

/* Of a task, a higher loss with a higher accuracy is no loss: the model is only more certain. */
static bool is_more_accurate(const struct judged *j)
{
    double now, ignored;
    char name[HISTORY_KEY_BYTES];
    if (!json_object_get(j->identity, "task") || !accuracy_of(j, &now, &ignored, name))
        return false;
    for (size_t i = 0; i < j->history->count; i++) {
        const struct history_line *line = &j->history->lines[i];
        if (line->valid && line->step == j->valid.steps[j->best])
            return now >= history_value(j->history, line, name);
    }
    return false;
}

static void judge_best(struct judged *j)
{
    const struct series *valid = &j->valid, *train = &j->train;
    char end[32], least[32];
    if (valid->count >= 2) {
        const double last = valid->loss[valid->count - 1], best = valid->loss[j->best];
        if (last > best + larger(above_best, best) && !is_more_accurate(j))
            add(j, "worse-than-best", "the held-out loss ends at %s; its least, %s, was that of step %" PRIu64,
                loss_number(last, end), loss_number(best, least), valid->steps[j->best]);
        return;
    }
    double best = (double)INFINITY;
    uint64_t step = 0;
    for (size_t i = j->window; i <= train->count; i++) {
        const double mean = mean_of(train->loss, i - j->window, i);
        if (mean < best) {
            best = mean;
            step = train->steps[i - 1];
        }
    }
    if (train->count >= 4 && !is_harder(j) && is_above(j, j->end, best, above_beginning))
        add(j, "worse-than-best", "the training loss ends at %s; its least, %s, was that of step %" PRIu64,
            loss_number(j->end, end), loss_number(best, least), step);
}

static void judge_clipped(struct judged *j)
{
    const struct history *h = j->history;
    const double limit = identity_real(j, "gradient_clipping");
    SCOPED(mem_free_at) double *norms = mem_array(h->count + 1, sizeof *norms);
    size_t count = 0, clipped = 0;
    for (size_t i = 0; i < h->count; i++) {
        const double norm = history_value(h, &h->lines[i], "grad_norm");
        if (h->lines[i].valid || !isfinite(norm))
            continue;
        clipped += norm > limit;
        norms[count++] = norm;
    }
    const double times = limit > 0 && count >= 2 ? median_of(norms, count) / limit : 0;
    const bool falls = j->train.count > 1 && j->end < (1 - above_beginning.part) * j->begin;
    if ((double)clipped >= CLIPPED * (double)count && times > (falls ? CLIPPED_FAR : CLIPPED_TIMES))
        add(j, "clipped",
            "%.0f %% of the logged gradients were clipped; their median norm is %.3g times the limit of %g",
            100 * (double)clipped / (double)count, times, limit);
}

static void judge_overfits(struct judged *j)
{
    const struct series *valid = &j->valid;
    if (valid->count < j->best + 1 + RISES || !(j->end < j->before))
        return;
    for (size_t i = j->best + 1; i < valid->count; i++)
        if (valid->loss[i] < valid->loss[i - 1] - memorised.part / 2 * valid->loss[i - 1])
            return;
    const double last = valid->loss[valid->count - 1], best = valid->loss[j->best];
    if (last > best + larger(memorised, best) && !is_more_accurate(j))
        add(j, "overfits",
            "since step %" PRIu64
            " the held-out loss rose from %.3f to %.3f, while the training loss fell from %.3f to "
            "%.3f: the model memorises its samples",
            valid->steps[j->best], best, last, j->before, j->end);
}

static char *other_rate(const struct judged *j, const json_t *record, double factor)
{
    char rate[32];
    const char *schedule = json_string_value(json_object_get(j->identity, "schedule"));
    const struct schedule_type *type = schedule ? schedule_type(schedule) : NULL;
    if (type && type->own_rate)
        return NULL;                                                      /* --lr has no effect */
    snprintf(rate, sizeof rate, "%.1e", factor * identity_real(j, "lr")); /* two digits */
    snprintf(rate, sizeof rate, "%g", strtod(rate, NULL));
    return rerun_command(record, (const struct rerun_option[RERUN_OPTIONS_MAX]){{"lr", rate}});
}

/* No better than chance: a rate that was far too high, far too low, or steps that did not suffice. */
static char *other_work(const struct judged *j, const json_t *record)
{
    char steps[32];
    if (j->most > j->chance + FAR)
        return other_rate(j, record, 0.1);
    if (j->end > (1 - above_beginning.part) * j->train.loss[0])
        return other_rate(j, record, 10);
    snprintf(steps, sizeof steps, "%.0f", 10 * identity_real(j, "steps"));
    return rerun_command(record, (const struct rerun_option[RERUN_OPTIONS_MAX]){{"steps", steps}});
}

static bool keeps_best(const struct judged *j)
{
    const char *kept = json_string_value(json_object_get(j->settings, "keep-best"));
    return kept && strcmp(kept, "true") == 0;
}

/* Whether an older checkpoint is kept that is of use. */
static bool has_better(const struct judged *j)
{
    const struct series *valid = &j->valid;
    return keeps_best(j) && valid->count > 0 && j->best + 1 < valid->count &&
           !(valid->loss[j->best] > j->chance + larger(above_chance, j->chance));
}

/* The same run, with its best checkpoint kept. */
static char *keep_best(const struct judged *j, const json_t *record, bool stops)
{
    char every[32];
    const char *given = json_string_value(json_object_get(j->settings, "eval-every"));
    snprintf(every, sizeof every, "%.0f", fmax(1, identity_real(j, "steps") / 20));
    if (given && strtoull(given, NULL, 10) > 0)
        snprintf(every, sizeof every, "%.20s", given);
    return rerun_command(record, (const struct rerun_option[RERUN_OPTIONS_MAX]){
                                     {"keep-best", NULL}, {"eval-every", every}, {stops ? "patience" : NULL, "3"}});
}

static char *command_of_findings(const struct judged *j, const json_t *record)
{
    if (has_better(j))
        return NULL;
    if (has(j->findings, "diverged") || has(j->findings, "clipped"))
        return other_rate(j, record, 0.1);
    if (has(j->findings, "worse-than-chance"))
        return other_work(j, record);
    if (has(j->findings, "overfits"))
        return keep_best(j, record, true);
    if (has(j->findings, "worse-than-best"))
        return j->valid.count >= 2 ? keep_best(j, record, false) : other_rate(j, record, 0.3);
    return NULL;
}

struct health health_of(const struct history *history, const json_t *record)
{
    struct judged j = read_lines(history, record);
    if (history_last(history, false))
        judge_diverged(&j);
    if (j.train.count > 0) {
        judge_chance(&j);
        judge_best(&j);
        judge_clipped(&j);
        judge_overfits(&j);
    }
    const struct health health = {.findings = j.findings, .command = command_of_findings(&j, record)};
    mem_free(j.train.loss);
    mem_free(j.train.steps);
    mem_free(j.valid.loss);
    mem_free(j.valid.steps);
    return health;
}

struct health health_read(const char *directory, const json_t *record)
{
    struct history history;
    struct error ignored = {0};
    if (history_read(&history, directory, &ignored) < 0)
        return (struct health){.findings = json_array()};
    const struct health health = health_of(&history, record);
    history_release(&history);
    return health;
}

void health_release(struct health *health)
{
    json_decref(health->findings);
    mem_free(health->command);
    *health = (struct health){0};
}
