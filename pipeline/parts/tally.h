/* Which names cost most: a count and bytes for each name, in bounded memory. A full table forgets its cheaper half. A
 * forgotten name that returns begins at zero, and `missed` bounds what any name has lost in this way: at most a share
 * of 2 / TALLY_NAMES_MAX of all bytes added (Misra and Gries, "Finding repeated elements", 1982; merged as by Agarwal
 * et al., "Mergeable summaries", 2012). Until the table is full the figures are exact and independent of the order of
 * calls; call in a fixed order to make them reproducible afterwards. */
#ifndef PIPELINE_PARTS_TALLY_H
#define PIPELINE_PARTS_TALLY_H

#include "base/str.h"

#include <jansson.h>

#define TALLY_NAMES_MAX      16384u
#define TALLY_NAME_BYTES_MAX 96u /* without the NUL */

struct tally_row {
    uint64_t count, bytes;
    uint64_t missed;  /* the most bytes that it may have lost before it was added */
    uint32_t name_at; /* offset in tally.names, with a NUL after the name */
    uint32_t hash;
};

/* A zeroed one is empty. */
struct tally {
    struct tally_row *rows;
    size_t count, capacity;
    uint32_t *slots; /* [slot_count] index + 1 of a row, or 0: open addressing by hash */
    size_t slot_count;
    struct buf names;
    uint64_t missed;
};

void tally_add(struct tally *tally, struct str name, uint64_t count, uint64_t bytes);
void tally_merge(struct tally *into, const struct tally *from);
void tally_reset(struct tally *tally); /* forgets everything, keeps the memory */
void tally_release(struct tally *tally);

static inline const char *tally_name(const struct tally *tally, const struct tally_row *row)
{
    return tally->names.data + row->name_at;
}

/* The rows of most bytes, equal ones by name: at most `max` indices in `out`; returns how many. */
size_t tally_top(const struct tally *tally, uint32_t *out, size_t max);

/* For the journal, without loss. tally_read: false if tally_json did not write it; *tally is then empty. */
json_t *tally_json(const struct tally *tally);
bool tally_read(struct tally *tally, const json_t *json);

#endif
