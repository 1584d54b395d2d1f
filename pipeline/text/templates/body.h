/* What a template's own page says that it shows. Turns its wikitext into a rendering (templates.h), as far as that is
 * possible without running code: texts, parameters with their defaults, parser functions, and calls of other templates,
 * which are expanded later (dictionary.h).
 *
 * Such a call is between BODY_CALL and BODY_END: the name, then for each argument a BODY_KEY, its name, a BODY_VALUE
 * and its rendering. A computed name is a rendering too, after a BODY_COMPUTED. */
#ifndef PIPELINE_TEXT_TEMPLATES_BODY_H
#define PIPELINE_TEXT_TEMPLATES_BODY_H

#include "base/str.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/words/languages.h"

#define BODY_CALL     '\x01'
#define BODY_KEY      '\x02'
#define BODY_VALUE    '\x03'
#define BODY_END      '\x04'
#define BODY_COMPUTED '\x05'

enum body_kind {
    BODY_PATTERN, /* a pattern */
    BODY_ALIAS,   /* a redirect: the name of the other template */
    BODY_BOUND,   /* a module that one of our renderers implements: its name, "convert" */
    BODY_NOTE,    /* references, remarks, categories: nothing that shows in a sentence */
    BODY_BOX,     /* a box, a hatnote, or several paragraphs */
    BODY_TABLE,   /* a table, or a part of one */
    BODY_OTHER,   /* anything else, also what would leave markup in the text */
};

/* Scratch of one thread; a zeroed one is ready. */
struct body_reader {
    struct spans spans;
    struct buf text;           /* the part of the page that is transcluded */
    struct buf typed, scratch; /* what was taken as text; the attributes of a tag */
};

#define BODY_BYTES_MAX 65536u /* a longer page has no rendering */

/* Appends to *out. `is_redirect`: according to the dump. Pure. */
enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out);
void body_reader_release(struct body_reader *reader);

#endif
