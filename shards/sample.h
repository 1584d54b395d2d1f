/* One sample in memory, and its conversion to and from the bytes of a record.
 *
 *     tokens      [CLS] a a a [SEP] b b [SEP]            length 8
 *     segment       0   0 0 0   0   1 1   1              a_length 5
 *
 * Pure functions on the caller's memory; any thread. */
#pragma once

#include "shards/format.h"

/* The caller owns the arrays, which have room for S and P entries. Only the first `length` ids and the first `masked`
 * positions and labels are defined: padding is not part of a sample. */
struct sample {
    uint64_t document_a, document_b;
    uint32_t length;         /* tokens, 1 to S */
    uint32_t a_length;       /* tokens of [CLS] A [SEP], 1 to length; equal to length where there is no B */
    uint32_t masked;         /* 0 to P */
    uint32_t is_random_next; /* 0: B follows A, 1: B is from elsewhere */
    uint32_t *ids;           /* [S] as the model sees them */
    uint32_t *positions;     /* [P] of the masked tokens, rising */
    uint32_t *labels;        /* [P] their original ids */
};

/* Where the fields of a record are. */
struct shard_layout {
    uint32_t seq;         /* S */
    uint32_t predictions; /* P */
    uint32_t vocab_size;
    uint32_t id_bytes;          /* w */
    uint32_t labels, positions; /* offsets in bytes; ids are at sizeof(struct record_head) */
    uint32_t record_bytes;      /* R */
};

/* seq in [SHARD_SEQ_MIN, SHARD_SEQ_MAX], predictions in [1, seq], vocab_size in [1, SHARD_VOCAB_MAX]. */
struct shard_layout shard_layout_make(uint32_t seq, uint32_t predictions, uint32_t vocab_size);

/* Writes the sample's record into out [record_bytes]; every byte is set. The sample must be in range (asserted). */
void record_encode(const struct shard_layout *layout, const struct sample *sample, uint8_t *out);

/* Fills sample from an untrusted record. Returns NULL when everything is in range (length <= S, 1 <= a_length <=
 * length, positions ascending and < length, ids and labels < vocab_size, …), else what is wrong (a constant); then the
 * sample must not be used. Never reads outside [bytes, bytes + record_bytes). `bytes` need not be aligned. */
const char *record_decode(const struct shard_layout *layout, const uint8_t *bytes, struct sample *sample);

/* A sample with arrays for this layout, from one allocation; free with sample_release. */
struct sample sample_make(const struct shard_layout *layout);
void sample_release(struct sample *sample);
