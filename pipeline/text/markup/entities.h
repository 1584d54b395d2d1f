/* HTML's character references: `&ndash;` `&#8211;` `&#x2013;` → U+2013. */
#ifndef PIPELINE_TEXT_MARKUP_ENTITIES_H
#define PIPELINE_TEXT_MARKUP_ENTITIES_H

#include "base/str.h"

/* Decodes the reference at the start of `text` (which begins with '&'): returns its size, and the code point in
 * *code_point; 0 if it is not one that we know (then the '&' is text). Examines at most ENTITY_BYTES_MAX bytes. */
#define ENTITY_BYTES_MAX 12u
size_t entity_decode(struct str text, uint32_t *code_point);

#endif
