/* What the ways to fine-tune a head of classes, of a text or of its tokens, share, whatever samples are made from. */
#ifndef TRAINER_TUNE_CLASS_TASK_H
#define TRAINER_TUNE_CLASS_TASK_H

#include "base/error.h"
#include "trainer/recipe/recipe.h"
#include "trainer/recipe/settings.h"
#include "trainer/recipe/text.h"
#include "trainer/run/setup.h"
#include "trainer/tune/labels.h"
#include "trainer/tune/samples.h"

/* Samples in memory as the sources of a run; must outlive the task. */
struct class_sources {
    const struct samples *train, *valid; /* valid may be empty */
    struct samples_reading run, split_train, split_valid;
};

/* Checks the model and opens its tokenizer. ERR_MISMATCH: it has fewer positions than --seq. */
int class_open(const struct settings *settings, const struct origin *origin, struct model_config *config,
               struct text *text, struct error *err);
/* For samples of two segments. ERR_MISMATCH: the model knows one. */
int class_check_pairs(const struct model_config *config, struct error *err);
/* Puts the head on the model, and decides what it keeps of the origin's. `tuned_for`: finetuning_task. */
int class_head(enum head_kind head, const struct label_set *set, const char *tuned_for, const struct origin *origin,
               struct model_config *config, struct head_choice *choice, struct error *err);
struct task class_task(struct class_sources *sources, uint32_t length, const struct recipe *recipe,
                       int (*finish)(const struct evaluation_work *work, const char *directory, struct error *err),
                       const void *context);

/* Cuts texts into samples: [CLS] A [SEP], or [CLS] A [SEP] B [SEP], of at most `length` tokens. Zeroed but for the
 * first two; class_cutter_release frees the rest. */
struct class_cutter {
    const struct text *text;
    uint32_t length;
    struct ids a, b, pieces;
};
void class_cut(struct class_cutter *cutter, struct str a, const struct str *b, uint32_t label, struct samples *samples);
void class_cutter_release(struct class_cutter *cutter);

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

/* Of several labels: bit i stands for names->names[i]. */
uint32_t class_bits(const float *logits, const struct class_names *names);

/* The class with the largest logit, the first one of equals. */
uint32_t class_of(const float *logits, uint32_t labels);

#endif
