/* The templates of a wiki → a file of renderings (templates.h). Comes in: what body.h reads of each template's page, in
 * any order. Goes out: the text of the file, sorted by name: calls of other templates have become what those show,
 * bounded in depth and size; what only running code could show is left to the table of rows. */
#ifndef PIPELINE_TEXT_TEMPLATES_DICTIONARY_H
#define PIPELINE_TEXT_TEMPLATES_DICTIONARY_H

#include "pipeline/text/templates/body.h"

struct dictionary;
struct dictionary *dictionary_open(void);
/* Of equal names the first one counts. Both texts are copied; what passes DICTIONARY_BYTES_MAX in all is left out. */
#define DICTIONARY_BYTES_MAX (256u << 20)
void dictionary_add(struct dictionary *dictionary, struct str name, enum body_kind kind, struct str text);

struct dictionary_facts {
    uint64_t read, rendered; /* template pages; those that show something that we can tell */
};
/* Appends the file's text; `code` is the language of the wiki. Once. */
struct dictionary_facts dictionary_print(struct dictionary *dictionary, struct str code, struct buf *out);
void dictionary_close(struct dictionary *dictionary);

#endif
