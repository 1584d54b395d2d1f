/* The tokenized documents of one group: sentences arrive as piece ids, and pairs.c draws from them. All ids of a group
 * are in one array, so consecutive sentences of a document are one range of it: segments are ranges, and nothing is
 * copied until a sample is written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct document {
    uint64_t id;       /* page id; for text without ids, 52 bits of its hash */
    bool valid;        /* held out */
    uint32_t sentence; /* its first sentence */
    uint32_t sentence_count;
};

struct documents {
    struct document *items;
    size_t count, capacity;
    uint32_t *ids; /* piece ids of all sentences, one after the other */
    size_t id_count, id_capacity;
    size_t *ends; /* ends[s]: where sentence s ends in ids; it starts where s - 1 ends */
    size_t sentence_count, sentence_capacity;
    uint32_t *train, *held_out; /* indices of the documents of each split, in order */
    size_t train_count, held_out_count, split_capacity;
};

static inline size_t documents_sentence_start(const struct documents *documents, size_t sentence)
{
    return sentence == 0 ? 0 : documents->ends[sentence - 1];
}

/* Where the ids of document `index` start and end. */
static inline size_t document_start(const struct documents *documents, uint32_t index)
{
    return documents_sentence_start(documents, documents->items[index].sentence);
}
static inline size_t document_end(const struct documents *documents, uint32_t index)
{
    const struct document *document = &documents->items[index];
    return documents_sentence_start(documents, (size_t)document->sentence + document->sentence_count);
}

/* Per document: documents_begin, documents_sentence …, documents_end. A document without sentences is dropped. */
void documents_begin(struct documents *documents, uint64_t id, bool valid);
void documents_sentence(struct documents *documents, const uint32_t *ids, size_t count); /* empty ones are skipped */
bool documents_end(struct documents *documents);                                         /* false: it had no sentence */
void documents_reset(struct documents *documents);
void documents_release(struct documents *documents);

/* Decides by a hash of the id alone: the same for all dump versions, seeds and options (docs/DESIGN.md, section 3). */
bool document_is_held_out(uint64_t id, uint32_t valid_millionths);
