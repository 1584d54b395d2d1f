/* What is in the output directory of a build, and whether this build may continue there. The identity of a build is an
 * object {"inputs": […], "vocabulary": …, "recipe": {…}}. Equal identities give equal bytes, so threads, memory, paths
 * and verbosity are not in it. It is in the journal during a build, and in build.json afterwards. */
#pragma once

#include "base/error.h"
#include "pipeline/input/inputs.h"
#include "pipeline/store/journal.h"

enum directory_state {
    DIRECTORY_NEW,      /* absent, or empty but for a lock */
    DIRECTORY_BUILDING, /* *journal was read; the same identity */
    DIRECTORY_FINISHED, /* the dataset of this identity is complete */
};

/* ERR_USAGE: a directory that is not empty and not ours, or not a directory; ERR_MISMATCH: a build of another identity,
 * with the differences. Returns an enum directory_state, or < 0. */
int directory_look(const char *directory, const json_t *identity, struct journal *journal, struct error *err);

/* The inputs of an identity, a new reference. */
int directory_inputs(const struct inputs *inputs, json_t **list, struct error *err);

/* For use before the lock is taken, because that writes: ERR_USAGE if the directory is not empty and holds nothing of
 * ours. */
int directory_check(const char *directory, struct error *err);
