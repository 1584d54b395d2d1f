/* Does a full stop end its sentence, or does it belong to the word in front of it? */
#ifndef PIPELINE_TEXT_SENTENCES_SENTENCES_DOTS_H
#define PIPELINE_TEXT_SENTENCES_SENTENCES_DOTS_H

#include "pipeline/text/words/languages.h"

#include <stdbool.h>

/* A full stop, a blank after it, then a word that is not in lower case. */
struct dot {
    struct str before; /* the sentence, up to the full stop */
    struct str after;  /* from the word on, to the end of the line */
    bool quoted;       /* an opening quote or bracket stands in front of the word */
};

bool dot_ends(const struct language *language, const struct dot *dot);

/* Is the word, without its full stop, an initial or one of the abbreviations after which no sentence ends? */
bool dot_is_short(const struct language *language, struct str word);

/* dot_ends where no blank stands after it: "the end.The next". Addresses and names of files go on. */
bool glued_ends(const struct language *language, const struct dot *dot);

/* Does the text end in a name that has a mark of its own: "Yahoo!" */
bool mark_is_name(const struct language *language, struct str text);

/* Does a word begin at text.data that begins sentences? Initials do not: "A. Smith". */
bool word_starts(const struct language *language, struct str text);

/* Is the first word of the text one that goes on with a sentence after a quotation? */
bool word_continues(const struct language *language, struct str text);

#endif
