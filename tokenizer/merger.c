/* A piece is recorded at its first and its last place, so both neighbours are found in O(1). A pair is recorded at the
 * first place of its left piece, in a linked list of all places of that pair. So a merge touches only the places of its
 * pair, and since each one removes a piece from a word, all merges together are linear in the letters. */
#include "tokenizer/merger.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

/* One of the lexicon's letters. */
struct place {
    uint32_t piece;       /* the piece that begins or ends here; 0: none (after a word) */
    uint32_t pair;        /* at a piece's first letter: number of the pair that begins here, or PAIR_NONE */
    uint32_t next, prior; /* places of the same pair, or PAIR_NONE */
    uint32_t word;
};

static uint32_t letter_piece(const struct lexicon *lexicon, uint16_t letter, bool inside)
{
    return letter + (inside && !lexicon->bytes ? (uint32_t)lexicon->alphabet_count : 0);
}

uint32_t merger_first(const struct lexicon *lexicon)
{
    return (lexicon->bytes ? 1 : 2) * (uint32_t)lexicon->alphabet_count + 1;
}

/* The first place of the next piece, or the place of the word's end. */
static uint32_t place_after(const struct merger *merger, uint32_t place)
{
    return place + merger->made[merger->places[place].piece].piece.letters;
}

/* The first place of the previous piece, or PAIR_NONE. */
static uint32_t place_before(const struct merger *merger, uint32_t place)
{
    const uint32_t piece = place ? merger->places[place - 1].piece : 0;
    return piece ? place - merger->made[piece].piece.letters : PAIR_NONE;
}

/* Counts the pair that begins at a place. */
static void add_pair(struct merger *merger, uint32_t place)
{
    const uint32_t right = merger->places[place_after(merger, place)].piece;
    merger->places[place].pair = PAIR_NONE;
    if (!right)
        return;
    const uint32_t number = pair_queue_add(&merger->queue, merger->places[place].piece, right,
                                           merger->lexicon->count[merger->places[place].word]);
    struct piece_pair *pair = &merger->queue.pairs[number];
    merger->places[place].pair = number;
    merger->places[place].prior = PAIR_NONE;
    merger->places[place].next = pair->first;
    if (pair->first != PAIR_NONE)
        merger->places[pair->first].prior = place;
    pair->first = place;
}

/* Removes the pair that begins at a place from its count. */
static void remove_pair(struct merger *merger, uint32_t place)
{
    const uint32_t number = merger->places[place].pair, next = merger->places[place].next,
                   prior = merger->places[place].prior;
    if (number == PAIR_NONE)
        return;
    if (next != PAIR_NONE)
        merger->places[next].prior = prior;
    if (prior != PAIR_NONE)
        merger->places[prior].next = next;
    else
        merger->queue.pairs[number].first = next;
    pair_queue_subtract(&merger->queue, number, merger->lexicon->count[merger->places[place].word]);
}

static void place_piece(struct merger *merger, uint32_t place, uint32_t piece)
{
    merger->made[piece].occurrences += merger->lexicon->count[merger->places[place].word];
    merger->places[place].piece = merger->places[place + merger->made[piece].piece.letters - 1].piece = piece;
}

static void remove_piece(struct merger *merger, uint32_t place)
{
    const uint32_t piece = merger->places[place].piece;
    assert(merger->made[piece].occurrences >= merger->lexicon->count[merger->places[place].word]);
    merger->made[piece].occurrences -= merger->lexicon->count[merger->places[place].word];
}

static void merge_at(struct merger *merger, uint32_t place, uint32_t merged)
{
    const uint32_t right = place_after(merger, place), left = place_before(merger, place);
    /* Three pairs hold one of the two pieces, and are counted by them: remove them before the pieces change. */
    if (left != PAIR_NONE)
        remove_pair(merger, left);
    remove_pair(merger, place);
    remove_pair(merger, right);
    remove_piece(merger, place);
    remove_piece(merger, right);
    place_piece(merger, place, merged);
    if (left != PAIR_NONE)
        add_pair(merger, left);
    add_pair(merger, place);
}

/* The first place of the run of equal pieces that `place` is in. */
static uint32_t row_start(const struct merger *merger, uint32_t place)
{
    for (uint32_t left; (left = place_before(merger, place)) != PAIR_NONE; place = left)
        if (merger->places[left].piece != merger->places[place].piece)
            break;
    return place;
}

static bool same_letters(const struct lexicon *lexicon, const struct learned_piece *a, const struct learned_piece *b)
{
    return a->letters == b->letters && a->inside == b->inside &&
           memcmp(lexicon->letters + a->example, lexicon->letters + b->example, a->letters * sizeof(uint16_t)) == 0;
}

/* The number of the piece with these letters; a new one unless another merge gave the same letters. */
static uint32_t piece_number(struct merger *merger, struct learned_piece piece)
{
    const struct lexicon *lexicon = merger->lexicon;
    const size_t mask = ((size_t)1 << merger->slot_bits) - 1;
    size_t at = (hash64(lexicon->letters + piece.example, piece.letters * sizeof(uint16_t)) + piece.inside) & mask;
    for (; merger->slots[at]; at = (at + 1) & mask)
        if (same_letters(lexicon, &merger->made[merger->slots[at]].piece, &piece))
            return merger->slots[at];
    assert(merger->made_count < merger->made_max);
    merger->made[merger->made_count] = (struct made){.piece = piece};
    merger->slots[at] = (uint32_t)merger->made_count;
    return (uint32_t)merger->made_count++;
}

bool merger_next(struct merger *merger, uint64_t min_frequency, struct merged *merged)
{
    const struct piece_pair *first = pair_queue_first(&merger->queue);
    if (merger->made_count == merger->made_max || !first || first->count < min_frequency)
        return false;
    const uint32_t number = pair_queue_take(&merger->queue);
    const struct piece_pair pair = merger->queue.pairs[number];
    assert(pair.count > 0 && pair.first != PAIR_NONE);
    const unsigned letters = merger->made[pair.left].piece.letters + merger->made[pair.right].piece.letters;
    assert(letters <= LEARNED_BYTES_MAX); /* no longer than a word of the lexicon */
    const bool inside =
        !merger->lexicon->bytes && pair.first != merger->lexicon->start[merger->places[pair.first].word];
    const uint32_t both =
        piece_number(merger, (struct learned_piece){pair.count, pair.first, (uint16_t)letters, inside});
    /* Each merge removes its place, and perhaps others, from the list, so the list is read from its head. In a run
     * "aaaa" the pairs overlap: from the left they give "aa aa", from the middle "a aa a". */
    for (uint32_t place; (place = merger->queue.pairs[number].first) != PAIR_NONE;)
        merge_at(merger, pair.left == pair.right ? row_start(merger, place) : place, both);
    assert(merger->queue.pairs[number].count == 0); /* every place of the pair was found */
    pair_queue_drop(&merger->queue, number);
    *merged = (struct merged){pair.count, pair.left, pair.right, both};
    return true;
}

void merger_init(struct merger *merger, const struct lexicon *lexicon, size_t merged_max)
{
    *merger = (struct merger){.lexicon = lexicon, .slot_bits = 4};
    merger->made_count = merger_first(lexicon);
    merger->made_max = merger->made_count + merged_max;
    merger->made = mem_clear(merger->made_max, sizeof *merger->made);
    for (size_t i = 0; i < merger->made_count; i++)
        merger->made[i].piece.letters = 1;
    while ((size_t)1 << merger->slot_bits < 2 * merged_max)
        merger->slot_bits++;
    merger->slots = mem_clear((size_t)1 << merger->slot_bits, sizeof *merger->slots);
    merger->places = mem_clear(lexicon->letter_count, sizeof *merger->places);
    pair_queue_init(&merger->queue);
    for (uint32_t word = 0; word < lexicon->word_count; word++) {
        const uint32_t start = lexicon->start[word];
        uint32_t end = start;
        for (; lexicon->letters[end]; end++) {
            merger->places[end].word = word;
            place_piece(merger, end, letter_piece(lexicon, lexicon->letters[end], end > start));
        }
        for (uint32_t place = start; place < end; place++)
            add_pair(merger, place);
    }
}

void merger_release(struct merger *merger)
{
    pair_queue_release(&merger->queue);
    mem_free(merger->places);
    mem_free(merger->made);
    mem_free(merger->slots);
}
