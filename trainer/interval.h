/* Averages the metrics of several steps over the labels of all of them. Values that are not finite are left out. */
#ifndef TRAINER_INTERVAL_H
#define TRAINER_INTERVAL_H

#include "trainer/metric.h"
#include "trainer/step.h"

struct interval { /* zeroed: no steps */
    double sums[METRICS_MAX], labels[METRICS_MAX];
};

void interval_add(struct interval *interval, const struct metric_table *metrics, const struct step_facts *facts);
/* NAN for a metric without finite values; samples and tokens are 0. */
struct evaluation interval_means(const struct interval *interval, const struct metric_table *metrics);

#endif
