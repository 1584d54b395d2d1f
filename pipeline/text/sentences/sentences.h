/* Paragraphs → sentences, by rules and tables (languages.h). A full stop ends a sentence unless it belongs to an
 * abbreviation, an initial or a number, or the text continues in lower case or within brackets. In doubt there is no
 * cut, because two sentences in one do less harm than half a sentence. The flow is here, the meaning of characters in
 * sentences_marks.h, and the rules for full stops in sentences_dots.h; tests/pipeline/text/sentences.cases has
 * examples. */
#pragma once

#include "base/str.h"
#include "pipeline/text/words/languages.h"

#include <stddef.h>

#define SENTENCE_BYTES_MAX 2000u /* a longer one is cut at a semicolon, else a blank, else anywhere */

/* Views into the text that was split. A zeroed one is ready to use. */
struct sentences {
    struct str *items;
    size_t count, capacity;
};

/* Appends the sentences of the lines of `paragraphs`. None spans a '\n', is empty, or has blanks at its ends. */
void sentences_split(const struct language *language, struct str paragraphs, struct sentences *out);
void sentences_add(struct sentences *sentences, struct str sentence);
void sentences_release(struct sentences *sentences);
