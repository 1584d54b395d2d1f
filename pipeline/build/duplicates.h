/* Finds documents of equal text. For every document the spills hold an entry: 64 bits of the hash of its text (white
 * space folded) and its place. The result is how many have the text of an earlier one and, with --duplicates drop, a
 * file that lists them.
 *
 *     reading, hashes only ─► spills ─ duplicates_list ─► list ─► reading, digests ask duplicates_is_later (repeats.h)
 *     reading ─► spills of samples and hashes ─ duplicates_count
 *
 * The first by place (input, window, part of its group, record) is kept, so the result does not depend on threads,
 * processes or interruptions. Memory: one load of the spills at a time; the list is mapped, not read. Of n different
 * texts, two are taken for equal with a probability of n^2 / 2^65: for a hundred million, one in 3,700. */
#pragma once

#include "pipeline/build/digest.h"
#include "pipeline/build/extents.h"

/* The list: in the order of the hashes, the first document of every text that occurs several times. */
struct duplicates {
    struct mapping mapping;
    const struct sample_key *rows;
    size_t count;
};

/* Counts into *later the documents with the text of an earlier one. The hashes are the last of `sets`. */
int duplicates_count(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                     uint64_t load_bytes_max, uint64_t *later, struct error *err);
/* Writes the list, atomically, from spills whose set 0 holds hashes. The list is among the spills, and is removed with
 * them. */
int duplicates_list(const struct spills *spills, uint64_t load_bytes_max, struct error *err);

int duplicates_open(struct duplicates *duplicates, const char *directory, struct error *err);
void duplicates_close(struct duplicates *duplicates); /* a zeroed one is fine */

/* Compares places: < 0, 0, > 0 if `a` is before, equal to, after `b`. */
int compare_places(const struct sample_key *a, const struct sample_key *b);

/* True if an earlier document has this text. Any thread. */
bool duplicates_is_later(const struct duplicates *duplicates, const struct sample_key *document);
