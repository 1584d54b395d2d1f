/* Wikis that write their language in several spellings: "-{zh-hans:…; zh-hant:…}-", "-{ }-" around what is not
 * converted. Source: the languages that MediaWiki's LanguageConverter knows. */
#ifndef PIPELINE_TEXT_VARIANTS_H
#define PIPELINE_TEXT_VARIANTS_H

#include "base/str.h"

#include <stdbool.h>

struct variant_wiki;

/* The spellings of the wiki of that language, "sr"; NULL: it has one only, and -{ is text there. */
const struct variant_wiki *variant_wiki_find(struct str code);

/* Is it the code of a spelling, as --variant takes it: zh-tw, sr-el? */
bool variant_is_code(struct str code);
/* All of them with blanks between. */
const char *variant_codes(void);

/* How far the spelling is from the wanted one: 0 it itself, then those of its script, then the rest in the wiki's own
 * order. `wanted` "": the wiki's own order. UINT_MAX: the wiki has no such spelling. */
unsigned variant_rank(const struct variant_wiki *wiki, struct str spelling, struct str wanted);

#endif
