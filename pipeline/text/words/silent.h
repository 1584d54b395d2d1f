/* Templates whose absence from the text leaves no hole: see silent.c. */
#ifndef PIPELINE_TEXT_WORDS_SILENT_H
#define PIPELINE_TEXT_WORDS_SILENT_H

#include "pipeline/text/words/word_lists.h"

bool template_is_silent(struct str name); /* a folded name */
struct words template_silent_names(void); /* for the test that checks their order */

#endif
