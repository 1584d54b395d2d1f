/* --fresh: a new dataset is built beside the old one, then replaces it. After being killed at any point, the build is
 * finished by the same command. Readers see the old dataset, or none ("not finished"), or the new one, never a mixture.
 *
 *     DIR/.fresh/                 what holds is
 *     journal  spill/ …           the new one under construction, an ordinary build elsewhere: DIR is as it was
 *     manifest.json  seq128/ …    complete. The old one goes; every `dsdata build` into DIR first finishes that
 *     replaced.json               the old manifest, set aside: its files are going, DIR is no dataset
 *     (replaced.json is gone)     the new files are coming, manifest.json last; then .fresh goes
 *
 * The files removed are those that the old manifest, or the journal of an unfinished build, covers (owned.h). All calls
 * except fresh_look and fresh_old_bytes require the directory's lock. */
#pragma once

#include "base/error.h"
#include "base/file.h"

#include <stdint.h>

char *fresh_site(const char *directory); /* DIR/.fresh; freed with mem_free */

enum fresh_state {
    FRESH_ABSENT,     /* or empty */
    FRESH_UNFINISHED, /* it has a journal of ours */
    FRESH_COMPLETE,   /* it has a manifest of ours */
};
/* ERR_USAGE: DIR/.fresh is something else. Returns an enum fresh_state, or < 0. */
int fresh_look(const char *directory, struct error *err);

/* Checks that the contents of DIR may be replaced: all of ours are regular files in real folders, and none is among
 * `inputs`, which would be lost; else ERR_USAGE. `vocab` (or NULL) may be DIR/vocab.txt, because the new dataset has a
 * copy. */
int fresh_check(const char *directory, const struct path_list *inputs, const char *vocab, struct error *err);

/* Removes another command's unfinished build from DIR/.fresh. */
int fresh_discard(const char *directory, struct error *err);
/* Puts the complete dataset of DIR/.fresh in the place of the old one, continuing where an earlier start was
 * interrupted. */
int fresh_replace(const char *directory, struct error *err);

/* The disk space of the old dataset, which stays while the new one is built; 0 if there is none. */
int fresh_old_bytes(const char *directory, uint64_t *bytes, struct error *err);
