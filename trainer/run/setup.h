/* What is fixed for the whole run: the recipe and its input files. Nothing changes after it is opened. */
#pragma once

#include "trainer/task/pretraining.h"

/* The training data of a verb other than train: samples made from texts, with the vocabulary of the model to fine-tune.
 * It adds one head to the model. */
struct tuning {
    void *context;
    /* Reads the texts, adds the head to *config, which is the origin's, and describes the data in *material. */
    int (*open)(void *context, const struct settings *settings, const struct origin *origin,
                struct model_config *config, struct material *material, struct error *err);
    const struct text *(*text)(void *context); /* the tokenizer that `open` has opened */
    struct task (*task)(void *context, const struct recipe *recipe);
    bool scored; /* the verb prints scores after the training, and the next command after them */
};

struct setup {
    const struct settings *settings; /* borrowed: the command line */
    struct recipe recipe;            /* the mathematics */
    struct material material;        /* facts about the training data */
    struct datasets datasets;        /* both splits; empty with a tuning */
    uint32_t pad_id, cls_id, sep_id; /* pieces */
    struct pretraining pretraining;  /* the sources of `task`, without a tuning */
    struct task task;
    struct tokenizer_files tokenizer;
    struct growth growth; /* of the origin's word table, with --grow-vocab */
    uint32_t longer;      /* positions of a model that begins with a shorter one's weights; 0: it keeps its own */
    json_t *identity;     /* the run's (recipe_identity) */
};

/* Opens and checks everything that needs no device, before anything is written; *origin becomes what the model starts
 * from. The caller calls setup_close and origin_release, on errors too. */
int setup_open(struct setup *setup, const struct settings *settings, struct origin *origin, struct error *err);
/* The same for the processes other than rank 0, with rank 0's recipe: they need only the samples. */
int setup_follow(struct setup *setup, const struct settings *settings, const struct recipe *recipe, struct error *err);
/* The epochs of the whole run; for a mixture those of the dataset that is read most often. */
double setup_epochs(const struct setup *setup);
void setup_close(struct setup *setup); /* safe on a zeroed one */
