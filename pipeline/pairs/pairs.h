/* Documents of a group → sentence pairs, as Google's create_pretraining_data.py makes them (docs/FORMULAS.md), except
 * that every draw is made by name (Law 3): a document's pairs depend only on the group, its index in it, the length and
 * the copy.
 *
 *     nsp    A, then what follows it or text of another document  (Devlin et al. 2019)
 *     sop    A and what follows it, swapped half of the time       (Lan et al. 2019, section 3.1)
 *     none   one segment that fills the length; packed: it continues over the ends of documents
 *
 * Where Google's script would pair a document with itself or with held-out text, ours does not (docs/DESIGN.md,
 * section 3). A random next comes from another document of the same split of the group. A held-out pair falls back
 * to training documents (counted). Without any partner, as of a book that is a file of its own, it comes from the
 * document itself, at least PAIR_FAR sentences away; in a shorter document the true next is used. A lone sentence is
 * split at a random piece, and a single piece is dropped (counted). */
#pragma once

#include "pipeline/pairs/documents.h"
#include "shards/format.h"

#define PAIR_FAR 100u /* sentences */

/* One pair: two ranges of documents.ids, already cut to fit. A packed A continues in the following documents of its
 * split until it has all its ids. */
struct sample_pair {
    size_t a, a_size;                /* first id and number of ids of segment A, which has at least one */
    size_t b, b_size;                /* of segment B; no ids: there is no B */
    uint32_t document_a, document_b; /* indices in the group; without B, document_b is that of A's last id */
    bool is_random_next;             /* sop: the segments are swapped */
};

struct pairs {
    struct sample_pair *items;
    size_t count, capacity;
    uint64_t borrowed; /* held-out pairs whose random next is a training document */
    uint64_t dropped;  /* single pieces without a partner */
};

struct pair_options {
    enum pair_kind kind;
    bool packed;             /* PAIRS_NONE: segments continue over the ends of documents */
    uint32_t length;         /* sequence length S: a pair holds at most S - 3 pieces, one segment S - 2 */
    uint32_t short_seq_prob; /* millionths */
    uint64_t seed;
    uint32_t file, window, part; /* the group's name */
    uint32_t copy;
};

/* Appends the pairs of document `index` in their order: PAIRS_NSP and PAIRS_SOP. */
void pairs_of_document(const struct documents *documents, uint32_t index, const struct pair_options *options,
                       struct pairs *pairs);
/* Appends the segments of all documents of a split in their order: PAIRS_NONE. No text is left out: a segment is full,
 * was drawn to be short, or ends with its document (when packed: with the split). */
void pairs_of_split(const struct documents *documents, bool valid, const struct pair_options *options,
                    struct pairs *pairs);
void pairs_add(struct pairs *pairs, const struct sample_pair *pair);
void pairs_reset(struct pairs *pairs);
void pairs_release(struct pairs *pairs);
