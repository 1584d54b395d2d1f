/* How often each word occurs: what a vocabulary is learned from. Memory is bounded: a table that outgrows its bound
 * forgets its rarest words, down to half of it, and reports how much it forgot. Until then the counts do not depend on
 * the order of the calls; for reproducible counts afterwards, merge in a fixed order. One thread at a time. */
#pragma once

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define COUNTED_WORD_BYTES_MAX 400u /* a longer word (at least 100 letters) teaches nothing and is not kept */

struct word_counts;

struct word_counts *word_counts_open(size_t bytes_max); /* approximate; at least 64 KiB are used */
void word_counts_close(struct word_counts *counts);

void word_counts_add(struct word_counts *counts, struct str word, uint64_t n);
void word_counts_merge(struct word_counts *into, const struct word_counts *from);
void word_counts_reset(struct word_counts *counts); /* forgets all words, keeps the memory */

/* The words, 0 to word_counts_size - 1, in the order of their first appearance. */
size_t word_counts_size(const struct word_counts *counts);
struct str word_counts_word(const struct word_counts *counts, size_t index, uint64_t *n);

/* Occurrences of words that were forgotten for lack of memory. */
uint64_t word_counts_forgotten(const struct word_counts *counts);
