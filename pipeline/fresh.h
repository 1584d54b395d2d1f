/* --fresh: a new dataset is built beside the old one, then takes its place. A build that was killed anywhere is
 * finished by the same command; readers see the old dataset, or none ("not finished"), or the new one, never parts of
 * two.
 *
 *     DIR/.fresh/                 what holds is
 *     journal  spill/ …           the new one under construction, an ordinary build elsewhere: DIR is as it was
 *     manifest.json  seq128/ …    complete. The old one goes; every `dsdata build` into DIR first finishes that
 *     replaced.json               the old manifest, set aside: its files are going, DIR is no dataset
 *     (replaced.json is gone)     the new files are coming, manifest.json last; then .fresh goes
 *
 * What goes are the files that the old manifest, or the journal of an unfinished build, answers for (owned.h). All
 * calls but fresh_look and fresh_old_bytes are for the holder of the directory's lock. */
#ifndef PIPELINE_FRESH_H
#define PIPELINE_FRESH_H

#include "base/error.h"
#include "base/file.h"

#include <stdint.h>

char *fresh_site(const char *directory); /* DIR/.fresh; freed with mem_free */

enum fresh_state {
    FRESH_ABSENT,     /* or empty */
    FRESH_UNFINISHED, /* it has a journal of ours */
    FRESH_COMPLETE,   /* it has a manifest of ours */
};
/* ERR_USAGE: something else stands there. Returns an enum fresh_state, or < 0. */
int fresh_look(const char *directory, struct error *err);

/* May what is in DIR be replaced? Nothing is ours but regular files in real folders, and none of it is among `inputs`,
 * which would be lost; `vocab` (or NULL) may be DIR/vocab.txt, because the new dataset has a copy. Else ERR_USAGE. */
int fresh_check(const char *directory, const struct path_list *inputs, const char *vocab, struct error *err);

/* Removes the unfinished build of another command from DIR/.fresh. */
int fresh_discard(const char *directory, struct error *err);
/* Puts the complete dataset of DIR/.fresh into the place of the old one, from wherever an earlier start left off. */
int fresh_replace(const char *directory, struct error *err);

/* What the old dataset takes on disk while the new one is built; 0 where there is none. */
int fresh_old_bytes(const char *directory, uint64_t *bytes, struct error *err);

#endif
