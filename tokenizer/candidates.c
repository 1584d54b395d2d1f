/* Comes in: a lexicon. Goes out: the tree of its candidates. The ends of words ("suffixes") are sorted letter by
 * letter, those at word starts and those inside apart; neighbours then share their beginnings, and the tree falls out
 * of one walk with a stack of the nodes that are still open. A node is numbered when it closes, so children come before
 * parents; suffixes and nodes that wait for the node above them to get its number stand on two more stacks. */
#include "tokenizer/candidates.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define KEY_LETTERS 6u /* of 10 bits each: what is compared first */
_Static_assert(ALPHABET_MAX < 1024, "a letter has 10 bits in a key");

/* A suffix while it is sorted. */
struct suffix {
    uint64_t key; /* its first letters */
    const uint16_t *letters;
    uint64_t count;
};

static uint64_t key_of(const uint16_t *letters)
{
    uint64_t key = 0;
    bool ended = false;
    for (unsigned i = 0; i < KEY_LETTERS; i++) {
        ended = ended || letters[i] == 0;
        key = key << 10 | (ended ? 0 : letters[i]);
    }
    return key;
}

static int by_letters(const void *a, const void *b)
{
    const struct suffix *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if ((x->key & 1023) == 0)
        return 0; /* both have ended */
    for (unsigned i = KEY_LETTERS; i < PIECE_LETTERS_MAX; i++) {
        if (x->letters[i] != y->letters[i])
            return x->letters[i] < y->letters[i] ? -1 : 1;
        if (x->letters[i] == 0)
            return 0;
    }
    return 0;
}

static unsigned common_letters(const uint16_t *a, const uint16_t *b)
{
    unsigned common = 0;
    while (common < PIECE_LETTERS_MAX && a[common] && a[common] == b[common])
        common++;
    return common;
}

static unsigned suffix_letters(const uint16_t *letters)
{
    unsigned count = 0;
    while (count < PIECE_LETTERS_MAX && letters[count])
        count++;
    return count;
}

/* A node that is not closed yet. */
struct open_node {
    unsigned letters;
    uint64_t count;            /* so far */
    size_t suffixes, children; /* heights of the waiting stacks when it was opened */
};

struct builder {
    const struct lexicon *lexicon;
    struct candidates *candidates;
    uint64_t count_min;
    struct open_node open[PIECE_LETTERS_MAX + 2]; /* letters strictly rise */
    size_t open_count;
    uint32_t *suffixes; /* places whose node is not known yet */
    size_t suffix_count;
    uint32_t *children; /* nodes whose parent is not known yet */
    size_t child_count, child_capacity;
};

/* Gives the top node a number, if it occurs often enough; else all that waits for it waits for the node below. */
static struct open_node close_top(struct builder *builder, uint32_t example, bool inside)
{
    struct candidates *candidates = builder->candidates;
    const struct open_node node = builder->open[--builder->open_count];
    if (node.count < builder->count_min && node.letters)
        return node;
    if (candidates->count == candidates->capacity) {
        candidates->capacity = candidates->capacity ? 2 * candidates->capacity : 4096;
        candidates->nodes = mem_grow(candidates->nodes, candidates->capacity, sizeof *candidates->nodes);
    }
    const uint32_t number = (uint32_t)candidates->count++;
    candidates->nodes[number] =
        (struct candidate){.parent = number, .example = example, .letters = (uint8_t)node.letters, .inside = inside};
    while (builder->suffix_count > node.suffixes)
        candidates->node_of[builder->suffixes[--builder->suffix_count]] = number;
    while (builder->child_count > node.children)
        candidates->nodes[builder->children[--builder->child_count]].parent = number;
    if (builder->child_count == builder->child_capacity) {
        builder->child_capacity = builder->child_capacity ? 2 * builder->child_capacity : 1024;
        builder->children = mem_grow(builder->children, builder->child_capacity, sizeof *builder->children);
    }
    builder->children[builder->child_count++] = number;
    return node;
}

/* Closes all open nodes of more than `letters` letters; then one of exactly `letters` is open. */
static void close_down_to(struct builder *builder, unsigned letters, uint32_t example, bool inside)
{
    while (builder->open[builder->open_count - 1].letters > letters) {
        const struct open_node closed = close_top(builder, example, inside);
        struct open_node *below = &builder->open[builder->open_count - 1];
        if (below->letters < letters) { /* the beginning that the closed node shares with the next suffix */
            builder->open[builder->open_count++] = closed;
            builder->open[builder->open_count - 1].letters = letters;
        } else {
            below->count += closed.count;
        }
    }
}

/* Adds sorted suffixes that begin with the same letter. */
static void add_suffixes(struct builder *builder, const struct suffix *suffixes, size_t count, bool inside)
{
    const uint16_t *const base = builder->lexicon->letters;
    for (size_t i = 0; i < count; i++) {
        const uint16_t *letters = suffixes[i].letters;
        if (i)
            close_down_to(builder, common_letters(suffixes[i - 1].letters, letters),
                          (uint32_t)(suffixes[i - 1].letters - base), inside);
        const unsigned all = suffix_letters(letters);
        if (builder->open[builder->open_count - 1].letters < all)
            builder->open[builder->open_count++] =
                (struct open_node){all, 0, builder->suffix_count, builder->child_count};
        builder->open[builder->open_count - 1].count += suffixes[i].count;
        builder->suffixes[builder->suffix_count++] = (uint32_t)(letters - base);
    }
    if (count)
        close_down_to(builder, 0, (uint32_t)(suffixes[count - 1].letters - base), inside);
}

/* Where a suffix begins, and in which word. */
struct place {
    uint32_t at, word;
};

/* From which place to before which one suffixes of a word begin: its start alone, or all places inside. */
static uint32_t first_place(const struct lexicon *lexicon, uint32_t word, bool inside)
{
    return lexicon->start[word] + inside;
}

static uint32_t end_place(const struct lexicon *lexicon, uint32_t word, bool inside)
{
    if (!inside)
        return lexicon->start[word] + 1;
    return (word + 1 < lexicon->word_count ? lexicon->start[word + 1] : (uint32_t)lexicon->letter_count) - 1;
}

/* All places in the order of their letters: those of letter r stand from start[r] to before start[r + 1]. */
static struct place *places_by_letter(const struct lexicon *lexicon, bool inside, size_t start[ALPHABET_MAX + 2])
{
    memset(start, 0, (ALPHABET_MAX + 2) * sizeof *start);
    for (uint32_t word = 0; word < lexicon->word_count; word++)
        for (uint32_t at = first_place(lexicon, word, inside); at < end_place(lexicon, word, inside); at++)
            start[lexicon->letters[at] + 1]++;
    for (size_t letter = 0; letter <= ALPHABET_MAX; letter++)
        start[letter + 1] += start[letter];
    size_t fill[ALPHABET_MAX + 1];
    memcpy(fill, start, sizeof fill);
    struct place *const places = mem_array(start[ALPHABET_MAX + 1], sizeof *places);
    for (uint32_t word = 0; word < lexicon->word_count; word++)
        for (uint32_t at = first_place(lexicon, word, inside); at < end_place(lexicon, word, inside); at++)
            places[fill[lexicon->letters[at]]++] = (struct place){at, word};
    return places;
}

/* Sorts and adds the suffixes at word starts, or those inside words. They are taken letter by letter, because the few
 * of one first letter sort faster, and need less memory, than all. */
static void add_all(struct builder *builder, bool inside)
{
    const struct lexicon *lexicon = builder->lexicon;
    size_t start[ALPHABET_MAX + 2], capacity = 0;
    struct place *places = places_by_letter(lexicon, inside, start);
    struct suffix *suffixes = NULL;
    for (size_t letter = 1; letter <= ALPHABET_MAX; letter++) {
        const size_t count = start[letter + 1] - start[letter];
        if (count > capacity) {
            capacity = count;
            suffixes = mem_grow(suffixes, capacity, sizeof *suffixes);
        }
        for (size_t i = 0; i < count; i++) {
            const struct place *place = &places[start[letter] + i];
            const uint16_t *letters = lexicon->letters + place->at;
            suffixes[i] = (struct suffix){key_of(letters), letters, lexicon->count[place->word]};
        }
        if (count > 1)
            qsort(suffixes, count, sizeof *suffixes, by_letters);
        add_suffixes(builder, suffixes, count, inside);
    }
    mem_free(suffixes);
    mem_free(places);
}

void candidates_init(struct candidates *candidates, const struct lexicon *lexicon, uint64_t count_min)
{
    *candidates = (struct candidates){.node_of = mem_clear(lexicon->letter_count, sizeof *candidates->node_of)};
    struct builder builder = {.lexicon = lexicon, .candidates = candidates, .count_min = count_min};
    builder.suffixes = mem_array(lexicon->letter_count, sizeof *builder.suffixes);
    builder.open[builder.open_count++] = (struct open_node){0}; /* the root */
    add_all(&builder, false);
    add_all(&builder, true);
    close_top(&builder, 0, false);
    assert(builder.open_count == 0 && builder.suffix_count == 0 && builder.child_count == 1);
    mem_free(builder.suffixes);
    mem_free(builder.children);
}

void candidates_release(struct candidates *candidates)
{
    mem_free(candidates->nodes);
    mem_free(candidates->node_of);
    *candidates = (struct candidates){0};
}
