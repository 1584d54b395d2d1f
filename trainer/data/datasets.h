/* What --shards names: a dataset, or several with weights, which are mixed (data/mixture.h).
 *
 *     --shards A                                a single dataset
 *     --shards A=0.7 --shards B=0.3             seven of ten samples are A's; --shards A=7 --shards B=3 is the same
 *
 * If the whole text is an existing path, it is the path. Else the path ends at the last '=' if a decimal number follows
 * it, so a dataset whose name contains '=' can be given a weight too. */
#pragma once

#include "base/error.h"
#include "base/opts.h"
#include "shards/dataset.h"
#include "trainer/data/mixture.h"

#include <jansson.h>

#define MIXTURE_TEXT_BYTES 640

struct datasets {
    uint32_t count;
    uint32_t weights[MIXTURE_MAX]; /* [count] from mixture_weights */
    struct dataset train[MIXTURE_MAX];
    struct dataset valid[MIXTURE_MAX]; /* may have no samples */
};

/* Opens both splits of each dataset. seq 0: the shortest length of the first one. ERR_USAGE: no dataset, several
 * without weights, something that is not a weight, or a dataset given twice. ERR_MISMATCH: one has no samples of the
 * length, or they cannot be mixed because their vocabularies, options for reading text, pairs or masking differ. Else
 * the errors of dataset_open. The caller calls datasets_close, on errors too. */
int datasets_open(struct datasets *datasets, const struct opt_paths *shards, uint32_t seq, struct error *err);
void datasets_close(struct datasets *datasets); /* safe on a zeroed one */

/* The root hash of a single dataset, or a hash of all root hashes and weights. */
uint64_t datasets_hash(const struct datasets *datasets);
/* "0.7 of 5b81d4a9e0c3f726, 0.3 of …": shares and root hashes; "" for a single dataset. */
char *datasets_identity(const struct datasets *datasets, char out[MIXTURE_TEXT_BYTES]);
/* Appends "0.7 A (3.2 epochs), 0.3 B (11 epochs)" for that many samples; nothing for a single dataset. */
void datasets_add_text(const struct datasets *datasets, uint64_t samples, struct buf *out);
/* The epochs that reading `samples` samples makes of the dataset that is read most often. */
double datasets_epochs(const struct datasets *datasets, uint64_t samples);

/* --shards as run.json records it: a text with the full path and the weight, or an array of such texts. And the
 * reverse: pointers into `json`, in an array that the caller mem_free's; none if `json` is not such a record. */
json_t *shards_record(const struct opt_paths *shards);
struct opt_paths shards_recorded(const json_t *json);
/* Adds them to a command: --shards DIR for each. */
void shards_command(const struct opt_paths *shards, struct buf *command);
/* The path in such a text, which the caller mem_free's. */
char *shards_path(const char *text);
/* Whether any of the directories does not exist. */
bool shards_missing(const struct opt_paths *shards);

/* "12.3 epochs"; a whole number from 1,000 on. */
char *epochs_text(double epochs, char out[40]);
