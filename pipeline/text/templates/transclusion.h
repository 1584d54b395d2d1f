/* The part of a template's page that a call inserts. */
#pragma once

#include "base/str.h"

/* Replaces *out by the text that a call inserts, as MediaWiki's preprocessor takes it: without comments (one that is
 * alone on its line goes with the line) and without <noinclude>, which a self-closed tag or its end tag closes, or the
 * end of the page. <includeonly> goes without its content. Where <onlyinclude> stands with its end tag, only what is
 * between such tags counts. What is inside <nowiki>, <pre> and the like is not touched. Linear. */
void transclusion_take(struct str page, struct buf *out);
