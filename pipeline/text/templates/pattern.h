/* The syntax and the bounds of patterns (templates.h): renderings.c checks them, pattern.c shows them. */
#pragma once

#include "base/str.h"

#define PATTERN_BYTES_MAX 1024u
#define PATTERN_PARTS_MAX 64u  /* a bound on how often a byte of an argument is shown */
#define PATTERN_DEPTH_MAX 8u   /* functions in functions */
#define PATTERN_VALUE_MAX 512u /* bytes of a text to compute with */
#define PATTERN_PAGE_MAX  4u   /* titles and times, which may be longer than the call */
#define PATTERN_BREAK     STR("¶")
#define PATTERN_TIME_MAX  256u /* bytes of a time */

/* The bytes of the function's name at the start of `text`, with the blank after it; 0 if there is no such function. */
size_t pattern_function(struct str text);
