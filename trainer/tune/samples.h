/* Samples of a task in memory, as a source of the loader: made from text once, visited in a keyed order like that of
 * shards (shards/order.h). Every sample has one label for one head, or marks for a
 * head of tokens.
 *
 *     struct samples samples = {.head = HEAD_CLASS};
 *     samples_add(&samples, &sample) …
 *     struct source source = samples_source(&samples, &order);
 * */
#pragma once

#include "tokenizer/ids.h"
#include "tokenizer/vocab.h"
#include "trainer/data/source.h"

/* Removes pieces from the end of the longer of two texts (of b if they are equally long) until together they have at
 * most `most` (Google's _truncate_seq_pair). */
void features_truncate(struct ids *a, struct ids *b, size_t most);

/* Writes [CLS] A [SEP], or if b is not NULL [CLS] A [SEP] B [SEP], with the special pieces of the vocabulary, in at
 * most `length` tokens: truncates a and b. Replaces `out`. Returns the number of tokens of the first type. */
uint32_t features_pair(struct ids *a, struct ids *b, const struct vocab *vocab, uint32_t length, struct ids *out);

struct task_sample {
    size_t at;         /* of its first id in `ids` */
    uint32_t length;   /* tokens */
    uint32_t a_length; /* tokens of the first segment */
    uint32_t token;    /* index in the sample of the token that has the label */
    uint32_t label;    /* as its head takes it (model/head.h) */
    size_t mark_at;    /* of its first mark in `marks`, for heads of any number of tokens; `token` and `label` are 0 */
    uint32_t marks;
};

/* A token that has a label. */
struct sample_mark {
    uint32_t token, label;
};

/* Ready when zeroed with its head set; free with samples_release. */
struct samples {
    enum head_kind head;
    uint32_t *ids; /* of all samples, one after the other */
    size_t id_count, id_room;
    struct task_sample *items;
    size_t count, room;
    uint32_t longest; /* tokens */
    struct sample_mark *marks;
    size_t mark_count, mark_room;
    uint32_t marks_most; /* of a sample */
};

/* Appends a sample with these ids [length]; sets `at` and `mark_at`. */
void samples_add(struct samples *samples, const uint32_t *ids, struct task_sample sample);
/* Gives a token of the last sample a label; tokens ascend. A sample of a head of tokens may have none. */
void samples_mark(struct samples *samples, uint32_t token, uint32_t label);
/* Forgets all samples and keeps the memory. */
void samples_reset(struct samples *samples);
void samples_release(struct samples *samples);
/* A hash of all samples and marks. */
uint64_t samples_hash(const struct samples *samples);

/* How a source visits samples. */
struct samples_reading {
    const struct samples *samples;
    bool shuffled; /* in a new order each epoch, keyed by `seed` */
    uint64_t seed;
};

/* A source whose sequences have at most `length` tokens, which no sample exceeds. `reading` must outlive the source; a
 * sample's number is its index in `items`. */
struct source samples_source(const struct samples_reading *reading, uint32_t length);
