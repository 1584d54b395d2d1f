/* One <page>…</page> of a dump → struct page. Schema versions 0.3 to 0.11 differ in what stands where, so only paths
 * count (page/revision/text), never their order, and unknown elements are passed over. expat is the judge of what XML
 * is and means; what has the form that MediaWiki writes (xml_scan.h) takes a faster path to the same result. */
#ifndef PIPELINE_TEXT_XML_XML_H
#define PIPELINE_TEXT_XML_XML_H

#include "base/arena.h"
#include "base/str.h"
#include "pipeline/page_parts.h"

/* One parser object, used again for page after page; belongs to one thread. */
struct page_parser;
struct page_parser *page_parser_open(void);

/* Reads a fragment that utf8_repair has made well-formed UTF-8. The views of *page live in the arena. Of several
 * revisions the last one in the fragment counts. 0, or -1 where the XML is malformed (the page is counted as such, it
 * is no error): not well-formed, something before <page> (so a DOCTYPE, which could define entities, is never read),
 * two texts in a revision, a number that is none. Without <ns> page->has_ns is false, and page->ns is 0. */
int page_parse(struct page_parser *parser, struct str fragment, struct arena *arena, struct page *page);

/* From now on the fast path is not taken: for comparison. */
void page_parser_use_expat(struct page_parser *parser);

void page_parser_close(struct page_parser *parser);

#endif
