/* Temporary files of samples, one for each range of sort keys. Entries (sort key and record) arrive in any order and go
 * to files DIR/spill/EXTENT-SET-BUCKET. The entries of a file share the top bits of their keys, so seal.c sorts file by
 * file in bounded memory.
 *
 *     key  0x0…            0x4…            0x8…            0xC…
 *         │ 000-00000     │ 000-00001     │ 000-00002     │ 000-00003     │   a set of 4 buckets
 *
 * spill_sync makes everything so far durable and reports the length of each file; after a crash spill_open truncates
 * the files to the lengths in the journal. One thread. */
#pragma once

#include "base/file.h"

#define SPILL_SETS_MAX        33
#define SPILL_BUCKET_BITS_MAX 8
#define SPILL_BUCKETS_MAX     (1u << SPILL_BUCKET_BITS_MAX) /* per set */
#define SPILL_NAME            "spill"

/* The name of a sample and its sort key. Samples are ordered by key, then by the rest of this struct, which precedes
 * the record in a spill. */
struct sample_key {
    uint64_t key; /* random by name */
    uint32_t file, window, part, copy, index;
    uint32_t zero; /* padding, so that every byte of the file is defined */
};
_Static_assert(sizeof(struct sample_key) == 32, "stands in spills");

struct spill_set {
    uint32_t entry_bytes; /* the first 8 bytes of an entry are its key, little-endian */
    uint32_t bucket_bits; /* 2^bits buckets, at most SPILL_BUCKETS_MAX */
};

struct spill_bucket {
    struct file file;
    struct buf buffer; /* entries not written yet */
    uint64_t bytes;    /* in the file and the buffer */
};

struct spill {
    char *directory; /* the dataset's */
    uint64_t extent;
    struct spill_set sets[SPILL_SETS_MAX];
    size_t set_count;
    struct spill_bucket *buckets[SPILL_SETS_MAX]; /* [sets[i]] [2^bucket_bits] */
    bool failed;                                  /* a write failed: nothing more is written or synced */
};

/* Opens the files of all sets of an extent (pipeline/build/extents.h), creating them if necessary, and truncates them
 * to `bytes` (all buckets of all sets in order; NULL: all to 0). ERR_VERIFY: a file is shorter than its length in the
 * journal. */
int spill_open(struct spill *spill, const char *directory, uint64_t extent, const struct spill_set *sets,
               size_t set_count, const uint64_t *bytes, struct error *err);
/* `entries` is a whole number of entries of the set. */
int spill_add(struct spill *spill, size_t set, const char *entries, size_t bytes, struct error *err);
/* Appends bytes to one bucket of a set whose entries are single bytes; they stay in their order. */
int spill_add_text(struct spill *spill, size_t set, uint32_t bucket, struct str text, struct error *err);
/* Writes and syncs everything, then fills bytes[] as spill_open takes them (spill_bucket_count of them). */
int spill_sync(struct spill *spill, uint64_t *bytes, struct error *err);
size_t spill_bucket_count(const struct spill_set *sets, size_t set_count);
/* The path of a bucket's file; the caller frees it with mem_free. */
char *spill_path(const char *directory, uint64_t extent, size_t set, uint32_t bucket);
void spill_close(struct spill *spill); /* the files stay */
/* Removes the files of one extent, or DIR/spill with those of all. That includes the extent's journal, which is removed
 * first: without it, what a crash leaves of the spills is ignored. */
int spill_remove(const char *directory, uint64_t extent, struct error *err);
int spill_remove_all(const char *directory, struct error *err);

/* The name of an extent's journal, beside its spills. */
#define SPILL_EXTENT_DIGITS 10
char *spill_journal_path(const char *directory, uint64_t extent);
/* True for the name of a journal in DIR/spill; *extent is its extent. */
bool spill_journal_name(const char *name, uint64_t *extent);
