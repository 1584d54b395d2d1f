/* The templates of a wiki → a file of renderings (templates.h). Gets what body_read reads from each template's page, in
 * any order, and makes the text of the file, sorted by name: their wikitext, for expand.h, and marks of those that
 * show no running text. Pages that are no templates, which others insert as {{:Page}} or {{User:Name/Page}}, have the
 * names ":Page" and "User:Name/Page". Where a template asks which pages exist, the file has the names of all others
 * too, and ":" to say so. */
#pragma once

#include "base/str.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/words/languages.h"

/* A template's own page: what a call of it inserts. */
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

struct dictionary;
struct dictionary *dictionary_open(size_t bytes_max); /* TEMPLATES_BYTES_MAX (templates.h); less in tests */

/* Of equal names the first counts. Both texts are copied. Where the file would exceed `bytes_max`, the longest bodies
 * are left out, and before them those that only call another template, which is mostly a box: what is left out does not
 * depend on the order of adding. */
void dictionary_add(struct dictionary *dictionary, struct str name, enum body_kind kind, struct str text);

struct dictionary_facts {
    uint64_t read, rendered; /* pages; those whose text we can determine */
    uint64_t left_out;       /* those that were too long */
};
/* Appends the file's text; `code` is the language of the wiki. Once. */
struct dictionary_facts dictionary_print(struct dictionary *dictionary, struct str code, struct buf *out);
void dictionary_close(struct dictionary *dictionary);
