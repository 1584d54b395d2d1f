#ifndef PIPELINE_TEXT_TEMPLATES_PLAIN_H
#define PIPELINE_TEXT_TEMPLATES_PLAIN_H

#include "pipeline/text/templates/templates.h"

/* Appends the plain text of page[from, to); `child`: its first span, or one before it. Templates and references in it
 * show nothing, links their label. False if it contains a template other than a variable. */
bool plain_add(const struct template_page *page, uint32_t from, uint32_t to, uint32_t child, struct buf *out);

#endif
