/* Apostrophes: '' is italic, ''' bold, ''''' both, and L'''amour'' is an apostrophe and italics. */
#ifndef PIPELINE_TEXT_MARKUP_QUOTES_H
#define PIPELINE_TEXT_MARKUP_QUOTES_H

#include "base/str.h"
#include "pipeline/text/markup/spans.h"

#define QUOTES_NONE UINT32_MAX

/* Among the runs of apostrophes in page[from..line_end), the one of three whose first apostrophe is text: MediaWiki's
 * rule (Parser::doQuotes) for lines in which both bold and italics do not close. QUOTES_NONE where there is none.
 * `span` is the first span at or after `from`. */
uint32_t quotes_apostrophe(struct str page, const struct spans *spans, uint32_t span, uint32_t from, uint32_t line_end);

/* How many apostrophes of a run of `count` are text (four: one; more than five: all but five). */
uint32_t quotes_literal(uint32_t count);

#endif
