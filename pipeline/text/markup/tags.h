/* The tags that MediaWiki and its extensions know. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/page_parts.h"

#include <stdbool.h>

enum tag_kind {
    TAG_INLINE,  /* only its content shows: b, span, ref's small */
    TAG_BLOCK,   /* the same, but it ends a paragraph: div, p, li */
    TAG_BREAK,   /* br */
    TAG_QUOTE,   /* q: quotation marks */
    TAG_POEM,    /* its lines stay separate */
    TAG_TABS,    /* tabber: "label=content", separated by |-| */
    TAG_TAB,     /* tab: a part of the same, whose label is an attribute */
    TAG_TABLE,   /* table */
    TAG_CELL,    /* td, th, caption: they mean something in a table only, as do the next */
    TAG_ROW,     /* tr and the like */
    TAG_DROP,    /* it is dropped with its content, which we do not read as wikitext: ref, math */
    TAG_CODE,    /* the same, except <syntaxhighlight inline> */
    TAG_LITERAL, /* nowiki: its content is shown and is not wikitext */
    TAG_PRE,     /* the same, line by line */
};

#define TAG_NAME_BYTES 32u

struct tag {
    char name[TAG_NAME_BYTES]; /* padded with zeros */
    enum tag_kind kind;
    enum fate fate; /* of dropped bytes */
    bool ends_paragraph;
};

#define TAGS_MAX 512u
extern const struct tag tags[]; /* data/tags.txt, sorted bytewise; made by cmake/tables.cmake */
extern const unsigned tag_count;

/* The tag of that name, in any letters; NULL: neither MediaWiki nor an extension knows it. */
const struct tag *tag_find(struct str name);

struct tag_found {
    unsigned index;        /* in tags */
    bool closing;          /* </b> */
    bool self_closing;     /* <ref name=x /> */
    struct str attributes; /* the text between name and end */
    size_t size;           /* bytes of the whole tag */
};

/* The size of a tag of transclusion at the start of `text`: <includeonly>, </noinclude>. They are gone before MediaWiki
 * reads lines and other tags. 0: there is none. */
size_t tag_include(struct str text);

/* Reads the tag at the start of `text` (which begins with '<'). Quoted attribute values may contain '>', but no '<'
 * other than that of four tags of transclusion, so no byte is examined for more than five tags. *looked: the number of
 * bytes examined. */
bool tag_read(struct str text, struct tag_found *found, size_t *looked);

/* The value of the first attribute of that name, without its quotes; empty if there is none. */
struct str tag_attribute(struct str attributes, const char *name);

/* Do the attributes of a tag of tags[index] say that it is a box, a remark beside the text, or hidden: by class,
 * role or style? */
bool tag_is_box(unsigned index, struct str attributes);
