/* What a model predicts at the masked places of some samples, and for comparison how often the most common label, the
 * same piece at every place, is right. */
#pragma once

#include "shards/dataset.h"
#include "trainer/data/pack.h"
#include "trainer/data/source.h"
#include "trainer/model/model.h"

struct guesses_work {
    const struct ops *ops;
    struct model *model; /* with the masked head; its parameters are loaded */
    const struct source *source;
    const struct pack_limits *limits; /* of a micro-batch */
    const struct dataset *dataset;    /* whose vocabulary the source has */
    uint64_t samples; /* the first samples, among which the shown ones are chosen and the most common label is
                       * counted */
    uint64_t shown;   /* how many are shown, spread evenly over them; at most `samples` */
};

/* An object: "byte_level" (of a byte-level BPE: pieces are as vocab_readable gives them); "commonest" {"id", "piece"};
 * "samples", each with "sample" (the number that `dsdata show --sample` takes), "dataset" (from 1, if there are
 * several), "masked", "right" and "commonest_right" (counts), "pieces" (before masking), and "guesses", each
 * {"position", "id", "piece", "label"}. The caller json_decref's it. Errors are those of the source and of
 * dataset_vocab. */
int guesses_make(json_t **guesses, const struct guesses_work *work, struct error *err);

/* Prints the object as lines for people, on standard output. */
void guesses_print(const json_t *guesses, bool colours);
