/* The words by which MediaWiki knows behaviour switches (__NOTOC__), redirects (#REDIRECT [[…]]), parser functions and
 * variables ({{#if:…}}, {{PAGENAME}}), namespaces and the options of pictures (thumb) in each language. As in
 * MediaWiki, the words of a wiki are those of its language, of the fallback languages that its message file names (of
 * those no further ones), and the English ones. Where no language is known, the switches and the words for redirects of
 * all are known. */
#pragma once

#include "base/str.h"
#include "pipeline/text/words/languages.h"
#include "pipeline/text/words/word_lists.h"

/* A row of the table that scripts/make_magic_words.py writes: words that the rows of its fallbacks need not have too.
 * MediaWiki says of each word whether its case matters; the words for which it does not are in lower case
 * (magic_fold). */
struct magic_namespace {
    int32_t key;
    const char *name; /* folded (name_fold) */
};
#define NAMESPACES(...)                                                                                                \
    (const struct magic_namespace[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            0, NULL                                                                                                    \
        }                                                                                                              \
    }

struct magic_language {
    const char *code;                        /* MediaWiki's, as "be-tarask" */
    const char *fallbacks;                   /* codes separated by a blank, or NULL */
    struct words switches;                   /* without the underscores at both ends */
    struct words redirects;                  /* without the # */
    struct words options;                    /* of pictures */
    struct words option_starts, option_ends; /* beside a value: "link=", "px" */
    struct names functions; /* parser functions and variables without their colons, with their English names */
    const struct magic_namespace *namespaces; /* to that without a name; NULL: none */
    bool wide;                                /* ＿＿ and ＃ are written too */
};
extern const struct magic_language magic_languages[]; /* by code */
extern const size_t magic_language_count;

#define MAGIC_LANGUAGES_MAX 12u

/* The words of one wiki. */
struct magic {
    const struct language *language; /* has the switches of extensions */
    const struct magic_language *of[MAGIC_LANGUAGES_MAX];
    size_t count;
    bool wide, is_any; /* is_any: of all languages */
};

/* `code`: "de", "de-AT", "be_x_old"; "": not known. */
struct magic magic_find(const struct language *language, struct str code);

/* True if the word, as typed between the underscores, is a switch. */
bool magic_is_switch(const struct magic *magic, struct str word);
/* The bytes of the word for REDIRECT with which the text, as typed after the #, begins; 0: none. It ends before a
 * blank, a colon or a '['. */
size_t magic_redirect(const struct magic *magic, struct str text);

/* The English name of a function or variable as typed without its colon: "#if", "lc", "PAGENAME"; empty if it is none
 * that another language, or another word of English, names. */
struct str magic_function(const struct magic *magic, struct str typed);
/* True if [[File:x.jpg|thumb|link=…]] has it as an option. */
bool magic_is_option(const struct magic *magic, struct str typed);

/* In lower case, letter by letter; empty if it does not fit. */
struct str magic_fold(struct str word, char out[NAME_BYTES_MAX]);
