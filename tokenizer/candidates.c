/* Builds the tree of candidates from a lexicon. The ends of words ("suffixes") are sorted letter by letter, those at
 * word starts and those inside words apart. Neighbours then share their beginnings, so one walk over the sorted
 * suffixes with a stack of open nodes builds the tree. A node is numbered when it closes, so children come before
 * parents. Suffixes and nodes whose node above has no number yet wait on two more stacks. */
#include "tokenizer/candidates.h"

#include "base/mem.h"

#include <assert.h>

#define KEY_LETTERS 6u /* of 10 bits each: compared first */
#define KEY_BITS    10u
#define BLOCK       8u /* this many suffixes are sorted by insertion */
_Static_assert(ALPHABET_MAX < 1u << KEY_BITS, "a letter has 10 bits in a key");

/* A suffix and its sort key. */
struct suffix {
    uint64_t key; /* its first letters; zeros after its end */
    uint32_t at, word;
};

/* Puts a letter in front of a suffix's key. */
static uint64_t key_with(uint16_t letter, uint64_t key)
{
    return key >> KEY_BITS | (uint64_t)letter << (KEY_BITS * (KEY_LETTERS - 1));
}

static bool before(const struct suffix *a, const struct suffix *b, const uint16_t *letters)
{
    if (a->key != b->key)
        return a->key < b->key;
    if ((a->key & ((1u << KEY_BITS) - 1)) == 0)
        return false; /* both have ended */
    for (unsigned i = KEY_LETTERS; i < PIECE_LETTERS_MAX; i++) {
        const uint16_t x = letters[a->at + i], y = letters[b->at + i];
        if (x != y || x == 0)
            return x < y;
    }
    return false;
}

static void sort_block(struct suffix *suffixes, size_t count, const uint16_t *letters)
{
    for (size_t i = 1; i < count; i++) {
        const struct suffix suffix = suffixes[i];
        size_t to = i;
        for (; to && before(&suffix, &suffixes[to - 1], letters); to--)
            suffixes[to] = suffixes[to - 1];
        suffixes[to] = suffix;
    }
}

/* Merges two adjacent sorted rows. */
static void merge_rows(const struct suffix *left, const struct suffix *right, const struct suffix *end,
                       struct suffix *to, const uint16_t *letters)
{
    const struct suffix *const middle = right;
    while (left < middle && right < end)
        *to++ = before(right, left, letters) ? *right++ : *left++;
    while (left < middle)
        *to++ = *left++;
    while (right < end)
        *to++ = *right++;
}

/* Merge sort by letters, starting from sorted blocks. `scratch` has the same size. Returns the array that holds the
 * result. */
static struct suffix *sort_suffixes(struct suffix *suffixes, struct suffix *scratch, size_t count,
                                    const uint16_t *letters)
{
    for (size_t i = 0; i < count; i += BLOCK)
        sort_block(suffixes + i, count - i < BLOCK ? count - i : BLOCK, letters);
    for (size_t row = BLOCK; row < count; row *= 2) {
        for (size_t i = 0; i < count; i += 2 * row) {
            const size_t middle = count - i < row ? count : i + row, end = count - i < 2 * row ? count : i + 2 * row;
            merge_rows(suffixes + i, suffixes + middle, suffixes + end, scratch + i, letters);
        }
        struct suffix *const sorted = scratch;
        scratch = suffixes;
        suffixes = sorted;
    }
    return suffixes;
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
    uint64_t count;            /* so far, of the suffixes and closed nodes below it */
    size_t suffixes, children; /* sizes of the waiting stacks when it was opened */
};

struct builder {
    const struct lexicon *lexicon;
    struct candidates *candidates;
    uint64_t count_min;
    struct open_node open[PIECE_LETTERS_MAX + 2]; /* letters strictly increase */
    size_t open_count;
    uint32_t *suffixes; /* places whose node is not known yet */
    size_t suffix_count;
    uint32_t *children; /* nodes whose parent is not known yet */
    size_t child_count, child_capacity;
};

/* Numbers the top node if it occurs often enough; otherwise what waits for it waits for the node below. */
static struct open_node close_top(struct builder *builder, uint32_t example, bool inside)
{
    struct candidates *candidates = builder->candidates;
    assert(builder->open_count > 0);
    const struct open_node node = builder->open[--builder->open_count];
    if (node.count < builder->count_min && node.letters)
        return node;
    candidates->nodes =
        mem_room(candidates->nodes, candidates->count + 1, &candidates->capacity, sizeof *candidates->nodes);
    const uint32_t number = (uint32_t)candidates->count++;
    candidates->nodes[number] =
        (struct candidate){.parent = number, .example = example, .letters = (uint8_t)node.letters, .inside = inside};
    while (builder->suffix_count > node.suffixes)
        candidates->node_of[builder->suffixes[--builder->suffix_count]] = number;
    while (builder->child_count > node.children)
        candidates->nodes[builder->children[--builder->child_count]].parent = number;
    builder->children =
        mem_room(builder->children, builder->child_count + 1, &builder->child_capacity, sizeof *builder->children);
    builder->children[builder->child_count++] = number;
    return node;
}

/* Closes all open nodes of more than `letters` letters. Afterwards a node of exactly `letters` is open. */
static void close_down_to(struct builder *builder, unsigned letters, uint32_t example, bool inside)
{
    while (builder->open[builder->open_count - 1].letters > letters) {
        const struct open_node closed = close_top(builder, example, inside);
        struct open_node *below = &builder->open[builder->open_count - 1];
        if (below->letters < letters) { /* the prefix that the closed node shares with the next suffix */
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
    const struct lexicon *lexicon = builder->lexicon;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = suffixes[i].at;
        if (i)
            close_down_to(builder, common_letters(lexicon->letters + suffixes[i - 1].at, lexicon->letters + at),
                          suffixes[i - 1].at, inside);
        const unsigned all = suffix_letters(lexicon->letters + at);
        assert(builder->suffix_count < lexicon->letter_count && builder->open_count <= PIECE_LETTERS_MAX + 1);
        if (builder->open[builder->open_count - 1].letters < all)
            builder->open[builder->open_count++] =
                (struct open_node){all, 0, builder->suffix_count, builder->child_count};
        builder->open[builder->open_count - 1].count += lexicon->count[suffixes[i].word];
        builder->suffixes[builder->suffix_count++] = at;
    }
    if (count)
        close_down_to(builder, 0, suffixes[count - 1].at, inside);
}

/* All suffixes at word starts, or all inside words, grouped by first letter: those of letter r are at start[r] up
 * to, not including, start[r + 1]. */
static struct suffix *suffixes_by_letter(const struct lexicon *lexicon, bool inside, size_t start[ALPHABET_MAX + 2])
{
    memset(start, 0, (ALPHABET_MAX + 2) * sizeof *start);
    for (uint32_t word = 0; word < lexicon->word_count; word++)
        for (uint32_t at = lexicon->start[word] + inside; lexicon->letters[at]; at++) {
            start[lexicon->letters[at] + 1]++;
            if (!inside)
                break;
        }
    for (size_t letter = 0; letter <= ALPHABET_MAX; letter++)
        start[letter + 1] += start[letter];
    size_t fill[ALPHABET_MAX + 1];
    memcpy(fill, start, sizeof fill);
    struct suffix *const suffixes = mem_array(start[ALPHABET_MAX + 1], sizeof *suffixes);
    for (uint32_t word = 0; word < lexicon->word_count; word++) {
        const uint32_t first = lexicon->start[word];
        uint32_t end = first;
        while (lexicon->letters[end])
            end++;
        uint64_t key = 0;
        for (uint32_t at = end; at-- > first;) {
            const uint16_t letter = lexicon->letters[at];
            key = key_with(letter, key);
            if (inside == (at > first))
                suffixes[fill[letter]++] = (struct suffix){key, at, word};
        }
    }
    for (size_t letter = 1; letter <= ALPHABET_MAX; letter++)
        assert(fill[letter] == start[letter + 1]); /* both passes see the same suffixes */
    return suffixes;
}

/* Sorts and adds the suffixes at word starts, or those inside words, one first letter at a time: small groups sort
 * faster and need less memory than all suffixes at once. */
static void add_all(struct builder *builder, bool inside)
{
    const struct lexicon *lexicon = builder->lexicon;
    size_t start[ALPHABET_MAX + 2], most = 0;
    struct suffix *const suffixes = suffixes_by_letter(lexicon, inside, start);
    for (size_t letter = 1; letter <= ALPHABET_MAX; letter++)
        most = start[letter + 1] - start[letter] > most ? start[letter + 1] - start[letter] : most;
    struct suffix *const scratch = mem_array(most, sizeof *scratch);
    for (size_t letter = 1; letter <= ALPHABET_MAX; letter++) {
        const size_t count = start[letter + 1] - start[letter];
        add_suffixes(builder, sort_suffixes(suffixes + start[letter], scratch, count, lexicon->letters), count, inside);
    }
    mem_free(scratch);
    mem_free(suffixes);
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
