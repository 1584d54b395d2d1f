/* Top-down learning (see learn.h). The tree of candidates (candidates.h) is built once; each threshold that is tried
 * costs a few walks over it:
 *
 *     tally   each cut of a word adds the word's count to the node there
 *     choose  children before parents: a node with enough count becomes a piece; others pass their count to the parent
 *     match   parents before children: the longest piece that is a prefix of the node, which gives the next cuts
 *
 * Passing unclaimed counts up is the same as subtracting a piece's count from all its prefixes, for every node at
 * once. */
#include "base/mem.h"
#include "tokenizer/candidates.h"
#include "tokenizer/learn.h"
#include "tokenizer/learn_pieces.h"

#include <assert.h>
#include <stdlib.h>

#define ROUNDS 4u /* of cutting and counting again */

struct learner {
    const struct lexicon *lexicon;
    struct candidates candidates;
    uint64_t *first;  /* [nodes] counts when every letter is a cut */
    uint64_t *count;  /* [nodes] counts; after choosing, what a node did not pass up */
    bool *chosen;     /* [nodes] */
    uint8_t *longest; /* [nodes] letters of the longest piece that is a prefix of the node */
};

static void learner_init(struct learner *learner, const struct lexicon *lexicon)
{
    *learner = (struct learner){.lexicon = lexicon};
    candidates_init(&learner->candidates, lexicon, LEARN_COUNT_MIN);
    const size_t nodes = learner->candidates.count;
    learner->first = mem_clear(nodes, sizeof *learner->first);
    learner->count = mem_array(nodes, sizeof *learner->count);
    learner->chosen = mem_array(nodes, sizeof *learner->chosen);
    learner->longest = mem_array(nodes, sizeof *learner->longest);
    for (size_t word = 0; word < lexicon->word_count; word++)
        for (size_t at = lexicon->start[word]; lexicon->letters[at]; at++)
            learner->first[learner->candidates.node_of[at]] += lexicon->count[word];
}

static void learner_release(struct learner *learner)
{
    candidates_release(&learner->candidates);
    mem_free(learner->first);
    mem_free(learner->count);
    mem_free(learner->chosen);
    mem_free(learner->longest);
}

/* Counts what begins at the cuts that the present pieces make. */
static void tally(struct learner *learner)
{
    const struct lexicon *lexicon = learner->lexicon;
    memset(learner->count, 0, learner->candidates.count * sizeof *learner->count);
    for (size_t word = 0; word < lexicon->word_count; word++)
        for (size_t at = lexicon->start[word]; lexicon->letters[at];) {
            const uint32_t node = learner->candidates.node_of[at];
            learner->count[node] += lexicon->count[word];
            at += learner->longest[node];
        }
}

/* Chooses the pieces for a threshold. Returns how many have two or more letters. */
static size_t choose(struct learner *learner, uint64_t threshold)
{
    size_t pieces = 0;
    const struct candidate *nodes = learner->candidates.nodes;
    for (size_t i = 0; i < learner->candidates.count; i++) {
        learner->chosen[i] = nodes[i].letters > 1 && learner->count[i] >= threshold;
        pieces += learner->chosen[i];
        if (!learner->chosen[i] && nodes[i].letters > 1)
            learner->count[nodes[i].parent] += learner->count[i];
    }
    return pieces;
}

static void match(struct learner *learner)
{
    const struct candidate *nodes = learner->candidates.nodes;
    for (size_t i = learner->candidates.count; i-- > 0;)
        learner->longest[i] = nodes[i].letters <= 1 ? 1 /* a single letter is always a piece */
                              : learner->chosen[i]  ? nodes[i].letters
                                                    : learner->longest[nodes[i].parent];
}

/* Runs `rounds` rounds of choosing and counting again with one threshold. */
static size_t choose_in_rounds(struct learner *learner, uint64_t threshold, unsigned rounds)
{
    memcpy(learner->count, learner->first, learner->candidates.count * sizeof *learner->count);
    size_t pieces = choose(learner, threshold);
    for (unsigned round = 1; round < rounds; round++) {
        match(learner);
        tally(learner);
        pieces = choose(learner, threshold);
    }
    return pieces;
}

/* A threshold that gives at least `wanted` (> 0) pieces while the next higher one gives fewer; LEARN_COUNT_MIN where
 * none gives enough. `next` is the first guess. The number of pieces is roughly inversely proportional to the
 * threshold, so each answer gives the next guess; every other step halves the interval, which guarantees an end. */
static uint64_t search_threshold(struct learner *learner, size_t wanted, uint64_t next, uint64_t highest)
{
    uint64_t low = LEARN_COUNT_MIN, high = highest + 1; /* high gives fewer; low gives enough, or is the lowest */
    for (bool halve = false; high - low > 1; halve = !halve) {
        next = next <= low ? low + 1 : next >= high ? high - 1 : next;
        const size_t pieces = choose_in_rounds(learner, next, ROUNDS);
        *(pieces >= wanted ? &low : &high) = next;
        if (halve && high <= highest)
            next = low + (high - low) / 2;
        else
            next = pieces > 16 * wanted ? 16 * next : next / wanted * pieces + next % wanted * pieces / wanted;
    }
    return low;
}

static uint64_t highest_count(const struct learner *learner)
{
    uint64_t highest = LEARN_COUNT_MIN;
    for (size_t i = 0; i < learner->lexicon->word_count; i++)
        highest += learner->lexicon->count[i];
    return highest;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The count of the `rank`th most frequent word. */
static uint64_t count_at(const struct lexicon *lexicon, size_t rank)
{
    if (rank > lexicon->word_count)
        return LEARN_COUNT_MIN;
    uint64_t *const counts = mem_array(lexicon->word_count, sizeof *counts);
    memcpy(counts, lexicon->count, lexicon->word_count * sizeof *counts);
    qsort(counts, lexicon->word_count, sizeof *counts, by_number);
    const uint64_t count = counts[lexicon->word_count - rank];
    mem_free(counts);
    return count;
}

struct found {
    struct learned_piece piece;
    const uint16_t *row; /* its letters: ranks are in the order of their bytes */
};

static int by_count(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->piece.count != y->piece.count)
        return x->piece.count < y->piece.count ? 1 : -1;
    if (x->piece.inside != y->piece.inside)
        return x->piece.inside ? -1 : 1;
    for (unsigned i = 0; i < x->piece.letters && i < y->piece.letters; i++)
        if (x->row[i] != y->row[i])
            return x->row[i] < y->row[i] ? -1 : 1;
    return x->piece.letters - y->piece.letters;
}

static void add_chosen(const struct learner *learner, size_t count, size_t wanted, struct learned *learned)
{
    struct found *const found = mem_array(count, sizeof *found);
    size_t filled = 0;
    for (size_t i = 0; i < learner->candidates.count; i++) {
        if (!learner->chosen[i])
            continue;
        const struct candidate *node = &learner->candidates.nodes[i];
        found[filled++] = (struct found){{learner->count[i], node->example, node->letters, node->inside},
                                         learner->lexicon->letters + node->example};
    }
    assert(filled == count);
    if (count > 1)
        qsort(found, count, sizeof *found, by_count);
    for (size_t i = 0; i < count && i < wanted; i++)
        learned_add(learned, found[i].piece);
    mem_free(found);
}

/* Fills the room that the chosen pieces leave: rows that lost all counts to longer pieces, the most frequent first. */
static void add_others(struct learner *learner, size_t wanted, uint64_t min_frequency, struct learned *learned)
{
    const struct candidate *nodes = learner->candidates.nodes;
    const size_t nodes_count = learner->candidates.count;
    memcpy(learner->count, learner->first, nodes_count * sizeof *learner->count);
    size_t others = 0;
    for (size_t i = 0; i + 1 < nodes_count; i++) {
        assert(nodes[i].parent > i); /* so its count is complete before it is passed up */
        learner->chosen[i] = !learner->chosen[i] && nodes[i].letters > 1 && learner->count[i] >= min_frequency;
        learner->count[nodes[i].parent] += learner->count[i];
        others += learner->chosen[i];
    }
    learner->chosen[nodes_count - 1] = false;
    add_chosen(learner, others, wanted - learned->count < others ? wanted - learned->count : others, learned);
}

void learn_greedy(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned)
{
    if (wanted == 0)
        return;
    struct learner learner;
    learner_init(&learner, lexicon);
    uint64_t threshold = search_threshold(&learner, wanted, count_at(lexicon, wanted), highest_count(&learner));
    if (threshold < min_frequency)
        threshold = min_frequency;
    add_chosen(&learner, choose_in_rounds(&learner, threshold, ROUNDS), wanted, learned);
    learned->threshold = threshold;
    if (learned->count < wanted)
        add_others(&learner, wanted, threshold, learned);
    assert(learned->count <= wanted);
    learner_release(&learner);
}
