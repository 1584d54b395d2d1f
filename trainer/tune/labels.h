/* Whether the head of a model that was fine-tuned elsewhere is the head of a task: decided by the names in its
 * config.json, never by its shape. */
#pragma once

#include "trainer/keep/head_choice.h"
#include "trainer/tune/glue_tasks.h"

/* Reads the config.json of a model in this directory; the caller json_decref's it. */
int labels_read(const char *files, json_t **config, struct error *err);

/* The labels of a task. */
struct label_set {
    const char *name;             /* of the task, for messages */
    const struct glue_task *task; /* NULL: a table of the user's */
    uint32_t count;               /* classes; 1: a number */
    const char *const *names;
    const char *const *others; /* of the same classes in models of transformers; NULL: none, also in the list */
    bool several;              /* a text may have several of them */
};
struct label_set labels_of_glue(const struct glue_task *task);

/* For a head of classes with these labels. It is kept where
 *   - `architectures` is absent or names the head's class,
 *   - `problem_type` is absent or the task's kind, and
 *   - the names in `id2label` are those of the task's labels, or their other names (glue_tasks.h), in any order: rows
 *     are moved then. Case, '-', '_' and blanks do not count: NOT-ENTAILMENT is not_entailment. LABEL_0, LABEL_1 … are
 *     no names. Names that are numbers ("0", "1") are those of one task only, so they are refused for a table, and
 *     where another task is known: `recorded`, as a run's identity has it ("glue cola"; NULL: none), else `finetuning_task`.
 * A task with a number as its label (sts-b) needs a head with one output and no classes. Otherwise the head is drawn,
 * and choice->why says why. The caller calls head_choice_release. */
void labels_choose(const json_t *config, enum head_kind head, const char *recorded, const struct label_set *set,
                   struct head_choice *choice);
/* For a head without labels of a task: kept where `architectures` is absent or names the head's class. */
void labels_choose_head(const json_t *config, enum head_kind head, struct head_choice *choice);

/* The tasks of GLUE that a config.json fits, for a model whose task nobody named: the one of `finetuning_task`, else
 * all whose labels it has. Writes at most GLUE_TASKS to `out`; returns their number. */
size_t labels_tasks(const json_t *config, const struct glue_task *out[GLUE_TASKS]);
