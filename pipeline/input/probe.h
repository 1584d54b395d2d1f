/* Examines the beginning of an input before reading, for what only the content can tell. The result depends on
 * dump_head alone. */
#pragma once

#include "pipeline/dump/dump.h"
#include "pipeline/input/text_layout.h"

struct probe {
    enum text_form form;       /* of text; of other inputs FORM_SENTENCES */
    bool recognised;           /* it was not requested */
    bool wrapped;              /* its lines are broken anywhere */
    struct text_layout layout; /* of text */
    uint64_t bytes;            /* of the part examined (0 for a wiki); in it: */
    uint64_t documents, sentences;
    /* Of the first JSON line: is it an object, as far as the part has it; its keys ("id, content"); what the key of the
     * text holds instead of a text ("an array", "an empty string"), NULL where it is a text or absent; a key whose
     * object has the key of the text, or "". */
    bool object;
    char keys[256];
    const char *text_is;
    char nested[64];
    double ill_formed;       /* fraction of the bytes that are not UTF-8 */
    const char *seems_to_be; /* the encoding that these bytes look like; NULL: all are UTF-8, or none is likely */
};

extern const char *const text_form_names[];

/* The language of an input, or NULL if none is clear. A wiki's is that of the first paragraphs of its pages. */
const char *probe_language(const struct dump *dump, const char *text_key);

/* Examines the beginning of an input; its form is settled by probe_take_form, when all inputs were seen. */
void probe_read(const struct dump *dump, const struct language *language, const char *text_key, struct probe *probe);
/* Settles the form of a text file, which is that of all of them. Whether the lines of FORM_FILE and FORM_SECTIONS are
 * wrapped is decided for each file, or, if it is very short, by `sum`, the layouts of all. */
void probe_take_form(struct probe *probe, enum text_form form, const struct text_layout *sum);
