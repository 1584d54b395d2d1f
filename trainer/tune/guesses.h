/* What a model makes of the masked places of some samples, beside what one and the same piece at every place, the
 * commonest label, would be worth. */
#ifndef TRAINER_TUNE_GUESSES_H
#define TRAINER_TUNE_GUESSES_H

#include "base/error.h"
#include "trainer/data/pack.h"
#include "trainer/data/source.h"
#include "trainer/model/model.h"

#include <jansson.h>

struct guesses_work {
    const struct ops *ops;
    struct model *model; /* with the masked head; its parameters are loaded */
    const struct source *source;
    const struct pack_limits *limits; /* of a micro-batch */
    const char *vocabulary;           /* path of the source's vocab.txt */
    uint64_t samples; /* among which they are chosen and the commonest label is counted: the first ones */
    uint64_t shown;   /* how many, spread evenly over them; at most `samples` */
};

/* An object: "commonest" {"id", "piece"}; "samples", of each its "sample" (the number that `dsdata show --sample`
 * takes), "dataset" (of several, from 1), "masked", "right" and "commonest_right" (counts), "pieces" (as they were
 * before masking), and "guesses", of each {"position", "id", "piece", "label"}. The caller json_decref's it. Errors are
 * the source's and vocab_read's. */
int guesses_make(json_t **guesses, const struct guesses_work *work, struct error *err);

/* It as lines for people, on standard output. */
void guesses_print(const json_t *guesses, bool colours);

#endif
