/* What --shards names: a dataset, or several with weights, which are mixed (data/mixture.h).
 *
 *     --shards A                                one, as it is
 *     --shards A=0.7 --shards B=0.3             of ten samples seven are A's; --shards A=7 --shards B=3 is the same
 *
 * What is there under the whole text is a path. Else the last '=' ends the path where a decimal number follows it: a
 * dataset whose name has a '=' in it is given as NAME=WEIGHT all the same. */
#ifndef TRAINER_DATASETS_H
#define TRAINER_DATASETS_H

#include "base/error.h"
#include "base/opts.h"
#include "shards/dataset.h"
#include "trainer/data/mixture.h"

#include <jansson.h>

#define MIXTURE_TEXT_BYTES 640

struct datasets {
    uint32_t count;
    uint32_t weights[MIXTURE_MAX]; /* [count] of mixture_weights */
    struct dataset train[MIXTURE_MAX];
    struct dataset valid[MIXTURE_MAX]; /* may have no samples */
};

/* Opens both splits of each. seq 0: the shortest length of the first. ERR_USAGE: none is given, several without
 * weights, what is no weight, a dataset given twice; ERR_MISMATCH: a length that one has not or has no samples of, or
 * datasets that do not go together: vocabulary, how text was read, pairs, what masks take; else the errors of
 * dataset_open. On error too the caller calls datasets_close. */
int datasets_open(struct datasets *datasets, const struct opt_paths *shards, uint32_t seq, struct error *err);
void datasets_close(struct datasets *datasets); /* safe on a zeroed one */

/* Of one its root hash; of several a hash of all root hashes and weights. */
uint64_t datasets_hash(const struct datasets *datasets);
/* "0.7 of 5b81d4a9e0c3f726, 0.3 of …": shares and root hashes; "" of one dataset. */
char *datasets_identity(const struct datasets *datasets, char out[MIXTURE_TEXT_BYTES]);
/* "0.7 A (3.2 epochs), 0.3 B (11 epochs)" of so many samples; nothing of one dataset. */
void datasets_add_text(const struct datasets *datasets, uint64_t samples, struct buf *out);
/* How often so many samples read the dataset that they read most often. */
double datasets_epochs(const struct datasets *datasets, uint64_t samples);

/* --shards as run.json has it: a text with the full path, or an array of such texts, weights with them; and back:
 * pointers into `json`, in an array which the caller mem_free's (none: what is there is no record of it). */
json_t *shards_record(const struct opt_paths *shards);
struct opt_paths shards_recorded(const json_t *json);
/* The path in such a text, which the caller mem_free's. */
char *shards_path(const char *text);
/* Is one of the directories not there? */
bool shards_missing(const struct opt_paths *shards);

#endif
