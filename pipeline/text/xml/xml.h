/* One <page>…</page> of a dump → struct page. Schema versions 0.3 to 0.11 differ in the position of elements, so only
 * paths matter (page/revision/text), not their order, and unknown elements are skipped. expat decides what is XML and
 * what it means. XML in the form that MediaWiki writes (xml_scan.h) takes a faster path to the same result; what is not
 * well-formed is mended (xml_mend.h). */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "pipeline/parts/page_parts.h"

/* A parser to be reused for many pages; belongs to one thread. */
struct page_parser;
struct page_parser *page_parser_open(void);

/* Reads a fragment of any bytes; those that are not UTF-8 become U+FFFD. The views in *page point into the arena. Of
 * several revisions the last one in the fragment counts. page->repairs says what was ill-formed. 0, or -1 if the page
 * is malformed, which is counted rather than an error: anything before <page> (so a DOCTYPE, which could define
 * entities, is never read), or XML that is not well-formed and has no <text>, or one without an end. Without <ns>, or
 * if it is no number, page->has_ns is false and page->ns is 0. */
int page_parse(struct page_parser *parser, struct str fragment, struct arena *arena, struct page *page);

/* Disables the fast path, for comparison. */
void page_parser_use_expat(struct page_parser *parser);

void page_parser_close(struct page_parser *parser);
