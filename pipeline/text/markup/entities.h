/* HTML's character references: `&ndash;` `&#8211;` `&#x2013;` → U+2013. */
#pragma once

#include "base/str.h"

#define ENTITY_BYTES_MAX 36u

struct entity {
    char name[ENTITY_BYTES_MAX];
    uint32_t code_points[2]; /* the second may be 0 */
};
extern const struct entity entities[]; /* data/entities.txt, sorted bytewise; made by cmake/tables.cmake */
extern const size_t entity_count;

/* What a reference shows; a line end and a tab are a blank. */
struct entity_shown {
    char bytes[8];
    size_t size;
};

/* Decodes the reference at the start of `text` (which begins with '&'), and returns its size; 0 if it is none that
 * MediaWiki decodes (then the '&' is text). Examines at most ENTITY_BYTES_MAX bytes. */
size_t entity_decode(struct str text, struct entity_shown *shown);
