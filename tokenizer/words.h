/* Text to runs, and runs to words.
 *
 *     "Ein Café, 東京!"   →   runs   Ein | Café | , | 東 | 京 | !     →   words  ein | cafe | , | 東 | 京 | !
 *
 * A run is text between places that end a word whatever is next to them: white space, punctuation, ideographs. So the
 * words of a run depend on its bytes alone, and may be remembered (tokenizer.c). A run gives zero, one or several
 * words: all of its characters may be deleted, and some letters decompose into punctuation. */
#pragma once

#include "base/str.h"
#include "tokenizer/normalize.h"

enum text_run_kind {
    RUN_END,         /* there is no further run */
    RUN_PUNCTUATION, /* one ASCII byte */
    RUN_ASCII,       /* ASCII letters and digits only */
    RUN_OTHER,       /* anything else, ill-formed UTF-8 included; not empty */
};

/* Takes the next run from the front of *rest. `joined`: ideographs are ordinary letters. */
enum text_run_kind run_next(const struct unicode *unicode, bool joined, struct str *rest, struct str *run);

/* Calls word(context, …) with each normalised word of a run of kind RUN_OTHER, in order: well-formed UTF-8, not empty,
 * valid during the call. */
void run_words(struct normalizer *normalizer, struct buf *scratch, struct str run,
               void (*word)(void *context, struct str word), void *context);

/* Appends the text as BertNormalizer writes it: each white space is a blank, and ideographs stand between blanks unless
 * `joined`. Its words are those of the text. */
void normalize_text(struct normalizer *normalizer, bool joined, struct str text, struct buf *out);
