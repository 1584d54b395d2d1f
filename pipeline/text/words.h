/* Names as MediaWiki compares them, and sorted lists of them: the tables of languages.c, tags.c and templates.c. */
#ifndef PIPELINE_TEXT_WORDS_H
#define PIPELINE_TEXT_WORDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define NAME_BYTES_MAX 96u /* a longer name is none of ours */

/* The folded form of a name: lower case, '_' as a blank, runs of blanks as one, none at the ends, no control
 * characters. Written into out; the view is empty where the name is empty or its folded form does not fit. */
struct str name_fold(struct str name, char out[NAME_BYTES_MAX]);

/* A list sorted bytewise (a test checks all of them). */
struct words {
    const char *const *items;
    size_t count;
};

#define WORDS(...)                                                                                                     \
    {                                                                                                                  \
        .items = (const char *const[]){__VA_ARGS__},                                                                   \
        .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                                           \
    }

bool words_have(struct words words, struct str word); /* a folded word: it holds no NUL */

#endif
