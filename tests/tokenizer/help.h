/* Helpers for tests of the tokenizer: cmocka, and vocabularies made from a string. */
#pragma once

#include "base/file.h"
#include "tests/unit.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_counts.h"

CLOSE_AT(tokenizer)
CLOSE_AT(tokenizer_state)
CLOSE_AT(word_counts)

#define UNUSED __attribute__((unused))

/* A vocabulary of pieces separated by blanks; special tokens that are missing are added at the end. */
UNUSED static struct vocab *vocab_of(const char *pieces)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_addf(&text, "%s", pieces);
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t i = 0; i < 5; i++)
        if (!strstr(pieces, specials[i]))
            buf_addf(&text, " %s", specials[i]);
    struct str list[256];
    size_t count = 0;
    for (char *at = (char *)buf_text(&text), *piece; (piece = strsep(&at, " ")) && count < 256;)
        list[count++] = str_of(piece);
    struct vocab *vocab;
    struct error err;
    assert_int_equal(vocab_from_pieces(&vocab, list, count, &err), 0);
    return vocab;
}

UNUSED static void collect_word(void *context, struct str word)
{
    struct buf *out = context;
    if (out->size)
        buf_add_byte(out, '|');
    buf_add_str(out, word);
}

/* The words of a text, "|" between them; in a buffer that the next call uses again. */
UNUSED static const char *words_by(const struct tokenizer_options *options, struct str text)
{
    static char words[4096];
    struct tokenizer *tokenizer = tokenizer_open(NULL, options);
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    SCOPED(buf_release) struct buf out = {0};
    tokenizer_words(state, text, collect_word, &out);
    snprintf(words, sizeof words, "%s", buf_text(&out));
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
    return words;
}

UNUSED static const char *words_of(struct str text, bool cased, bool strip)
{
    return words_by(&(struct tokenizer_options){.cased = cased, .strip_accents = strip}, text);
}

/* The pieces of a text, a blank between them; in a buffer that the next call uses again. */
UNUSED static const char *pieces_of(const struct vocab *vocab, struct str text, bool cased, bool strip)
{
    static char pieces[4096];
    struct tokenizer *tokenizer =
        tokenizer_open(vocab, &(struct tokenizer_options){.cased = cased, .strip_accents = strip});
    struct tokenizer_state *state = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    SCOPED(buf_release) struct buf out = {0};
    tokenizer_ids(state, text, &ids);
    for (size_t i = 0; i < ids.count; i++) {
        if (i)
            buf_add_byte(&out, ' ');
        buf_add_str(&out, vocab->pieces[ids.data[i]]);
    }
    snprintf(pieces, sizeof pieces, "%s", buf_text(&out));
    tokenizer_state_close(state);
    tokenizer_close(tokenizer);
    return pieces;
}
