/* Computes the derived fields of a shard's header and footer, and finds what is wrong with a header from outside.
 * Pure. */
#include "shards/format.h"

#include "base/hash.h"
#include "base/random.h"
#include "shards/sample.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

const char *const pair_names[] = {[PAIRS_NSP] = "nsp", [PAIRS_SOP] = "sop", [PAIRS_NONE] = "none"};
const char *const mask_names[] = {[MASKS_TOKEN] = "token", [MASKS_WHOLE_WORD] = "whole-word"};
const char *const split_names[] = {[SPLIT_TRAIN] = "train", [SPLIT_VALID] = "valid"};
_Static_assert(sizeof pair_names / sizeof *pair_names == PAIR_KINDS, "a name for every kind of pairs");
_Static_assert(sizeof mask_names / sizeof *mask_names == MASK_KINDS, "a name for every kind of masks");
_Static_assert(sizeof split_names / sizeof *split_names == SPLITS, "a name for every split");

struct check {
    bool good;
    const char *fault;
    size_t offset;
};
#define CHECK(condition, field, fault)                                                                                 \
    {                                                                                                                  \
        condition, fault, offsetof(struct shard_header, field)                                                         \
    }

/* Checks the fields that do not depend on a size that may itself be wrong. */
static const char *fault_of_fields(const struct shard_header *h, uint64_t *offset)
{
    const struct special_ids *s = &h->special;
    const uint32_t pieces = h->vocab_size;
    const bool special = s->pad < pieces && s->unk < pieces && s->cls < pieces && s->sep < pieces && s->mask < pieces;
    const struct check checks[] = {
        CHECK(h->header_bytes == SHARD_HEADER_BYTES, header_bytes, "the header's size is wrong"),
        CHECK(h->seq >= SHARD_SEQ_MIN && h->seq <= SHARD_SEQ_MAX, seq, "the sequence length is out of range"),
        CHECK(h->predictions >= 1 && h->predictions <= h->seq, predictions, "predictions are out of range"),
        CHECK(pieces >= 1 && pieces <= SHARD_VOCAB_MAX, vocab_size, "the vocabulary size is out of range"),
        CHECK(special, special, "a special piece is not in the vocabulary"),
        CHECK(h->pairs < PAIR_KINDS, pairs, "the kind of pairs is unknown"),
        CHECK(h->mask_millionths <= MILLION, mask_millionths, "the mask probability is above 1"),
        CHECK(h->masking < MASK_KINDS, masking, "the kind of masking is unknown"),
        CHECK(h->split < SPLITS, split, "the split is unknown"),
        CHECK(h->shard_count >= 1 && h->shard_count <= SHARD_COUNT_MAX, shard_count, "the shard count is out of range"),
        CHECK(h->shard < h->shard_count, shard, "the shard's index is out of range"),
        CHECK(h->record_count >= 1 && h->record_count <= SHARD_AREA_MAX, record_count,
              "the record count is out of range"),
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        if (!checks[i].good) {
            *offset = checks[i].offset;
            return checks[i].fault;
        }
    return NULL;
}

const char *shard_header_fault(const struct shard_header *header, uint64_t *offset)
{
    const char *fault = fault_of_fields(header, offset);
    if (fault)
        return fault;
    const struct shard_layout layout = shard_layout_make(header->seq, header->predictions, header->vocab_size);
    *offset = offsetof(struct shard_header, id_bytes);
    if (header->id_bytes != layout.id_bytes)
        return "the bytes of an id do not fit the vocabulary";
    *offset = offsetof(struct shard_header, record_bytes);
    if (header->record_bytes != layout.record_bytes)
        return "the record size does not fit the sequence length";
    *offset = offsetof(struct shard_header, record_count);
    return header->record_count > SHARD_AREA_MAX / header->record_bytes ? "the record count is out of range" : NULL;
}

void shard_header_finish(struct shard_header *header)
{
    const struct shard_layout layout = shard_layout_make(header->seq, header->predictions, header->vocab_size);
    memcpy(header->magic, SHARD_MAGIC, sizeof(header->magic));
    header->format_version = SHARD_FORMAT_VERSION;
    header->header_bytes = SHARD_HEADER_BYTES;
    header->record_bytes = layout.record_bytes;
    header->id_bytes = layout.id_bytes;
    header->zero = 0;
    memset(header->zeros, 0, sizeof(header->zeros));
    header->hash = hash64(header, offsetof(struct shard_header, hash));
    uint64_t offset;
    assert(!shard_header_fault(header, &offset));
}

const char *shard_header_difference(const struct shard_header *a, const struct shard_header *b)
{
    if (a->vocab_hash != b->vocab_hash || a->vocab_size != b->vocab_size ||
        memcmp(&a->special, &b->special, sizeof(a->special)) != 0)
        return "it was made with another vocabulary";
    if (a->seq != b->seq || a->predictions != b->predictions)
        return "its sequence length or predictions are others";
    if (a->split != b->split || a->shard != b->shard || a->shard_count != b->shard_count)
        return "it is another part of a dataset";
    if (a->record_count != b->record_count)
        return "it has another number of samples";
    return "it is from another build";
}

void shard_footer_make(const struct shard_header *header, const uint64_t *table, struct shard_footer *footer)
{
    *footer = (struct shard_footer){
        .record_count = header->record_count,
        .record_area = shard_area_bytes(header),
        .block_count = shard_block_count(header),
        .table_hash = hash64(table, shard_block_count(header) * sizeof(*table)),
    };
    memcpy(footer->magic, SHARD_MAGIC_FOOTER, sizeof(footer->magic));
    footer->hash = hash64(footer, offsetof(struct shard_footer, hash));
}

uint64_t shard_hash(const struct shard_header *header, const struct shard_footer *footer)
{
    unsigned char both[SHARD_HEADER_BYTES + SHARD_FOOTER_BYTES];
    memcpy(both, header, SHARD_HEADER_BYTES);
    memcpy(both + SHARD_HEADER_BYTES, footer, SHARD_FOOTER_BYTES);
    return hash64(both, sizeof(both));
}
