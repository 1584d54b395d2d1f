/* Whether a full stop ends its sentence or belongs to the preceding word. */
#pragma once

#include "pipeline/text/words/languages.h"

#include <stdbool.h>

/* A full stop followed by a blank and a word that is not in lower case. */
struct dot {
    struct str before; /* the sentence, up to the full stop */
    struct str after;  /* from the word to the end of the line */
    bool quoted;       /* an opening quote or bracket precedes the word */
};

bool dot_ends(const struct language *language, const struct dot *dot);

/* True if the word, without its full stop, is an initial or one of the abbreviations that end no sentence. */
bool dot_is_short(const struct language *language, struct str word);

/* Like dot_ends without a blank after the full stop: "the end.The next". Addresses and file names do not end there. */
bool glued_ends(const struct language *language, const struct dot *dot);

/* The same for scripts without case: beside "." both words have three letters, because abbreviations have fewer.
 * `strong`: beside "!" and "?", but not beside Japanese kana, because titles contain these marks. */
bool glued_caseless(const struct dot *dot, bool strong);

/* True if the sentence goes on after an ellipsis, before this text: with a word that continues it or an "etc.". */
bool ellipsis_continues(const struct language *language, struct str text);

/* Digits, with dots between: "3", "1.2", "१". */
bool dot_is_number(struct str word);

/* Does the text end in a name that contains a mark: "Yahoo!" */
bool mark_is_name(const struct language *language, struct str text);

/* True if text.data begins with a word that begins sentences. Initials do not: "A. Smith". */
bool word_starts(const struct language *language, struct str text);

/* True if the first word of the text is one of the words. "x*" stands for words that begin with x. */
bool word_is_one(struct words words, struct str text);

/* True if the first word of the text continues a sentence after a quotation. */
bool word_continues(const struct language *language, struct str text);
