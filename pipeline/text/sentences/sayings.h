/* Verbs of saying, by which a sentence goes on after a quotation that ends with a mark: "…!" उसने कहा। Only for scripts
 * without case; elsewhere a small letter shows it. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* `text` follows a quotation, from its first word to the end of the line. True if that word is a verb of saying, or if
 * a clause of a few words ends with one, before a full stop: (Ram) said. One that goes on to say what ("said that …",
 * "said: …") is a sentence of its own, and so is "Nobody answered." `is_whole`: the sentence begins with the quotation;
 * where a verb precedes it, only the first word counts. */
bool saying_follows(struct str text, bool is_whole);
