#include "trainer/report/axis.h"

#include <math.h>
#include <stdio.h>

#define LOG_RATIO 4 /* logarithmic from this ratio of the longest run to the shortest */

const char *const axis_names[AXIS_KINDS] = {"tokens", "seconds", "steps"};

double axis_value(const struct history *history, const struct history_line *line, enum axis axis)
{
    return axis == AXIS_STEPS ? (double)line->step : history_value(history, line, axis_names[axis]);
}

bool axis_range(const struct report *report, enum axis axis, struct axis_range *range)
{
    double shortest = (double)INFINITY, first = (double)INFINITY;
    *range = (struct axis_range){.axis = axis};
    for (size_t r = 0; r < report->count; r++) {
        const struct history *h = &report->runs[r].history;
        double high = 0;
        for (size_t i = 0; i < h->count; i++) {
            const double value = axis_value(h, &h->lines[i], axis);
            if (isfinite(value) && value > 0 && value < 1e18) {
                high = fmax(high, value);
                first = fmin(first, value);
            }
        }
        if (h->count > 0 && high == 0 && axis != AXIS_STEPS)
            return false;
        if (high > 0)
            shortest = fmin(shortest, high);
        range->high = fmax(range->high, high);
    }
    range->high = range->high > 0 ? range->high : 1;
    range->is_log = isfinite(shortest) && range->high > LOG_RATIO * shortest && first < shortest;
    range->low = range->is_log ? first : 0;
    return true;
}

double axis_place(const struct axis_range *range, double value)
{
    if (!range->is_log)
        return 1000 * value / range->high;
    return value > range->low ? 1000 * log(value / range->low) / log(range->high / range->low) : 0;
}

char *axis_text(enum axis axis, double value, char out[32])
{
    if (axis == AXIS_SECONDS && value < 60) {
        snprintf(out, 32, "%.3g s", value);
        return out;
    }
    if (axis == AXIS_SECONDS)
        return format_seconds(value, out);
    return axis == AXIS_STEPS ? format_count((uint64_t)value, out) : format_short((uint64_t)value, out);
}

void axis_labels(struct buf *page, const struct axis_range *range)
{
    const double middle = range->is_log ? sqrt(range->low * range->high) : range->high / 2;
    char text[32];
    buf_addf(page, "<div class=\"axis\" aria-hidden=\"true\"><span>%s</span>",
             range->low > 0 ? axis_text(range->axis, range->low, text) : "0");
    buf_addf(page, "<span>%s%s ", range->axis == AXIS_STEPS ? "step" : axis_names[range->axis],
             range->is_log ? ", logarithmic:" : "");
    buf_addf(page, "%s</span>", axis_text(range->axis, middle, text));
    buf_addf(page, "<span>%s</span></div>", axis_text(range->axis, range->high, text));
}
