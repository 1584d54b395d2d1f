/* Standard input as a file, for commands that must read it twice: DIRECTORY/.spool/input, until the command ends. What
 * a killed command has left there is removed by the next one in that directory, which logs it.
 *
 *     spool_take → the file at spool.path is read like any other → spool_release
 *
 * A lock on DIRECTORY/.spool excludes other commands. */
#pragma once

#include "base/file.h"

#define SPOOL_NAME ".spool"

struct spool {
    struct lock lock;
    char *folder;
    char *path;     /* NULL: nothing was taken */
    uint64_t bytes; /* of standard input, as received */
};

/* Reads standard input to its end into an existing directory. ERR_STOPPED: stopped on request; ERR_LOCKED: another
 * command does the same. The caller releases *spool even after an error. */
int spool_take(struct spool *spool, const char *directory, struct error *err);
void spool_release(struct spool *spool); /* removes the file; fine if nothing was taken */
/* Removes what was left in the directory, unless a command is using it. */
int spool_clear(const char *directory, struct error *err);
