/* A model's predictions for samples in memory: the logits of a head, on the host. */
#pragma once

#include "trainer/task/task.h"
#include "trainer/tune/samples.h"

/* Rows of the logits of those samples: one per sample, one per token where the head reads all, or one per mark. */
size_t predict_rows(const struct samples *samples);

/* Logits of all samples, in their order: out [predict_rows, head_labels]. *loss becomes the mean loss (may be NULL).
 * `work` has the model and the micro-batches, and says when to stop: ERR_STOPPED. Collective where it has several
 * processes: each computes a part, and all get the same numbers, those of one process. */
int predict(const struct evaluation_work *work, const struct samples *samples, float *out, double *loss,
            struct error *err);
