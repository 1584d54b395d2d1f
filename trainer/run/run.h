/* A run's directory: the identity of its run, a lock, and run.json, which records what a checkpoint must not contain:
 * settings in force, starts, the seconds at each save.
 *
 *     run_open → NEW: begin; RESUMED: continue from `latest`, if there is one; FINISHED: nothing to do
 *       → run_start → { run_saved … } → run_finish → run_close */
#pragma once

#include "base/file.h"
#include "trainer/keep/state.h"

#define RUN_BYTES_MAX (16u << 20) /* of run.json (RUN_NAME): enough for about ten thousand starts */

enum run_kind { RUN_NEW, RUN_RESUMED, RUN_FINISHED };

struct run {
    char *directory; /* owned */
    struct lock lock;
    json_t *record; /* run.json */
    bool recorded;  /* the record is on disk */
    enum run_kind kind;
};

/* "runs/base-128-5b81d4": model's name, length, hash of the identity. The caller mem_free's it. */
char *run_directory(const char *model, uint32_t seq, const json_t *identity);

/* Creates and locks the directory (ERR_LOCKED) and compares its contents with `identity`. If it has another run:
 * ERR_MISMATCH with the differences; if it has other files: ERR_USAGE. `fresh` first renames an existing run to DIR.1
 * (or .2, …); *moved is then its new name (mem_free), else NULL. The caller calls run_close, on errors too. */
int run_open(struct run *run, const char *directory, const json_t *identity, bool fresh, char **moved,
             struct error *err);
void run_close(struct run *run); /* safe on a zeroed one */

/* Records a start at `step`. `facts` are about the machine and this start, `settings` the options in force; takes
 * ownership of both. */
int run_start(struct run *run, uint64_t step, const char *precision, json_t *facts, json_t *settings,
              struct error *err);
/* The last recorded start, or NULL. Differences from it, as another device, may change bits. */
const json_t *run_last_start(const struct run *run);
size_t run_starts(const struct run *run);
const char *run_precision(const struct run *run); /* recorded at the first start; NULL: a new run */

/* Records a save at `step` after `seconds` of training, and what the steps since the last line of metrics add up to
 * (interval.h; NULL: there are none), which it takes over. Drops records of later steps, and beyond a fixed number the
 * oldest. */
int run_saved(struct run *run, uint64_t step, double seconds, json_t *since, struct error *err);
double run_seconds(const struct run *run, uint64_t step);      /* at that save; 0 if it is not recorded */
const json_t *run_since(const struct run *run, uint64_t step); /* the same; NULL */
/* Records that the run finished at this step. `early`: why it did so before the last step ("patience"), or NULL. */
int run_finish(struct run *run, uint64_t step, const char *early, struct error *err);
/* A finished run goes on, because its last checkpoint is lost; the next run_start records it. */
void run_unfinish(struct run *run);
/* The step at which a run finished early, and *early, the reason; 0 and NULL if it finished after the last step. */
uint64_t run_ended(const struct run *run, const char **early);

/* Whether a member of [count] objects is equal in all of them, or absent from all. */
bool run_same_member(json_t *const *objects, size_t count, const char *key);
/* A copy of a record's identity that names the precision which was computed in, instead of "default". The caller
 * json_decref's it; NULL: there is none. */
json_t *run_identity(const json_t *identity, const json_t *precision);
/* Appends the differences: "lr 0.0002 (now 0.0001), steps 40 (now 20)". */
void run_differences(const json_t *there, const json_t *here, struct buf *out);
/* ERR_MISMATCH with the differences if the checkpoint at `path`, whose identity is `there`, is not of the run
 * `here`. */
int run_is_of(const char *path, const json_t *there, const json_t *here, struct error *err);

/* Reads run.json of a directory, without locking it; *record is NULL if there is none. */
int run_read(const char *directory, json_t **record, struct error *err);

/* Says that a process is training the run, if one is: whatever is shown of it is the state of this moment. */
void run_say_running(const char *directory);

/* Looks for an unfinished run with the same model and dataset in the parent folder of `directory`, and appends its name
 * and differences to out; nothing if there is none. */
void run_similar(const char *directory, const json_t *identity, struct buf *out);
