/* What an input holds, as far as this room needs to know: how to recognise it, and how to cut it into records. It is
 * the first part of an input kind (struct input_kind of pipeline/input), which adds what a record means. */
#pragma once

#include "base/arena.h"
#include "pipeline/dump/cutter.h"
#include "pipeline/dump/sniff.h"

struct record_format {
    /* For messages. */
    const char *called;   /* "a dump": it looks like … */
    const char *readable; /* "a Wikipedia dump (.xml or .xml.bz2)": … can be read */
    const char *refused;  /* of a file that was named as this kind: "is not a MediaWiki dump: …" */
    const char
        *not_text; /* of a file that was named as plain text: "is a MediaWiki dump, not text"; NULL: it may be that */

    /* True if the text begins as this kind does. It is not blank, and has no blanks at its ends. The kinds are asked
     * from the last to the first, so a special case of another kind comes after it. */
    bool (*recognise)(struct str text);
    /* Errors of a file that was recognised as this kind, whatever it was named as; with what to type. SNIFF_OTHER
     * as for sniff_kind. NULL: none. */
    int (*check)(const struct sniffed *sniffed, struct error *err);
    bool plain; /* plain text: what nothing else shows to be wrong, if it was named so; has a form (--text-form) */
    bool strict_utf8; /* ill-formed characters are refused; in other kinds they are repaired later */

    /* Parses what precedes the first record. NULL: nothing does, and dump_head is the beginning of the records. */
    int (*read_head)(const char *name, struct str head, struct siteinfo *info, struct arena *arena, struct error *err);
    const struct record_cut *cut;
};
