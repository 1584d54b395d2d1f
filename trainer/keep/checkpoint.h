/* A checkpoint: a directory that Hugging Face's from_pretrained loads, plus what training needs to resume.
 * from_pretrained does not load that of a pre-LN model, whose tensors have other names there: `dstrain export` writes
 * those (verbs/export_layout.c).
 *
 *     RUN/latest                          "step-00001000\n"
 *     RUN/best                            the same, for the one with the least held-out loss (--keep-best)
 *     RUN/checkpoints/step-00001000/      config.json  model.safetensors (F32, the master copy)
 *                                         vocab.txt  tokenizer.json  tokenizer_config.json (tokenizer_write.h)
 *                                         optimizer.safetensors (Adam's moments)
 *                                         errors/ (only with 1-bit Adam: errors.h)
 *                                         state.json (the run's identity, its progress, XXH3 of every other file)
 *
 * Nothing in it depends on time, place, device or threads: equal runs give equal bytes. It is written under a temporary
 * name, every file is synced, and the directory is renamed; `latest` is replaced by rename after that. So every
 * directory named step-N is complete, and a crash at any moment leaves the previous checkpoint untouched. */
#pragma once

#include "shards/verify.h"
#include "trainer/keep/errors.h"
#include "trainer/keep/names.h"
#include "trainer/keep/state.h"
#include "trainer/keep/tokenizer_write.h"

/* Arrays of a checkpoint, each with all tensors of the table. */
enum checkpoint_array {
    CHECKPOINT_WEIGHTS,
    CHECKPOINT_FIRST,
    CHECKPOINT_SECOND,
    CHECKPOINT_ARRAYS, /* how many */
};

/* Reads tensors of arrays that are not in this process's memory, one at a time: tensor number `param` of the table is
 * written to `out`, which has room for its `count` elements. 0, or -1 with *err. */
struct checkpoint_source {
    int (*read)(void *context, enum checkpoint_array array, size_t param, float *out, struct error *err);
    void *context;
};

/* Everything that is written besides the state; borrowed. The arrays are flat memory [params->size]; if `source` is not
 * NULL, they are not used and every tensor is read from it instead. */
struct checkpoint_parts {
    const struct model_config *config;
    uint32_t pad_id, cls_id, sep_id;
    const struct params *params;
    const float *weights, *first, *second;
    const struct tokenizer_files *tokenizer;
    const json_t *identity; /* the run's identity (run.h) */
    const struct checkpoint_source *source;
    const struct checkpoint_errors *errors; /* NULL: none */
};

/* Writes checkpoints/step-N and `latest` in the run's directory, then calls checkpoint_keep. On error (of a file call,
 * or of `source`) the newest checkpoint is as it was before. */
int checkpoint_write(const char *run, const struct checkpoint_parts *parts, const struct checkpoint_state *state,
                     uint64_t keep_last, uint64_t keep_every, struct error *err);

/* Removes the checkpoints up to `step`, except the newest keep_last (0: removes none at all), those whose step is a
 * multiple of keep_every (0: no such exception), the one that `best` names, and those in which the user put files. */
int checkpoint_keep(const char *run, uint64_t step, uint64_t keep_last, uint64_t keep_every, struct error *err);

bool checkpoint_exists(const char *run, uint64_t step);
/* The step of the checkpoint that `best` names; 0 if that checkpoint does not exist. */
uint64_t checkpoint_best(const char *run);
/* Makes `best` name the checkpoint of this step, which must exist. checkpoint_keep does not remove it until `best`
 * names another. */
int checkpoint_set_best(const char *run, uint64_t step, struct error *err);
/* Makes `latest` name the checkpoint of this step, which must exist. */
int checkpoint_set_latest(const char *run, uint64_t step, struct error *err);
/* RUN/checkpoints/step-00001000, whether it exists or not; the caller mem_free's it. */
char *checkpoint_path(const char *run, uint64_t step);

/* The newest checkpoint of a run, or the newest before the one called `name` if that is not NULL: its directory, which
 * the caller mem_free's. NULL: none. */
char *checkpoint_before(const char *run, const char *name);

/* Finds out what a directory is: one with `latest` or with checkpoints/step-N is a run, one with state.json a
 * checkpoint, any other Hugging Face's. *files becomes the directory that holds the files (for a run the checkpoint
 * that `latest` names, without `latest` the newest); the caller mem_free's it. ERR_USAGE if there is no such directory.
 */
enum model_source { SOURCE_RUN, SOURCE_CHECKPOINT, SOURCE_HUGGING_FACE };
int checkpoint_locate(const char *directory, enum model_source *source, char **files, struct error *err);

/* Adds to an error about a directory what it is: a dataset, a run without a checkpoint, a part of a run, a
 * directory of runs. Returns -1. */
int checkpoint_hint_place(const char *directory, struct error *err);
/* ERR_USAGE for a directory that is no model, and `why`. */
int checkpoint_refuse(const char *directory, const char *why, struct error *err);

/* Reads state.json and compares every file with its hash: ERR_VERIFY names the first that is missing or damaged. The
 * caller json_decref's *identity (`identity` may be NULL). */
int checkpoint_verify(const char *directory, struct checkpoint_state *state, json_t **identity, struct error *err);
/* *foreign becomes the name of a file in a checkpoint's directory that is not the run's, or NULL; the caller mem_free's
 * it. A damaged state.json is no error; one that cannot be read is. */
int checkpoint_foreign(const char *directory, char **foreign, struct error *err);
/* As checkpoint_verify for a report: notes every file that is missing or damaged, under prefix + name. < 0: reading
 * failed. */
int checkpoint_survey(const char *directory, const char *prefix, struct verify_progress progress,
                      struct verify_report *report, struct error *err);
/* Reads weights and moments of a verified checkpoint into flat memory [params->size] each; NULL: not wanted.
 * ERR_VERIFY: a tensor is missing, or has another shape. */
int checkpoint_read(const char *directory, const struct params *params, float *weights, float *first, float *second,
                    struct error *err);

/* Compares the weights and moments of a verified checkpoint of step `step` with those of `parts` (its params, weights,
 * first and second), bit by bit. ERR_VERIFY names the first tensor and element that differ. `hash` gets the XXH3 of
 * both files, joined by '+', the form in which a run's identity names the checkpoint that it started from. */
int checkpoint_compare(const char *directory, const struct checkpoint_parts *parts, uint64_t step, char hash[34],
                       struct error *err);

/* Removes directories with temporary names, left by a crash, from checkpoints/; checkpoint_write does it first. */
int checkpoint_tidy(const char *run, struct error *err);
/* Approximate size of one checkpoint in bytes. */
uint64_t checkpoint_bytes(const struct params *params);
