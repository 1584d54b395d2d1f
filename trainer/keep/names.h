/* Flat memory of parameters (model/params.h) to and from safetensors under Hugging Face's names, without vocabulary
 * padding and tied copies. Published files are read under older names and those of other programs too. */
#pragma once

#include "trainer/keep/safetensors.h"
#include "trainer/model/params.h"

/* Writes to `out`, which has room for params->count, views of the F32 tensors of a checkpoint, in the table's order and
 * with `prefix` before each name ("" for weights): one for each parameter, or for several that are one in the layout.
 * Returns their number. `flat` is flat memory [params->size]; NULL: views without data. The names live in `names`. */
size_t names_tensors(const struct params *params, const char *prefix, const float *flat, struct arena *names,
                     struct tensor *out);
/* Writes them as a file, of `kind` if it is not NULL (safetensors.h); *hash (may be NULL) becomes its XXH3-64. */
int names_write(const char *path, const struct params *params, const float *flat, const char *kind, uint64_t *hash,
                struct error *err);

/* What reading foreign weights found; the caller releases both. Names are separated by ", ". */
struct names_report {
    struct buf drawn;     /* heads that the file lacks, initialized from the seed */
    struct buf unused;    /* tensors of the file that the model has no place for; of a layer, its name and ".*" */
    struct buf misshapen; /* of a task's head in the file that has another shape than the model's: both shapes */
    struct buf body;      /* those of them that are no head's: config.json is not that of the file */
};

/* How a word table grows while it is read. Rows of new pieces become the mean of the rows of other pieces, and their
 * decoder bias the mean of those biases, so that a new piece's logit is the mean of theirs. */
struct growth {
    int32_t rows;    /* of the file's table */
    uint32_t pieces; /* the first pieces, which the file's table has; 0: the table does not grow */
    uint32_t count;  /* new pieces, from row `pieces` on */
    size_t *ends;    /* [count] where the parts of each end in `parts`, and those of the next begin; each has one */
    uint32_t *parts; /* of the first pieces */
};
void growth_release(struct growth *growth); /* safe on a zeroed one */

/* Reads the weights at `path` (safetensors_open) into flat memory: F32, F16, BF16 or F64, under today's names and those
 * that foreign_names.h translates. Skips `position_ids` and copies of tied tensors. Heads that are absent, and a task
 * head of another shape, are initialized from the seed; any other absent tensor or wrong shape is ERR_MISMATCH.
 * ERR_UNSAFE: integers, a tensor under two names, or a decoder of its own, whose numbers are not the tied tensor's, or
 * which is absent though config.json says that there is one. Without the head of masked tokens no decoder is read.
 * With `flat` NULL everything but the numbers is checked. */
int names_read(const char *path, const struct params *params, uint64_t seed, float *flat, struct names_report *report,
               struct error *err);
/* The same where the table grows, to the rows that `params` have. */
int names_read_grown(const char *path, const struct params *params, const struct growth *growth, uint64_t seed,
                     float *flat, struct names_report *report, struct error *err);
/* Checks whether the file has all tensors of a model's body, in its shapes and in floating-point types, with memory for
 * names only. A config.json from outside is checked so before memory of the sizes that it claims is allocated. Errors
 * as names_read. */
int names_check(const char *path, const struct model_config *config, struct error *err);
/* The same for all tensors that a training starts from, and their numbers: before it writes anything. ERR_NUMERIC as
 * below. draws_head: a task's head is drawn anew, whatever the file has. */
int names_check_kept(const char *path, const struct model_config *config, const struct growth *growth, bool draws_head,
                     struct error *err);
/* ERR_NUMERIC names the first tensor that is not finite. For weights that have been read. */
int names_check_finite(const char *path, const struct params *params, const float *flat, struct error *err);
/* Appends the `body` of a report; nothing where the file does not fit the config. */
void names_body_unused(const char *path, const struct model_config *config, struct buf *out);
void names_report_release(struct names_report *report);

/* Reads the tensors that names_tensors wrote with this prefix; a missing one, or one of another type or shape, is
 * ERR_VERIFY. */
int names_read_own(const struct safetensors *file, const char *path, const char *prefix, const struct params *params,
                   float *flat, struct error *err);
