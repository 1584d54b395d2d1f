/* Recognises plain text, and refuses text that is not prose. */
#pragma once

#include "pipeline/dump/sniff.h"

/* As recognise and check of struct record_format. ERR_UNSAFE: a table, an array or a format of structured.c, unless the
 * form is known; an encoding that is not UTF-8, unless one is named; lines that end in CR. */
bool plain_text_recognise(struct str text);
int plain_text_check(const struct sniffed *sniffed, struct error *err);
/* ERR_UNSAFE: the text is not well-formed UTF-8; with the encoding to name. */
int plain_text_check_encoding(const struct sniffed *sniffed, struct error *err);

/* Of text without a mark and blanks around it. */
bool is_json_array(struct str text); /* of objects, arrays or strings */
bool is_wikidata(struct str text);   /* an array of Wikidata's items */
