#include "pipeline/google/twister.h"

#include <assert.h>

#define MIDDLE 397

static void seed_by_number(struct twister *twister, uint32_t number)
{
    uint32_t *words = twister->words;
    words[0] = number;
    for (uint32_t i = 1; i < TWISTER_WORDS; i++)
        words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i;
}

/* init_by_array with the 32-bit words of the seed, the lowest first; at least one word. */
void twister_seed(struct twister *twister, uint64_t seed)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, key_words = key[1] ? 2 : 1;
    uint32_t *words = twister->words;
    seed_by_number(twister, 19650218u);
    uint32_t i = 1, k = 0;
    for (uint32_t step = 0; step < TWISTER_WORDS; step++) {
        words[i] = (words[i] ^ (words[i - 1] ^ words[i - 1] >> 30) * 1664525u) + key[k] + k;
        k = (k + 1) % key_words;
        if (++i == TWISTER_WORDS) {
            words[0] = words[TWISTER_WORDS - 1];
            i = 1;
        }
    }
    for (uint32_t step = 0; step < TWISTER_WORDS - 1; step++) {
        words[i] = (words[i] ^ (words[i - 1] ^ words[i - 1] >> 30) * 1566083941u) - i;
        if (++i == TWISTER_WORDS) {
            words[0] = words[TWISTER_WORDS - 1];
            i = 1;
        }
    }
    words[0] = 0x80000000u;
    twister->next = TWISTER_WORDS;
}

static void turn(struct twister *twister)
{
    uint32_t *words = twister->words;
    for (size_t i = 0; i < TWISTER_WORDS; i++) {
        const uint32_t joined = (words[i] & 0x80000000u) | (words[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
        words[i] = words[(i + MIDDLE) % TWISTER_WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    twister->next = 0;
}

uint32_t twister_word(struct twister *twister)
{
    if (twister->next == TWISTER_WORDS)
        turn(twister);
    uint32_t word = twister->words[twister->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

double twister_real(struct twister *twister)
{
    const uint32_t high = twister_word(twister) >> 5, low = twister_word(twister) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0; /* (high · 2^26 + low) / 2^53, exact */
}

/* Draws as many bits as n has until they are below n. n >= 1; even n = 1 draws. */
static uint32_t below(struct twister *twister, uint32_t n)
{
    const int shift = __builtin_clz(n);
    uint32_t word;
    do
        word = twister_word(twister) >> shift;
    while (word >= n);
    return word;
}

uint32_t twister_between(struct twister *twister, uint32_t from, uint32_t to)
{
    assert(from <= to && to - from < UINT32_MAX);
    return from + below(twister, to - from + 1);
}

void twister_shuffle(struct twister *twister, uint32_t *items, size_t count)
{
    assert(count <= UINT32_MAX);
    for (size_t i = count; i-- > 1;) {
        const uint32_t other = below(twister, (uint32_t)i + 1), item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}
