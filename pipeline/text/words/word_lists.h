/* Names as MediaWiki compares them, and lists of them, which cmake/tables.cmake makes of data/. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define NAME_BYTES_MAX 96u /* a longer name is in none of our tables */

/* The folded form of a name: lower case, '_' as a blank, runs of blanks as one, none at the ends, no control
 * characters. Written to `out`. The view is empty if the name is empty or its folded form does not fit. */
struct str name_fold(struct str name, char out[NAME_BYTES_MAX]);

/* The name of a page as MediaWiki writes it: the first letter as a capital, the others as typed; '_' and blanks as in
 * name_fold. */
struct str name_canonical(struct str name, char out[NAME_BYTES_MAX]);

/* A list. words_have needs one that is sorted bytewise, as those of data/ are (a test checks them). */
struct words {
    const char *const *items;
    size_t count;
};

#define WORDS(...)                                                                                                     \
    {                                                                                                                  \
        .items = (const char *const[]){__VA_ARGS__},                                                                   \
        .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                                           \
    }

/* A list inside a function, where WORDS would be made again by every call. */
#define LOCAL_WORDS(name, ...)                                                                                         \
    static const char *const name##_items[] = {__VA_ARGS__};                                                           \
    static const struct words name = {name##_items, sizeof name##_items / sizeof *name##_items}

bool words_have(struct words words, struct str word); /* `word` must be folded */
/* The bytes of the first word with which the text begins, or ends; 0: there is none. The list need not be sorted. */
size_t words_starting(struct words words, struct str text);
size_t words_ending(struct words words, struct str text);

/* data/words, lists for all languages. */
extern const struct words file_namespaces, category_namespaces; /* names that MediaWiki's languages do not have */
extern const struct words wikipedia_codes;                      /* closed ones and old names of some included */
extern const struct words silent_templates;                     /* leaving them out leaves no hole */
extern const struct words box_classes;                          /* how classes of boxes and remarks begin (tags.h) */
extern const struct words note_name_parts;                      /* of templates that are notes, sources, boxes */
/* Verbs of saying, in groups for their languages: "x*" are words that begin with x (sentences_marks.c). */
extern const struct words sayings, sayings_inside, sayings_at_end, sayings_that, sayings_nobody;

/* Codes of languages and countries, sorted bytewise, with names: data/names. Also words with their English names. */
struct code_name {
    const char *code, *name;
};
struct names {
    const struct code_name *items;
    size_t count;
};
#define NAMES(...)                                                                                                     \
    {                                                                                                                  \
        .items = (const struct code_name[]){__VA_ARGS__},                                                              \
        .count = sizeof((const struct code_name[]){__VA_ARGS__}) / sizeof(struct code_name)                            \
    }
extern const struct names languages_en, languages_own; /* in English; each in itself, as MediaWiki has it */
extern const struct names countries_en;                /* by ISO 3166 and other codes, in small letters */
extern const struct names labels_ja, labels_pl, labels_ru, labels_uk; /* before a word of another language */
extern const struct names plurals;                           /* the rules for forms of words for numbers (plurals.c) */
const char *names_find(struct names names, struct str code); /* NULL: it has no such code */

/* The index of the row of that name in a table sorted bytewise by its names, or `count`: there is none. *names: the
 * name of the first row; `size`: bytes from one to the next, those of a row. */
size_t row_find(const char *const *names, size_t count, size_t size, struct str name);

/* A hash table from names to numbers, for lists too long to search. Of equal names the first one counts. The names must
 * outlive the table. A zeroed table is empty. */
struct name_table {
    struct name_slot *slots; /* [size], a power of two; the next free one after that of its hash */
    size_t size, count;
};

void name_table_add(struct name_table *table, struct str name, uint32_t number);
/* False if the table does not have the name. */
bool name_table_find(const struct name_table *table, struct str name, uint32_t *number);
void name_table_release(struct name_table *table);
