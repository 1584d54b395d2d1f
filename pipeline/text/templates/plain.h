#pragma once

#include "pipeline/text/templates/call.h"

/* Appends the plain text of page[from, to); `child`: its first span, or one before it. References in it show nothing,
 * links their label, templates what `call` can render of them (NULL: nothing except variables). False if it contains a
 * template of which that is not known. */
bool plain_add(const struct template_page *page, struct call *call, uint32_t from, uint32_t to, uint32_t child,
               struct buf *out);
