/* What a template shows. Comes in: a template's span. Goes out: nothing (most templates say nothing in running text:
 * they are dropped), a text, or the place of the one argument that shows, which wikitext.c then reads as part of the
 * page. Templates are never expanded: what we know of them is a table, so a template cannot make text grow or loop. */
#ifndef PIPELINE_TEXT_TEMPLATES_H
#define PIPELINE_TEXT_TEMPLATES_H

#include "base/str.h"
#include "pipeline/text/spans.h"

#include <stdbool.h>
#include <stdint.h>

struct rendering {
    bool dropped;
    bool is_block;     /* the argument is a paragraph, or several */
    struct str text;   /* shown as it is, before the argument */
    uint32_t from, to; /* the argument's place in the page, trimmed; from == to: none */
};

/* How spans->items[index], a SPAN_TEMPLATE of `page`, shows on the page `title`. Adds to *steps the bytes looked at:
 * those of the template that are in none of its inner spans. */
struct rendering template_render(struct str page, const struct spans *spans, uint32_t index, struct str title,
                                 uint64_t *steps);

/* The folded name of the template, without its arguments; empty where it has none that we could know. */
struct str template_name(struct str page, const struct spans *spans, uint32_t index, char out[NAME_BYTES_MAX]);

/* {{{name|default}}}: where the default is; from == to where there is none. */
struct rendering argument_render(struct str page, const struct spans *spans, uint32_t index, uint64_t *steps);

#endif
