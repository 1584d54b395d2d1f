/* Documents → training instances as Google's create_pretraining_data.py makes them (google-research/bert, 2018), in its
 * order and with its draws: one Mersenne Twister, every draw in turn. So whatever is drawn, or not drawn, counts; the
 * code keeps to the order of the script and says where that looks strange. */
#ifndef PIPELINE_GOOGLE_INSTANCES_H
#define PIPELINE_GOOGLE_INSTANCES_H

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

/* Shuffles the documents (their order, not what is in them). `documents`, at least one, and the vocabulary stay the
 * caller's. */
struct instances *instances_open(const struct documents *documents, const struct instance_rules *rules, uint64_t seed);
void instances_close(struct instances *instances); /* NULL is fine */

/* Makes all instances, in the order in which the script makes them; each is handed to `take` and valid during that
 * call. Every call gives the same ones. false: `take` did not want any more. */
bool instances_make(struct instances *instances, bool (*take)(void *context, const struct sample *sample),
                    void *context);

/* After the first instances_make, which gave `count`: the shuffle at the script's end. places[i] is the place of the
 * i-th instance made. The caller frees it. */
uint32_t *instances_places(struct instances *instances, size_t count);

#endif
