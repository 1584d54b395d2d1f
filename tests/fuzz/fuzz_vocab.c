// room: pipeline
/* In: a choice, and the bytes of a vocab.txt (read by one of three rules) or of a tokenizer.json. Held: it is refused
 * with a message, or its specials are where it says, no piece holds a line end, its own text reads back the same, and
 * texts cut with it have ids of it; the search for defects takes whatever it is given. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/build/published.h"
#include "tokenizer/vocab_check.h"
#include "tokenizer/wordpiece.h"

static void check_pieces(const struct vocab *vocab)
{
    static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    const uint32_t ids[] = {vocab->pad, vocab->unk, vocab->cls, vocab->sep, vocab->mask};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert(ids[i] < vocab->count && str_equal(vocab->pieces[ids[i]], str_of(names[i])));
    size_t bytes = 0;
    for (uint32_t id = 0; id < vocab->count; id++) {
        const struct str piece = vocab->pieces[id];
        assert(piece.size == 0 || !memchr(piece.data, '\n', piece.size));
        assert(utf8_valid(piece));
        bytes += piece.size + 1;
    }
    assert(bytes == vocab->text_bytes);
}

static void check_own_text(const struct vocab *vocab)
{
    struct vocab *again;
    struct error err = {0};
    const int result = vocab_read(&again, fuzz_file((struct str){vocab->text, vocab->text_bytes}), VOCAB_OWN, &err);
    assert(result == 0 && again->count == vocab->count && again->hash == vocab->hash);
    for (uint32_t id = 0; id < vocab->count; id++)
        assert(str_equal(again->pieces[id], vocab->pieces[id]));
    vocab_close(again);
}

struct cut {
    struct wordpiece *wordpiece;
    struct ids ids;
};

static void cut_word(void *context, struct str word)
{
    struct cut *cut = context;
    wordpiece_word(cut->wordpiece, word, &cut->ids);
}

/* Word by word, for a tokenizer with a vocabulary takes 2 MB of memory to begin with. */
static void check_tokenizing(const struct vocab *vocab, const struct tokenizer_options *options)
{
    struct vocab_unreachable found;
    struct cut cut = {wordpiece_open(vocab, 100), {0}};
    vocab_unreachable(vocab, options, NULL, &found);
    assert(found.unreachable <= found.pieces && found.pieces <= vocab->count);
    struct tokenizer *tokenizer = tokenizer_open(NULL, options);
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    tokenizer_words(state, STR("The unwanted café, ＡＢ 東京 [MASK] aaaaaaaaaa 12 \xC3"), cut_word, &cut);
    tokenizer_words(state, (struct str){vocab->text, vocab->text_bytes}, cut_word, &cut);
    for (size_t i = 0; i < cut.ids.count; i++)
        assert(cut.ids.data[i] < vocab->count);
    ids_release(&cut.ids);
    wordpiece_close(cut.wordpiece);
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned choice = take_byte(&data, &size);
    const struct str bytes = as_str(data, size);
    static const struct opt_row rows[] = {{.name = "accents"}, {0}};
    static const struct opt_program program = {.rows = rows};
    const struct opt_result nothing_typed = {0};
    struct dsdata_settings settings = {
        .profile = choice & 1 ? PROFILE_GOOGLE : PROFILE_HF, .program = &program, .result = &nothing_typed};
    struct vocab_defects defects;
    struct vocab *vocab = NULL;
    struct error err = {0};
    int result;
    vocab_inspect(bytes, &defects);
    if (choice % 4 == 3) {
        result = vocab_read(&vocab, fuzz_file(bytes), VOCAB_OWN, &err);
    } else {
        settings.vocab = choice & 2 ? fuzz_named_file("tokenizer.json", bytes) : fuzz_file(bytes);
        result = published_vocab(&settings, &vocab, &err);
    }
    if (result == 0) {
        const struct tokenizer_options words = published_words(&settings);
        check_pieces(vocab);
        check_own_text(vocab);
        check_tokenizing(vocab, &words);
        published_fits("fuzz", vocab, &words, &err);
        vocab_close(vocab);
    } else {
        assert((err.kind == ERR_INPUT || err.kind == ERR_UNSAFE || err.kind == ERR_MISMATCH) && err.text[0]);
    }
    return 0;
}
