/* What stands in the output directory of a build, and whether this build may go on there. The identity of a build is an
 * object {"inputs": […], "vocabulary": …, "recipe": {…}}: equal identities give equal bytes, so threads, memory, paths
 * and verbosity are not in it. While a build is under way it stands in the journal, afterwards in build.json. */
#ifndef PIPELINE_DIRECTORY_H
#define PIPELINE_DIRECTORY_H

#include "base/error.h"
#include "pipeline/store/journal.h"

enum directory_state {
    DIRECTORY_NEW,      /* absent, or empty but for a lock */
    DIRECTORY_BUILDING, /* *journal was read; the same identity */
    DIRECTORY_FINISHED, /* the dataset of this identity is complete */
};

/* ERR_USAGE: a foreign directory that is not empty, or no directory; ERR_MISMATCH: a build of another identity, with
 * what differs. Returns an enum directory_state, or < 0. */
int directory_look(const char *directory, const json_t *identity, struct journal *journal, struct error *err);

/* Before the lock is taken, which writes: a directory that is not empty and holds nothing of ours is ERR_USAGE. */
int directory_check(const char *directory, struct error *err);
/* But for the lock, the temporary file of a journal that never came to be, .fresh and .spool? 1, 0, < 0. */
int directory_is_empty(const char *directory, struct error *err);

/* Removes what only a build under way needs: spills and journal, an empty .fresh. */
int directory_tidy(const char *directory, struct error *err);

#endif
