/* The mathematics of a run, as determined by the options, --set, the model and the dataset. Two commands with equal
 * recipes are the same run. The run's identity is the recipe as a flat JSON object; a hash of it names the
 * directory. */
#pragma once

#include "trainer/data/batch_plan.h"
#include "trainer/data/pack.h"
#include "trainer/data/shard_source.h"
#include "trainer/data/datasets.h"
#include "trainer/keep/head_choice.h"
#include "trainer/recipe/origin.h"

/* Raised by every commit that changes a bit of the results of a step on the same machine. */
#define ARITHMETIC_VERSION 6

/* What a recipe needs to know about the training data. */
struct material {
    char task[24];                    /* "glue mrpc"; empty: pre-training */
    uint64_t hash;                    /* a dataset's root hash, or a hash of all samples */
    char mixture[MIXTURE_TEXT_BYTES]; /* for several datasets (datasets_identity), else empty */
    uint32_t seq;                     /* maximum of tokens per sample */
    uint64_t samples;
    struct head_choice head; /* its rows are freed with the material */
    bool special_in_text;    /* --special-in-text, in the identity */
};

struct recipe {
    char task[24];    /* as in struct material */
    uint64_t dataset; /* material.hash */
    char mixture[MIXTURE_TEXT_BYTES];
    uint32_t seq;
    struct model_config config;
    struct head_choice head;               /* of the origin */
    bool special_in_text;                  /* as in struct material */
    char initial[64];                      /* "random", or hashes of the files of --init or --resume */
    uint32_t grown_from;                   /* pieces of the model that --grow-vocab started from; 0: without */
    uint64_t steps_before, samples_before; /* of the run that --resume continues, else 0 */
    struct optimizer optimizer;
    double clipping;           /* gradient_clipping; 0: none */
    bool rewarmup;             /* with --resume: the schedule starts again from there */
    struct schedule schedule;  /* its `steps` are the run's */
    uint32_t batch;            /* samples per step; the maximum if batches grow */
    struct batch_plan batches; /* how batches grow */
    uint64_t micro_batch;      /* requested, in sequences; 0: computed; not in the identity */
    uint32_t part; /* --same-bits: sequences per part, which is a micro-batch; in the identity; 0: without */
    /* Not in the identity, up to and including `bucket`: */
    uint64_t checkpoints; /* groups of layers that keep one activation each; 0: all activations are kept */
    bool wire_bf16;       /* gradients are sent between processes as bf16; else fp32 */
    uint32_t zero;        /* ZeRO stage: what is divided among the processes */
    bool overlap;         /* gradients are sent during the backward pass */
    uint64_t bucket;      /* maximum of gradients per message; 0: our default */
    uint32_t seed;
    bool shuffled;
    enum mask_policy masks;
    uint32_t mask_prob[2]; /* of fresh masks at the beginning and the end, in millionths; 0: the dataset's */
    struct mask_phase phases[MASK_PHASES_MAX]; /* in place of mask_prob; `from` is in millionths of the steps */
    size_t phase_count;
    struct mask_split split; /* of fresh masks */
    bool precision_given;    /* else "default": depends on the machine of the first start */
    enum precision precision;
    struct scaler_settings scaling; /* for fp16 */
};

/* Makes a recipe from settings, the origin, and a config that already has the dataset's vocabulary size. ERR_USAGE:
 * contradictory options or keys; ERR_MISMATCH: the dataset's length is above the model's positions. */
int recipe_make(const struct settings *settings, const struct material *material, const struct model_config *config,
                const struct origin *origin, struct recipe *recipe, struct error *err);

/* The caller json_decref's it. Values are strings, numbers and booleans, without nesting. */
json_t *recipe_identity(const struct recipe *recipe);

/* "adam lr 0.0001, warmup 1 %, linear" */
char *recipe_text(const struct recipe *recipe, char out[160]);

/* The size of a micro-batch in full sequences, unless one is `asked` for: the largest N <= batch with N·S <= 2048, at
 * least 1. More tokens are not faster on a processor and need memory: base in bf16 has 280 kB of activations per
 * token. */
uint32_t recipe_micro_batch(uint64_t asked, uint32_t batch, uint32_t seq);
/* The number of samples of the run's source that are used after `step` steps, including those before --resume. */
uint64_t recipe_samples(const struct recipe *recipe, uint64_t step);
/* The parts of a batch; 0 without --same-bits. */
uint64_t recipe_parts(const struct recipe *recipe);
/* The limits of live rows for micro-batches of so many full sequences of `room`. */
struct pack_limits recipe_limits(const struct recipe *recipe, uint32_t micro_batch, const struct sequence_room *room);
