/* In: samples. Out: logits, from evaluation passes, copied to the host. */
#include "trainer/tune/predict.h"

#include <math.h>

#include "trainer/model/head.h"

int32_t predict_columns(const struct model_config *config, enum head_kind head)
{
    return head == HEAD_SPAN ? 2 : config->labels;
}

size_t predict_rows(const struct samples *samples)
{
    return head_kinds[samples->head].reads == READS_ALL ? samples->id_count : samples->count;
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

static int pass_all(const struct evaluation_work *work, const struct samples *samples, struct loader *loader,
                    float *out, struct model_metrics *sums, struct error *err)
{
    const struct micro_batch *micro;
    const enum head_kind head = samples->head;
    size_t done = 0;
    const size_t columns = (size_t)predict_columns(model_config(work->model), head);
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0) {
        if (work->halt->asked(work->halt->context))
            return fail(err, ERR_STOPPED, "stopped while predicting");
        model_evaluate(work->model, &micro->batch, sums);
        const size_t count = columns * (size_t)head_rows(head, &micro->batch).rows.live;
        download(model_ops(work->model), model_logits(work->model, head), count, out);
        for (size_t i = 0; i < count; i++)
            if (!isfinite(out[i]))
                return fail(err, ERR_NUMERIC,
                            "the model gives numbers that are not finite, for a sample from number %zu to %zu", done,
                            done + (size_t)micro->batch.sequences - 1);
        done += (size_t)micro->batch.sequences;
        out += count;
    }
    return result;
}

int predict(const struct evaluation_work *work, const struct samples *samples, float *out, double *loss,
            struct error *err)
{
    struct model_metrics sums = {0};
    const struct samples_reading reading = {.samples = samples};
    const struct source source = samples_source(&reading, samples->longest);
    struct loader *loader = loader_open(&(struct loader_options){
        .source = &source,
        .count = samples->count,
        .batch = (uint32_t)work->limits->sequences,
        .limits = *work->limits,
    });
    const int result = pass_all(work, samples, loader, out, &sums, err);
    loader_close(loader);
    if (loss)
        *loss = sums.heads[samples->head].loss / (double)samples->count;
    return result;
}
