/* Several runs beside each other: where they are, and their held-out losses where they had read as much, and where they
 * had trained as long. */
#include "base/mem.h"
#include "trainer/report/axis.h"
#include "trainer/report/sections.h"
#include "trainer/run/run.h"

static void put_run_cell(struct buf *page, const struct report *report, size_t run)
{
    buf_add_text(page, "<tr><th scope=\"row\">");
    section_run_name(page, report, run);
    buf_add_text(page, "</th>");
}

static void put_cell(struct buf *page, const char *text)
{
    buf_addf(page, "<td class=\"n\">%s</td>", text);
}

static void put_state(struct buf *page, const struct report *report)
{
    static const char *const columns[] = {
        "Run", "#Steps", "#Tokens", "#Training loss", "#Held-out loss", "#Accuracy", "#Time", "#Samples/s", NULL};
    char number[32];
    html_table(page, "Where the runs are; accuracy on held-out samples", columns);
    for (size_t r = 0; r < report->count; r++) {
        const struct report_run *run = &report->runs[r];
        const struct history *h = &run->history;
        const struct history_line *train = history_last(h, false), *valid = history_last(h, true);
        const double tokens = history_value(h, train, "tokens"), seconds = history_value(h, train, "seconds");
        put_run_cell(page, report, r);
        buf_addf(page, "<td class=\"n\">%s", format_count(section_last_step(run), number));
        buf_addf(page, " of %s</td>", format_count(section_steps(run), number));
        put_cell(page, tokens >= 0 && tokens < 1e18 ? format_short((uint64_t)tokens, number) : "–");
        put_cell(page, section_number(history_value(h, train, "loss"), "%.3f", number));
        put_cell(page, section_number(history_value(h, valid, "loss"), "%.3f", number));
        put_cell(page, section_number(section_accuracy(h, true), "%.1f\u00A0%%", number));
        put_cell(page, isfinite(seconds) ? format_seconds(seconds, number) : "–");
        put_cell(page, section_number(section_speed(run), "%.4g", number));
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

/* The least of the runs' last evaluations on an axis: all have come as far. NAN: one has none. */
static double common_end(const struct report *report, enum axis axis)
{
    double end = (double)INFINITY;
    for (size_t r = 0; r < report->count; r++) {
        const struct history *h = &report->runs[r].history;
        const struct history_line *last = history_last(h, true);
        const double at = last ? axis_value(h, last, axis) : (double)NAN;
        if (!(at < 1e18))
            return (double)NAN;
        end = fmin(end, at);
    }
    return end;
}

/* The held-out loss at a place, on the line between the evaluations around it; NAN: it is before the first one. */
static double loss_at(const struct history *h, enum axis axis, double at)
{
    double before = (double)NAN, loss_before = (double)NAN;
    for (size_t i = 0; i < h->count; i++) {
        const double x = axis_value(h, &h->lines[i], axis), loss = history_value(h, &h->lines[i], "loss");
        if (!h->lines[i].valid || !isfinite(x) || !isfinite(loss))
            continue;
        if (x >= at)
            return x > at ? loss_before + (loss - loss_before) * (at - before) / (x - before) : loss;
        before = x;
        loss_before = loss;
    }
    return (double)NAN;
}

static void put_equal(struct buf *page, const struct report *report)
{
    double ends[AXIS_KINDS];
    char number[32];
    bool any = false;
    for (enum axis axis = 0; axis < AXIS_STEPS; axis++) {
        ends[axis] = common_end(report, axis);
        any |= isfinite(ends[axis]);
    }
    if (!any)
        return;
    buf_add_text(page, "<div class=\"wide\"><table>\n<caption>Held-out loss where every run had come as far, between "
                       "evaluations on a straight line</caption>\n<thead><tr><th scope=\"col\">Run</th>");
    for (enum axis axis = 0; axis < AXIS_STEPS; axis++)
        if (isfinite(ends[axis]))
            buf_addf(page, "<th scope=\"col\" class=\"n\">after %s%s</th>", axis_text(axis, ends[axis], number),
                     axis == AXIS_TOKENS ? " tokens" : " of training");
    buf_add_text(page, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < report->count; r++) {
        put_run_cell(page, report, r);
        for (enum axis axis = 0; axis < AXIS_STEPS; axis++)
            if (isfinite(ends[axis]))
                put_cell(page, section_number(loss_at(&report->runs[r].history, axis, ends[axis]), "%.3f", number));
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

/* Losses on other samples, or over another vocabulary, do not tell which run is better. */
static void put_warning(struct buf *page, const struct report *report)
{
    static const char *const keys[] = {"task", "dataset", "mixture", "seq", "vocabulary"};
    SCOPED(buf_release) struct buf differs = {0};
    json_t *identities[REPORT_RUNS_MAX];
    for (size_t r = 0; r < report->count; r++)
        identities[r] = json_object_get(report->runs[r].record, "identity");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!run_same_member(identities, report->count, keys[k]))
            buf_addf(&differs, "%s%s", differs.size > 0 ? ", " : "", keys[k]);
    if (differs.size > 0)
        buf_addf(
            page,
            "<p class=\"finding\">The runs are evaluated on different samples (%s): their losses and accuracies do "
            "not tell which is better.</p>\n",
            buf_text(&differs));
}

void section_comparison(struct buf *page, const struct report *report)
{
    put_state(page, report);
    put_equal(page, report);
    put_warning(page, report);
}
