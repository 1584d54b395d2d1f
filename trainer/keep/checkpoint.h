/* A checkpoint: a directory that Hugging Face's from_pretrained loads, plus what training needs to go on.
 *
 *     RUN/latest                          "step-00001000\n"
 *     RUN/best                            the same, of the one with the least held-out loss (--keep-best)
 *     RUN/checkpoints/step-00001000/      config.json  model.safetensors (F32, the master copy)
 *                                         vocab.txt  tokenizer.json  tokenizer_config.json
 *                                         optimizer.safetensors (Adam's moments)
 *                                         errors/ (of 1-bit Adam: errors.h)
 *                                         state.json (what run this is, how far, XXH3 of every other file)
 *
 * Nothing in it depends on time, place, device or threads: equal runs give equal bytes. It is written under a temporary
 * name, every file synced, then renamed; `latest` is replaced by rename after that. So whatever name ends in a step is
 * whole, and a crash at any moment leaves the last one as it was. */
#ifndef TRAINER_KEEP_CHECKPOINT_H
#define TRAINER_KEEP_CHECKPOINT_H

#include "base/error.h"
#include "shards/verify.h"
#include "trainer/keep/errors.h"
#include "trainer/keep/names.h"
#include "trainer/keep/state.h"
#include "trainer/keep/tokenizer_write.h"
#include "trainer/model/params.h"

#include <jansson.h>
#include <stdint.h>

/* Arrays of a checkpoint, each with all tensors of the table. */
enum checkpoint_array {
    CHECKPOINT_WEIGHTS,
    CHECKPOINT_FIRST,
    CHECKPOINT_SECOND,
    CHECKPOINT_ARRAYS, /* how many */
};

/* Gives tensors of arrays that are not in this process's memory, one at a time: number `param` of the table into
 * out[its count]. */
struct checkpoint_source {
    int (*read)(void *context, enum checkpoint_array array, size_t param, float *out, struct error *err);
    void *context;
};

/* What is written beside the state; borrowed. Flat memory [params->size], or where `source` is not NULL what it
 * gives. */
struct checkpoint_parts {
    const struct model_config *config;
    uint32_t pad_id;
    const struct params *params;
    const float *weights, *first, *second;
    const struct tokenizer_files *tokenizer;
    const json_t *identity; /* what the run is (run.h) */
    const struct checkpoint_source *source;
    const struct checkpoint_errors *errors; /* NULL: there are none */
};

/* Writes checkpoints/step-N and `latest` in the run's directory, then checkpoint_keep. On error the newest checkpoint
 * is as whole as before. */
int checkpoint_write(const char *run, const struct checkpoint_parts *parts, const struct checkpoint_state *state,
                     uint64_t keep_last, uint64_t keep_every, struct error *err);

/* Of the checkpoints up to `step` removes all but the newest keep_last (0: removes none), those of every keep_every-th
 * step (0: there are none such) and the one that `best` names. */
int checkpoint_keep(const char *run, uint64_t step, uint64_t keep_last, uint64_t keep_every, struct error *err);

/* The step of the checkpoint that `best` names, where that is there; else 0. */
uint64_t checkpoint_best(const char *run);
/* From now on `best` names the checkpoint of this step, which must be there: it stays until another takes its place. */
int checkpoint_set_best(const char *run, uint64_t step, struct error *err);
/* RUN/checkpoints/step-00001000, there or not; the caller mem_free's it. */
char *checkpoint_path(const char *run, uint64_t step);

/* What a directory is: one with `latest` is a run, one with state.json a checkpoint, else Hugging Face's. Gives the
 * directory that holds the files (the caller mem_free's it): a run's newest checkpoint. Absent: ERR_USAGE. */
enum model_source { SOURCE_RUN, SOURCE_CHECKPOINT, SOURCE_HUGGING_FACE };
int checkpoint_locate(const char *directory, enum model_source *source, char **files, struct error *err);

/* Reads state.json and compares every file with its hash: ERR_VERIFY names what is missing or damaged. *identity (may
 * be NULL) is the caller's to json_decref. */
int checkpoint_verify(const char *directory, struct checkpoint_state *state, json_t **identity, struct error *err);
/* The same for a report: all that is missing or damaged, whole files, under prefix + name. < 0: could not be read. */
int checkpoint_survey(const char *directory, const char *prefix, struct verify_progress progress,
                      struct verify_report *report, struct error *err);
/* Weights and moments (NULL: not wanted) of a verified checkpoint. */
int checkpoint_read(const char *directory, const struct params *params, float *weights, float *first, float *second,
                    struct error *err);

/* Are the weights and moments of a verified checkpoint those of `parts` (its params, weights, first and second), to the
 * bit? ERR_VERIFY: the first tensor and element that are not, of step `step`. `hash` gets the XXH3 of both files,
 * joined by '+', as a run's identity names what it began with. */
int checkpoint_compare(const char *directory, const struct checkpoint_parts *parts, uint64_t step, char hash[34],
                       struct error *err);

/* Removes what a crash left in checkpoints/ under temporary names; checkpoint_write does it first. */
int checkpoint_tidy(const char *run, struct error *err);
/* Bytes of one checkpoint, nearly. */
uint64_t checkpoint_bytes(const struct params *params);

#endif
