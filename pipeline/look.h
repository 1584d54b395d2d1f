/* Examines the beginning of an input before reading, for what only the content can tell. The result depends on
 * dump_head alone. */
#ifndef PIPELINE_LOOK_H
#define PIPELINE_LOOK_H

#include "pipeline/dump/dump.h"
#include "pipeline/text/words/languages.h"

struct look {
    enum text_form form; /* of text: as requested, or recognised; of other inputs FORM_SENTENCES */
    bool recognised;     /* it was not requested */
    /* In the part examined (0 for a wiki): */
    uint64_t documents, sentences;
    /* Of the first JSON line: its keys ("id, content"); what the key of the text holds instead of a string ("an
     * array"), NULL where it is a string or absent; a key whose object has the key of the text, or "". */
    char keys[256];
    const char *text_is;
    char nested[64];
    double ill_formed; /* fraction of the bytes that are not UTF-8 */
};

extern const char *const text_form_names[];

/* The language of an input, or NULL if none is clear. A wiki's is that of the first paragraphs of its pages. */
const char *look_language(const struct dump *dump, const char *text_key);

/* How the form of text is recognised (`asked` FORM_AUTO), in this order:
 *
 *     wrapped     of the lines that another one follows, seven in eight are so long that its first word did not fit
 *                 (the width is what one line in 20 passes), and most of them do not end as a sentence
 *     paragraphs  lines hold 1.3 sentences and more on average, and there are empty lines
 *     lines       the same without empty lines; or no empty line in all of DUMP_HEAD_BYTES
 *     sentences   all others */
void look_read(const struct dump *dump, const struct language *language, enum text_form asked, const char *text_key,
               struct look *look);

#endif
