/* A page that is not well-formed XML → what can be read of it. Only the elements of MediaWiki's export count, by their
 * names; whatever else looks like a tag is text.
 *
 *     fields       <title>, <ns>, <id>, <timestamp>, <model>: up to their end tag, or to the next '<'
 *     <text>       up to the first </text> that an element of the export follows, or its end; else up to the last one
 *                  before the revision's end
 *     references   the five of XML and numbers; others, as &nbsp; and a bare '&', stay as they are: they are wikitext's.
 *                  U+FFFD for the number of a character that XML does not allow
 *     characters   that XML does not allow are left out
 *
 * As in well-formed pages, the last revision counts. A page is malformed only if it has no <text>, or one
 * without an end: nobody knows how much of it is missing. The time is linear. */
#pragma once

#include "pipeline/parts/page_parts.h"

#include <stdbool.h>

/* The fields of a page as text. */
struct page_fields {
    struct str title, ns, id, revision_id, timestamp, model, text; /* data NULL: absent */
    bool is_redirect;
    uint32_t repairs; /* bits of enum repair */
};

/* The field that an element of that name holds, inside <page> or <revision>; NULL: none. */
struct str *page_field(struct page_fields *fields, struct str name, bool in_revision);
/* Of several revisions the last one counts: forgets what an earlier one had. */
void page_fields_begin_revision(struct page_fields *fields);

/* `out` has room for the fragment; the fields are views into it. */
bool xml_mend(struct str fragment, char *out, struct page_fields *fields);
