/* Learns a vocabulary from counted words: specials, the letters of the alphabet, and the rows of letters that one of
 * two algorithms chose (learn_greedy.c, learn_bpe.c). */
#include "tokenizer/learn.h"

#include "base/mem.h"
#include "tokenizer/learn_pieces.h"

#include <assert.h>

#define BYTES_MAX        ((size_t)256 << 20)
#define BYTES_PER_LETTER 48u /* of the lexicon, roughly: the letter; sorting and nodes, or places and pairs */
#define UNUSED_FIRST     99u /* [unused0] to [unused98] come before [UNK] */

const char *const learn_names[] = {[LEARN_GREEDY] = "greedy", [LEARN_BPE] = "bpe"};

static void (*const algorithms[])(const struct lexicon *lexicon, size_t wanted, uint64_t min_frequency,
                                  struct learned *learned) = {
    [LEARN_GREEDY] = learn_greedy,
    [LEARN_BPE] = learn_bpe,
};

void learned_add(struct learned *learned, struct learned_piece piece)
{
    learned->pieces = mem_room(learned->pieces, learned->count + 1, &learned->capacity, sizeof *learned->pieces);
    learned->pieces[learned->count++] = piece;
}

/* Appends a row of letters as the text of a piece. */
static void add_row(struct buf *text, const struct lexicon *lexicon, const uint16_t *letters, size_t count, bool inside)
{
    buf_reserve(text, 2 + 4 * count);
    if (inside)
        buf_add_text(text, "##");
    for (size_t i = 0; i < count; i++)
        text->size += utf8_write(lexicon->alphabet[letters[i]], text->data + text->size);
}

/* A list of pieces under construction: their bytes, and where each one ends. */
struct pieces {
    struct buf text;
    size_t *end;
    size_t count, capacity;
};

static void end_piece(struct pieces *pieces)
{
    pieces->end = mem_room(pieces->end, pieces->count + 1, &pieces->capacity, sizeof *pieces->end);
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

static void add_learned(struct pieces *pieces, const struct lexicon *lexicon, const struct learned *learned)
{
    for (size_t i = 0; i < learned->count; i++) {
        const struct learned_piece *piece = &learned->pieces[i];
        add_row(&pieces->text, lexicon, lexicon->letters + piece->example, piece->letters, piece->inside);
        end_piece(pieces);
    }
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

int learn_check_room(enum vocab_kind kind, uint32_t vocab_size, uint32_t unused, struct error *err)
{
    if (kind == VOCAB_BPE_BYTES)
        return vocab_size >= LEARN_BYTES_MIN ? 0
                                             : fail(err, ERR_USAGE,
                                                    "a vocabulary of %u pieces has no room for 256 bytes and the "
                                                    "specials: at least %u",
                                                    vocab_size, LEARN_BYTES_MIN);
    if (unused >= vocab_size - LEARN_SPECIALS)
        return fail(err, ERR_USAGE, "a vocabulary of %u pieces has no room for %u unused ones", vocab_size, unused);
    return 0;
}

static int learn_words(const struct word_counts *counts, const struct learn_options *options, size_t bytes_max,
                       struct vocab **vocab, struct learn_report *report, struct error *err)
{
    const size_t room = options->vocab_size - LEARN_SPECIALS - options->unused;
    struct lexicon lexicon;
    lexicon_init(&lexicon, counts, unicode_of(options->profile),
                 options->limit_alphabet ? options->limit_alphabet : LEARN_LETTERS_MAX, room,
                 bytes_max / BYTES_PER_LETTER);
    assert(lexicon.alphabet_pieces <= room);
    struct learned learned = {0};
    algorithms[options->algorithm](&lexicon, room - lexicon.alphabet_pieces, options->min_frequency, &learned);

    struct pieces pieces = {0};
    add_specials(&pieces, options->unused);
    add_alphabet(&pieces, &lexicon);
    add_learned(&pieces, &lexicon, &learned);
    assert(pieces.count <= options->vocab_size && pieces.end[pieces.count - 1] == pieces.text.size);
    const int result = open_vocab(&pieces, vocab, err);
    *report = (struct learn_report){.pieces = (uint32_t)pieces.count,
                                    .letters = (uint32_t)lexicon.alphabet_count,
                                    .letters_left_out = lexicon.letters_left_out,
                                    .words = lexicon.word_count,
                                    .words_left_out = lexicon.words_left_out,
                                    .threshold = learned.threshold};
    memcpy(report->left_out, lexicon.left_out, sizeof report->left_out);
    buf_release(&pieces.text);
    mem_free(pieces.end);
    mem_free(learned.pieces);
    lexicon_release(&lexicon);
    return result;
}

int vocab_learn(const struct word_counts *counts, const struct learn_options *options, struct vocab **vocab,
                struct learn_report *report, struct error *err)
{
    assert(options->vocab_size >= LEARN_SIZE_MIN && options->vocab_size <= VOCAB_PIECES_MAX);
    TRY(learn_check_room(options->kind, options->vocab_size, options->unused, err));
    const size_t bytes_max = options->bytes_max && options->bytes_max < BYTES_MAX ? options->bytes_max : BYTES_MAX;
    struct learn_report own;
    struct learn_options used = *options;
    used.min_frequency = used.min_frequency > LEARN_COUNT_MIN ? used.min_frequency : LEARN_COUNT_MIN;
    if (options->kind == VOCAB_WORDPIECE)
        return learn_words(counts, &used, bytes_max, vocab, report ? report : &own, err);
    learn_bytes(counts, &used, bytes_max, vocab, report ? report : &own);
    return 0;
}
