/* Guesses the language of plain text by the script of its letters and its most frequent words. */
#ifndef PIPELINE_TEXT_WORDS_GUESS_H
#define PIPELINE_TEXT_WORDS_GUESS_H

#include "base/str.h"

#include <stdbool.h>

/* The code of the language ("fi"), or NULL if none is clear: too few words, or two languages that are too similar.
 * `text` must be well-formed UTF-8; the first 64 KiB are enough. */
const char *language_guess(struct str text);
/* Can language_guess tell this language from others? */
bool language_is_guessed(struct str code);

#endif
