/* Each thread's cache of runs: their bytes and the ids they gave. A run's hash selects one cache line, which holds
 * either two runs of up to 16 bytes and three ids, as most are, or one run of up to 32 bytes and seven ids. A new run
 * replaces the older one.
 *
 * A key is the run's bytes followed by zeros, with ASCII capitals lowered where case does not matter. The length is not
 * part of it: WordPiece deletes NUL from text (a byte-level BPE stores another byte for it, kind_bpe_bytes.c), so runs
 * that differ only in trailing zeros give the same ids. For the same reason an empty entry, all zeros, is correct as it
 * is: a run of NULs gives no ids. */
#pragma once

#include "tokenizer/ascii.h"

#include <stdbool.h>
#include <string.h>

#define MEMORY_BYTES 32u
#define MEMORY_IDS   7u
#define SHORT_BYTES  16u
#define SHORT_IDS    3u
#define MEMORY_BITS  16u /* of the hash: log2 of the number of cache lines */
#define MEMORY_LONG  0x80000000u

struct memory_key {
    uint64_t words[MEMORY_BYTES / 8];
};

struct short_memory {
    uint64_t key[SHORT_BYTES / 8];
    uint32_t ids[SHORT_IDS];
    uint32_t count; /* of ids */
};

struct long_memory {
    struct memory_key key;
    uint32_t ids[MEMORY_IDS];
    uint32_t count; /* of ids, plus MEMORY_LONG, which the second count of a pair never has */
};

union memory {
    struct short_memory pair[2]; /* the newer one first */
    struct long_memory one;
};
_Static_assert(sizeof(union memory) == 64, "what is remembered at a hash is one cache line");

/* Makes the key of a run of `size` bytes, at most MEMORY_BYTES; MEMORY_BYTES must be readable at `run`. `fold` (0x20,
 * or 0) is ORed into capitals. Returns the key's hash. */
static inline uint32_t memory_key(const char *run, size_t size, char fold, struct memory_key *key)
{
    static const unsigned char masks[2 * MEMORY_BYTES] = {[0 ... MEMORY_BYTES - 1] = 0xFF};
    const unsigned char *const mask = masks + MEMORY_BYTES - size;
    uint64_t even, odd; /* words 0 and 1, each combined with one of the other two */
#ifdef __SSE2__
    __m128i half[2];
    for (unsigned i = 0; i < 2; i++) {
        const __m128i bytes = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)(run + 16 * i)),
                                            _mm_loadu_si128((const __m128i *)(const void *)(mask + 16 * i)));
        half[i] = _mm_or_si128(bytes, _mm_and_si128(ascii_between(bytes, 26, 'Z'), _mm_set1_epi8(fold)));
        _mm_storeu_si128((__m128i *)(void *)(key->words + 2 * i), half[i]);
    }
    const __m128i sum = _mm_xor_si128(half[0], _mm_shuffle_epi32(half[1], 0x4E));
    even = (uint64_t)_mm_cvtsi128_si64(sum);
    odd = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
#else
    char bytes[MEMORY_BYTES];
    for (unsigned i = 0; i < MEMORY_BYTES; i++) {
        const char byte = (char)(run[i] & mask[i]);
        bytes[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte | fold) : byte;
    }
    memcpy(key, bytes, sizeof bytes);
    even = key->words[0] ^ key->words[3];
    odd = key->words[1] ^ key->words[2];
#endif
    return (uint32_t)((even * 0x9E3779B97F4A7C15u + odd * 0xD6E8FEB86659FD93u) >> (64 - MEMORY_BITS));
}

static inline bool memory_same_half(const uint64_t *a, const uint64_t *b)
{
#ifdef __SSE2__
    const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)a),
                                        _mm_loadu_si128((const __m128i *)(const void *)b));
    return ascii_bits(same) == 0xFFFF;
#else
    return memcmp(a, b, SHORT_BYTES) == 0;
#endif
}

static inline bool memory_is_long(const union memory *memory)
{
    return memory->one.count & MEMORY_LONG;
}

static inline bool memory_same(const struct long_memory *memory, const struct memory_key *key)
{
    return memory_same_half(memory->key.words, key->words) && memory_same_half(memory->key.words + 2, key->words + 2);
}

/* Remembers a run of `size` bytes, unless it is too long or gave too many ids. */
static inline void memory_keep(union memory *memory, const struct memory_key *key, size_t size, const uint32_t *ids,
                               size_t count)
{
    if (size > MEMORY_BYTES || count > MEMORY_IDS)
        return;
    if (size <= SHORT_BYTES && count <= SHORT_IDS) {
        memory->pair[1] = memory_is_long(memory) ? (struct short_memory){0} : memory->pair[0];
        memcpy(memory->pair[0].key, key->words, SHORT_BYTES);
        memcpy(memory->pair[0].ids, ids, count * sizeof *ids);
        memory->pair[0].count = (uint32_t)count;
    } else {
        memory->one.key = *key;
        memcpy(memory->one.ids, ids, count * sizeof *ids);
        memory->one.count = (uint32_t)count | MEMORY_LONG;
    }
}
