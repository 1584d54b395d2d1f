/* Files of text whose lines are not prose: tables, subtitles, mail, annotated corpora, markup, JSON in other forms.
 * They are recognised by a signature that holds for most of their first lines, and refused with a command that gives
 * their text, if there is one. Pure. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Reads what needs a library that we do not have (python/README.md). */
#define DSSHARDS_JSONL "python3 -m dsshards jsonl FILE | dsdata build --out D --jsonl -"
#define LONGEST_STRING "{text: (map(strings) | max_by(length))}" /* of an array, for jq */

struct structured {
    const char *name;    /* with its article */
    const char *program; /* a filter that makes its text; NULL: it has no running text */
    bool by_name;        /* the program takes the file's name, not its bytes */
    bool jsonl;          /* it makes JSON lines */
};

/* `text` is the beginning of a file, without a mark and blanks. NULL: it may be prose. */
const struct structured *structured_find(struct str text);

/* Of the same text, for converters (converters.h). */
bool structured_is_wet(struct str text);
bool structured_is_leipzig(struct str text);
bool structured_is_strings(struct str text);
bool structured_is_arrays(struct str text); /* an array on each line, which is not converted */

/* A zip file by its first bytes: the kind of document that it is, or NULL. The program is a whole command. */
const struct structured *structured_zip(struct str bytes);
/* The same by the name of a member. */
const struct structured *structured_zip_member(struct str name);
