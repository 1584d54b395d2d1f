/* A run's directory: which run lives there (its identity), who holds it (a lock), and run.json, which records what a
 * checkpoint must not hold: settings in force, starts, the seconds at each save.
 *
 *     run_open → NEW: write the first checkpoint when there is one; RESUMED: go on from `latest`; FINISHED: say so
 *       → run_start → { run_saved … } → run_finish → run_close */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RUN_NAME      "run.json"
#define RUN_BYTES_MAX (16u << 20) /* of some ten thousand starts */

enum run_kind { RUN_NEW, RUN_RESUMED, RUN_FINISHED };

struct run {
    char *directory; /* owned */
    struct lock lock;
    json_t *record; /* run.json */
    bool recorded;  /* it is on disk */
    enum run_kind kind;
};

/* "runs/base-128-5b81d4": model's name, length, hash of the identity. The caller mem_free's it. */
char *run_directory(const char *model, uint32_t seq, const json_t *identity);

/* Takes the directory: makes it, locks it (ERR_LOCKED), and compares what it holds with `identity`. Another run there:
 * ERR_MISMATCH with the differences; something else: ERR_USAGE. `fresh` first renames an existing run to DIR.1 (or .2,
 * …); *moved is then its new name (mem_free), else NULL. On error too the caller calls run_close. */
int run_open(struct run *run, const char *directory, const json_t *identity, bool fresh, char **moved,
             struct error *err);
void run_close(struct run *run); /* safe on a zeroed one */

/* Records a start: from which step, with what. `facts` says where and how, `settings` what is in force; both are taken
 * over. */
int run_start(struct run *run, uint64_t step, const char *precision, json_t *facts, json_t *settings,
              struct error *err);
/* Of the start before this one, or NULL: what differs may change bits. */
const json_t *run_last_start(const struct run *run);
size_t run_starts(const struct run *run);
const char *run_precision(const struct run *run); /* recorded at the first start; NULL: a new run */

/* Records a save at `step` after `seconds` of training. Forgets those before `oldest`. */
int run_saved(struct run *run, uint64_t step, double seconds, struct error *err);
double run_seconds(const struct run *run, uint64_t step); /* at that save; 0 where it is not recorded */
/* At this step; before the last one because of `early` ("patience"), else NULL. */
int run_finish(struct run *run, uint64_t step, const char *early, struct error *err);
/* Where a finished run ended: its step (0: after the last one), and why before the last one, or NULL. */
uint64_t run_ended(const struct run *run, const char **early);

/* "lr 0.0002 (now 0.0001), steps 40 (now 20)". */
void run_differences(const json_t *there, const json_t *here, struct buf *out);
/* ERR_MISMATCH with the differences where the checkpoint at `path` is not of the run `here`. */
int run_is_of(const char *path, const json_t *there, const json_t *here, struct error *err);

/* run.json of a directory, for one that only reads it; NULL where there is none. */
int run_read(const char *directory, json_t **record, struct error *err);

/* An unfinished run of the same model and dataset beside `directory`: its name and how it differs, into out (left empty
 * where there is none). */
void run_similar(const char *directory, const json_t *identity, struct buf *out);

#endif
