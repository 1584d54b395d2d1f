/* Plain text → the language that it is in, by the script of its letters and its commonest words. */
#ifndef PIPELINE_TEXT_WORDS_GUESS_H
#define PIPELINE_TEXT_WORDS_GUESS_H

#include "base/str.h"

/* The code of the language ("fi"), or NULL where none is clear: too few words, or two languages that are too much
 * alike.
 * `text` is well-formed UTF-8; of more than 64 KiB the beginning is enough. */
const char *language_guess(struct str text);

#endif
