/* The ways to fine-tune. A struct tune_kind has all that the rest of the program asks of one: the road of the verbs
 * that train (verbs/tune_run.h), eval, show and verify --replay. A new one is a row of TUNE_KINDS and a file that
 * defines it, as glue.c and squad.c do; its verb is a row of verbs[] (options.c) and a file in verbs/. */
#pragma once

#include "trainer/run/console.h"
#include "trainer/run/setup.h"

#define TUNE_KINDS(ROW)                                                                                                \
    ROW(tune_glue)                                                                                                     \
    ROW(tune_classify)                                                                                                 \
    ROW(tune_tag)                                                                                                      \
    ROW(tune_squad)

#define SCORES_NAME      "scores.json" /* in the run's directory; written last */
#define SCORES_COMMONEST "commonest"   /* key of the scores of always giving the commonest label */
#define SCORES_BYTES_MAX (16u << 20)
#define TUNE_TASKS_MAX   32 /* of one kind */
#define TUNE_KEYS_MAX    16
#define TUNE_KEY_SIZE    40

enum tune_use {
    TUNE_TRAIN,  /* trains and scores, as the verb does */
    TUNE_REPLAY, /* trains only */
    TUNE_SCORE,  /* scores only */
};

struct tune_kind {
    const char *verb;  /* also the first word of the task that runs record: "glue mrpc" */
    const char *tasks; /* the names that --task takes: "cola, sst-2, …" */
    enum head_kind head;
    const char *seq, *batch; /* the verb's defaults */
    /* The option of eval for what is scored on, recorded under the same name: "dev", or "data" for a folder; what that
     * is, and the hint where it is missing. */
    const char *data, *data_is, *data_hint;
    const char *const *options;       /* of eval that are not for other kinds; closed by NULL */
    struct tuning tuning;             /* without a context */
    const struct class_kind *classes; /* class_task.h: of a head of classes; else NULL */

    bool holds_out;   /* a training without such data holds out some of its own to score on */
    const char *asks; /* of the command that trains: what follows --init MODEL */

    /* The name of a task in its usual spelling; NULL where it is none of the kind. NULL: the verb is the only one. */
    const char *(*find)(const char *name);
    /* The tasks that a config.json fits whose class has the kind's head; of several, those with data in the folder
     * `data`, unless that is NULL. Writes at most TUNE_TASKS_MAX names; returns their number. NULL: the verb's. */
    size_t (*fits)(const json_t *config, const char *data, const char **names);
    /* The keys of single numbers in the scores.json of a run, at most TUNE_KEYS_MAX; returns their number. NULL: the
     * verb takes no --seeds. */
    size_t (*keys)(const char *task, const json_t *scores, char keys[TUNE_KEYS_MAX][TUNE_KEY_SIZE]);
    /* The context of `tuning`, for tuning.open; opens nothing. `settings` must outlive it. */
    void *(*make)(const struct tune_kind *kind, const char *task, const struct settings *settings, enum tune_use use);
    /* Scores the model and writes nothing. *scores becomes an object with the keys of scores.json that do not belong to
     * a training; the caller json_decref's it. Collective, as predict is. */
    int (*evaluate)(void *context, const struct evaluation_work *work, json_t **scores, struct error *err);
    void (*release)(void *context); /* also where tuning.open failed, or was not called */
    /* Prints what a scores.json of one run says. */
    void (*say_scores)(console_line line, const char *task, const json_t *scores);
};

#define TUNE_DECLARED(kind) extern const struct tune_kind kind;
TUNE_KINDS(TUNE_DECLARED)
#undef TUNE_DECLARED
extern const struct tune_kind *const tune_kinds[]; /* closed by NULL */
#define TUNE_COUNTED(kind) +1
enum { TUNE_KIND_COUNT = TUNE_KINDS(TUNE_COUNTED) };
#undef TUNE_COUNTED

/* A task of a kind; the kind is NULL where there is none of that name. The task of a kind that has only one is named
 * like the verb. */
struct tune_task {
    const struct tune_kind *kind;
    const char *name;
};
struct tune_task tune_task_named(const char *name);        /* "mrpc" */
struct tune_task tune_task_recorded(const char *recorded); /* "glue mrpc", "squad"; may be NULL */

size_t tune_fits(const struct tune_kind *kind, const json_t *config, const char *data, const char **names);
bool tune_trains(const struct tune_kind *kind, const struct settings *settings); /* it names data to train on */
bool tune_scores(const struct tune_kind *kind, const struct settings *settings); /* and to score on, for scores.json */
/* The command that trains a model for the task, starting from `model`; the caller mem_free's it. */
char *tune_command(const struct tune_task *task, const char *model);

/* ERR_USAGE: an option is given that is for another kind. `kind` NULL: for any. */
int tune_refuse_options(const struct tune_kind *kind, const struct settings *settings, struct error *err);
