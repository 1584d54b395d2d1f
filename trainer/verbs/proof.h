/* provenance.json: how a model came about, for those who want to prove or refute it. `dstrain export` writes it beside
 * the model, `verify --provenance` reads it. It takes the place of run.json there and has its keys:
 *
 *     {"provenance_version": 1, "program": "dstrain 0.2.0", "arithmetic_version": 4,
 *      "bits": on which devices the same bits come out,
 *      "datasets": [{"root_hash", "text_version", "sources": [{"name", "bytes", "hash"}]}],
 *      "identity": {…}, "precision": "fp32",                    of run.json
 *      "starts": [{"step", "version", "command": […], "device", "micro_batch", "processes", "wire", "zero",
 *                  "arithmetic_version"}],                       the same, without times and hosts
 *      "checkpoints": [{"step", "weights", "moments", "tensors": {name: hash}}],   ascending; every kept one
 *      "hash": of this object as compact text without this key}
 *
 * All hashes are XXH3-64: of the files of a checkpoint, and of the bytes of each tensor of its weights. They say which
 * bytes are meant; what proves them is that they are computed again. */
#pragma once

#include "trainer/verbs/about.h"

#define PROVENANCE_NAME "provenance.json"

/* On which devices the same bits come out, as text; PROVENANCE_EVERYWHERE: on every CPU. */
#define PROVENANCE_EVERYWHERE "every CPU"
const char *proof_bits(const json_t *record);

/* Makes the object for a run; *provenance is NULL if nothing is recorded of it. The caller json_decref's it. A
 * checkpoint that is damaged is left out, which is said. */
int proof_make(const struct about *about, json_t **provenance, struct error *err);

/* Reads a file. ERR_VERIFY: it was altered, or is none; ERR_MISMATCH: of a newer version. The caller json_decref's
 * *provenance. */
int proof_read(const char *path, json_t **provenance, struct error *err);
/* Whether it names a checkpoint of this step. */
bool proof_names(const json_t *provenance, uint64_t step);
uint64_t proof_last(const json_t *provenance); /* the step of the newest one */

/* Compares the checkpoints of the steps from … to that both the run's directory and the file have. *count becomes how
 * many there are, *last the newest one's step, `weights` the hash of its weights. ERR_MISMATCH: a checkpoint is of
 * another run or dataset; ERR_VERIFY: it has other bytes; the error names the first tensor. */
int proof_compare(const json_t *provenance, const char *path, const char *run, uint64_t from, uint64_t to,
                  size_t *count, uint64_t *last, char weights[17], struct error *err);
/* The same for the weights of a model in a directory, which is not a run: *step becomes that of the checkpoint that has
 * them. */
int proof_compare_model(const json_t *provenance, const char *path, const char *directory, uint64_t *step,
                        char weights[17], struct error *err);
