/* What runs are laid over each other by: their steps, the tokens that they have read, their seconds of training. */
#pragma once

#include "trainer/report/run_report.h"

enum axis { AXIS_TOKENS, AXIS_SECONDS, AXIS_STEPS, AXIS_KINDS };
extern const char *const axis_names[AXIS_KINDS]; /* "tokens"; also in ids and classes of the page */

struct axis_range {
    enum axis axis;
    double low, high;
    bool is_log; /* the runs' lengths differ so much that the shortest would be a dot */
};

/* Where a line stands on the axis; NAN: unknown. */
double axis_value(const struct history *history, const struct history_line *line, enum axis axis);
/* The range of all runs. Returns false if a run has lines, but none with a place on this axis. */
bool axis_range(const struct report *report, enum axis axis, struct axis_range *range);
/* The place in a drawing that is 1,000 wide. */
double axis_place(const struct axis_range *range, double value);
/* "3.2 M" tokens; "7.51 s", "1:17" */
char *axis_text(enum axis axis, double value, char out[32]);
/* Appends the labels below a plot. */
void axis_labels(struct buf *page, const struct axis_range *range);
