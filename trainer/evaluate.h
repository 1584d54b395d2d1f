/* Loss and accuracy of a model on the samples of a source. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H

#include "base/error.h"
#include "trainer/data/loader.h"
#include "trainer/model/model.h"
#include "trainer/verdict.h"

struct evaluation {
    uint64_t samples, tokens;
    double loss, mlm_loss, nsp_loss; /* nats, means; nsp NAN without that head */
    double mlm_accuracy, nsp_accuracy;
};

/* The first `samples` samples (at most all). ERR_STOPPED where `halt` said so. */
int evaluate(struct model *model, const struct source *source, uint64_t samples, const struct pack_limits *limits,
             const struct halt *halt, struct evaluation *evaluation, struct error *err);

/* Sums of a step or a split as means. */
struct evaluation evaluation_of(const struct model_metrics *metrics, bool next_sentence);

#endif
