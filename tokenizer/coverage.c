/* Sums over counted words. The tokenizer itself cuts each distinct word once. */
#include "tokenizer/coverage.h"

#include <assert.h>

#define CODE_POINTS 0x110000u

static uint32_t take_letter(struct str *word)
{
    uint32_t code_point = 0;
    unsigned skip;
    const unsigned size = utf8_decode(word->data, word->size, &code_point, &skip);
    assert(size);
    *word = (struct str){word->data + size, word->size - size};
    return code_point;
}

/* For each code point, whether it is a piece by itself: [CODE_POINTS]. */
static bool *letters_of(const struct vocab *vocab)
{
    bool *const known = mem_clear(CODE_POINTS, sizeof *known);
    for (uint32_t i = 0; i < vocab->count; i++) {
        struct str piece = vocab->pieces[i];
        if (piece.size == 0)
            continue;
        const uint32_t letter = take_letter(&piece);
        known[letter] |= piece.size == 0;
    }
    return known;
}

void coverage_measure(const struct vocab *vocab, const struct tokenizer_options *options,
                      const struct word_counts *counts, struct coverage *coverage)
{
    *coverage = (struct coverage){0};
    struct tokenizer *tokenizer = tokenizer_open(vocab, options);
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    bool *const known = vocab->kind == VOCAB_WORDPIECE ? letters_of(vocab) : NULL; /* NULL: all */
    struct ids ids = {0};
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        struct str word = word_counts_word(counts, i, &n);
        ids.count = 0;
        tokenizer_ids(state, word, &ids);
        const bool unknown = ids.count == 1 && ids.data[0] == vocab->unk;
        coverage->words += n;
        coverage->pieces += n * ids.count;
        coverage->unknown += unknown ? n : 0;
        coverage->whole += ids.count == 1 && !unknown ? n : 0;
        while (word.size) {
            const uint32_t letter = take_letter(&word);
            coverage->letters += n;
            coverage->foreign += !known || known[letter] ? 0 : n;
        }
    }
    ids_release(&ids);
    mem_free(known);
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
}
