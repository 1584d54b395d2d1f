/* HTML pages that stand alone: no script, no other file, no network. A page is XHTML that any XML parser reads, written
 * into one buffer. Tags, numbers and our own words are added with buf_addf; text that comes from a file must always go
 * through html_text. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "base/target.h"

#include <stdint.h>

extern const char html_style[]; /* the style that all pages share; a page adds only its own rules */

/* From the doctype to <body>; `title` is our own text. A Content-Security-Policy in the page forbids what it does not
 * need. html_page_end closes it. */
void html_page(struct buf *page, const char *title, const char *style);
void html_page_end(struct buf *page);
/* How every such page begins, whichever verb wrote it. */
extern const struct target_form html_form;
/* Writes the page as a file (base/file.h: complete or not at all), or to standard output if the path is "-". */
int html_page_write(const struct buf *page, const char *path, struct error *err);

/* Text for an element or for an attribute in double quotes. Markup is escaped. Characters that are invisible or change
 * the direction of the line are spelled out (⟨U+202E⟩), ill-formed bytes become U+FFFD, and text longer than `letters`
 * code points ends in an ellipsis. A code point takes at most 14 bytes. */
void html_text(struct buf *page, struct str text, size_t letters);

/* A name from a file: html_text, isolated from the text direction around it. */
#define HTML_NAME_LETTERS 120
void html_name(struct buf *page, const char *name);

/* <section> with a heading and an anchor (our own id). */
void html_section(struct buf *page, const char *id, const char *title);
void html_section_end(struct buf *page);

/* <table> with a caption and columns (NULL ends the list). A column whose title begins with '#' holds figures. */
void html_table(struct buf *page, const char *caption, const char *const *columns);
void html_table_end(struct buf *page);

/* Cells. */
void html_cell_count(struct buf *page, uint64_t count);             /* 1,412,870 */
void html_cell_bytes(struct buf *page, uint64_t bytes);             /* 1.02 GB, the exact number as its title */
void html_cell_share(struct buf *page, uint64_t part, uint64_t of); /* 12.3 % */
void html_cell_bar(struct buf *page, uint64_t part, uint64_t of);   /* the same as the length of a bar, for the eye
                                                                     * only */

/* A tile of a <dl class="tiles">: a name, its figure in large type, a note below; all of them our own text or
 * escaped. */
void html_tile(struct buf *page, const char *name, const char *figure, const char *small);

/* "12.34 %" of a whole, with a non-breaking space; "–" if the whole is 0. Returns out. */
char *html_share(uint64_t part, uint64_t of, char out[32]);
/* part / of, as a number from 0 to 100 for CSS. */
double html_percent(uint64_t part, uint64_t of);
