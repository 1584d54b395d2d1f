/* Documents → training instances as Google's create_pretraining_data.py makes them (google-research/bert, 2018), in its
 * order and with its draws: one Mersenne Twister, all draws in sequence. Every draw affects all later ones, so the code
 * follows the order of the script, and says so where that looks strange. */
#pragma once

#include "pipeline/pairs/documents.h"
#include "shards/sample.h"
#include "tokenizer/vocab.h"

#include <stddef.h>
#include <stdint.h>

struct instance_rules {
    uint32_t seq, predictions;
    double mask_prob, short_seq_prob;
    uint32_t copies; /* dupe_factor */
    bool whole_words;
    const struct vocab *vocab;
};

struct instances;

/* Shuffles the order of the documents. The caller keeps `documents` (at least one) and the vocabulary. */
struct instances *instances_open(const struct documents *documents, const struct instance_rules *rules, uint64_t seed);
void instances_close(struct instances *instances); /* NULL is fine */

/* Makes all instances in the script's order; each is passed to `take` and is valid during that call. Every call gives
 * the same instances. false: `take` stopped it. */
bool instances_make(struct instances *instances, bool (*take)(void *context, const struct sample *sample),
                    void *context);

/* The shuffle at the end of the script, after the first instances_make, which gave `count`. places[i] is the place of
 * the i-th instance made. The caller frees it. */
uint32_t *instances_places(struct instances *instances, size_t count);

/* The random numbers of Python's `random.Random(seed)`, to the bit, since Python 3.2 (MT19937, Matsumoto and Nishimura
 * 1998; seeding, random(), randint() and shuffle() as CPython's _randommodule.c and random.py use it). Only
 * `--compat google` draws from it: everything else here draws by name (base/random.h). */
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
