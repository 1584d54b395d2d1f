#include "trainer/evaluate.h"

#include <math.h>

struct evaluation evaluation_of(const struct model_metrics *metrics, bool next_sentence)
{
    const double masked = metrics->masked > 0 ? (double)metrics->masked : 1;
    const double sequences = metrics->sequences > 0 ? (double)metrics->sequences : 1;
    struct evaluation means = {
        .samples = (uint64_t)metrics->sequences,
        .tokens = (uint64_t)metrics->tokens,
        .mlm_loss = metrics->mlm_loss / masked,
        .nsp_loss = (double)NAN,
        .mlm_accuracy = (double)metrics->mlm_correct / masked,
        .nsp_accuracy = (double)NAN,
    };
    means.loss = means.mlm_loss;
    if (next_sentence) {
        means.nsp_loss = metrics->next_loss / sequences;
        means.nsp_accuracy = (double)metrics->next_correct / sequences;
        means.loss += means.nsp_loss;
    }
    return means;
}

int evaluate(struct model *model, const struct source *source, uint64_t samples, const struct pack_limits *limits,
             const struct halt *halt, struct evaluation *evaluation, struct error *err)
{
    struct model_metrics metrics = {0};
    const struct micro_batch *micro;
    struct loader *loader = loader_open(&(struct loader_options){
        .source = source,
        .count = samples < source->samples ? samples : source->samples,
        .batch = (uint32_t)limits->sequences,
        .limits = *limits,
    });
    int result;
    while ((result = loader_next(loader, &micro, err)) > 0) {
        if (halt->asked(halt->context)) {
            result = fail(err, ERR_STOPPED, "stopped while evaluating");
            break;
        }
        model_evaluate(model, &micro->batch, &metrics);
    }
    loader_close(loader);
    *evaluation = evaluation_of(&metrics, model_config(model)->next_sentence);
    return result;
}
