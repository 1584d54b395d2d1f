/* What differs between the Wikipedias, as tables of words. The English words hold on every wiki: MediaWiki knows them
 * everywhere. Letters that trail a link ([[word]]s) need no table: they stand in the text as they do in the page. */
#ifndef PIPELINE_TEXT_WORDS_LANGUAGES_H
#define PIPELINE_TEXT_WORDS_LANGUAGES_H

#include "base/str.h"
#include "pipeline/text/words/word_lists.h"

#include <stdbool.h>

#define TYPED_STOPS_MAX 2u

/* All words are folded (name_fold) and sorted. */
struct language {
    const char *code;                  /* of the wiki: "en" */
    struct words redirects;            /* #REDIRECT, without the # */
    struct words sections;             /* headings of sections that hold no text: References, External links … */
    struct words files, categories;    /* names of these namespaces, beyond those that siteinfo gives */
    struct words disambiguations;      /* templates that mark a page as one */
    struct words magic;                /* __NOTOC__ and the like, without the underscores */
    struct words disambiguation_magic; /* those of them that mark a disambiguation page */
    /* Kinds of pages, as patterns: a '*' at one end stands for anything, what stands after a '!' is none. */
    struct words list_titles, list_categories;
    struct words list_templates; /* names, no patterns */
    struct words stub_templates;
    struct words abbreviations; /* without their full stop; a sentence does not end after them */
    struct words numbered;      /* nor after these, before a number: "No. 5" */
    struct words endings;       /* abbreviations after which one may end, and names with a mark: yahoo! */
    struct words finals;        /* abbreviations that end one before any capital: etc */
    struct words continuers;    /* words that go on with a sentence after a quotation; "x*": words that begin with x */
    struct words starters;      /* words that, capitalised, tell that a sentence begins with them */
    bool ordinal_dot;           /* "3. Oktober": a full stop after a short number ends no sentence */
    struct words typed_stops;   /* what ends sentences here only: Greek ";", Armenian ":"; at most TYPED_STOPS_MAX */
    const char *own_stop;       /* the full stop of its script, or NULL: in a line that has it, '.' ends nothing */
    bool dot_ends_nothing;      /* Thai: full stops stand in abbreviations only */
    bool cuts_at_blanks;        /* blanks part clauses, not words: long sentences are cut there */
};

/* "de", "de-AT", "dewiki"; never NULL: an unknown code is read as a language without tables of its own. */
const struct language *language_find(struct str code);

/* English: its tables hold beside those of every other language. */
const struct language *language_english(void);

/* Is it the code of a Wikipedia (fr, simple, zh-yue), so that [[code:Title]] is a link between languages? Folded. */
bool language_is_code(struct str code);

/* All tables, for the test that checks their order. */
const struct language *language_tables(size_t *count);

#endif
