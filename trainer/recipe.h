/* The mathematics of a run in force: what the options, --set, the model and the dataset come to. Two commands
 * whose recipes are equal are the same run; its identity is that as a flat JSON object, of which a hash names the
 * directory. */
#ifndef TRAINER_RECIPE_H
#define TRAINER_RECIPE_H

#include "base/error.h"
#include "trainer/data/batch_plan.h"
#include "trainer/data/pack.h"
#include "trainer/data/shard_source.h"
#include "trainer/datasets.h"
#include "trainer/model/params.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/scaler.h"
#include "trainer/optim/schedule.h"
#include "trainer/origin.h"
#include "trainer/settings.h"

#include <jansson.h>
#include <stdint.h>

/* Raised by every commit that changes a bit of what a step computes on the same machine. */
#define ARITHMETIC_VERSION 3

/* What is trained on, as far as a recipe goes. */
struct material {
    char task[24];                    /* "glue mrpc"; empty: pre-training */
    uint64_t hash;                    /* a dataset's root hash, or that of all samples */
    char mixture[MIXTURE_TEXT_BYTES]; /* of several datasets (datasets_identity), else empty */
    uint32_t seq;                     /* tokens of a sample, at most */
    uint64_t samples;
};

struct recipe {
    char task[24];    /* as of struct material */
    uint64_t dataset; /* its hash */
    char mixture[MIXTURE_TEXT_BYTES];
    uint32_t seq;
    struct model_config config;
    char initial[64];                      /* "random", or hashes of the files that --init or --resume gave */
    uint64_t steps_before, samples_before; /* of the run that --resume goes on from, else 0 */
    struct optimizer optimizer;
    double clipping;           /* gradient_clipping; 0: none */
    bool rewarmup;             /* with --resume: the schedule counts from there */
    struct schedule schedule;  /* its `steps` are the run's */
    uint32_t batch;            /* samples of a step: the most, where batches grow, */
    struct batch_plan batches; /* as this says */
    uint64_t micro_batch;      /* asked for, in sequences; 0: by arithmetic. Not part of what a run is */
    uint32_t part; /* --same-bits: sequences of a part, which is a micro-batch, and part of what a run is; 0: without */
    uint64_t checkpoints; /* groups of layers that keep one activation each; 0: all are kept. Neither is this */
    bool wire_bf16;       /* what gradients are between processes; else fp32. Nor is this: one process sends none */
    uint32_t zero;        /* stage: what the processes divide among them. Nor this, */
    bool overlap;         /* nor whether gradients travel during the backward pass, */
    uint64_t bucket;      /* nor how many of them at a time, at most; 0: ours */
    uint32_t seed;
    bool shuffled;
    enum mask_policy masks;
    uint32_t mask_prob[2]; /* of fresh masks, at the beginning and the end: millionths; 0: the dataset's */
    bool precision_given;  /* else "default": whatever the machine of the first start has */
    enum precision precision;
    struct scaler_settings scaling; /* of fp16 */
};

/* From settings, what the run begins with, and a config whose vocabulary is the material's already. ERR_USAGE:
 * options or keys that do not go together; ERR_MISMATCH: the dataset's length is above the model's positions. */
int recipe_make(const struct settings *settings, const struct material *material, const struct model_config *config,
                const struct origin *origin, struct recipe *recipe, struct error *err);

/* The caller json_decref's it. Values are text, numbers, booleans: no nesting. */
json_t *recipe_identity(const struct recipe *recipe);

/* "adam lr 0.0001, warmup 1 %, linear" */
char *recipe_text(const struct recipe *recipe, char out[160]);

/* The budget of a micro-batch, in full sequences: the largest N <= batch with N·S <= 2048, at least 1. More tokens are
 * no faster on a processor, and take memory: base in bf16 has 280 kB of activations for each. */
uint32_t recipe_micro_batch(uint64_t asked, uint32_t batch, uint32_t seq);
/* Samples of the run's source that are used when `step` steps are done, those before --resume counted in. */
uint64_t recipe_samples(const struct recipe *recipe, uint64_t step);
/* The parts of a batch; 0 without --same-bits. */
uint64_t recipe_parts(const struct recipe *recipe);
/* The same as limits of live rows. */
struct pack_limits recipe_limits(uint32_t micro_batch, uint32_t batch, const struct sequence_room *room);

#endif
