/* Turns language codes as people type them into the codes that the tables use. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

#define CODE_BYTES_MAX 24u

/* The code for what was typed, in lower case with a NUL after it. Accepts the code of a Wikipedia (fi, zh-yue, simple)
 * or of ISO 639 (fi, krl), such a code with a script or region (de-AT, sr_Latn), or a wiki's name (fiwiki). A code of
 * three letters becomes the one of two, if there is one: fin gives fi. False for anything else. */
bool code_read(struct str typed, char out[CODE_BYTES_MAX]);

/* The nearest code for an invalid one: that of the language whose English name resembles what was typed, else the code
 * with the most similar spelling. NULL if nothing is near. */
const char *code_nearest(struct str typed);

/* The English name of a code's language, without its region; NULL if the table has none. */
const char *code_name(struct str code);
