/* Averages the metrics of several steps over the labels of all of them. Values that are not finite are left out. Sums
 * are recorded at a save, so that the first line of metrics after a resume has the mean that it would have had. */
#pragma once

#include "trainer/run/step.h"

struct interval { /* zeroed: no steps */
    double sums[METRICS_MAX], labels[METRICS_MAX];
};

void interval_add(struct interval *interval, const struct metric_table *metrics, const struct step_facts *facts);
/* NAN for a metric without finite values; samples and tokens are 0. */
struct evaluation interval_means(const struct interval *interval, const struct metric_table *metrics);

/* {key: [sum, labels]} of every metric with labels; NULL: there is none. The caller owns it. */
json_t *interval_json(const struct interval *interval, const struct metric_table *metrics);
/* Reads it back. What `json` (from a file; may be NULL) does not hold is left as it is. */
void interval_read(struct interval *interval, const struct metric_table *metrics, const json_t *json);
