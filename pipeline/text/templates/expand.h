/* Replaces the template calls of a page by what they insert, as MediaWiki's preprocessor does: wikitext, which is then
 * read with the rest of the page. So a template may hold headings, lists, several paragraphs, or one half of a table.
 *
 * The bodies come from a file of renderings (RENDERING_WIKITEXT, renderings.h). Calls stay in the text where no body is
 * known, where it needs a Lua module, and where a function only computes a text: the walk renders those from the tables
 * of rows. A row is used in place of a body only if a part of the body that is taken cannot be computed.
 *
 * Work and size are bounded per page (EXPAND_BYTES_MAX), memory per call of the page, and the depth of recursion, so
 * that a thread's stack suffices; calls beyond a bound stay in the text. */
#pragma once

#include "pipeline/text/templates/templates.h"
#include "pipeline/text/words/links.h"

/* The bytes that one page may insert, and 32 times as many may be read for it. */
#define EXPAND_BYTES_MAX(page_bytes) ((1u << 20) + 8u * (uint64_t)(page_bytes))

/* A range of the page that stands unchanged in the expanded text; what is between two of them was inserted in place of
 * the page's bytes between them. */
struct expand_copy {
    uint32_t at;         /* in the expanded text */
    uint32_t from, size; /* in the page */
};

struct expander;
/* Keeps the pointers. `namespaces`: of the wiki. */
struct expander *expander_open(const struct templates *templates, const struct namespaces *namespaces,
                               const struct magic *magic);
void expander_close(struct expander *expander);
/* Replaces *out by the expanded text of the page and *copies by its unchanged ranges, in order; both belong to the
 * expander and live until its next use. False if there is nothing to expand. Adds to *steps the bytes examined. */
bool expand_page(struct expander *expander, const struct template_page *page, struct str *out,
                 const struct expand_copy **copies, size_t *copy_count, uint64_t *steps);
