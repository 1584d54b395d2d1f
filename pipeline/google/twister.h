/* The random numbers of Python's `random.Random(seed)`, to the bit, since Python 3.2 (MT19937, Matsumoto and Nishimura
 * 1998; seeding, random(), randint() and shuffle() as CPython's _randommodule.c and random.py use it). Only
 * `--compat google` draws from it: everything else here draws by name (base/random.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TWISTER_WORDS 624

struct twister {
    uint32_t words[TWISTER_WORDS];
    size_t next; /* index into words; TWISTER_WORDS: make new ones */
};

void twister_seed(struct twister *twister, uint64_t seed);
uint32_t twister_word(struct twister *twister);                                /* getrandbits(32) */
double twister_real(struct twister *twister);                                  /* random(): [0, 1), 53 bits */
uint32_t twister_between(struct twister *twister, uint32_t from, uint32_t to); /* randint(from, to), both included */
void twister_shuffle(struct twister *twister, uint32_t *items, size_t count);  /* shuffle(), count < 2^32 */
