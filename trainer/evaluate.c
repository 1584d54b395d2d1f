#include "trainer/evaluate.h"

#include <math.h>

static double mean_of(const struct metric *metric, const struct head_metrics *sums)
{
    const double count = sums->count > 0 ? (double)sums->count : 1;
    return (metric->kind == METRIC_LOSS ? sums->loss : sums->hits) / count;
}

struct evaluation evaluation_of(const struct task *task, const struct model_metrics *sums)
{
    struct evaluation means = {.samples = (uint64_t)sums->sequences, .tokens = (uint64_t)sums->tokens};
    for (size_t i = 0; i < task->metrics.count; i++) {
        const struct metric *metric = &task->metrics.rows[i];
        const bool there = task->heads >> metric->head & 1;
        means.values[i] = there ? mean_of(metric, &sums->heads[metric->head]) : (double)NAN;
        if (there && metric->kind == METRIC_LOSS)
            means.loss += means.values[i];
    }
    return means;
}

int evaluate_means(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err)
{
    struct model_metrics sums = {0};
    const struct micro_batch *micro;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = work->source,
        .count = work->samples < work->source->samples ? work->samples : work->source->samples,
        .batch = (uint32_t)work->limits->sequences,
        .limits = *work->limits,
    });
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0) {
        if (work->halt->asked(work->halt->context)) {
            result = fail(err, ERR_STOPPED, "stopped while evaluating");
            break;
        }
        model_evaluate(work->model, &micro->batch, &sums);
    }
    loader_close(loader);
    *evaluation = evaluation_of(work->task, &sums);
    return result;
}
