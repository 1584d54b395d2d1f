/* The nine tasks of GLUE (Wang et al. 2019), as their files have them, and how each is scored. A task is a row of
 * glue_tasks. */
#pragma once

#include "trainer/tune/samples.h"
#include "trainer/recipe/text.h"

enum glue_metric {
    GLUE_ACCURACY,     /* acc */
    GLUE_ACCURACY_F1,  /* acc, f1, acc_and_f1 */
    GLUE_MATTHEWS,     /* mcc */
    GLUE_CORRELATIONS, /* pearson, spearmanr, corr */
    GLUE_METRICS,
};

/* The columns of a row, from 0. */
#define GLUE_NONE (-1)
#define GLUE_LAST (-2)
struct glue_columns {
    int a, b; /* texts; b may be GLUE_NONE */
    int label;
    bool header;
};

#define GLUE_DEVS_MAX   2
#define GLUE_LABELS_MAX 3
struct glue_task {
    const char *name;   /* on the command line */
    const char *folder; /* GLUE's name */
    struct glue_columns train, test;
    const char *text, *text2, *label; /* names of these columns in the headers; text2 NULL: one text */
    uint32_t labels;                  /* classes; 1: a number */
    const char *label_names[GLUE_LABELS_MAX];
    const char *other_names[GLUE_LABELS_MAX]; /* of the same classes, in models of transformers; NULL: none */
    enum glue_metric metric;
    uint32_t columns_least; /* shorter rows are skipped and counted; 0: they are errors */
    struct glue_dev {
        const char *dev, *test; /* files */
        const char *out;        /* name of its predictions */
        const char *suffix;     /* of its scores' keys */
    } devs[GLUE_DEVS_MAX];
};

#define GLUE_TASKS 9
extern const struct glue_task glue_tasks[GLUE_TASKS];
const struct glue_task *glue_task_named(const char *name); /* NULL: no such task */

bool glue_has_folder(const struct glue_task *task, const char *data); /* whether the task's folder is in `data` */
/* Checks that it is and has the dev files, and train.tsv if it `trains`. */
int glue_check_folder(const struct glue_task *task, const char *data, bool trains, struct error *err);

/* The samples of a task's file, for HEAD_CLASS. */
struct glue_set {
    struct samples samples; /* labels: class, or the bits of a float */
    uint64_t passed_over;   /* rows that were skipped because they were too short */
};

/* Reads a file: [CLS] A [SEP], or [CLS] A [SEP] B [SEP], of at most `length` tokens. Without `labelled` (a test file)
 * all labels are 0. ERR_INPUT names file, line and column: too few columns, an unknown label; or no rows at all. */
int glue_read(const struct glue_task *task, const char *path, bool labelled, const struct text *text, uint32_t length,
              struct glue_set *set, struct error *err);
void glue_set_release(struct glue_set *set);
