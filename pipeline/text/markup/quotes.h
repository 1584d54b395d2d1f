/* Apostrophes: '' is italic, ''' bold, ''''' both, and L'''amour'' is an apostrophe and italics. */
#pragma once

#include "base/str.h"
#include "pipeline/text/markup/spans.h"

#define QUOTES_NONE UINT32_MAX

/* Among the runs of apostrophes in page[from..line_end), finds the run of three whose first apostrophe is text:
 * MediaWiki's rule (Parser::doQuotes) for lines in which neither bold nor italics close. QUOTES_NONE if there is none.
 * `span` is the first span at or after `from`. */
uint32_t quotes_apostrophe(struct str page, const struct spans *spans, uint32_t span, uint32_t from, uint32_t line_end);

/* How many apostrophes of a run of `count` are text (of four: one; of more than five: all but five). */
uint32_t quotes_literal(uint32_t count);
