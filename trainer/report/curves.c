/* Plots with a curve per run, as SVG. Those of several runs are drawn once for each axis; buttons without a script
 * choose which is shown. The drawing stretches with the page; the widths of lines and the size of text do
 * not (strokes are non-scaling, and the ticks' labels are text beside the drawing). */
#include "trainer/report/axis.h"
#include "trainer/report/sections.h"

#include "base/mem.h"
#include "trainer/data/metric.h"

#include <assert.h>
#include <math.h>

#define BINS   300u /* maximum of points per curve; with more lines each point is the mean of several */
#define STARTS 100u /* maximum of marked starts per run */
#define SPIKES 100u

/* One plot: a value over steps. */
struct curve {
    const struct report *report;
    const char *key;      /* of evaluations, and of training if there is no mean */
    const char *mean;     /* of training: the mean since the previous line; NULL: none */
    const char *baseline; /* of evaluations: always guessing the commonest label; NULL: none */
    struct str part;      /* of the loss, as "mlm"; untrusted text */
    const char *title;
    double scale;
    bool from_zero, spikes;
};

struct frame {
    double low, high;
    int ticks; /* intervals between labels */
    struct axis_range x;
};

static const char *key_of(const struct curve *c, const struct history *h, bool valid)
{
    return !valid && c->mean && history_key(h, c->mean) != SIZE_MAX ? c->mean : c->key;
}

/* Widens [low, high] to round numbers, with 2 to 5 intervals of 1, 2 or 5 times a power of ten. */
static void round_frame(struct frame *frame)
{
    const double span = frame->high - frame->low > 0 ? frame->high - frame->low : fabs(frame->high) + 1e-12;
    double step = pow(10, floor(log10(span / 4)));
    while (span / step > 4)
        step *= span / step > 20 ? 5 : span / step > 8 ? 2.5 : 2;
    const double power = pow(10, floor(log10(step))), digit = step / power;
    step = power * (digit <= 1.001 ? 1 : digit <= 2.001 ? 2 : digit <= 5.001 ? 5 : 10);
    frame->low = floor(frame->low / step + 1e-9) * step;
    frame->high = ceil(frame->high / step - 1e-9) * step;
    if (!(frame->high > frame->low))
        frame->high = frame->low + step;
    frame->ticks = (int)lround((frame->high - frame->low) / step);
}

static bool find_frame(const struct curve *c, struct frame *frame)
{
    frame->low = c->from_zero ? 0 : (double)INFINITY;
    frame->high = -(double)INFINITY;
    for (size_t r = 0; r < c->report->count; r++) {
        const struct history *h = &c->report->runs[r].history;
        for (size_t i = 0; i < h->count; i++) {
            const struct history_line *line = &h->lines[i];
            const double value = c->scale * history_value(h, line, key_of(c, h, line->valid));
            const double base = c->baseline ? c->scale * history_value(h, line, c->baseline) : (double)NAN;
            if (isfinite(value)) {
                frame->low = fmin(frame->low, value);
                frame->high = fmax(frame->high, isfinite(base) ? fmax(value, base) : value);
            }
        }
    }
    if (!isfinite(frame->high) || !isfinite(frame->low) || fabs(frame->high) > 1e30 || fabs(frame->low) > 1e30)
        return false;
    round_frame(frame);
    return true;
}

static double y_of(const struct frame *frame, double value)
{
    return 1000 * (frame->high - value) / (frame->high - frame->low);
}

static void put_grid(struct buf *page, const struct frame *frame)
{
    buf_add_text(page, "<path class=\"grid\" d=\"");
    for (int i = 0; i <= frame->ticks; i++)
        buf_addf(page, "M0 %.0fH1000", 1000.0 * i / frame->ticks);
    buf_add_text(page, "\"/>\n");
}

/* Draws the points of one split, at most BINS, as a line, or with `dots` as a path of zero-length strokes. */
static void put_path(struct buf *page, const struct curve *c, const struct frame *frame, size_t run, bool valid,
                     bool dots)
{
    const struct history *h = &c->report->runs[run].history;
    const char *key = key_of(c, h, valid);
    size_t lines = 0;
    for (size_t i = 0; i < h->count; i++)
        lines += h->lines[i].valid == valid;
    /* Each point is the mean of equally many lines: single steps would show noise only. A value that is not finite
     * keeps its place among them but does not count. */
    const size_t each = (lines + BINS - 1) / BINS;
    double sum_x = 0, sum = 0;
    size_t count = 0, seen = 0;
    bool begun = false;
    SCOPED(buf_release) struct buf path = {0};
    for (size_t i = 0; i < h->count; i++) {
        if (h->lines[i].valid != valid)
            continue;
        const double value = c->scale * history_value(h, &h->lines[i], key);
        const double x = axis_value(h, &h->lines[i], frame->x.axis);
        if (isfinite(value) && isfinite(x)) {
            sum_x += x;
            sum += value;
            count++;
        }
        if (++seen % each != 0 && seen != lines)
            continue;
        if (count > 0) {
            buf_addf(&path,
                     dots    ? "M%.1f %.1fh0"
                     : begun ? "L%.1f %.1f"
                             : "M%.1f %.1f",
                     axis_place(&frame->x, sum_x / (double)count), y_of(frame, sum / (double)count));
            begun = true;
        }
        sum_x = sum = 0;
        count = 0;
    }
    assert(seen == lines && count == 0); /* the last point was drawn */
    if (path.size > 0)
        buf_addf(page, "<path class=\"%s r%zu\" d=\"%s\"/>\n",
                 dots    ? "points"
                 : valid ? "valid"
                         : "train",
                 run + 1, buf_text(&path));
}

/* A level line over the whole plot, at the baseline of the last evaluation; they all read the same samples. */
static void put_baseline(struct buf *page, const struct curve *c, const struct frame *frame, size_t run)
{
    const struct history *h = &c->report->runs[run].history;
    const double value = c->baseline ? history_value(h, history_last(h, true), c->baseline) : (double)NAN;
    if (isfinite(value))
        buf_addf(page, "<path class=\"baseline r%zu\" d=\"M0 %.1fH1000\"/>\n", run + 1, y_of(frame, c->scale * value));
}

/* Where the first line of a step or a later one stands. */
static double place_of_step(const struct history *h, uint64_t step, const struct axis_range *x)
{
    size_t i = 0;
    if (x->axis == AXIS_STEPS)
        return axis_place(x, (double)step);
    while (i < h->count && h->lines[i].step < step)
        i++;
    return i < h->count ? axis_place(x, axis_value(h, &h->lines[i], x->axis)) : (double)NAN;
}

static void put_starts(struct buf *page, const struct curve *c, const struct frame *frame, size_t run)
{
    const json_t *starts = json_object_get(c->report->runs[run].record, "starts"), *start;
    size_t i;
    SCOPED(buf_release) struct buf path = {0};
    json_array_foreach(starts, i, start)
    {
        const json_int_t step = json_integer_value(json_object_get(start, "step"));
        const double x = step > 0 ? place_of_step(&c->report->runs[run].history, (uint64_t)step, &frame->x) : 0;
        if (x > 0 && x <= 1000 && i < STARTS)
            buf_addf(&path, "M%.1f 0V1000", x);
    }
    if (path.size > 0)
        buf_addf(page, "<path class=\"start r%zu\" d=\"%s\"/>\n", run + 1, buf_text(&path));
}

static void put_spikes(struct buf *page, const struct curve *c, const struct frame *frame, size_t run)
{
    const struct history *h = &c->report->runs[run].history;
    char step[32];
    for (size_t i = 0, shown = 0; i < h->count && shown < SPIKES; i++) {
        const double value = history_value(h, &h->lines[i], key_of(c, h, false));
        const double x = axis_value(h, &h->lines[i], frame->x.axis);
        if (!h->lines[i].spike || !isfinite(value) || !isfinite(x))
            continue;
        shown++;
        buf_addf(page, "<path class=\"spike\" d=\"M%.1f %.1fh0\"><title>spike at step %s</title></path>\n",
                 axis_place(&frame->x, x), y_of(frame, value), format_count(h->lines[i].step, step));
    }
}

static void put_caption(struct buf *page, const struct curve *c)
{
    const struct history *h = &c->report->runs[0].history;
    char number[32];
    buf_addf(page, "<figure>\n<figcaption><b>%s", c->title);
    if (c->part.size > 0) {
        buf_add_text(page, ", ");
        html_text(page, c->part, HTML_NAME_LETTERS);
    }
    buf_add_text(page, "</b>");
    if (c->report->count == 1)
        for (int valid = 0; valid < 2; valid++) {
            const double last = history_value(h, history_last(h, valid), key_of(c, h, valid));
            if (isfinite(last))
                buf_addf(page, " · %s %s", valid ? "held-out" : "last",
                         section_number(c->scale * last, "%.4g", number));
        }
    const double baseline = c->baseline ? history_value(h, history_last(h, true), c->baseline) : (double)NAN;
    if (c->report->count == 1 && isfinite(baseline))
        buf_addf(page, " · always the commonest %s", section_number(c->scale * baseline, "%.4g", number));
    buf_add_text(page, "</figcaption>\n");
}

/* One drawing of the plot. */
static void put_drawing(struct buf *page, const struct curve *c, const struct frame *frame)
{
    const char *axis = axis_names[frame->x.axis];
    char number[32];
    buf_addf(page, "<div class=\"curve by-%s\"><div class=\"ticks\" aria-hidden=\"true\">", axis);
    for (int i = 0; i <= frame->ticks; i++) {
        const double tick = frame->low + (frame->high - frame->low) * i / frame->ticks;
        buf_addf(page, "<span>%s</span>",
                 section_number(fabs(tick) < 1e-9 * (frame->high - frame->low) ? 0 : tick, "%.4g", number));
    }
    buf_addf(page,
             "</div>\n<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s over "
             "%s; the tables below have figures\">\n",
             c->title, axis);
    put_grid(page, frame);
    for (size_t r = 0; r < c->report->count; r++) {
        put_starts(page, c, frame, r);
        put_baseline(page, c, frame, r);
        put_path(page, c, frame, r, false, false);
        put_path(page, c, frame, r, true, false);
        put_path(page, c, frame, r, true, true);
        if (c->spikes)
            put_spikes(page, c, frame, r);
    }
    buf_add_text(page, "</svg>\n");
    axis_labels(page, &frame->x);
    buf_add_text(page, "</div>\n");
}

static void put_curve(struct buf *page, const struct curve *c)
{
    struct frame frame;
    if (!find_frame(c, &frame))
        return;
    put_caption(page, c);
    for (enum axis axis = c->report->count > 1 ? 0 : AXIS_STEPS; axis < AXIS_KINDS; axis++)
        if (axis_range(c->report, axis, &frame.x))
            put_drawing(page, c, &frame);
    buf_add_text(page, "</figure>\n");
}

static bool has_values(const struct history *h, size_t key)
{
    for (size_t i = 0; i < h->count; i++)
        if (isfinite(h->lines[i].values[key]))
            return true;
    return false;
}

/* Collects the keys of all runs that end in `end` and have values, each once. Returns their number. */
static size_t find_keys(const struct report *report, const char *end, const char *keys[HISTORY_KEYS])
{
    size_t count = 0;
    for (size_t r = 0; r < report->count; r++) {
        const struct history *h = &report->runs[r].history;
        for (size_t k = 0; k < h->key_count; k++) {
            bool known = !str_ends(str_of(h->keys[k]), str_of(end)) || !has_values(h, k);
            for (size_t i = 0; i < count && !known; i++)
                known = strcmp(keys[i], h->keys[k]) == 0;
            if (!known && count < HISTORY_KEYS)
                keys[count++] = h->keys[k];
        }
    }
    return count;
}

/* The key of an accuracy's baseline, written to out; NULL: no run has it. */
static const char *baseline_key(const struct report *report, const char *accuracy, char out[HISTORY_KEY_BYTES + 8])
{
    static const char *const names[] = {BASELINE_COMMONEST, BASELINE_MAJORITY};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(out, HISTORY_KEY_BYTES + 8, "%.30s_%s", accuracy, names[i]);
        for (size_t r = 0; r < report->count; r++)
            if (history_key(&report->runs[r].history, out) != SIZE_MAX)
                return out;
    }
    return NULL;
}

static void put_metrics(struct buf *page, const struct report *report)
{
    const char *keys[HISTORY_KEYS];
    char mean[HISTORY_KEY_BYTES + 8];
    put_curve(page,
              &(struct curve){
                  .report = report, .key = "loss", .mean = "loss_mean", .title = "Loss", .scale = 1, .spikes = true});
    const size_t losses = find_keys(report, "_loss", keys);
    for (size_t i = 0; i < losses && losses > 1; i++) {
        snprintf(mean, sizeof mean, "%s_mean", keys[i]);
        put_curve(page, &(struct curve){.report = report,
                                        .key = keys[i],
                                        .mean = mean,
                                        .title = "Loss",
                                        .scale = 1,
                                        .part = section_part(keys[i], "_loss")});
    }
    const size_t accuracies = find_keys(report, "_accuracy", keys);
    for (size_t i = 0; i < accuracies; i++)
        put_curve(page, &(struct curve){.report = report,
                                        .key = keys[i],
                                        .baseline = baseline_key(report, keys[i], mean),
                                        .title = "Accuracy in %",
                                        .scale = 100,
                                        .from_zero = true,
                                        .part = section_part(keys[i], "_accuracy")});
    put_curve(page,
              &(struct curve){
                  .report = report, .key = "learning_rate", .title = "Learning rate", .scale = 1, .from_zero = true});
    put_curve(page, &(struct curve){.report = report,
                                    .key = "grad_norm",
                                    .title = "Norm of the gradients, before clipping",
                                    .scale = 1,
                                    .from_zero = true});
    put_curve(page, &(struct curve){.report = report,
                                    .key = "sequences_per_second",
                                    .title = "Sequences a second",
                                    .scale = 1,
                                    .from_zero = true});
}

static void put_row(struct buf *page, const struct history_line *line, const size_t *keys, size_t count)
{
    char number[32];
    buf_addf(page, "<tr><th scope=\"row\">%s</th>", format_count(line->step, number));
    for (size_t k = 0; k < count; k++)
        buf_addf(page, "<td class=\"n\">%s</td>", section_number(line->values[keys[k]], "%.4g", number));
    buf_add_text(page, "</tr>\n");
}

static void put_table(struct buf *page, const struct history *h, bool valid)
{
    enum { ROWS = 40 };
    size_t keys[HISTORY_KEYS], count = 0, lines = 0, seen = 0;
    for (size_t k = 0; k < h->key_count; k++)
        if (has_values(h, k) && !str_ends(str_of(h->keys[k]), str_of("_mean")) && count < 10)
            keys[count++] = k;
    for (size_t i = 0; i < h->count; i++)
        lines += h->lines[i].valid == valid;
    if (lines == 0)
        return;
    buf_addf(page, "<div class=\"wide\"><table>\n<caption>%s%s</caption>\n<thead><tr><th scope=\"col\">Step</th>",
             valid ? "Held-out samples" : "Training", lines > ROWS ? ", some of the lines" : "");
    for (size_t k = 0; k < count; k++) {
        buf_add_text(page, "<th scope=\"col\" class=\"n\">");
        html_name(page, h->keys[keys[k]]);
        buf_add_text(page, "</th>");
    }
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
    const size_t each = (lines + ROWS - 1) / ROWS;
    for (size_t i = 0; i < h->count; i++)
        if (h->lines[i].valid == valid && (++seen == lines || seen % each == 0))
            put_row(page, &h->lines[i], keys, count);
    html_table_end(page);
}

/* The text of --shards for dataset d of a mixture; NULL if run.json does not have it. */
static const char *dataset_name(const struct report_run *run, size_t d)
{
    const json_t *shards = json_object_get(json_object_get(run->record, "settings"), "shards");
    return json_string_value(json_array_get(shards, d));
}

/* For a mixture: a table of the first, the least and the last held-out loss of each dataset. */
static void put_datasets(struct buf *page, const struct report_run *run)
{
    static const char *const columns[] = {"Dataset", "#First", "#Least", "#Last", NULL};
    const struct history *h = &run->history;
    char name[HISTORY_KEY_BYTES], number[32];
    size_t key;
    for (size_t d = 0; (key = history_key(h, history_dataset_key(d, name))) != SIZE_MAX; d++) {
        double first = (double)NAN, least = (double)NAN, last = (double)NAN;
        for (size_t i = 0; i < h->count; i++)
            if (isfinite(h->lines[i].values[key])) {
                last = h->lines[i].values[key];
                first = isnan(first) ? last : first;
                least = fmin(least, last);
            }
        if (d == 0)
            html_table(page, "Held-out loss of each dataset", columns);
        buf_addf(page, "<tr><th scope=\"row\">%zu ", d + 1);
        html_name(page, dataset_name(run, d) ? dataset_name(run, d) : "?");
        buf_addf(page, "</th><td class=\"n\">%s</td>", section_number(first, "%.3f", number));
        buf_addf(page, "<td class=\"n\">%s</td>", section_number(least, "%.3f", number));
        buf_addf(page, "<td class=\"n\">%s</td></tr>\n", section_number(last, "%.3f", number));
    }
    if (history_key(h, history_dataset_key(0, name)) != SIZE_MAX)
        html_table_end(page);
}

/* The buttons that choose the axis; the style of the page has the rules. */
static void put_buttons(struct buf *page, const struct report *report)
{
    struct axis_range range;
    bool chosen = false;
    for (enum axis axis = 0; axis < AXIS_KINDS; axis++)
        if (axis_range(report, axis, &range)) {
            const char *name = axis_names[axis];
            buf_addf(page, "<input type=\"radio\" name=\"axis\" id=\"by-%s\"%s/><label for=\"by-%s\">by %s</label>\n",
                     name, chosen ? "" : " checked=\"checked\"", name, name);
            chosen = true;
        }
}

void section_curves(struct buf *page, const struct report *report)
{
    html_section(page, "curves", "Curves");
    buf_add_text(
        page,
        "<p class=\"soft\">Thin lines: training, where it is known the mean since the line before. Thick lines with "
        "dots: held-out samples. Dashes across: always "
        "guessing the commonest label. Dashes upright: the run was started again. Red dots: a loss six deviations "
        "above the 128 "
        "logged before it.</p>\n");
    if (report->count > 1)
        put_buttons(page, report);
    buf_addf(page, "<div class=\"figures %s\">\n", report->count == 1 ? "one" : "several");
    put_metrics(page, report);
    buf_add_text(page, "</div>\n");
    for (size_t r = 0; r < report->count; r++)
        put_datasets(page, &report->runs[r]);
    for (size_t r = 0; r < report->count; r++) {
        buf_add_text(page, "<details><summary>The figures as tables");
        if (report->count > 1) {
            buf_add_text(page, ": ");
            section_run_name(page, report, r);
        }
        buf_add_text(page, "</summary>\n");
        put_table(page, &report->runs[r].history, true);
        put_table(page, &report->runs[r].history, false);
        buf_add_text(page, "</details>\n");
    }
    html_section_end(page);
}
