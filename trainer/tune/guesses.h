/* What a model predicts at the masked places of some samples, and for comparison how often the most common label, the
 * same piece at every place, is right. */
#pragma once

#include "shards/dataset.h"
#include "trainer/run/engine.h"

/* Of the first `samples` of the source, `shown` (at most as many) are shown, spread evenly over them; the most common
 * label is counted in all of them. The engine has a model with the masked head, whose parameters are loaded; the source
 * has the vocabulary of the dataset.
 *
 * *guesses becomes an object: "byte_level" (of a byte-level BPE: pieces are as vocab_readable gives them); "commonest"
 * {"id", "piece"}; "samples", each with "sample" (the number that `dsdata show --sample` takes), "dataset" (from 1, if
 * there are several), "masked", "right" and "commonest_right" (counts), "pieces" (before masking), and "guesses", each
 * {"position", "id", "piece", "label"}. The caller json_decref's it. Errors are those of the source and of
 * dataset_vocab. */
int guesses_make(json_t **guesses, struct engine *engine, const struct source *source, const struct dataset *dataset,
                 uint64_t samples, uint64_t shown, struct error *err);

/* Prints the object as lines for people, on standard output. */
void guesses_print(const json_t *guesses, bool colours);
