/* Documents of a group → sentence pairs for next-sentence prediction, as Google's create_pretraining_data.py fills them
 * (seed-semantics 3.1), but every draw is made by name (Law 3): a document's pairs depend on the group, its index in it,
 * the length and the copy, and on nothing that runs before or beside it.
 *
 * Where Google's script would pair a document with itself or with held-out text, ours does not (design, "digest"): a
 * random next comes from another document of the same split of the group; a held-out pair falls back to training
 * documents (counted); without any partner the true next is taken, a lone sentence is split at a random piece, and a
 * single piece is dropped (counted). */
#ifndef PIPELINE_PAIRS_PAIRS_H
#define PIPELINE_PAIRS_PAIRS_H

#include "pipeline/pairs/documents.h"

/* One pair: two ranges of documents.ids, already cut to fit. */
struct pair {
    size_t a, a_size; /* first id and number of ids of segment A, both at least 1 */
    size_t b, b_size;
    uint32_t document_a, document_b; /* indices in the group */
    bool is_random_next;
};

struct pairs {
    struct pair *items;
    size_t count, capacity;
    uint64_t borrowed; /* held-out pairs whose random next is a training document */
    uint64_t dropped;  /* lone pieces without a partner */
};

struct pair_options {
    uint32_t length;         /* sequence length S: a pair holds at most S - 3 pieces */
    uint32_t short_seq_prob; /* millionths */
    uint64_t seed;
    uint32_t file, window, part; /* the group's name */
    uint32_t copy;
};

/* Appends the pairs of document `index` in their order. */
void pairs_of_document(const struct documents *documents, uint32_t index, const struct pair_options *options,
                       struct pairs *pairs);
void pairs_reset(struct pairs *pairs);
void pairs_release(struct pairs *pairs);

#endif
