/* Pieces by merging pairs (merger.h), until the vocabulary is full.
 *
 * Later merges absorb pieces: once "include" and "included" are pieces, "includ" may occur nowhere. A piece that
 * occurs in fewer places than the last merged pair is worth less than a further merge, so that merge gets its place
 * in the vocabulary. */
#include "tokenizer/merger.h"

#include <assert.h>

/* How many merged pieces occur in at least `least` places. */
static size_t count_useful(const struct merger *merger, uint64_t least)
{
    size_t useful = 0;
    for (size_t i = merger_first(merger->lexicon); i < merger->made_count; i++)
        useful += merger->made[i].occurrences >= least;
    return useful;
}

/* Takes the useful pieces in the order of the merges. Where there are too few, the oldest others are taken as well. */
static void take_pieces(const struct merger *merger, size_t wanted, struct learned *learned)
{
    const size_t useful = count_useful(merger, learned->threshold);
    size_t others = wanted > useful ? wanted - useful : 0;
    for (uint32_t i = merger_first(merger->lexicon); i < merger->made_count && learned->count < wanted; i++) {
        const bool other = merger->made[i].occurrences < learned->threshold;
        if (other && others == 0)
            continue;
        others -= other;
        learned_add(learned, merger->made[i].piece);
    }
    assert(learned->count <= wanted);
}

void learn_bpe(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency, struct learned *learned)
{
    const size_t merged_max = 2 * wanted < lexicon->letter_count ? 2 * wanted : lexicon->letter_count;
    struct merger merger;
    merger_init(&merger, lexicon, merged_max);
    const size_t first = merger_first(lexicon);
    size_t look_at = first + wanted; /* no earlier than at this many pieces can `wanted` of them be useful */
    struct merged merged;
    while (merger_next(&merger, min_frequency, &merged)) {
        learned->threshold = merged.count;
        if (merger.made_count < look_at)
            continue;
        /* Counting is linear in the pieces: the next time after as many merges as pieces are missing. */
        const size_t useful = count_useful(&merger, learned->threshold);
        if (useful >= wanted)
            break;
        look_at = merger.made_count + wanted - useful;
    }
    take_pieces(&merger, wanted, learned);
    merger_release(&merger);
}
