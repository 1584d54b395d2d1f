/* Which names cost most: names with a count and bytes each, in bounded memory. A full table forgets its cheaper half; a
 * forgotten name that comes back begins at zero, and `missed` bounds what any name has lost by that: at most a share of
 * 2 / TALLY_NAMES_MAX of all bytes added (Misra and Gries, "Finding repeated elements", 1982; merged as by Agarwal et
 * al., "Mergeable summaries", 2012). Until then figures are exact, and the order of the calls does not matter; call in
 * a fixed order, so that it never does. */
#ifndef PIPELINE_TALLY_H
#define PIPELINE_TALLY_H

#include "base/str.h"

#include <jansson.h>

#define TALLY_NAMES_MAX      16384u
#define TALLY_NAME_BYTES_MAX 96u /* without the NUL */

struct tally_row {
    uint64_t count, bytes;
    uint64_t missed;  /* bytes that it may have lost before it came */
    uint32_t name_at; /* in tally.names, with a NUL after it */
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

/* The rows of most bytes, names in bytewise order where they are equal: at most `max` indices into out; how many. */
size_t tally_top(const struct tally *tally, uint32_t *out, size_t max);

/* For the journal, exactly. tally_read: false where it is nothing that tally_json wrote; *tally is empty then. */
json_t *tally_json(const struct tally *tally);
bool tally_read(struct tally *tally, const json_t *json);

#endif
