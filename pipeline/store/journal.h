/* DIR/journal: what a build is and at which stage, so that the same command goes on from there after any interruption.
 * How far the reading is stands beside the spills (pipeline/extent.h). Replaced as a whole (temporary name, fsync,
 * rename); removed when the dataset is complete. It is also the promise that what stands in this directory is ours. */
#ifndef PIPELINE_STORE_JOURNAL_H
#define PIPELINE_STORE_JOURNAL_H

#include "base/error.h"
#include "pipeline/counts.h"

#include <jansson.h>
#include <stdbool.h>

enum journal_stage {
    JOURNAL_VOCABULARY, /* the vocabulary is not settled yet */
    JOURNAL_HASHING,    /* --duplicates drop: the extents are of the documents' hashes */
    JOURNAL_READING,    /* the extents say where */
    JOURNAL_SEALING,    /* all input is in the spills */
};

struct journal {
    json_t *identity; /* inputs and recipe: what must be equal for a resume. Owned. */
    enum journal_stage stage;
    size_t set_count; /* of the spills */
    uint32_t bucket_bits[SETS_MAX];
};

int journal_write(const struct journal *journal, const char *directory, struct error *err);
/* 1: read into *journal (zeroed before); 0: there is none; < 0: damaged, ERR_VERIFY. */
int journal_read(struct journal *journal, const char *directory, struct error *err);
int journal_remove(const char *directory, struct error *err);
void journal_release(struct journal *journal);

/* What journals are made of. An object as a file, and back: NULL where it is no object (or, with *err, cannot be
 * read). */
int journal_put(const char *path, const json_t *object, struct error *err);
json_t *journal_get(const char *path, struct error *err);
/* A list of whole numbers, and back: the count read, at most `count`, exactly it where `exact`; -1 where it is none. */
json_t *numbers_json(const uint64_t *values, size_t count);
int64_t numbers_read(const json_t *list, uint64_t *out, size_t count, bool exact);
/* ERR_VERIFY: this journal says nothing that can be used. */
int journal_damaged(const char *path, struct error *err);

#endif
