#ifndef PIPELINE_TEXT_RENDERINGS_H
#define PIPELINE_TEXT_RENDERINGS_H

#include "pipeline/text/templates.h"

/* The pattern of a folded name, or NULL; `templates` may be NULL. */
const struct str *templates_find(const struct templates *templates, struct str name);

#endif
