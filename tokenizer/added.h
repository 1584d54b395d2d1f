/* Added tokens: pieces that text is searched for before it is cut into words, as tokenizers' AddedVocabulary does it.
 * At each place the longest that begins there matches, and the search goes on after it. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct added_token {
    struct str content; /* not empty */
    uint32_t id;
    bool special;        /* control token: may be left out of the search */
    bool single_word;    /* only where no letter of a word is next to it */
    bool lstrip, rstrip; /* takes the white space before it, after it */
    bool normalized;     /* looked for in normalised text */
    bool outside;        /* the model does not have this piece */
    size_t order;        /* of equal contents the first counts; set by added_search_open */
};

struct added_tokens {
    struct added_token *items;
    size_t count;
};

/* A set that texts are searched for: copies of the tokens that are normalized, or of the others. NULL if there are
 * none. normal(context, …), where it is not NULL, gives a content's normal form, valid until the next call. `facts`:
 * split_facts_open; they must outlive it. */
struct added_search *added_search_open(const struct added_tokens *tokens, bool normalized, const uint8_t *facts,
                                       struct str (*normal)(void *context, struct str content), void *context);
void added_search_close(struct added_search *search); /* NULL is fine */

/* Cuts a text, not empty, into parts that are tokens and parts between them, in order. */
struct added_cursor {
    const struct added_search *search;
    struct str text;
    bool special;                      /* special tokens are found too; else they stay text, */
    uint32_t even;                     /* but for this one (an id, or VOCAB_NONE) */
    size_t from;                       /* the text before this is done */
    size_t at;                         /* the search goes on here */
    const struct added_token *pending; /* was found after the last part */
};

/* The next part: text between tokens in *part, or a token, which is returned in *token (else NULL). False: there is no
 * further part. */
bool added_next(struct added_cursor *cursor, struct str *part, const struct added_token **token);
