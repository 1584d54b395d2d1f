/* Wikis that support several spellings of their language: "-{zh-hans:…; zh-hant:…}-", and "-{ }-" around text that is
 * not converted. Source: the languages of MediaWiki's LanguageConverter. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

struct variant_wiki;

/* The spellings of the wiki of that language, "sr"; NULL: it has only one, and -{ is plain text there. */
const struct variant_wiki *variant_wiki_find(struct str code);

/* True for the code of a spelling that --variant accepts: zh-tw, sr-el. */
bool variant_is_code(struct str code);
/* Appends all of them, separated by blanks. */
void variant_add_codes(struct buf *out);

/* The distance of a spelling from the wanted one: 0 for the same, then those of its script, then the rest in the wiki's
 * order. `wanted` "": the wiki's order. UINT_MAX: the wiki has no such spelling. */
unsigned variant_rank(const struct variant_wiki *wiki, struct str spelling, struct str wanted);
