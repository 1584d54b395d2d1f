/* Parses the head of a dump, up to its first page, into a struct siteinfo. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "pipeline/parts/page_parts.h"

/* `head` must be well-formed XML as far as it goes. What is missing stays empty. The strings are in `arena`. `name` is
 * the input's, for messages. ERR_INPUT: not well-formed; ERR_UNSAFE: it declares a document type (dumps have none;
 * entity bombs need one). */
int siteinfo_read(const char *name, struct str head, struct siteinfo *info, struct arena *arena, struct error *err);
