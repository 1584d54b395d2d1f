/* What a verb that fine-tunes calls, in this order, for any kind (tune/tune_kinds.h):
 *
 *     tune_seeds, or tune_run → tune_read_scores → kind->say_scores → tune_say_next */
#pragma once

#include "trainer/tune/tune_kinds.h"

/* Trains one run, or continues it, in `out` with `seed`. Its --json is printed only where it makes no scores. */
int tune_run(const struct tune_kind *kind, const char *task, struct settings *settings, uint64_t seed, const char *out,
             struct error *err);
/* The scores.json of a run; the caller json_decref's it. */
int tune_read_scores(const char *out, json_t **scores, struct error *err);
int tune_write_scores(const char *out, const json_t *scores, struct error *err);
/* Names what may be done with a model: with a run also its report. */
void tune_say_next(const char *model, bool is_run);

/* As many runs as --seeds says: one in `out` itself, several in directories of it, with the seeds that follow --seed.
 * Says their scores. *scores: those of the run; of several {"task", "seeds", "runs", "spread", "undefined"}, and the
 * means under the keys, which are written to scores.json too. */
int tune_seeds(const struct tune_kind *kind, const char *task, struct settings *settings, const char *out,
               json_t **scores, struct error *err);
/* A directory of several runs has only runs that are `ours`, and scores.json, which is replaced. */
int tune_check_several(const struct settings *settings, const char *out, bool (*ours)(const char *name),
                       struct error *err);
/* tune_say_next for the run of these scores, or the first of several. */
void tune_say_next_seed(const char *out, const json_t *scores);
