/* Samples of a task in memory, as a source of the loader: made from text once, visited in an order that is keyed like
 * that of shards (shards/order.h). Every sample has one label, of one head.
 *
 *     struct samples samples = {.head = HEAD_CLASS};
 *     samples_add(&samples, &sample) …
 *     struct source source = samples_source(&samples, &order);
 */
#ifndef TRAINER_TUNE_SAMPLES_H
#define TRAINER_TUNE_SAMPLES_H

#include "trainer/data/source.h"
#include "trainer/heads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task_sample {
    size_t at;         /* of its first id in `ids` */
    uint32_t length;   /* tokens */
    uint32_t a_length; /* those of the first segment */
    uint32_t token;    /* that has the label: its place in the sample */
    uint32_t label;    /* as the head has it (model/head.h) */
};

/* A zeroed one with its head set is ready to use; samples_release. */
struct samples {
    enum head_kind head;
    uint32_t *ids; /* of all samples, one after the other */
    size_t id_count, id_room;
    struct task_sample *items;
    size_t count, room;
    uint32_t longest; /* tokens */
};

/* Appends a sample of those ids [length]; `at` is set here. */
void samples_add(struct samples *samples, const uint32_t *ids, struct task_sample sample);
void samples_release(struct samples *samples);
/* Of every number in them. */
uint64_t samples_hash(const struct samples *samples);

/* How a source visits them. */
struct samples_reading {
    const struct samples *samples;
    bool shuffled; /* anew in each epoch, by */
    uint64_t seed;
};

/* Its sequences are at most `length` tokens, which no sample exceeds. `reading` outlives the source; a sample's number
 * is its place among all. */
struct source samples_source(const struct samples_reading *reading, uint32_t length);

#endif
