/* The differences between the Wikipedias, as tables of words. The English words apply on every wiki, because
 * MediaWiki knows them everywhere. Letters that follow a link ([[word]]s) need no table: they are kept as they are
 * on the page. */
#pragma once

#include "base/str.h"
#include "pipeline/text/words/word_lists.h"

#include <stdbool.h>

#define TYPED_STOPS_MAX 2u

/* What data/languages/CODE.txt says (data/README.md). All words are folded (name_fold) and sorted. */
struct language {
    const char *code;                  /* of the wiki: "en" */
    struct words sections;             /* headings of sections without prose: References, External links … */
    struct words disambiguations;      /* templates that mark disambiguation pages */
    struct words magic;                /* behaviour switches of extensions and of old versions, without the underscores;
                                        * those of MediaWiki: magic_words.h */
    struct words disambiguation_magic; /* of these, those that mark a disambiguation page */
    /* Kinds of pages, as patterns: a '*' at one end matches anything; entries after a '!' are exceptions. */
    struct words list_titles, list_categories;
    struct words list_templates; /* names, not patterns */
    struct words stub_templates;
    struct words abbreviations; /* without their full stop; a sentence does not end after them */
    struct words numbered;      /* nor after these, before a number: "No. 5" */
    struct words endings;       /* abbreviations after which a sentence may end, and names with a mark: yahoo! */
    struct words finals;        /* abbreviations that end a sentence before any capital: etc */
    struct words units;         /* after a number, these end a sentence before any capital: "5 zł. Jan" */
    struct words continuers;    /* words that continue a sentence after a quotation; "x*": words that begin with x */
    struct words starters;      /* capitalised words that show that a sentence begins */
    bool ordinal_dot;           /* "3. Oktober": a full stop after a short number does not end a sentence */
    struct words typed_stops;   /* marks that end sentences only in this language: Greek ";", Armenian ":"; at most
                                 * TYPED_STOPS_MAX */
    const char *own_stop;       /* the full stop of its script, or NULL: in a line that contains it, '.' does not end
                                 * sentences */
    bool dot_ends_nothing;      /* Thai: full stops only occur in abbreviations */
    bool cuts_at_blanks;        /* blanks separate clauses, not words: long sentences are cut at blanks */
};

/* "de", "de-AT", "dewiki". Never NULL: an unknown code gives a language without tables of its own. */
const struct language *language_find(struct str code);

/* English: its tables apply in addition to those of every other language. */
const struct language *language_english(void);

/* True for the code of a Wikipedia (fr, simple, zh-yue), with which [[code:Title]] links languages. Folded. */
bool language_is_code(struct str code);

extern const struct language language_tables[]; /* made by cmake/tables.cmake */
extern const size_t language_count;
