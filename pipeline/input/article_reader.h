/* The scratch with which input kinds read records (input_kind.h). */
#pragma once

#include "base/arena.h"
#include "pipeline/clean/filter.h"
#include "pipeline/input/article.h"
#include "pipeline/input/json_line.h"
#include "pipeline/text/wikitext.h"
#include "pipeline/text/xml/xml.h"

#define ID_BITS 52 /* an id is below 2^52, so that JSON readers keep it exact */

struct article_reader {
    const struct article_options *options; /* the options that `wikitext` was opened with */
    struct page_parser *parser;
    struct wikitext *wikitext;
    struct wikitext_facts facts; /* of the last page read */
    struct arena arena;          /* the parsed page */
    struct json_line json;
    struct buf text;
    struct buf mended; /* a record of text that was ill-formed */
    struct buf folded; /* the same with white space folded */
    struct filter_scratch filters;
};

/* An id that is no number below 2^52 is its text; an empty one is none. */
void article_set_text_id(struct article *article, struct str text);

/* Reads text line by line, without blanks at the ends. The lines of a wrapped paragraph become one; it ends at a blank
 * line, or before a line that is indented by U+3000. */
enum page_fate article_read_lines(struct article_reader *reader, struct str lines, bool wrapped,
                                  struct article *article);
