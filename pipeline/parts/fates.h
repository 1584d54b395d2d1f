/* What becomes of a byte of wikitext. Every byte of a page gets exactly one fate, so the counts of a page add up to its
 * size. This is the only list of reasons why text is left out. */
#pragma once

enum fate {
    FATE_KEPT,      /* it is in the text (as itself, decoded, or as a blank) */
    FATE_MARKUP,    /* brackets, quotes, tags around text that is kept; targets of links; line ends */
    FATE_TEMPLATE,  /* a template without a rendering, or arguments that do not show */
    FATE_TABLE,     /* {| … |} and <table> */
    FATE_REFERENCE, /* <ref> */
    FATE_COMMENT,   /* <!-- --> */
    FATE_FILE,      /* [[File:…]] without its caption, or with it */
    FATE_CATEGORY,  /* [[Category:…]] */
    FATE_INTERWIKI, /* [[fr:…]] */
    FATE_MATH,      /* <math>, <chem> */
    FATE_CODE,      /* <syntaxhighlight> */
    FATE_GALLERY,   /* <gallery>, <imagemap>, <timeline> */
    FATE_EXTENSION, /* other tags of extensions */
    FATE_DELETED,   /* <del>, <s> */
    FATE_INCLUDE,   /* <includeonly>: not shown on the page itself */
    FATE_URL,       /* addresses of external links */
    FATE_MAGIC,     /* __NOTOC__, ~~~~ */
    FATE_HEADING,   /* without KEEP_HEADINGS */
    FATE_SECTION,   /* in a section without prose: References, External links */
    FATE_LIST,      /* an item that is not kept */
    FATE_PRE,       /* preformatted text that is not kept */
    FATE_VARIANT,   /* -{…}-: spellings that are not shown */
    FATE_CONTROL,   /* control characters */
    FATE_LEAK,      /* has the form of a tag, but is none: <foo>, </ref> (leaks.h) */
    FATE_MENDED,    /* kept, then removed beside a gap: blanks, commas, empty brackets (counted in the text) */
    FATES
};

/* "kept", "markup", … as in the manifest; for screens, a few more words. */
const char *fate_name(enum fate fate);
const char *fate_words(enum fate fate);
