/* What a template's own page says that it shows. Comes in: its wikitext. Goes out: a rendering (templates.h), as far as
 * one can be told without running code: texts, parameters with their defaults, parser functions, and calls of other
 * templates, which wait for theirs (dictionary.h).
 *
 * A call in a rendering that waits stands between BODY_CALL and BODY_END: the name, and after a BODY_KEY each the name
 * of an argument, a BODY_VALUE and its rendering. A name that is computed is a rendering too, after a
 * BODY_COMPUTED. */
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
    BODY_BOUND,   /* a module that a renderer of ours stands for: its name, "convert" */
    BODY_NOTE,    /* references, remarks, categories: nothing that shows in a sentence */
    BODY_BOX,     /* a box, a hatnote, or several paragraphs */
    BODY_TABLE,   /* a table, or a part of one */
    BODY_OTHER,   /* what we cannot tell */
};

/* Scratch of one thread; a zeroed one is ready. */
struct body_reader {
    struct spans spans;
    struct buf text; /* the part of the page that is transcluded */
};

#define BODY_BYTES_MAX 65536u /* a longer page is no rendering's */

/* Appends to *out. `is_redirect`: the dump says so. Pure. */
enum body_kind body_read(struct body_reader *reader, const struct language *language, struct str wikitext,
                         bool is_redirect, struct buf *out);
void body_reader_release(struct body_reader *reader);

#endif
