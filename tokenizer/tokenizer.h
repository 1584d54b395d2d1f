/* Text to ids: of a WordPiece vocabulary exactly as the program named by the profile (enum profile) computes them,
 * of a byte-level BPE as Hugging Face's tokenizers does. Added tokens of the vocabulary are found, special ones only
 * where the options say so: else "[MASK]" in a text is the three words [ mask ].
 *
 *     struct tokenizer *tokenizer = tokenizer_open(vocab, &options);          one for all threads
 *     struct tokenizer_state *state = tokenizer_state_open(tokenizer);        one per thread
 *     tokenizer_ids(state, text, &ids);                                       as often as you like
 */
#pragma once

#include "base/str.h"
#include "tokenizer/ids.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocab.h"

#include <stdbool.h>

struct tokenizer_options {
    bool cased;         /* keep case */
    bool strip_accents; /* canonical decomposition without nonspacing marks */
    enum profile profile;
    bool joined;          /* ideographs are letters of words, not words (handle_chinese_chars false); profile hf only */
    bool special_in_text; /* a special token that is written in a text is that token */
    bool mask_in_text;    /* the mask is, whatever holds for other special tokens */
};

/* Immutable. `vocab` may be NULL: then only tokenizer_words may be used. It is not needed after the call. */
struct tokenizer *tokenizer_open(const struct vocab *vocab, const struct tokenizer_options *options);
void tokenizer_close(struct tokenizer *tokenizer);

/* Scratch of one thread, and its cache of runs (4 MB; it never changes a result). */
struct tokenizer_state *tokenizer_state_open(const struct tokenizer *tokenizer);
void tokenizer_state_close(struct tokenizer_state *state);

/* Appends the ids of `text`. Ill-formed UTF-8 is dropped. A word never spans two calls. */
void tokenizer_ids(struct tokenizer_state *state, struct str text, struct ids *out);

/* The same of a byte-level BPE, with where each id is in a well-formed text: `places` gets the bytes at which it begins
 * and ends. The place of a part of a character is the whole character, and so is that of a part of what NFC composes. A
 * blank that a piece begins with belongs to its place. */
void tokenizer_places(struct tokenizer_state *state, struct str text, struct ids *out, struct ids *places);

/* Appends the ids of a well-formed text of `count` sentences, which are views into it in their order; ends[i] becomes
 * the number of ids in *out after sentence i. A byte-level BPE gives the ids of the whole text: a word belongs to the
 * sentence in which it begins, with the blank before it; other white space, to the sentence before it. WordPiece gives
 * those of each sentence. */
void tokenizer_sentences(struct tokenizer_state *state, struct str text, const struct str *sentences, size_t count,
                         struct ids *out, size_t *ends);

/* Calls word(context, …) with each normalised word of `text` in order, before WordPiece, for counting: well-formed
 * UTF-8, not empty, valid during the call. */
void tokenizer_words(struct tokenizer_state *state, struct str text, void (*word)(void *context, struct str word),
                     void *context);
