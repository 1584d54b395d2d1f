/* The plain structs that the folders of the pipeline hand on to each other:
 *
 *     dump ─ struct group ─► text ─ struct page, sentences ─► pairs ─ struct sample ─► store
 *
 * A group is the unit of everything random and of resume (Law 2): (file, window, part) names it, and what is made of it
 * depends on its bytes, its name and the options alone. */
#ifndef PIPELINE_PAGE_PARTS_H
#define PIPELINE_PAGE_PARTS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_BYTES       (1u << 20)  /* compressed bytes of a window of bzip2 (C of Law 2) */
#define WINDOW_BYTES_PLAIN (4u << 20)  /* bytes of a window of plain XML, text, JSONL */
#define GROUP_BYTES_MAX    (16u << 20) /* a group that grows beyond is closed at the next page start */
#define PAGE_BYTES_MAX     (16u << 20) /* a longer page is skipped and counted */
#define PIECE_BYTES_MAX    (24u << 20) /* decoded text of a window that waits for the cut; more is decoded by it */

/* What a file holds; found by content, never by name. */
enum input_kind { INPUT_SNIFF, INPUT_WIKI, INPUT_TEXT, INPUT_JSONL };

/* How plain text is laid out: what a line is, and what a document. */
enum text_form {
    FORM_AUTO,       /* one of the others, by the beginning of the text */
    FORM_SENTENCES,  /* a sentence a line; a line of blanks ends a document */
    FORM_PARAGRAPHS, /* a paragraph of sentences a line; a line of blanks ends a document */
    FORM_LINES,      /* a document a line */
    FORM_WRAPPED,    /* lines are broken anywhere; a line of blanks ends a document */
};

/* What stands around it; found by content too. */
enum container { CONTAINER_NONE, CONTAINER_BZIP2, CONTAINER_GZIP, CONTAINER_ZSTD, CONTAINER_XZ };

/* One record of an input as bytes: <page>…</page>, the lines of a document, or one JSON line. */
struct record {
    size_t offset; /* in the group's text */
    size_t size;   /* bytes */
};

/* The pages that begin in one window (or the part of them that fits). The memory belongs to the belt job that carries
 * it and is used again. */
struct group {
    uint32_t file;   /* index of the input */
    uint32_t window; /* index of the window in that file */
    uint32_t part;   /* 0, or more where a group was closed at GROUP_BYTES_MAX */
    enum input_kind kind;
    struct buf text; /* the records, end to end, with what stood between them left out */
    struct record *records;
    size_t record_count, record_capacity;
    uint64_t oversize; /* records skipped because they passed PAGE_BYTES_MAX */
    /* With --salvage: */
    uint64_t gaps, gap_bytes; /* places where the file is damaged, and bytes of it that were passed over */
    uint64_t cut;             /* records that such a place broke off, left out */
    /* Of a file that is checked by a sum, at its end: */
    uint64_t sums_right, sums_wrong;
};

/* A namespace of a wiki's siteinfo. */
struct wiki_namespace {
    int32_t key; /* 0 articles, 6 files, 10 templates, 14 categories, … */
    struct str name;
};

/* What the head of a dump says of its wiki. Owned by the dump. */
struct siteinfo {
    struct str sitename, dbname, language; /* language: xml:lang, "" if absent */
    struct str base;     /* the URL of the main page; those of all pages differ in what follows the last '/' */
    bool case_sensitive; /* case rule of titles: "case-sensitive", else "first-letter" */
    struct wiki_namespace *namespaces;
    size_t namespace_count;
};

/* One page, parsed. Views into the arena of the job. */
struct page {
    uint64_t id, revision_id;
    int32_t ns;
    bool has_ns;          /* dumps before schema 0.6 have no <ns> */
    bool is_redirect;     /* a <redirect> element */
    struct str title;     /* entities decoded */
    struct str model;     /* "wikitext" or "" for old dumps */
    struct str timestamp; /* of the revision: "2026-11-01T12:34:56Z", or "" */
    struct str text;      /* wikitext (entities of the XML decoded), of the last revision */
};

/* Why a page is not in the dataset; the order is that of the summary, the names those of the manifest. */
enum page_fate {
    PAGE_KEPT,
    PAGE_REDIRECT,
    PAGE_NAMESPACE,      /* not an article */
    PAGE_MODEL,          /* not wikitext */
    PAGE_DISAMBIGUATION, /* by template name or magic word */
    PAGE_LIST,           /* by title, category or template name */
    PAGE_STUB,           /* by template name */
    PAGE_EMPTY,          /* no text was left */
    PAGE_DUPLICATE,      /* an earlier one has the same text (--duplicates drop) */
    PAGE_SHORT,          /* fewer words than --min-words */
    PAGE_MALFORMED,      /* its XML or JSON cannot be read */
    PAGE_OVERSIZE,       /* longer than PAGE_BYTES_MAX */
    PAGE_DAMAGED,        /* broken off by damage of the file (--salvage) */
    PAGE_FATES
};

#endif
