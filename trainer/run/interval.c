#include "trainer/run/interval.h"

void interval_add(struct interval *interval, const struct metric_table *metrics, const struct step_facts *facts)
{
    for (size_t i = 0; i < metrics->count; i++) {
        const double labels = (double)facts->counts[metrics->rows[i].head], value = facts->means.values[i];
        if (!isfinite(value))
            continue;
        interval->sums[i] += value * labels;
        interval->labels[i] += labels;
    }
}

struct evaluation interval_means(const struct interval *interval, const struct metric_table *metrics)
{
    struct evaluation means = {0};
    bool any = false;
    for (size_t i = 0; i < metrics->count; i++) {
        means.values[i] = interval->labels[i] > 0 ? interval->sums[i] / interval->labels[i] : (double)NAN;
        if (metrics->rows[i].kind != METRIC_LOSS || isnan(means.values[i]))
            continue;
        means.loss += means.values[i];
        any = true;
    }
    if (!any)
        means.loss = (double)NAN;
    return means;
}

json_t *interval_json(const struct interval *interval, const struct metric_table *metrics)
{
    json_t *json = NULL;
    for (size_t i = 0; i < metrics->count; i++) {
        if (interval->labels[i] <= 0)
            continue;
        if (!json)
            json = json_object();
        json_object_set_new(json, metrics->rows[i].key, json_pack("[f, f]", interval->sums[i], interval->labels[i]));
    }
    return json;
}

void interval_read(struct interval *interval, const struct metric_table *metrics, const json_t *json)
{
    for (size_t i = 0; i < metrics->count; i++) {
        const json_t *pair = json_object_get(json, metrics->rows[i].key);
        const double labels = json_number_value(json_array_get(pair, 1));
        if (labels <= 0)
            continue;
        interval->sums[i] = json_number_value(json_array_get(pair, 0));
        interval->labels[i] = labels;
    }
}
