/* A parsed file of renderings: what it says about a name. */
#pragma once

#include "pipeline/text/templates/call.h"

struct rendering_row {
    struct str name;
    enum rendering_kind {
        RENDERING_PATTERN,  /* "name = $1 ($2)" */
        RENDERING_ALIAS,    /* "name => other": `pattern` is the other name */
        RENDERING_BOUND,    /* "name = @convert": a renderer, and its parameter in `pattern` */
        RENDERING_WIKITEXT, /* "name = @wikitext body": `pattern` is what a call inserts (expand.h) */
        RENDERING_MARK,     /* "name = @box": shows nothing */
    } kind;
    struct str pattern;
    render *render;
    size_t line;
};

/* What the file says about the name, which is replaced by the name its aliases lead to; NULL: nothing. `templates` may
 * be NULL. */
const struct rendering_row *templates_find(const struct templates *templates, struct str *name);
/* The number of a row in its file, and the row of a number. */
size_t templates_index(const struct templates *templates, const struct rendering_row *row);
const struct rendering_row *templates_row(const struct templates *templates, size_t index);

struct body_cache *templates_bodies(const struct templates *templates); /* expand_body.h */

/* True if there is a row of ours for that name on the wiki of that language, of all calls that `renders` is for. */
bool template_has_row(struct renders *renders, struct str name, const struct template_page *page);

/* What is wrong with a pattern, or NULL. */
const char *pattern_mistake(struct str pattern);
