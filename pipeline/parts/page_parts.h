/* The plain structs that the folders of the pipeline pass to each other:
 *
 *     dump ─ struct group ─► text ─ struct page, sentences ─► pairs ─ struct sample ─► store
 *
 * A group is the unit of random draws and of resume (Law 2). Its name is (file, window, part); the result depends only
 * on its bytes, its name and the options. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_BYTES       (1u << 20)  /* compressed bytes of a window of bzip2 (C of Law 2) */
#define WINDOW_BYTES_PLAIN (4u << 20)  /* bytes of a window of plain XML, text, JSONL */
#define GROUP_BYTES_MAX    (16u << 20) /* a larger group is closed at the next page start */
#define PAGE_BYTES_MAX     (16u << 20) /* a longer page is skipped and counted */
#define PIECE_BYTES_MAX    (24u << 20) /* decoded text of a window that waits for the cut; cut decodes the rest */

/* The layout of plain text: what a line is, and what a document is. */
enum text_form {
    FORM_AUTO,       /* recognised by the beginning of the text */
    FORM_SENTENCES,  /* one sentence per line; a blank line ends a document */
    FORM_PARAGRAPHS, /* one paragraph of sentences per line; a blank line ends a document */
    FORM_LINES,      /* one document per line */
    FORM_WRAPPED,    /* lines are broken anywhere; a blank line ends a document */
    FORM_FILE,       /* one document per file; a blank line ends a paragraph */
    FORM_SECTIONS,   /* two blank lines or more end a document, a single one a paragraph */
    TEXT_FORMS,
};

/* How many blank lines end a document of text: 0: every line is one; WHOLE_FILE: none does. */
#define WHOLE_FILE UINT32_MAX
static inline uint32_t text_form_blank_lines(enum text_form form)
{
    return form == FORM_LINES ? 0 : form == FORM_FILE ? WHOLE_FILE : form == FORM_SECTIONS ? 2 : 1;
}

/* The compression around it; also recognised by content. */
enum container {
    CONTAINER_NONE,
    CONTAINER_BZIP2,
    CONTAINER_GZIP, /* this one and those after it are always read as streams (dump/unpack.h) */
    CONTAINER_ZSTD,
    CONTAINER_XZ,
    CONTAINERS,
};

/* One record of an input as bytes: <page>…</page>, the lines of a document, or one JSON line. */
struct record {
    size_t offset; /* in the group's text */
    size_t size;   /* bytes */
    uint64_t at;   /* its first byte in the input, of one that is compressed or converted in its text as UTF-8; or
                    * RECORD_NOWHERE: in a bzip2 file, whose windows are read without what precedes them */
};
#define RECORD_NOWHERE UINT64_MAX

/* The pages that begin in one window (or the part of them that fits). The memory belongs to the job on the belt and is
 * reused. */
struct group {
    uint32_t file;   /* index of the input */
    uint32_t window; /* index of the window in that file */
    uint32_t part;   /* 0, or more where a group was closed at GROUP_BYTES_MAX */
    struct buf text; /* the records, one after the other, without what was between them */
    struct record *records;
    size_t record_count, record_capacity;
    uint64_t oversize;            /* records skipped because they exceed PAGE_BYTES_MAX, */
    uint64_t oversize_at, cut_at; /* the first of these and of those cut off: as record.at */
    /* With --salvage: */
    uint64_t gaps, gap_bytes; /* damaged places of the file, and bytes skipped there */
    uint64_t cut;             /* records cut off at such a place, left out */
    /* At the end of a file that is checked by a sum: */
    uint64_t sums_right, sums_wrong;
};

/* A namespace of a wiki's siteinfo. */
struct wiki_namespace {
    int32_t key; /* 0 articles, 6 files, 10 templates, 14 categories, … */
    struct str name;
};

/* What the head of a dump says about its wiki. Owned by the dump. */
struct siteinfo {
    struct str sitename, dbname, language; /* language: xml:lang, "" if absent */
    struct str base;                       /* the URL of the main page; other pages differ after the last '/' */
    bool case_sensitive;                   /* case rule of titles: "case-sensitive", else "first-letter" */
    struct wiki_namespace *namespaces;
    size_t namespace_count;
};

/* One page, parsed. Views into the arena of the job. */
struct page {
    uint64_t id, revision_id; /* 0 where they are absent or no numbers */
    struct str id_text;       /* of <id>, "" where it is absent or empty */
    int32_t ns;
    bool has_ns;          /* dumps before schema 0.6 have no <ns> */
    bool is_redirect;     /* a <redirect> element */
    struct str title;     /* entities decoded */
    struct str model;     /* "wikitext" or "" for old dumps */
    struct str timestamp; /* of the revision: "2026-11-01T12:34:56Z", or "" */
    struct str text;      /* wikitext of the last revision, with XML entities decoded */
    uint32_t repairs;     /* bits of enum repair */
};

/* What was ill-formed in a document, which is kept all the same: bits of a mask, in the order of the summary. The names
 * (counts.h) are in the manifest. */
enum repair {
    REPAIR_ENCODING,  /* bytes that are not UTF-8: U+FFFD for each maximal subpart */
    REPAIR_SURROGATE, /* half of a surrogate pair: U+FFFD */
    REPAIR_NUL,       /* NUL bytes, left out */
    REPAIR_CHARACTER, /* a character that the format does not allow: kept in JSON, left out of XML */
    REPAIR_REFERENCE, /* XML: an '&' that begins no reference, or one that XML does not know */
    REPAIR_TAG,       /* XML: a '<' that begins no tag, or tags that do not match */
    REPAIR_ID,        /* XML: an id or namespace that is not a number: as if it were absent */
    REPAIR_NUMBER,    /* JSON: NaN or Infinity */
    REPAIR_KEY,       /* JSON: a key twice in an object: the last value counts */
    REPAIR_MARK,      /* JSON: a byte order mark before the line */
    REPAIR_FRAME,     /* text: header and licence of Project Gutenberg, left out */
    REPAIRS
};

/* Why a document is dropped, in the order of the summary. The names (counts.h) are in the manifest. */
enum page_fate {
    PAGE_KEPT,
    PAGE_REDIRECT,
    PAGE_NAMESPACE,        /* not an article */
    PAGE_MODEL,            /* not wikitext */
    PAGE_DISAMBIGUATION,   /* by template name or magic word */
    PAGE_LIST,             /* by title, category or template name */
    PAGE_STUB,             /* by template name */
    PAGE_EMPTY,            /* no text is left */
    PAGE_DUPLICATE,        /* an earlier page has the same text (--duplicates drop) */
    PAGE_NEAR_DUPLICATE,   /* nearly the text of an earlier page that was kept (--near-duplicates) */
    PAGE_SHORT,            /* fewer words than --min-words */
    PAGE_LONG,             /* more words than --max-words */
    PAGE_LANGUAGE,         /* not in a language of --only-lang */
    PAGE_GOPHER_FEW_WORDS, /* --filter gopher, a reason for each rule: clean/filter_gopher.c */
    PAGE_GOPHER_MANY_WORDS,
    PAGE_GOPHER_WORD_LENGTH,
    PAGE_GOPHER_SYMBOLS,
    PAGE_GOPHER_BULLETS,
    PAGE_GOPHER_ELLIPSES,
    PAGE_GOPHER_ALPHABETIC,
    PAGE_GOPHER_STOP_WORDS,
    PAGE_EXCLUDED,  /* words in common with a text of --exclude */
    PAGE_KEYLESS,   /* JSON without a text under the key of the text */
    PAGE_MALFORMED, /* its XML or JSON cannot be read */
    PAGE_OVERSIZE,  /* longer than PAGE_BYTES_MAX */
    PAGE_DAMAGED,   /* cut off by damage of the file (--salvage) */
    PAGE_FATES,
    PAGE_CLEANED_FIRST = PAGE_DUPLICATE, /* those between are given by options that clean */
    PAGE_CLEANED_LAST = PAGE_EXCLUDED,
};

/* What becomes of a byte of wikitext. Every byte of a page gets exactly one fate, so the counts of a page add up to its
 * size. This is the only list of reasons why text is left out. */
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
