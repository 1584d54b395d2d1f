/* Guesses the language of plain text by the script of its letters and its most frequent words. */
#pragma once

#include "pipeline/text/words/word_lists.h"

#include <stdbool.h>

/* The code of the language ("fi"), or NULL if none is clear: too few words, or two languages that are too similar.
 * `text` must be well-formed UTF-8; the first 64 KiB are enough. */
const char *language_guess(struct str text);
bool language_is_guessed(struct str code);    /* language_guess can tell this language from others */
void language_guessed_codes(struct buf *out); /* "el, he, …": all of these */

/* The most frequent words of a language, in small letters, the most frequent first; all in one script. Neighbours of
 * the languages that have tables are among them, so that these are not confused with them. */
struct common_words {
    const char *code;
    struct words words;
};
extern const struct common_words common_words[]; /* data/common_words, made by cmake/tables.cmake */
extern const size_t common_words_count;
