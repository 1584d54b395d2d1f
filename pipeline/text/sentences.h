/* Paragraphs → sentences, by rules and tables (languages.h): a full stop ends a sentence unless it belongs to an
 * abbreviation, an initial, a number, or the text goes on in lower case. First versions of the rules; where they doubt
 * they do not cut, for a pair of sentences in one costs less than half a sentence. */
#ifndef PIPELINE_TEXT_SENTENCES_H
#define PIPELINE_TEXT_SENTENCES_H

#include "base/str.h"
#include "pipeline/text/languages.h"

#include <stddef.h>

#define SENTENCE_BYTES_MAX 2000u /* a longer one is cut at a semicolon, else at a blank, else between characters */

/* Views into the text that was split. A zeroed one is ready to use. */
struct sentences {
    struct str *items;
    size_t count, capacity;
};

/* Appends the sentences of the lines of `paragraphs`; none crosses a '\n', none is empty or has blanks at its ends. */
void sentences_split(const struct language *language, struct str paragraphs, struct sentences *out);
void sentences_add(struct sentences *sentences, struct str sentence);
void sentences_release(struct sentences *sentences);

#endif
