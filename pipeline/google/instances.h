/* Documents → training instances as Google's create_pretraining_data.py makes them (google-research/bert, 2018), in its
 * order and with its draws: one Mersenne Twister, all draws in sequence. Every draw affects all later ones, so the code
 * follows the order of the script, and says so where that looks strange. */
#pragma once

#include "pipeline/google/twister.h"
#include "pipeline/pairs/documents.h"
#include "shards/sample.h"
#include "tokenizer/vocab.h"

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
