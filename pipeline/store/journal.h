/* DIR/journal: what a build is and at which stage, so that the same command can continue it after any interruption. The
 * state of the reading is beside the spills (pipeline/build/extents.h). Replaced as a whole (temporary name, fsync,
 * rename); removed when the dataset is complete. It also marks the contents of the directory as ours. */
#pragma once

#include "base/error.h"
#include "pipeline/parts/counts.h"

#include <jansson.h>
#include <stdbool.h>

enum journal_stage {
    JOURNAL_VOCABULARY, /* the vocabulary is not ready yet */
    JOURNAL_HASHING,    /* the extents hold notes about repeated documents (build/repeats.h) */
    JOURNAL_READING,    /* the extents say how far */
    JOURNAL_SEALING,    /* all input is in the spills */
};

struct journal {
    json_t *command;  /* the words of the command line at work, or NULL; never compared. Owned. */
    json_t *identity; /* inputs and recipe, which must be equal for a resume. Owned. */
    enum journal_stage stage;
    size_t set_count; /* of the spills */
    uint32_t bucket_bits[SETS_MAX];
};

int journal_write(const struct journal *journal, const char *directory, struct error *err);
/* 1: read into *journal (zeroed before); 0: there is none; < 0: damaged, ERR_VERIFY. */
int journal_read(struct journal *journal, const char *directory, struct error *err);
/* Removes the journal, and one that was not finished. Neither need exist. */
int journal_remove(const char *directory, struct error *err);
void journal_release(struct journal *journal);

/* Building blocks of journals. Writes an object to a file, and reads it back: NULL if it is not an object (or, with
 * *err, cannot be read). */
int journal_put(const char *path, const json_t *object, struct error *err);
json_t *journal_get(const char *path, struct error *err);
/* A list of whole numbers, and back: the count read, at most `count`, or exactly that if `exact`; -1 if it is not such
 * a list. */
json_t *numbers_json(const uint64_t *values, size_t count);
int64_t numbers_read(const json_t *list, uint64_t *out, size_t count, bool exact);
/* ERR_VERIFY: this journal cannot be used. */
int journal_damaged(const char *path, struct error *err);
