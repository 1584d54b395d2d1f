/* Standard input as a file, for what has to read it twice: DIRECTORY/.spool/input, until the command ends. What a
 * command that was killed has left there is removed by the next one in that directory, which says so.
 *
 *     spool_take → the file at spool.path is read like any other → spool_release
 *
 * A lock on DIRECTORY/.spool keeps two commands apart. */
#ifndef PIPELINE_SPOOL_H
#define PIPELINE_SPOOL_H

#include "base/file.h"

#define SPOOL_NAME ".spool"

struct spool {
    struct lock lock;
    char *folder;
    char *path;     /* NULL: nothing was taken */
    uint64_t bytes; /* of standard input, as it came */
};

/* Reads standard input to its end, below a directory that is there. ERR_STOPPED at a request to stop, ERR_LOCKED where
 * another command does the same; the caller releases *spool in every case. */
int spool_take(struct spool *spool, const char *directory, struct error *err);
void spool_release(struct spool *spool); /* removes the file; fine where nothing was taken */
/* Removes what was left below the directory, unless a command is using it. */
int spool_clear(const char *directory, struct error *err);

#endif
