/* Documents that are dropped because of earlier ones: those of equal text (--duplicates drop), and then
 * those of nearly the text of an earlier one that was kept (--near-duplicates, clean/near.h).
 *
 *     reading, notes only ─► spills ─ repeats_list ─► lists ─► reading, which asks repeats_judge about every document
 *
 * The spills of such a pass have a set of hashes and a set of sketches, which is one bucket, so that each extent has
 * them in the order of its documents. The lists stand among the spills of the directory. Memory: that of the index of
 * near duplicates, 5 bytes for each band and 3/4 of a document, 80 bytes for P = 0.8; sketches are read from the
 * spills. */
#pragma once

#include "pipeline/build/dataset_recipe.h"
#include "pipeline/build/digest.h"
#include "pipeline/build/extents.h"
#include "pipeline/clean/near.h"

/* Documents of equal text are found by their hashes: an entry of the spills has 64 bits of the hash of a document's
 * text (white space folded), and its place. The first by place (input, window, part of its group, record) is kept, so
 * the result does not depend on threads, processes or interruptions. Memory: one load of the spills at a time. Of n
 * different texts, two are taken for equal with a probability of n^2 / 2^65: for a hundred million, one in 3,700. */

/* Counts into *later the documents with the text of an earlier one. The hashes are the last of `sets`. */
int duplicates_count(const struct extents *extents, const struct spill_set *sets, size_t set_count,
                     uint64_t load_bytes_max, uint64_t *later, struct error *err);

#define REPEATS_SETS 2 /* of the pass: hashes, sketches */

/* A list of documents in a file, which is mapped, not read. */
struct repeats_file {
    struct mapping mapping;
    const struct sample_key *rows;
    size_t count;
};

struct repeats {
    const struct dataset_recipe *recipe;
    struct repeats_file equal; /* in the order of the hashes: the first document of every text that occurs again */
    struct repeats_file near;  /* in their order: the documents to drop */
};

static inline bool repeats_wanted(const struct dataset_recipe *recipe)
{
    return recipe->drop_duplicates || recipe->near_duplicates > 0;
}

/* The sets of the pass. `hash_bits`: the buckets of the hashes. */
void repeats_sets(const struct dataset_recipe *recipe, uint32_t hash_bits, struct spill_set sets[REPEATS_SETS]);
/* An entry of the second set, of entry_bytes bytes. */
struct sketched {
    struct sample_key document; /* its key is the hash of its text */
    struct near_sketch sketch;
};

/* Writes the lists, atomically, and removes the spills. ERR_RESOURCE: the index needs more than `room_bytes`. */
int repeats_list(const struct dataset_recipe *recipe, const struct extents *extents, const struct spill_set *sets,
                 uint64_t load_bytes_max, uint64_t room_bytes, struct error *err);

int repeats_open(struct repeats *repeats, const struct dataset_recipe *recipe, const char *directory,
                 struct error *err);
void repeats_close(struct repeats *repeats); /* a zeroed one is fine */

/* The name of a document. `hash`: of its text (article_hash). */
static inline struct sample_key repeats_key(const struct group *group, size_t index, uint64_t hash)
{
    return (struct sample_key){
        .key = hash, .file = group->file, .window = group->window, .part = group->part, .index = (uint32_t)index};
}
/* The fate of a document that has not been dropped so far; its key is the hash of its text. Any thread. */
enum page_fate repeats_judge(const struct repeats *repeats, const struct sample_key *document);
/* The same of record `index` of a group, whatever its fate so far; no document repeats another if the recipe of
 * `repeats` is NULL. */
enum page_fate repeats_fate(const struct repeats *repeats, const struct group *group, size_t index,
                            struct article_reader *reader, const struct article *article);
