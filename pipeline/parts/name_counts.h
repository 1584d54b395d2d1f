/* Which names cost most: a count and bytes for each name, in bounded memory. A full table forgets its cheaper half. A
 * forgotten name that returns begins at zero, and `missed` bounds what any name has lost in this way: at most a share
 * of 2 / NAME_COUNTS_MAX of all bytes added (Misra and Gries, "Finding repeated elements", 1982; merged as by Agarwal
 * et al., "Mergeable summaries", 2012). Until the table is full the figures are exact and independent of the order of
 * calls; call in a fixed order to make them reproducible afterwards. */
#pragma once

#include "base/str.h"

#include <jansson.h>

#define NAME_COUNTS_MAX       16384u
#define NAME_COUNTS_BYTES_MAX 96u /* without the NUL */

struct name_count {
    uint64_t count, bytes;
    uint64_t missed;  /* the most bytes that it may have lost before it was added */
    uint32_t name_at; /* offset in name_counts.names, with a NUL after the name */
    uint32_t hash;
};

/* A zeroed one is empty. */
struct name_counts {
    struct name_count *rows;
    size_t count, capacity;
    uint32_t *slots; /* [slot_count] index + 1 of a row, or 0: open addressing by hash */
    size_t slot_count;
    struct buf names;
    uint64_t missed;
};

void name_counts_add(struct name_counts *table, struct str name, uint64_t count, uint64_t bytes);
void name_counts_merge(struct name_counts *into, const struct name_counts *from);
void name_counts_reset(struct name_counts *table); /* forgets everything, keeps the memory */
void name_counts_release(struct name_counts *table);

static inline const char *name_counts_name(const struct name_counts *table, const struct name_count *row)
{
    return table->names.data + row->name_at;
}

/* The rows of most bytes, equal ones by name: at most `max` indices in `out`; returns how many. */
size_t name_counts_top(const struct name_counts *table, uint32_t *out, size_t max);

/* For the journal, without loss. name_counts_read: false if name_counts_json did not write it; *table is then empty. */
json_t *name_counts_json(const struct name_counts *table);
bool name_counts_read(struct name_counts *table, const json_t *json);
