/* Builds the alphabet from counted words and spells the words in it. */
#include "tokenizer/lexicon.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tokenizer/bpe.h"

#include <assert.h>
#include <stdlib.h>

#define CODE_POINTS 0x110000u
#define RARE        4096u /* lower counts have a sum each, for choosing which words to leave out */

static int by_frequency(const void *a, const void *b)
{
    const struct letter_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->code_point > y->code_point) - (x->code_point < y->code_point);
}

static int by_code_point(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Takes the next letter from the front of a well-formed word. */
static uint32_t take_letter(struct str *word)
{
    uint32_t code_point = 0;
    unsigned skip;
    const unsigned size = utf8_decode(word->data, word->size, &code_point, &skip);
    assert(size);
    *word = (struct str){word->data + size, word->size - size};
    return code_point;
}

static bool stands_inside(const struct unicode *unicode, uint32_t code_point)
{
    const uint8_t kind = unicode_letter(unicode, code_point)->kind;
    return kind != LETTER_PUNCTUATION && kind != LETTER_IDEOGRAPH;
}

/* All letters, the most frequent first. *total is the sum of their counts. */
static struct letter_count *letter_frequencies(const struct word_counts *counts, size_t *found, uint64_t *total)
{
    uint64_t *const of = mem_clear(CODE_POINTS, sizeof *of);
    uint32_t highest = 0;
    *total = 0;
    *found = 0;
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        struct str word = word_counts_word(counts, i, &n);
        while (word.size) {
            const uint32_t letter = take_letter(&word);
            uint64_t *const count = &of[letter];
            highest = letter > highest ? letter : highest;
            *found += *count == 0;
            *count += n;
            *total += n;
        }
    }
    struct letter_count *frequencies = mem_array(*found, sizeof *frequencies);
    size_t filled = 0;
    for (uint32_t code_point = 0; code_point <= highest; code_point++)
        if (of[code_point])
            frequencies[filled++] = (struct letter_count){of[code_point], code_point};
    assert(filled == *found);
    qsort(frequencies, *found, sizeof *frequencies, by_frequency);
    mem_free(of);
    return frequencies;
}

static void choose_alphabet(struct lexicon *lexicon, const struct word_counts *counts, const struct unicode *unicode,
                            size_t alphabet_max, size_t pieces_max)
{
    size_t found;
    uint64_t total, covered = 0;
    struct letter_count *frequencies = letter_frequencies(counts, &found, &total);
    while (lexicon->alphabet_count < found && lexicon->alphabet_count < alphabet_max) {
        const struct letter_count *next = &frequencies[lexicon->alphabet_count];
        const size_t pieces = lexicon->alphabet_pieces + 1 + stands_inside(unicode, next->code_point);
        if (pieces > pieces_max || (pieces > pieces_max / 2 && covered >= total - total / 1000))
            break;
        lexicon->alphabet[++lexicon->alphabet_count] = next->code_point;
        lexicon->alphabet_pieces = pieces;
        covered += next->count;
    }
    assert(covered <= total);
    lexicon->letters_left_out = found - lexicon->alphabet_count;
    for (size_t i = 0; i < LETTERS_NAMED && i < lexicon->letters_left_out; i++)
        lexicon->left_out[i] = frequencies[lexicon->alphabet_count + i];
    qsort(lexicon->alphabet + 1, lexicon->alphabet_count, sizeof *lexicon->alphabet, by_code_point);
    for (size_t i = 1; i <= lexicon->alphabet_count; i++)
        lexicon->inside[i] = stands_inside(unicode, lexicon->alphabet[i]);
    mem_free(frequencies);
}

/* The alphabet's ranks of the letters. */
struct ranks {
    uint16_t *of; /* by code point, or by byte; 0: not in the alphabet */
    bool bytes;
};

static uint16_t take_rank(const struct ranks *ranks, struct str *word)
{
    if (!ranks->bytes)
        return ranks->of[take_letter(word)];
    const unsigned char byte = (unsigned char)*word->data;
    *word = (struct str){word->data + 1, word->size - 1};
    return ranks->of[byte];
}

/* The number of letters of a word; 0 for a word with a letter outside the alphabet, one that is too long, or a
 * single letter. */
static size_t usable_letters(struct str word, const struct ranks *ranks)
{
    size_t letters = 0;
    while (word.size)
        if (!take_rank(ranks, &word) || ++letters > (ranks->bytes ? LEARNED_BYTES_MAX : LEARNED_LETTERS_MAX))
            return 0;
    return letters > 1 ? letters : 0;
}

/* Which words fit: those that occur more than `count` times and, of those that occur exactly `count` times, the ones
 * whose hash is below `share`. The hash makes the choice independent of the order of the words. */
struct room {
    uint64_t count;
    uint64_t share; /* of 2^32 */
};

static bool has_room(const struct room *room, struct str word, uint64_t n)
{
    return n > room->count || (n == room->count && hash64(word.data, word.size) >> 32 < room->share);
}

static struct room find_room(const struct word_counts *counts, const struct ranks *ranks, size_t letters_max)
{
    size_t *const letters = mem_clear(RARE, sizeof *letters); /* letters of the words of each count; [0]: of counts
                                                               * from RARE on */
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        const size_t used = usable_letters(word_counts_word(counts, i, &n), ranks);
        letters[n < RARE ? n : 0] += used + (used > 0);
    }
    size_t total = letters[0];
    struct room room = {RARE - 1, 0};
    for (; room.count > 0 && total + letters[room.count] <= letters_max; room.count--)
        total += letters[room.count];
    if (room.count > 0 && total < letters_max)
        room.share = ((uint64_t)(letters_max - total) << 32) / letters[room.count];
    mem_free(letters);
    return room;
}

static void spell_words(struct lexicon *lexicon, const struct word_counts *counts, const struct ranks *ranks,
                        const struct room *room)
{
    size_t letters_capacity = 0, words_capacity = 0;
    for (size_t i = 0; i < word_counts_size(counts); i++) {
        uint64_t n;
        struct str word = word_counts_word(counts, i, &n);
        const size_t used = usable_letters(word, ranks);
        if (!used || !has_room(room, word, n)) {
            take_rank(ranks, &word);
            lexicon->words_left_out += word.size > 0;
            continue;
        }
        if (lexicon->word_count == words_capacity) {
            words_capacity = words_capacity ? 2 * words_capacity : 4096;
            lexicon->start = mem_grow(lexicon->start, words_capacity, sizeof *lexicon->start);
            lexicon->count = mem_grow(lexicon->count, words_capacity, sizeof *lexicon->count);
        }
        lexicon->letters =
            mem_room(lexicon->letters, lexicon->letter_count + used + 1, &letters_capacity, sizeof *lexicon->letters);
        lexicon->start[lexicon->word_count] = (uint32_t)lexicon->letter_count;
        lexicon->count[lexicon->word_count++] = n;
        while (word.size)
            lexicon->letters[lexicon->letter_count++] = take_rank(ranks, &word);
        assert(lexicon->letter_count == lexicon->start[lexicon->word_count - 1] + used); /* which did not wrap around */
        lexicon->letters[lexicon->letter_count++] = 0;
    }
}

static void spell(struct lexicon *lexicon, const struct word_counts *counts, const struct ranks *ranks,
                  size_t letters_max)
{
    const struct room room = find_room(counts, ranks, letters_max);
    spell_words(lexicon, counts, ranks, &room);
}

void lexicon_init(struct lexicon *lexicon, const struct word_counts *counts, const struct unicode *unicode,
                  size_t alphabet_max, size_t pieces_max, size_t letters_max)
{
    assert(letters_max < UINT32_MAX && alphabet_max <= ALPHABET_MAX);
    *lexicon = (struct lexicon){0};
    choose_alphabet(lexicon, counts, unicode, alphabet_max, pieces_max);
    const struct ranks ranks = {mem_clear(CODE_POINTS, sizeof *ranks.of), false};
    for (size_t i = 1; i <= lexicon->alphabet_count; i++)
        ranks.of[lexicon->alphabet[i]] = (uint16_t)i;
    spell(lexicon, counts, &ranks, letters_max);
    mem_free(ranks.of);
}

uint16_t lexicon_rank_of_byte(const struct lexicon *lexicon, unsigned char byte)
{
    const uint32_t letter = bpe_letter(byte);
    uint16_t rank = 1;
    while (lexicon->alphabet[rank] != letter)
        rank++;
    return rank;
}

void lexicon_init_bytes(struct lexicon *lexicon, const struct word_counts *counts, size_t letters_max)
{
    assert(letters_max < UINT32_MAX);
    *lexicon = (struct lexicon){.bytes = true, .alphabet_count = 256, .alphabet_pieces = 256};
    uint16_t of[256];
    for (unsigned byte = 0; byte < 256; byte++)
        lexicon->alphabet[byte + 1] = bpe_letter((unsigned char)byte);
    qsort(lexicon->alphabet + 1, lexicon->alphabet_count, sizeof *lexicon->alphabet, by_code_point);
    for (unsigned byte = 0; byte < 256; byte++)
        of[byte] = lexicon_rank_of_byte(lexicon, (unsigned char)byte);
    spell(lexicon, counts, &(struct ranks){of, true}, letters_max);
}

void lexicon_release(struct lexicon *lexicon)
{
    mem_free(lexicon->letters);
    mem_free(lexicon->start);
    mem_free(lexicon->count);
    *lexicon = (struct lexicon){0};
}
