/* The settings of a dstrain command line: one field per row of the option table in options.c. */
#pragma once

#include "base/opts.h"

/* Defaults that eval needs besides the verbs whose they are. */
#define SQUAD_SEQ   "384"
#define SQUAD_BATCH "24"
#define GLUE_SEQ    "128"
#define GLUE_BATCH  "32"

enum pooling { POOLING_MEAN, POOLING_CLS, POOLING_MAX };
enum classify_kind { CLASSIFY_SINGLE, CLASSIFY_NUMBERS, CLASSIFY_SEVERAL };

struct settings {
    /* data */
    struct opt_paths shards; /* DIR, or several DIR=WEIGHT (datasets.h); required */
    uint64_t seq;            /* 0: the shortest */
    int masks;               /* enum mask_policy of data/shard_source.h */
    bool no_shuffle;

    /* model and recipe */
    const char *model; /* NULL: base, or the model of --init */
    const char *init;  /* NULL: weights are initialized from the seed */
    bool init_moments;
    bool grow_vocab;
    const char *resume;   /* NULL: a new run begins at step 0 */
    const char *config;   /* DeepSpeed's JSON; NULL: our defaults */
    int recipe;           /* number of a built-in configuration (keys.h), from 1; 0: none */
    struct opt_paths set; /* key.path=value */
    bool pld_compat;
    uint64_t batch[2];   /* samples in the first step, and after the warm-up */
    double batch_warmup; /* below 1 a fraction of the steps, else a number of steps */
    const char *mask_phases, *mask_split;
    uint32_t mask_prob[2]; /* of fresh masks at the beginning and the end, in millionths */
    uint64_t micro_batch;  /* 0: computed */
    uint64_t steps;
    double epochs;
    double lr, warmup, decay, dropout;
    int decay_shape;         /* 1: sqrt */
    int schedule, optimizer; /* enum schedule_kind, enum optimizer_kind */
    int precision;           /* enum precision; if not given, depends on the device */
    uint64_t seed;
    bool same_bits;
    int zero; /* ZeRO stage; if not given, the configuration's */

    /* the run */
    const char *out; /* NULL: a generated name in runs/ */
    bool fresh;
    struct opt_count_or_time save_every;
    uint64_t keep_last;
    uint64_t keep_every; /* 0: none is kept permanently */
    bool keep_best;
    int save_fails; /* 0: stop, 1: continue */
    bool skip_damaged;
    uint64_t eval_every, eval_samples; /* eval_every 0: only at the end */
    uint64_t patience;                 /* evaluations; 0: unlimited */
    uint64_t shown;                    /* for eval: samples to show with guesses */
    uint64_t log_every;
    uint64_t norms_every; /* 0: never */
    uint64_t stop_after;  /* 0: never */
    uint64_t time_limit;  /* seconds; 0: none */
    uint64_t best;        /* for plan: seconds of a training to propose; 0: none */
    bool dry_run;

    /* this machine, this start */
    int device;                /* enum device_kind; if not given, CUDA if available */
    const char *price;         /* for plan: "2.50/h"; NULL: costs are not wanted */
    const char *tune;          /* file with a table of product algorithms; NULL: the run's own, or none */
    int cpu;                   /* enum cpu_level; if not given, the machine's */
    int split;                 /* for eval: enum split */
    uint64_t top;              /* for fill-mask: pieces per mask */
    struct opt_paths scores;   /* for export: results for the model card */
    uint64_t limit;            /* for score: pairs; 0: all */
    const char *details;       /* for score: file for the scores of each pair; NULL: none */
    const char *note;          /* for report; NULL: none */
    bool replay;               /* for verify */
    const char *provenance;    /* for verify: a file of an export (proof.h); NULL: none */
    bool gpu_check;            /* for doctor */
    uint64_t from, to;         /* for --replay: steps of checkpoints; if not given, the oldest and the newest */
    uint64_t threads;          /* 0: all cores */
    uint64_t processes, gpus;  /* to start on this machine; 0: none */
    uint64_t restarts;         /* of those, where one is lost */
    uint64_t rank, world_size; /* world_size 0: set by the launcher */
    const char *rendezvous;    /* NULL: set by the launcher */
    const char *key;           /* a file, or "none"; NULL: DS_KEY */
    const char *bind;          /* NULL: the address of the rendezvous */
    int comm;                  /* enum comm_kind, or COMM_AUTO */
    int wire;                  /* 0: fp32, 1: bf16 */
    const char *share;         /* "equal", or a weight */
    uint64_t peer_timeout;     /* seconds; 0: never */
    const char *dump_gradients;
    bool force; /* write over files that are not ours (base/target.h) */
    bool timings;
    bool json, quiet, verbose;
    bool mute; /* set by a verb that fails if another process reports the error */

    /* for glue */
    const char *glue; /* folder of the tasks */
    const char *task; /* for eval: name of the task that the model was fine-tuned for; NULL: as recorded */
    uint64_t seeds;   /* runs */
    /* for classify, and for tables with texts */
    const char *text, *text2, *label; /* columns; NULL: by their names */
    const char *column;               /* of a corpus: of its tags; NULL: the last */
    int kind;                         /* enum classify_kind */
    int class_weights;                /* 1: balanced */
    bool special_in_text;             /* special tokens that a text spells are these tokens */
    bool all;                         /* for predict: probabilities of all classes */
    int pooling;                      /* enum pooling: for embed, and for export with */
    bool sentences;                   /* --sentence-transformers */
    bool normalize, unnormalized;     /* --no-normalize */
    /* for squad */
    const char *train, *dev;                            /* files of questions, to train on and to answer; NULL: none */
    uint64_t doc_stride, max_query, max_answer, n_best; /* pieces, pieces, pieces, answers */
    double null_threshold;
    const char *logits; /* for tests: a file of logits instead of the model's; NULL: the model's */

    const struct tuning *tuning; /* the training data of a verb other than train (setup.h); NULL: shards */
    const struct launch *launch; /* this process's rank among how many; NULL: the only one */

    const struct opt_program *program; /* for opts_given and opts_json */
    const struct opt_result *result;
    int argc; /* the command line, for run.json */
    char **argv;
};

/* Whether this option is on the command line. */
static inline bool settings_given(const struct settings *settings, const char *name)
{
    return opts_given(settings->program, settings->result, name);
}

int dstrain_train(void *settings, struct opt_paths bare, struct error *err);
/* Runs one training to its end, with its closing lines: dstrain_train without --dry-run. */
int train_run(struct settings *settings, struct error *err);
int dstrain_plan(void *settings, struct opt_paths bare, struct error *err);
int dstrain_eval(void *settings, struct opt_paths bare, struct error *err);
int dstrain_show(void *settings, struct opt_paths bare, struct error *err);
int dstrain_report(void *settings, struct opt_paths bare, struct error *err);
int dstrain_verify(void *settings, struct opt_paths bare, struct error *err);
int dstrain_replay(void *settings, struct opt_paths bare, struct error *err); /* verify --replay */
int dstrain_export(void *settings, struct opt_paths bare, struct error *err);
int dstrain_bench(void *settings, struct opt_paths bare, struct error *err);
int dstrain_fill_mask(void *settings, struct opt_paths bare, struct error *err);
int dstrain_score(void *settings, struct opt_paths bare, struct error *err);
int dstrain_doctor(void *settings, struct opt_paths bare, struct error *err);
int dstrain_squad(void *settings, struct opt_paths bare, struct error *err);
int dstrain_predict(void *settings, struct opt_paths bare, struct error *err);
int dstrain_embed(void *settings, struct opt_paths bare, struct error *err);
int dstrain_tag(void *settings, struct opt_paths bare, struct error *err);
int dstrain_classify(void *settings, struct opt_paths bare, struct error *err);
int dstrain_glue(void *settings, struct opt_paths bare, struct error *err);
