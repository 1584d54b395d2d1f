/* Near duplicates: a document is dropped if the Jaccard similarity J of its word 5-grams (grams.h) with those of an
 * earlier document that was kept is at least about P. Two steps:
 *
 * A sketch is 256 values, each the least of a hash over the n-grams, so that a value of two documents is equal with
 * probability J (Broder, "On the resemblance and containment of documents", 1997). They are computed for all 256 at
 * once, in time linear in the length of the text (Dahlgaard, Knudsen and Thorup, "Fast similarity sketching", 2017).
 * The hashes are named by the purpose, the round and the n-gram (Law 3); --seed is not in the name.
 *
 * Candidates are earlier documents with an equal band: b bands of r values each (Leskovec, Rajaraman and Ullman,
 * "Mining of massive datasets", 3.4). A pair is a candidate with probability 1 - (1 - J^r)^b. Of the r for which at
 * most 13 bands make this 99 % at J = P + 0.05 (above 0.9: half-way to 1), the largest is taken, as it leaves fewest
 * others; if there is none, r = 1 and as many bands as it takes. A candidate counts if its estimate of J is at least
 * P - 0.02: of 256 values, of which 8 bits are kept, 1 + 255 J are equal on average, binomially distributed.
 *
 *                     in per cent: a candidate if J is       then taken if J is
 *     P      r   b    P + 0.05   P      P - 0.1   P - 0.3    P + 0.05   P - 0.1
 *     0.3    1   11   99.1       98.0   91.4      0          99.1       0.11
 *     0.5    2   13   99.1       97.6   89.6      41.2       98.7       0.47
 *     0.7    4   13   99.3       97.2   83.5      28.6       99.4       0.40
 *     0.8    7   12   99.0       94.1   64.3      9.0        99.9       0.25
 *     0.9    21  12   99.3       75.1   10.5      0.0        100        0.03
 *
 * The result depends on the documents' order alone. */
#pragma once

#include "base/error.h"
#include "pipeline/clean/grams.h"

#define NEAR_VALUES    256
#define NEAR_BANDS_MAX 64u
#define NEAR_LEAST     100000u /* the least P, in millionths */

struct near_rules {
    uint32_t rows, bands;
    uint32_t equal; /* values, of a candidate that counts */
};
/* `millionths`: P. */
struct near_rules near_rules(uint32_t millionths);

/* What is kept of a document: the values' low 8 bits, and a hash of each band. */
struct near_sketch {
    uint8_t values[NEAR_VALUES];
    uint32_t bands[NEAR_BANDS_MAX]; /* [rules->bands] */
};
/* `grams`: at least one. */
void near_sketch_make(const struct near_rules *rules, struct grams grams, struct near_sketch *sketch);
/* The bytes of a sketch without the bands that are not used. */
size_t near_sketch_bytes(const struct near_rules *rules);

/* Reads the values of an earlier document, by its number. */
typedef int near_read(void *context, uint32_t number, uint8_t values[NEAR_VALUES], struct error *err);

/* The documents that were kept so far. */
struct near_index;
/* At most `count` documents, numbered from 0. The index takes near_index_bytes(rules, count). */
struct near_index *near_index_open(const struct near_rules *rules, uint32_t count, near_read *read, void *context);
uint64_t near_index_bytes(const struct near_rules *rules, uint64_t count);
/* 1: the document is similar to one that was kept. 0: it is kept now. < 0: reading failed. In rising order of
 * numbers. */
int near_index_add(struct near_index *index, uint32_t number, const struct near_sketch *sketch, struct error *err);
void near_index_close(struct near_index *index);
