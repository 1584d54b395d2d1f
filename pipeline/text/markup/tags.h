/* The tags that MediaWiki and its extensions know. Others are text to it, and to us. */
#ifndef PIPELINE_TEXT_MARKUP_TAGS_H
#define PIPELINE_TEXT_MARKUP_TAGS_H

#include "base/str.h"
#include "pipeline/text/markup/fates.h"

#include <stdbool.h>

enum tag_kind {
    TAG_INLINE,  /* only its content shows: b, span, ref's small */
    TAG_BLOCK,   /* the same, and it ends a paragraph: div, p, li */
    TAG_BREAK,   /* br */
    TAG_QUOTE,   /* q: quotation marks */
    TAG_POEM,    /* its lines stay lines */
    TAG_TABLE,   /* table */
    TAG_DROP,    /* it goes with its content, which is not wikitext to us: ref, math */
    TAG_CODE,    /* the same, but for <syntaxhighlight inline> */
    TAG_LITERAL, /* nowiki: its content shows and is not wikitext */
    TAG_PRE,     /* the same, line by line */
};

#define TAG_NAME_BYTES 16u

struct tag {
    char name[TAG_NAME_BYTES]; /* zeros after it */
    enum tag_kind kind;
    enum fate fate; /* of what is dropped */
    bool ends_paragraph;
};

#define TAG_COUNT 96u
extern const struct tag tags[TAG_COUNT]; /* sorted bytewise */

struct tag_found {
    unsigned index;        /* in tags */
    bool closing;          /* </b> */
    bool self_closing;     /* <ref name=x /> */
    struct str attributes; /* what stands between name and end */
    size_t size;           /* bytes of the whole tag */
};

/* Reads the tag at the start of `text` (which begins with '<'). Quoted values of attributes may hold '>', never '<': so
 * no byte is looked at for more than one tag. *looked gets the bytes looked at. */
bool tag_read(struct str text, struct tag_found *found, size_t *looked);

#endif
