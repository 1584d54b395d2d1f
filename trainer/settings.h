/* What a dstrain command line says: one field per row of the option table in options.c. */
#ifndef TRAINER_SETTINGS_H
#define TRAINER_SETTINGS_H

#include "base/opts.h"

struct settings {
    /* data */
    struct opt_paths shards; /* DIR, or several DIR=WEIGHT (datasets.h); none: must be given */
    uint64_t seq;            /* 0: the shortest */
    int masks;               /* enum mask_policy of data/shard_source.h */
    bool no_shuffle;

    /* model and recipe */
    const char *model; /* NULL: base, or what --init holds */
    const char *init;  /* NULL: drawn by seed */
    bool init_moments;
    const char *resume;   /* NULL: a run begins at step 0 */
    const char *config;   /* DeepSpeed's JSON; NULL: our defaults */
    int recipe;           /* --recipe: its number (keys/recipes.h) */
    struct opt_paths set; /* key.path=value */
    bool pld_compat;
    uint64_t batch[2];     /* of the first step, and after the warm-up */
    double batch_warmup;   /* below 1 a share of the steps, else steps */
    uint32_t mask_prob[2]; /* of fresh masks, at the beginning and the end: millionths */
    uint64_t micro_batch;  /* 0: by arithmetic */
    uint64_t steps;
    double epochs;
    double lr, warmup, decay, dropout;
    int schedule, optimizer; /* enum schedule_kind, enum optimizer_kind */
    int precision;           /* enum precision; where not given, by processor */
    uint64_t seed;
    bool same_bits;
    int zero; /* stage; where not given, the configuration's */

    /* the run */
    const char *out; /* NULL: runs/ and a name */
    bool fresh;
    struct opt_count_or_time save_every;
    uint64_t keep_last;
    uint64_t keep_every; /* 0: none for ever */
    bool keep_best;
    int save_fails; /* 0: stop, 1: go on */
    bool skip_damaged;
    uint64_t eval_every, eval_samples; /* eval_every 0: at the end only */
    uint64_t patience;                 /* evaluations; 0: for ever */
    uint64_t shown;                    /* of eval: samples with guesses */
    uint64_t log_every;
    uint64_t norms_every; /* 0: never */
    uint64_t stop_after;  /* 0: never */
    uint64_t time_limit;  /* seconds; 0: none */
    bool dry_run;

    /* this machine, this time */
    int device;                /* enum device_kind; where not given, CUDA if it is there */
    const char *price;         /* of plan: "2.50/h"; NULL: not asked for */
    const char *tune;          /* a table of product algorithms; NULL: the run's own, or none */
    int cpu;                   /* enum cpu_level; where not given, what the machine has */
    int split;                 /* of eval: enum split */
    uint64_t top;              /* of fill-mask: pieces for each mask */
    struct opt_paths scores;   /* of export: results for the card */
    uint64_t limit;            /* of score: pairs; 0: all */
    const char *details;       /* of score: scores of each pair; NULL: not written */
    bool replay;               /* of verify, with */
    uint64_t from, to;         /* steps of checkpoints; where not given, the oldest and the newest */
    uint64_t threads;          /* 0: all cores */
    uint64_t processes, gpus;  /* to start here; 0: none */
    uint64_t rank, world_size; /* world_size 0: what a launcher says */
    const char *rendezvous;    /* NULL: what a launcher says */
    int comm;                  /* auto, gloo, mpi, nccl */
    int wire;                  /* 0: fp32, 1: bf16 */
    const char *share;         /* "equal", or a weight */
    uint64_t peer_timeout;     /* seconds; 0: never */
    const char *dump_gradients;
    bool timings;
    bool json, quiet, verbose;
    bool mute; /* set by a verb that fails: another process reports the error */

    /* of glue */
    const char *glue; /* folder of the tasks */
    uint64_t seeds;   /* runs */
    /* of squad */
    const char *train, *dev; /* files of questions; NULL: not to be trained on, not to be answered */
    uint64_t doc_stride, max_query, max_answer, n_best; /* pieces, pieces, pieces, answers */
    double null_threshold;
    const char *logits; /* for tests: a file of logits instead of the model's; NULL: the model's */

    const struct tuning *tuning; /* what a verb other than train trains on (setup.h); NULL: shards */
    const struct launch *launch; /* which of how many processes this is; NULL: the only one */

    const struct opt_program *program; /* for opts_given and opts_json */
    const struct opt_result *result;
    int argc; /* the command line, for run.json */
    char **argv;
};

/* Was this option typed? */
static inline bool settings_given(const struct settings *settings, const char *name)
{
    return opts_given(settings->program, settings->result, name);
}

int dstrain_train(void *settings, struct opt_paths bare, struct error *err);
/* One training to its end, with its closing lines: what dstrain_train is but for --dry-run. */
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
int dstrain_glue(void *settings, struct opt_paths bare, struct error *err);

#endif
