/* Sums of a model's heads as means, of a step or of all samples of a source. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H

#include "trainer/task.h"

/* A task's `evaluate` where its metrics are means alone. */
int evaluate_means(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err);

/* Means over no samples are NAN. */
struct evaluation evaluation_of(const struct task *task, const struct model_metrics *sums);

#endif
