/* Wikitext → plain text: turns a page into what its reader sees as text, one paragraph per line. */
#pragma once

#include "base/str.h"
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/markup/spans.h"
#include "pipeline/text/paragraphs.h" /* enum keep */
#include "pipeline/text/words/languages.h"
#include "pipeline/text/words/links.h"

#include <stdbool.h>
#include <stdint.h>

struct templates;
struct trace;

struct wikitext_options {
    const struct siteinfo *siteinfo; /* NULL: only the names of the language and the English ones are known */
    const struct language *language;
    const char *code;                  /* of the wiki's language; NULL: that of `language` */
    const char *variant;               /* of the wiki's spellings: variants.h; NULL: the wiki's own */
    uint32_t keep;                     /* enum keep */
    uint32_t kinds;                    /* enum kind: which to look for */
    const struct templates *templates; /* renderings of the user's, or NULL */
    struct trace *trace;               /* to be told what becomes of every byte of the page read last, or NULL */
};

struct wikitext_facts {
    bool is_redirect;      /* by its text: #REDIRECT [[…]]; then no text goes out */
    uint32_t kinds;        /* enum kind: which of options.kinds the page is */
    uint64_t bytes[FATES]; /* of the page's text by their fate; they add up to its size */
    size_t unknown;        /* templates that no row renders: see wikitext_unknown */
    size_t holes;          /* those of them that stood in a sentence: words before and after them in a kept paragraph */
    size_t leaks;          /* strings with the form of markup that were left out: see leaks.h, wikitext_leak */
    size_t sentences;      /* those of them that were not left out: their one argument is a sentence, which shows */
    uint64_t steps;        /* bytes looked at, some of them more than once */
};

/* No page costs more than this, on average over its bytes: the test of hostile pages holds us to it. */
#define WIKITEXT_STEPS_PER_BYTE_MAX 50u

struct wikitext;
struct wikitext *wikitext_open(const struct wikitext_options *options); /* keeps the pointers, copies the names */

/* Appends the text of the page: paragraphs, each ended by '\n'. *facts is overwritten. */
void wikitext_read(struct wikitext *wikitext, const struct page *page, struct buf *out, struct wikitext_facts *facts);
enum unknown_kind { UNKNOWN_APART, UNKNOWN_HOLE, UNKNOWN_SENTENCE };
/* Template number i of facts.unknown, of the page read last: its folded name (empty where it has none that we could
 * know), all of it as it stands in the page, and its kind. */
struct str wikitext_unknown(const struct wikitext *wikitext, size_t i, char name[NAME_BYTES_MAX], struct str *text,
                            enum unknown_kind *kind);
/* The folded name of the template out of whose rendering leak number i of facts.leaks came; empty where it stands on
 * the page itself, or has no name that we could know. */
struct str wikitext_leak(const struct wikitext *wikitext, size_t i, char name[NAME_BYTES_MAX]);
/* The namespace a title names, for dumps whose pages have no <ns>. */
int32_t wikitext_namespace(const struct wikitext *wikitext, struct str title);
void wikitext_close(struct wikitext *wikitext);

/* The kind of a page as a whole: by its first words, its title, its templates, magic words and categories. */

/* Kinds of pages that may be left out, in the order of --drop's list. */
enum kind { KIND_DISAMBIGUATION = 1, KIND_LIST = 2, KIND_STUB = 4 };

struct kind_page {
    struct str title, text;
    const struct spans *spans; /* of the text */
    const struct language *language;
    const struct namespaces *namespaces;
};

/* Which of `wanted`, bits of enum kind, apply to the page: by the tables of its language and, for its text, also the
 * English ones. Examines everything outside other constructs once. */
uint32_t kinds_of(const struct kind_page *page, uint32_t wanted);
