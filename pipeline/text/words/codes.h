/* Codes of languages as people type them → the code that the tables know. */
#ifndef PIPELINE_TEXT_WORDS_CODES_H
#define PIPELINE_TEXT_WORDS_CODES_H

#include "base/str.h"

#include <stdbool.h>

#define CODE_BYTES_MAX 24u

/* The code of what was typed, in lower case with a NUL after it: the code of a Wikipedia (fi, zh-yue, simple) or of ISO
 * 639 (fi, krl), such a code with a script or region after it (de-AT, sr_Latn), or a wiki's name (fiwiki). Three
 * letters whose language has two become those: fin and fi are one. False where it is none of these. */
bool code_read(struct str typed, char out[CODE_BYTES_MAX]);

/* The nearest code to what is none: that of the language whose English name was typed, more or less, else the one that
 * is spelled most alike. NULL where nothing is near. */
const char *code_nearest(struct str typed);

/* The English name of a code's language, without its region; NULL where the table has none. */
const char *code_name(struct str code);

#endif
