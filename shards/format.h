/* The bytes of a shard (.dss), format_version 1. Everything is little-endian; every offset is asserted below.
 *
 *     0                 4096                                    T = 4096 + n·R     T + 8·b          T + 8·b + 48
 *     ┌─────────────────┬───────────────────────────────────────┬──────────────────┬────────────────┐
 *     │ header, 1 page  │ n records of R bytes each             │ b hashes, 8 each │ footer, 48     │
 *     └─────────────────┴───────────────────────────────────────┴──────────────────┴────────────────┘
 *                        └ block 0, 1 MiB ┘└ block 1 ┘ … └ b-1 ┘   hash i: XXH3-64 of block i
 *
 *     record   0            24               24 + w·S          24 + w·(S+P)       24 + w·(S+P) + 2·P      R
 *              ┌────────────┬────────────────┬─────────────────┬──────────────────┬────────────────────────┐
 *              │ head       │ ids[S]         │ labels[P]       │ positions[P] u16 │ zeros up to 8-multiple │
 *              └────────────┴────────────────┴─────────────────┴──────────────────┴────────────────────────┘
 *
 * S: sequence length; P: predictions, the most masked tokens of a sample; w: bytes of an id, 2, or 4 where the
 * vocabulary has more than 65,535 pieces. The ids are those that the model sees (masked); labels are the originals.
 * Unused ids, labels and positions are zero.
 *
 * The hash of a shard, as stored in the manifest, is XXH3-64 of the header followed by the footer. The footer holds the
 * hash of the table of hashes, so it covers every byte, yet it can be checked without reading the records. */
#pragma once

#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs here are the bytes of the file");

#define SHARD_FORMAT_VERSION 1

#define SHARD_MAGIC                                                                                                    \
    "\x89"                                                                                                             \
    "DSS\r\n\x1a\n"                     /* 8 bytes; like PNG's, it reveals a transfer in text mode */
#define SHARD_MAGIC_FOOTER "DSSEND\r\n" /* 8 bytes */
#define SHARD_HEADER_BYTES 4096u
#define SHARD_FOOTER_BYTES 48u
#define SHARD_BLOCK_BYTES  (1u << 20) /* of the record area, per hash */

/* Limits that a reader accepts. */
#define SHARD_SEQ_MIN    16u
#define SHARD_SEQ_MAX    8192u
#define SHARD_VOCAB_MAX  (1u << 24)
#define SHARD_ID_2_BYTES 65535u              /* a larger vocabulary has ids of 4 bytes */
#define SHARD_COUNT_MAX  1000000u            /* shards of a split */
#define SHARD_AREA_MAX   ((uint64_t)1 << 43) /* bytes of the records of one shard */

/* The numbers are stored in shards: never renumber. */
enum pair_kind { PAIRS_NSP = 0, PAIRS_SOP = 1, PAIRS_NONE = 2, PAIR_KINDS };
enum mask_kind { MASKS_TOKEN = 0, MASKS_WHOLE_WORD = 1, MASK_KINDS };
enum split { SPLIT_TRAIN = 0, SPLIT_VALID = 1, SPLITS };

/* Names as used in options and manifests: "nsp", "token", "train". */
extern const char *const pair_names[];  /* [PAIR_KINDS] */
extern const char *const mask_names[];  /* [MASK_KINDS] */
extern const char *const split_names[]; /* [SPLITS] */

struct special_ids {
    uint32_t pad, unk, cls, sep, mask;
};

struct shard_header {
    char magic[8];
    uint32_t format_version; /* magic and this field keep their place in all versions */
    uint32_t text_version;
    uint32_t header_bytes; /* 4096 */
    uint32_t record_bytes; /* R */
    uint32_t seq;          /* S */
    uint32_t predictions;  /* P */
    uint32_t id_bytes;     /* w */
    uint32_t vocab_size;   /* pieces */
    uint64_t vocab_hash;   /* XXH3-64 of the bytes of vocab.txt */
    struct special_ids special;
    uint32_t pairs;           /* enum pair_kind */
    uint32_t mask_millionths; /* probability that a token is masked */
    uint32_t masking;         /* enum mask_kind */
    uint64_t seed;
    uint32_t split;       /* enum split */
    uint32_t shard;       /* index of this file in its split */
    uint32_t shard_count; /* files of its split */
    uint32_t zero;
    uint64_t record_count; /* n, at least 1 */
    uint8_t zeros[3976];
    uint64_t hash; /* XXH3-64 of the 4088 bytes before it */
};

struct shard_footer {
    char magic[8];
    uint64_t record_count; /* n */
    uint64_t record_area;  /* n·R bytes */
    uint64_t block_count;  /* b = n·R / 1 MiB, rounded up */
    uint64_t table_hash;   /* XXH3-64 of the b hashes */
    uint64_t hash;         /* XXH3-64 of the 40 bytes before it */
};

struct record_head {
    uint64_t document_a; /* page id; for text without ids, 52 bits of its hash */
    uint64_t document_b;
    uint16_t length;   /* tokens of the sample */
    uint16_t a_length; /* tokens of [CLS] A [SEP]: segment 0; the rest is segment 1 */
    uint16_t masked;   /* used labels and positions */
    uint16_t is_random_next;
};

_Static_assert(sizeof(struct shard_header) == SHARD_HEADER_BYTES, "header");
_Static_assert(offsetof(struct shard_header, magic) == 0, "header");
_Static_assert(offsetof(struct shard_header, format_version) == 8, "header");
_Static_assert(offsetof(struct shard_header, text_version) == 12, "header");
_Static_assert(offsetof(struct shard_header, header_bytes) == 16, "header");
_Static_assert(offsetof(struct shard_header, record_bytes) == 20, "header");
_Static_assert(offsetof(struct shard_header, seq) == 24, "header");
_Static_assert(offsetof(struct shard_header, predictions) == 28, "header");
_Static_assert(offsetof(struct shard_header, id_bytes) == 32, "header");
_Static_assert(offsetof(struct shard_header, vocab_size) == 36, "header");
_Static_assert(offsetof(struct shard_header, vocab_hash) == 40, "header");
_Static_assert(offsetof(struct shard_header, special) == 48, "header");
_Static_assert(offsetof(struct special_ids, pad) == 0, "header");
_Static_assert(offsetof(struct special_ids, unk) == 4, "header");
_Static_assert(offsetof(struct special_ids, cls) == 8, "header");
_Static_assert(offsetof(struct special_ids, sep) == 12, "header");
_Static_assert(offsetof(struct special_ids, mask) == 16, "header");
_Static_assert(offsetof(struct shard_header, pairs) == 68, "header");
_Static_assert(offsetof(struct shard_header, mask_millionths) == 72, "header");
_Static_assert(offsetof(struct shard_header, masking) == 76, "header");
_Static_assert(offsetof(struct shard_header, seed) == 80, "header");
_Static_assert(offsetof(struct shard_header, split) == 88, "header");
_Static_assert(offsetof(struct shard_header, shard) == 92, "header");
_Static_assert(offsetof(struct shard_header, shard_count) == 96, "header");
_Static_assert(offsetof(struct shard_header, zero) == 100, "header");
_Static_assert(offsetof(struct shard_header, record_count) == 104, "header");
_Static_assert(offsetof(struct shard_header, zeros) == 112, "header");
_Static_assert(offsetof(struct shard_header, hash) == 4088, "header");

_Static_assert(sizeof(struct shard_footer) == SHARD_FOOTER_BYTES, "footer");
_Static_assert(offsetof(struct shard_footer, magic) == 0, "footer");
_Static_assert(offsetof(struct shard_footer, record_count) == 8, "footer");
_Static_assert(offsetof(struct shard_footer, record_area) == 16, "footer");
_Static_assert(offsetof(struct shard_footer, block_count) == 24, "footer");
_Static_assert(offsetof(struct shard_footer, table_hash) == 32, "footer");
_Static_assert(offsetof(struct shard_footer, hash) == 40, "footer");

_Static_assert(sizeof(struct record_head) == 24, "record");
_Static_assert(offsetof(struct record_head, document_a) == 0, "record");
_Static_assert(offsetof(struct record_head, document_b) == 8, "record");
_Static_assert(offsetof(struct record_head, length) == 16, "record");
_Static_assert(offsetof(struct record_head, a_length) == 18, "record");
_Static_assert(offsetof(struct record_head, masked) == 20, "record");
_Static_assert(offsetof(struct record_head, is_random_next) == 22, "record");

/* Fills in what follows from the other fields (magic, version, sizes, zeros, hash), which must be in their ranges. */
void shard_header_finish(struct shard_header *header);
/* Says what is out of range in a header whose magic, version and hash are right, and gives the field's offset; NULL:
 * nothing. If nothing is, every size derived from the header is safe to compute. */
const char *shard_header_fault(const struct shard_header *header, uint64_t *offset);
/* How two different headers disagree, as the end of a sentence (a constant). */
const char *shard_header_difference(const struct shard_header *a, const struct shard_header *b);
/* The footer of a shard with this (finished) header and the hashes of its blocks. */
void shard_footer_make(const struct shard_header *header, const uint64_t *table, struct shard_footer *footer);
/* The hash of a shard, as stored in the manifest. */
uint64_t shard_hash(const struct shard_header *header, const struct shard_footer *footer);

static inline uint64_t shard_area_bytes(const struct shard_header *header)
{
    return header->record_count * header->record_bytes;
}
static inline uint64_t shard_block_count(const struct shard_header *header)
{
    return (shard_area_bytes(header) + SHARD_BLOCK_BYTES - 1) / SHARD_BLOCK_BYTES;
}
static inline size_t shard_block_bytes(const struct shard_header *header, uint64_t block)
{
    const uint64_t left = shard_area_bytes(header) - block * SHARD_BLOCK_BYTES;
    return left < SHARD_BLOCK_BYTES ? (size_t)left : SHARD_BLOCK_BYTES;
}
static inline uint64_t shard_file_bytes(const struct shard_header *header)
{
    return SHARD_HEADER_BYTES + shard_area_bytes(header) + shard_block_count(header) * 8 + SHARD_FOOTER_BYTES;
}

/* The n samples of a split are spread over its k shards (k <= n): the first n mod k shards hold one more than the
 * others. */
static inline uint64_t shard_records(uint64_t n, uint64_t k, uint64_t shard)
{
    return n / k + (shard < n % k);
}
static inline uint64_t shard_first(uint64_t n, uint64_t k, uint64_t shard) /* number of its first sample */
{
    return shard * (n / k) + (shard < n % k ? shard : n % k);
}
static inline uint64_t shard_of(uint64_t n, uint64_t k, uint64_t sample) /* the shard that holds it */
{
    const uint64_t q = n / k, in_longer = n % k * (q + 1);
    return sample < in_longer ? sample / (q + 1) : n % k + (sample - in_longer) / q;
}
