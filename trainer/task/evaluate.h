/* Turns the sums of a model's heads into means, over a step or over the samples of a source. */
#pragma once

#include "trainer/task/task.h"

/* The `evaluate` of a task whose metrics are all means. */
int evaluate_means(const struct evaluation_work *work, struct evaluation *evaluation, struct error *err);

/* Means over no samples are NAN. */
struct evaluation evaluation_of(const struct task *task, const struct model_metrics *sums);
