/* Which model to train, and for how many steps, with a dataset on a machine: arithmetic on what was measured.
 *
 * A model is trained on as many samples as the limits allow: `epochs` of the data, `seconds` of the machine. Tokens
 * that are read again teach less than new ones: U different tokens in E epochs count as
 * U (1 + R (1 - exp(-(E - 1) / R))) with R = 15 (Muennighoff et al. 2023, Scaling Data-Constrained Language Models,
 * section 3), or as U E below one epoch. The largest model is chosen that gets CHOICE_ENOUGH of them for each weight in
 * its layers' matrices (Hoffmann et al. 2022, Training Compute-Optimal Large Language Models, table 3, whose models
 * have few embeddings). With fewer, a smaller model learns more in the same time. Both were measured on models that
 * predict every token; one that predicts the masked ones needs more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE_EPOCHS    40   /* of Devlin et al. 2019, appendix A.2 */
#define CHOICE_ENOUGH    20   /* tokens per weight */
#define CHOICE_BERT      1500 /* of BERT's base: 1 M steps of 128,000 tokens (the same) for 85 M weights */
#define CHOICE_MARGIN    0.9  /* share of the time that steps may take; the rest is for evaluations and checkpoints */
#define CHOICE_BATCH     256  /* the default */
#define CHOICE_BATCH_MIN 16   /* the least that is proposed */
#define CHOICE_STEPS_FEW 1000 /* a smaller batch is proposed rather than fewer steps */

struct choice_model {
    const char *name;
    uint64_t parameters, weights; /* of all, and of the matrices in its layers */
    double sample, update;        /* seconds, of a sample's passes and of an update */
};

struct choice_limits {
    double samples; /* of an epoch */
    double length;  /* tokens of a sample on average */
    double epochs, seconds;
    uint32_t batch; /* 0: to be chosen */
    uint64_t steps; /* 0: to be chosen; given ones may exceed the limits */
};

enum choice_bound { CHOICE_BY_EPOCHS, CHOICE_BY_TIME, CHOICE_BY_STEPS };

struct choice_made {
    uint32_t batch;
    uint64_t steps; /* at least 1 */
    double tokens, epochs, seconds;
    double each;             /* tokens per weight, repeated ones counted as above */
    enum choice_bound bound; /* what limits the steps */
    bool late;               /* takes longer than the limit */
};

/* The longest training of a model within the limits. Chosen steps above 100 have two digits other than 0. */
struct choice_made choice_make(const struct choice_model *model, const struct choice_limits *limits);
bool choice_enough(const struct choice_made *choice);
/* The number of the best of `count` choices (at least one), whose models are sorted by size: the last one that is
 * enough, else the first. */
size_t choice_best(const struct choice_made *choices, size_t count);
