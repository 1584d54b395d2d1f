/* HTML's character references: `&ndash;` `&#8211;` `&#x2013;` → U+2013. */
#ifndef PIPELINE_TEXT_MARKUP_ENTITIES_H
#define PIPELINE_TEXT_MARKUP_ENTITIES_H

#include "base/str.h"

/* The reference at the start of `text` (which begins with '&'): returns the bytes it takes, its code point in
 * *code_point; 0 where there is none that we know (then the '&' is text). Looks at most ENTITY_BYTES_MAX ahead. */
#define ENTITY_BYTES_MAX 12u
size_t entity_decode(struct str text, uint32_t *code_point);

#endif
