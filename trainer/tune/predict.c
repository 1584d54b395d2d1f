#include "trainer/tune/predict.h"

#include "trainer/model/head.h"

size_t predict_rows(const struct samples *samples)
{
    static const struct task_sample none = {0};
    const struct task_sample *last = samples->count > 0 ? &samples->items[samples->count - 1] : &none;
    switch (head_kinds[samples->head]->reads) {
    case READS_ALL:
        return last->at + last->length;
    case READS_MARKED:
        return last->mark_at + last->marks;
    default:
        return samples->count;
    }
}

/* The first row of the logits of a sample. */
static size_t row_of(const struct samples *samples, size_t i)
{
    const enum head_reads reads = head_kinds[samples->head]->reads;
    return reads == READS_ALL ? samples->items[i].at : reads == READS_MARKED ? samples->items[i].mark_at : i;
}

/* Copies `count` logits of the last pass. */
static void download(const struct ops *ops, void *logits, size_t count, float *out)
{
    const size_t bytes = count * ops->storage_size;
    void *host = ops->map(ops->device, logits, bytes, MAP_READ);
    for (size_t i = 0; i < count; i++)
        out[i] = precision_load(ops->precision, host, i);
    ops->unmap(ops->device, logits, host, bytes, MAP_READ);
}

static int not_finite(const struct evaluation_work *work, size_t from, size_t to, struct error *err)
{
    if (work->weights)
        return fail_at(err, ERR_NUMERIC, work->weights, ERROR_NO_OFFSET,
                       "gives numbers that are not finite, for a sample from number %zu to %zu", from, to);
    return fail(err, ERR_NUMERIC, "the model gives numbers that are not finite, for a sample from number %zu to %zu",
                from, to);
}

/* Logits of samples [from, to), the first of them at out[0]. */
static int pass_all(const struct evaluation_work *work, const struct samples *samples, size_t from,
                    struct loader *loader, float *out, struct model_metrics *sums, struct error *err)
{
    const struct micro_batch *micro;
    const enum head_kind head = samples->head;
    size_t done = from;
    const size_t columns = (size_t)head_labels(head, model_config(work->model));
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0) {
        if (work->halt->asked(work->halt->context))
            return fail(err, ERR_STOPPED, "stopped while predicting");
        if (work->processes)
            rendezvous_progress(work->processes->rendezvous, work->step, "predicting");
        model_evaluate(work->model, &micro->batch, sums);
        const size_t count = columns * (size_t)head_rows(head, &micro->batch).rows.live;
        download(model_ops(work->model), model_logits(work->model, head), count, out);
        for (size_t i = 0; i < count; i++)
            if (!isfinite(out[i]))
                return not_finite(work, done, done + (size_t)micro->batch.sequences - 1, err);
        done += (size_t)micro->batch.sequences;
        out += count;
    }
    return result;
}

static int predict_range(const struct evaluation_work *work, const struct samples *samples, size_t from, size_t to,
                         float *out, struct model_metrics *sums, struct error *err)
{
    const struct samples_reading reading = {.samples = samples};
    const struct source source = samples_source(&reading, samples->longest);
    if (from >= to)
        return 0;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = &source,
        .first = from,
        .count = to - from,
        .batch = (uint32_t)work->limits->sequences,
        .limits = *work->limits,
    });
    const int result = pass_all(work, samples, from, loader, out, sums, err);
    loader_close(loader);
    return result;
}

/* Every process has the logits of its own samples, and zeros elsewhere; a sum with zeros is exact. */
static int gather(struct process_group *processes, float *logits, size_t count, double *loss, struct error *err)
{
    SCOPED(mem_free_at) double *sums = mem_array(count + 1, sizeof *sums);
    for (size_t i = 0; i < count; i++)
        sums[i] = (double)logits[i];
    sums[count] = *loss;
    const int result = process_group_all_reduce(processes, sums, count + 1, err);
    for (size_t i = 0; i < count; i++)
        logits[i] = (float)sums[i];
    *loss = sums[count];
    return result;
}

int predict(const struct evaluation_work *work, const struct samples *samples, float *out, double *loss,
            struct error *err)
{
    struct model_metrics sums = {0};
    const size_t columns = (size_t)head_labels(samples->head, model_config(work->model));
    const size_t rank = work->processes ? work->processes->rank : 0, size = work->processes ? work->processes->size : 1;
    /* Borders are multiples of what the loader takes at once, so samples share micro-batches as in one process. */
    const size_t unit = (size_t)work->limits->sequences, units = (samples->count + unit - 1) / unit;
    const size_t from = units * rank / size * unit, end = units * (rank + 1) / size * unit;
    const size_t to = end < samples->count ? end : samples->count, rows = predict_rows(samples);
    if (size > 1)
        memset(out, 0, rows * columns * sizeof *out);
    float *own = from < to ? out + columns * row_of(samples, from) : out;
    int result = predict_range(work, samples, from, to, own, &sums, err);
    if (size > 1) /* the samples of one process may be the only ones without finite logits */
        result = process_group_barrier(work->processes, result, err);
    double total = sums.heads[samples->head].loss;
    if (result == 0 && size > 1)
        result = gather(work->processes, out, rows * columns, &total, err);
    if (loss)
        *loss = total / (double)samples->count;
    return result;
}
