/* Random by name, not by turn: a draw is a function of its name alone, so no thread, process, order or interruption
 * can change it. Generator: Philox 4x32-10 (philox.h). Key = seed; counter = (XXH3-64 of the stream's name, index,
 * draw).
 *
 *     struct random_stream masks = random_stream(seed, RANDOM_MASK, file, window, part, length, copy);
 *     uint32_t r = random_at(&masks, sample, position);
 *
 * No floating point decides a byte: probabilities are whole millionths (random_chance), choices are random_below. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* philox() of arrays; out may be counter. */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* What a stream is for. The numbers are part of the dataset's bytes: never renumber. */
enum random_purpose {
    RANDOM_PAIR = 1,  /* target lengths, cuts, random next, truncation */
    RANDOM_MASK = 2,  /* which positions, and 80/10/10 */
    RANDOM_ORDER = 3, /* sort keys of samples */
    RANDOM_FRESH = 4, /* the loader's fresh masks */
    RANDOM_INIT = 5,  /* initial weights */
    RANDOM_DROPOUT = 6,
    RANDOM_SKETCH = 7, /* hashes of the n-grams of documents */
    RANDOM_DEMO = 8,   /* the stories of dsdata demo */
};

struct random_stream {
    uint32_t key[2];  /* the seed, low word first */
    uint32_t name[2]; /* XXH3-64 of (purpose, file, window, part, length, copy) as 8-byte little-endian words */
};

struct random_stream random_stream(uint64_t seed, enum random_purpose purpose, uint64_t file, uint64_t window,
                                   uint64_t part, uint64_t length, uint64_t copy);

/* 32 uniform bits: the first word of Philox(key, (name, index, draw)); random_at4 gives all four. */
uint32_t random_at(const struct random_stream *stream, uint32_t index, uint32_t draw);
void random_at4(const struct random_stream *stream, uint32_t index, uint32_t draw, uint32_t out[4]);

/* `count` consecutive draws at once: out[w][i] is word w of random_at4(stream, index, first + i). The four arrays must
 * not overlap. */
void random_row(const struct random_stream *stream, uint32_t index, uint32_t first, size_t count,
                uint32_t *const out[4]);

#define MILLION 1000000u

/* True in `millionths` of a million cases: floor(random * 10^6 / 2^32) < millionths. */
static inline bool random_chance(uint32_t random, uint32_t millionths)
{
    return (uint32_t)(((uint64_t)random * MILLION) >> 32) < millionths;
}

/* Uniform in [0, n), n > 0; the bias is below n / 2^32. */
static inline uint32_t random_below(uint32_t random, uint32_t n)
{
    return (uint32_t)(((uint64_t)random * n) >> 32);
}

/* The next number of a fast, low-quality uniform sequence in [-1, 1], for benchmarks that only need plausible data. Any
 * state is a valid start (a linear congruential generator of Numerical Recipes). */
static inline float random_quick(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1;
}

/* A keyed permutation of [0, n) by arithmetic: no table, O(1), so an order of any length is one number.
 * A balanced Feistel network over the next even number of bits, walked until it lands inside [0, n) ("cycle walking",
 * Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002); rounds use Philox 4x32-10. */

/* The image of i < n, n >= 1, under the permutation that `key` names. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key);
