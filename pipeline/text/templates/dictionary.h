/* The templates of a wiki → a file of renderings (templates.h). Gets what body.h reads from each template's page, in
 * any order, and makes the text of the file, sorted by name: their wikitext, for expand.h, and marks of those that
 * show no running text. Pages that are no templates, which others insert as {{:Page}} or {{User:Name/Page}}, have the
 * names ":Page" and "User:Name/Page". Where a template asks which pages exist, the file has the names of all others
 * too, and ":" to say so. */
#pragma once

#include "pipeline/text/templates/body.h"

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
