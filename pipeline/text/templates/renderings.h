/* A parsed file of renderings: what it says about a name. */
#ifndef PIPELINE_TEXT_TEMPLATES_RENDERINGS_H
#define PIPELINE_TEXT_TEMPLATES_RENDERINGS_H

#include "pipeline/text/templates/call.h"

struct rendering_row {
    struct str name;
    enum rendering_kind {
        RENDERING_PATTERN,  /* "name = $1 ($2)" */
        RENDERING_ALIAS,    /* "name => other": `pattern` is the other name */
        RENDERING_BOUND,    /* "name = @convert": a renderer, and its parameter in `pattern` */
        RENDERING_WIKITEXT, /* "name = @wikitext body": `pattern` is what a call inserts (expand.h) */
        RENDERING_MARK,     /* "name = @box": shows nothing, unless a row of ours renders it */
    } kind;
    struct str pattern;
    render *render;
    size_t line;
};

/* What the file says about the name, which is replaced by the name its aliases lead to; NULL: nothing. `templates` may
 * be NULL. */
const struct rendering_row *templates_find(const struct templates *templates, struct str *name);
/* The rows of a file are numbered below templates_count; `templates` may be NULL. */
size_t templates_count(const struct templates *templates);
size_t templates_index(const struct templates *templates, const struct rendering_row *row);

/* The pattern of our row for that name on the wiki of that language; NULL if there is no row, or it has a renderer.
 * template_has_row: there is a row of either kind. */
const char *template_pattern(struct str name, struct str code);
bool template_has_row(struct str name, struct str code);

/* What is wrong with a pattern, or NULL. */
const char *pattern_mistake(struct str pattern);

#endif
