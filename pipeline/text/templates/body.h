/* A template's own page: what a call of it inserts. */
#pragma once

#include "base/str.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/words/languages.h"

enum body_kind {
    BODY_WIKITEXT, /* the text */
    BODY_CALL,     /* the text, which is one call of another template */
    BODY_ALIAS,    /* a redirect: the name of the other template */
    BODY_TABLE,    /* a table and nothing else: it shows no running text */
    BODY_BOX,      /* the same of a box */
    BODY_PAGE,     /* a page that is not inserted, but that #ifexist may ask for */
    BODY_OTHER     /* not known */
};

/* Scratch of one thread; a zeroed one is ready. */
struct body_reader {
    struct spans spans;
};

#define BODY_BYTES_MAX (1u << 18) /* a longer page is not known */

/* Replaces *out by the text. `is_redirect`: according to the dump. Pure. */
enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out);
/* The title in the first link of a redirect, as typed; "": there is none. */
struct str redirect_title(struct str wikitext);
void body_reader_release(struct body_reader *reader);
