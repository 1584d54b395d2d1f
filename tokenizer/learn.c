/* Comes in: counted words. Goes out: a vocabulary. The tree of candidates (candidates.h) is made once; each threshold
 * that is tried costs a few walks over it:
 *
 *     tally    every word gives its count to the node at each of its cuts
 *     choose   children before parents: a node with enough count is a piece and keeps it, others hand it to the parent
 *     match    parents before children: the longest piece that a node begins with, which gives the next cuts
 *
 * Handing up what was not claimed is the same as taking a piece's count away from all its beginnings, for every node at
 * once. */
#include "tokenizer/learn.h"

#include "base/mem.h"
#include "tokenizer/candidates.h"
#include "tokenizer/lexicon.h"

#include <assert.h>
#include <stdlib.h>

#define ROUNDS           4u /* of cutting and counting again */
#define BYTES_MAX        ((size_t)256 << 20)
#define BYTES_PER_LETTER 48u /* of the lexicon: itself, sorting, up to two nodes */
#define UNUSED_FIRST     99u /* [unused0] to [unused98] stand before [UNK] */

_Static_assert(LEARN_LETTERS_MAX == ALPHABET_MAX, "what may be asked for is what there is room for");

struct learner {
    struct lexicon lexicon;
    struct candidates candidates;
    uint64_t *first;  /* [nodes] counts when every letter is a cut */
    uint64_t *count;  /* [nodes] counts; after choosing, what a node did not hand up */
    bool *chosen;     /* [nodes] */
    uint8_t *longest; /* [nodes] letters of the longest piece that begins the node */
};

static void learner_init(struct learner *learner, const struct word_counts *counts, const struct learn_options *options,
                         size_t pieces_max, size_t bytes_max)
{
    const size_t alphabet_max = options->limit_alphabet ? options->limit_alphabet : LEARN_LETTERS_MAX;
    lexicon_init(&learner->lexicon, counts, unicode_of(options->profile), alphabet_max, pieces_max,
                 bytes_max / BYTES_PER_LETTER);
    candidates_init(&learner->candidates, &learner->lexicon, LEARN_COUNT_MIN);
    const size_t nodes = learner->candidates.count;
    learner->first = mem_clear(nodes, sizeof *learner->first);
    learner->count = mem_array(nodes, sizeof *learner->count);
    learner->chosen = mem_array(nodes, sizeof *learner->chosen);
    learner->longest = mem_array(nodes, sizeof *learner->longest);
    const struct lexicon *lexicon = &learner->lexicon;
    for (size_t word = 0; word < lexicon->word_count; word++)
        for (size_t at = lexicon->start[word]; lexicon->letters[at]; at++)
            learner->first[learner->candidates.node_of[at]] += lexicon->count[word];
}

static void learner_release(struct learner *learner)
{
    lexicon_release(&learner->lexicon);
    candidates_release(&learner->candidates);
    mem_free(learner->first);
    mem_free(learner->count);
    mem_free(learner->chosen);
    mem_free(learner->longest);
}

/* Counts what begins at the cuts that the present pieces make. */
static void tally(struct learner *learner)
{
    const struct lexicon *lexicon = &learner->lexicon;
    memset(learner->count, 0, learner->candidates.count * sizeof *learner->count);
    for (size_t word = 0; word < lexicon->word_count; word++)
        for (size_t at = lexicon->start[word]; lexicon->letters[at];) {
            const uint32_t node = learner->candidates.node_of[at];
            learner->count[node] += lexicon->count[word];
            at += learner->longest[node];
        }
}

/* Returns how many pieces of two and more letters there are. */
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

/* All rounds with one threshold. */
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

/* A threshold that gives at least `wanted` pieces while the next higher one gives fewer; LEARN_COUNT_MIN where none
 * gives so many. `near` is where to look first. */
static uint64_t search_threshold(struct learner *learner, size_t wanted, uint64_t near, uint64_t highest,
                                 unsigned rounds)
{
    uint64_t low = LEARN_COUNT_MIN, high = highest + 1; /* high gives fewer; low gives enough, or is the lowest */
    uint64_t step = near / 8 + 1, next = near;
    while (high - low > 1) {
        next = next <= low ? low + 1 : next >= high ? high - 1 : next;
        if (choose_in_rounds(learner, next, rounds) >= wanted) {
            low = next;
            next = low + step;
        } else {
            high = next;
            next = high > step ? high - step : 0;
        }
        if (low > LEARN_COUNT_MIN && high <= highest)
            next = low + (high - low) / 2; /* from both sides now */
        else
            step *= 2;
    }
    return low;
}

static uint64_t highest_count(const struct learner *learner)
{
    uint64_t highest = LEARN_COUNT_MIN;
    for (size_t i = 0; i < learner->lexicon.word_count; i++)
        highest += learner->lexicon.count[i];
    return highest;
}

/* A row of letters as a piece. */
static void add_row(struct buf *text, const struct lexicon *lexicon, const uint16_t *letters, size_t count, bool inside)
{
    buf_reserve(text, 2 + 4 * count);
    if (inside)
        buf_add_text(text, "##");
    for (size_t i = 0; i < count; i++)
        text->size += utf8_encode(lexicon->alphabet[letters[i]], text->data + text->size);
}

/* A chosen piece; its bytes are in a shared buffer that may still move. */
struct found {
    uint64_t count;
    const struct buf *text;
    size_t offset, size;
};

static struct str found_text(const struct found *found)
{
    return (struct str){found->text->data + found->offset, found->size};
}

static int by_count(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return str_compare(found_text(x), found_text(y));
}

/* A list of pieces under construction: their bytes, and where each one ends. */
struct pieces {
    struct buf text;
    size_t *end;
    size_t count, capacity;
};

static void end_piece(struct pieces *pieces)
{
    if (pieces->count == pieces->capacity) {
        pieces->capacity = pieces->capacity ? 2 * pieces->capacity : 1024;
        pieces->end = mem_grow(pieces->end, pieces->capacity, sizeof *pieces->end);
    }
    pieces->end[pieces->count++] = pieces->text.size;
}

static void add_piece(struct pieces *pieces, const char *piece)
{
    buf_add_text(&pieces->text, piece);
    end_piece(pieces);
}

static void add_unused(struct pieces *pieces, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        buf_addf(&pieces->text, "[unused%u]", i);
        end_piece(pieces);
    }
}

static void add_specials(struct pieces *pieces, uint32_t unused)
{
    add_piece(pieces, "[PAD]");
    add_unused(pieces, 0, UNUSED_FIRST);
    add_piece(pieces, "[UNK]");
    add_piece(pieces, "[CLS]");
    add_piece(pieces, "[SEP]");
    add_piece(pieces, "[MASK]");
    assert(pieces->count == LEARN_SPECIALS);
    add_unused(pieces, UNUSED_FIRST, unused);
}

static void add_alphabet(struct pieces *pieces, const struct lexicon *lexicon)
{
    for (int inside = 0; inside < 2; inside++)
        for (uint16_t i = 1; i <= lexicon->alphabet_count; i++)
            if (!inside || lexicon->inside[i]) {
                add_row(&pieces->text, lexicon, &i, 1, inside);
                end_piece(pieces);
            }
}

/* The chosen pieces in their order, at most `room`. */
static void add_chosen(struct pieces *pieces, const struct learner *learner, size_t count, size_t room)
{
    struct found *const found = mem_array(count, sizeof *found);
    struct buf text = {0};
    size_t filled = 0;
    for (size_t i = 0; i < learner->candidates.count; i++) {
        if (!learner->chosen[i])
            continue;
        const struct candidate *node = &learner->candidates.nodes[i];
        const size_t offset = text.size;
        add_row(&text, &learner->lexicon, learner->lexicon.letters + node->example, node->letters, node->inside);
        found[filled++] = (struct found){learner->count[i], &text, offset, text.size - offset};
    }
    assert(filled == count);
    qsort(found, count, sizeof *found, by_count);
    for (size_t i = 0; i < count && i < room; i++) {
        buf_add_str(&pieces->text, found_text(&found[i]));
        end_piece(pieces);
    }
    buf_release(&text);
    mem_free(found);
}

static int open_vocab(const struct pieces *pieces, struct vocab **vocab, struct error *err)
{
    struct str *const list = mem_array(pieces->count, sizeof *list);
    for (size_t i = 0; i < pieces->count; i++) {
        const size_t start = i ? pieces->end[i - 1] : 0;
        list[i] = (struct str){pieces->text.data + start, pieces->end[i] - start};
    }
    const int result = vocab_from_pieces(vocab, list, pieces->count, err);
    mem_free(list);
    return result;
}

int vocab_learn(const struct word_counts *counts, const struct learn_options *options, struct vocab **vocab,
                struct learn_report *report, struct error *err)
{
    assert(options->vocab_size >= LEARN_SIZE_MIN && options->vocab_size <= VOCAB_PIECES_MAX);
    if (options->unused >= options->vocab_size - LEARN_SPECIALS)
        return fail(err, ERR_USAGE, "a vocabulary of %u pieces has no room for %u unused ones", options->vocab_size,
                    options->unused);
    const size_t room = options->vocab_size - LEARN_SPECIALS - options->unused;
    const size_t bytes_max = options->bytes_max && options->bytes_max < BYTES_MAX ? options->bytes_max : BYTES_MAX;
    struct learner learner;
    learner_init(&learner, counts, options, room, bytes_max);
    const struct lexicon *lexicon = &learner.lexicon;
    const size_t wanted = room - lexicon->alphabet_pieces;
    const uint64_t highest = highest_count(&learner);
    const uint64_t near = search_threshold(&learner, wanted, 2, highest, 1);
    uint64_t threshold = search_threshold(&learner, wanted, near, highest, ROUNDS);
    if (threshold < options->min_frequency)
        threshold = options->min_frequency;
    const size_t found = choose_in_rounds(&learner, threshold, ROUNDS);

    struct pieces pieces = {0};
    add_specials(&pieces, options->unused);
    add_alphabet(&pieces, lexicon);
    add_chosen(&pieces, &learner, found, wanted);
    const int result = open_vocab(&pieces, vocab, err);
    if (report)
        *report = (struct learn_report){.pieces = (uint32_t)pieces.count,
                                        .letters = (uint32_t)lexicon->alphabet_count,
                                        .letters_left_out = lexicon->letters_left_out,
                                        .words = lexicon->word_count,
                                        .words_left_out = lexicon->words_left_out,
                                        .threshold = threshold};
    buf_release(&pieces.text);
    mem_free(pieces.end);
    learner_release(&learner);
    return result;
}
