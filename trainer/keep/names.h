/* Flat memory of parameters (model/params.h) to and from safetensors under Hugging Face's names: vocabulary not padded,
 * tied copies left out. Published files use older names too; they are read as they are. */
#ifndef TRAINER_KEEP_NAMES_H
#define TRAINER_KEEP_NAMES_H

#include "base/error.h"
#include "base/str.h"
#include "trainer/keep/safetensors.h"
#include "trainer/model/params.h"

#include <stdint.h>

/* Every parameter of the table as an F32 tensor of one file; `prefix` stands before each name ("" for weights).
 * Flat memory [params->size]; NULL: views without data. names_tensors appends params->count views to out, whose names
 * live in `names`. */
void names_tensors(const struct params *params, const char *prefix, const float *flat, struct arena *names,
                   struct tensor *out);
/* The same as a whole file; *hash (may be NULL) becomes its XXH3-64. */
int names_write(const char *path, const struct params *params, const float *flat, uint64_t *hash, struct error *err);

/* What reading weights from outside found; the caller releases both. Names are separated by ", ". */
struct names_report {
    struct buf drawn;  /* heads that the file lacks: drawn by seed */
    struct buf unused; /* tensors of the file that the model has no place for */
};

/* Reads model.safetensors at `path` into flat memory: F32, F16, BF16 or F64; today's names, `gamma` and `beta`,
 * `dense_act`, a `module.` prefix, no `bert.` prefix, RobertaPreLayerNorm's; `position_ids` and tied copies are passed
 * over. Heads that are absent, or those of a task with other classes, are drawn by seed; any other absent tensor or
 * another shape is ERR_MISMATCH. */
int names_read(const char *path, const struct params *params, uint64_t seed, float *flat, struct names_report *report,
               struct error *err);
void names_report_release(struct names_report *report);

/* The name of a pre-LN model's tensor in transformers' RobertaPreLayerNorm. */
#define ROBERTA_PREFIX "roberta_prelayernorm."
void names_to_roberta(const char *name, char *out, size_t size);

/* Reads exactly the tensors that names_tensors wrote with this prefix; anything missing or other is ERR_VERIFY. */
int names_read_own(const struct safetensors *file, const char *path, const char *prefix, const struct params *params,
                   float *flat, struct error *err);

#endif
