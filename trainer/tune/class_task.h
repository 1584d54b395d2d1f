/* What the ways to fine-tune a head of classes, of a text or of its tokens, share, whatever samples are made from. */
#pragma once

#include "trainer/tune/labels.h"
#include "trainer/tune/tune_kinds.h"

/* The names of a model's classes; zeroed: none. */
struct class_names {
    const char **names;             /* [count] in bytewise order, as scores list them */
    char (*texts)[LABEL_NAME_SIZE]; /* [count] by column of the logits */
    uint32_t *rank;                 /* [count] place in `names` of each column */
    uint32_t count;
};
void class_names_take(struct class_names *names, const char *const *columns, size_t count);
/* Those of a model; LABEL_0, LABEL_1 where it does not name them. */
void class_names_of(struct class_names *names, const struct model_config *config);
void class_names_release(struct class_names *names);

#define CLASS_DEVS 2

/* One fine-tuning of a kind, whose own struct begins with it: the context of its struct tuning. */
struct class_job {
    const struct tune_kind *tune;
    const struct class_kind *kind; /* its `classes` */
    const struct settings *settings;
    const char *task;
    const char *train_path, *dev_path; /* --train and --dev, or the files of the splits where --train is a folder */
    char *paths[2];
    bool answers; /* nothing is trained on */
    struct text text;
    uint32_t length;
    /* What `read` makes: */
    struct class_names names;                      /* zeroed: numbers */
    const struct samples *train, *dev[CLASS_DEVS]; /* train: NULL where nothing is trained on */
    struct label_set labels;                       /* of the head that the model gets; zeroed: it keeps its own */
    uint64_t hash;                                 /* of what the data's hash lacks */
    const float *weights;                          /* of classes in the loss, or NULL */
    struct samples_reading run, split_train, split_valid;
};

/* What a model gives for the rows of dev file number i, and what is right. Of heads of texts `found` and `truth` have
 * classes by their place in the sorted names, or bits of them; or the numbers. */
struct class_predictions {
    const float *logits;
    double loss;
    size_t count;
    uint32_t *found, *truth;
    double *numbers, *true_numbers; /* NULL: classes */
};
json_t *class_predictions_scores(const struct label_set *set, const struct class_predictions *p); /* class_scores.h */

struct class_kind {
    size_t size;                 /* of its struct */
    struct metric_table metrics; /* of a head of tokens; else empty */
    /* Reads the data; `config` is the model's. */
    int (*read)(struct class_job *job, const struct model_config *config, struct error *err);
    void (*score)(const struct class_job *job, int i, const struct class_predictions *p,
                  json_t *scores); /* adds them */
    /* Adds what scores.json says of the training, and writes more files beside it; may be NULL. */
    int (*keep)(const struct class_job *job, const struct evaluation_work *work, const char *directory, json_t *scores,
                struct error *err);
    /* Writes predictions of dev file number i; may be NULL. */
    int (*predict)(const struct class_job *job, const struct evaluation_work *work, const char *directory, int i,
                   const float *logits, struct error *err);
    void (*release)(struct class_job *job);
};

/* For the rows of TUNE_KINDS (tune_kinds.h). */
void *class_make(const struct tune_kind *kind, const char *task, const struct settings *settings, enum tune_use use);
int class_evaluate(void *context, const struct evaluation_work *work, json_t **scores, struct error *err);
void class_release(void *context);
int class_open(void *context, const struct settings *settings, const struct origin *origin, struct model_config *config,
               struct material *material, struct error *err);
const struct text *class_text(void *context);
struct task class_task(void *context, const struct recipe *recipe);
#define CLASS_TUNING                                                                                                   \
    {                                                                                                                  \
        .open = class_open, .text = class_text, .task = class_task                                                     \
    }

/* ERR_INPUT: there is nothing to score, `what` ("row"). */
int class_nothing(const struct class_job *job, const char *what, struct error *err);

/* For samples of two segments. ERR_MISMATCH: the model knows one. ERR_UNSAFE: text_need_pairs. */
int class_check_pairs(const struct text *text, const struct model_config *config, struct error *err);

/* Cuts texts into samples: [CLS] A [SEP], or [CLS] A [SEP] B [SEP], of at most `length` tokens. Zeroed but for the
 * first two; class_cutter_release frees the rest. */
struct class_cutter {
    const struct text *text;
    uint32_t length;
    struct ids a, b, pieces;
};
void class_cut(struct class_cutter *cutter, struct str a, const struct str *b, uint32_t label, struct samples *samples);
void class_cutter_release(struct class_cutter *cutter);

/* Of several labels: bit i stands for names->names[i]. */
uint32_t class_bits(const float *logits, const struct class_names *names);

/* A label that is a number, as the bits of a float; false: it is none. */
bool class_number(struct str text, uint32_t *bits);

/* The class with the largest logit, the first one of equals. */
uint32_t class_of(const float *logits, uint32_t labels);
