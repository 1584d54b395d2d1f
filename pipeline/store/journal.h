/* DIR/journal: how far a build is, so that the same command goes on from there after any interruption. Replaced as a
 * whole (temporary name, fsync, rename) after the spills it speaks of were synced; removed when the dataset is complete.
 * It is also the promise that what stands in this directory is ours. */
#ifndef PIPELINE_STORE_JOURNAL_H
#define PIPELINE_STORE_JOURNAL_H

#include "base/error.h"
#include "pipeline/counts.h"
#include "pipeline/tally.h"

#include <jansson.h>

enum journal_stage {
    JOURNAL_VOCABULARY, /* the vocabulary is not settled yet */
    JOURNAL_READING,    /* `reading` says where */
    JOURNAL_SEALING,    /* all input is in the spills */
};

struct journal {
    json_t *identity; /* inputs and recipe: what must be equal for a resume. Owned. */
    enum journal_stage stage;
    json_t *reading; /* where the reading is: the business of build.c. Owned; NULL before it begins. */
    double seconds;  /* of the starts so far */
    struct counts counts;
    struct tally templates; /* without a rendering */
    size_t set_count;       /* of the spill */
    uint32_t bucket_bits[SETS_MAX];
    uint64_t *spill_bytes; /* as spill_sync gives them. Owned. */
    size_t spill_count;
};

int journal_write(const struct journal *journal, const char *directory, struct error *err);
/* 1: read into *journal (zeroed before); 0: there is none; < 0: damaged, ERR_VERIFY. */
int journal_read(struct journal *journal, const char *directory, struct error *err);
int journal_remove(const char *directory, struct error *err);
void journal_release(struct journal *journal);

#endif
