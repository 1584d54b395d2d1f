/* Where an input comes from, for build.json: facts for a model card. Not part of the dataset. */
#pragma once

#include "pipeline/parts/page_parts.h"

#include <jansson.h>

/* {"name", "wiki"} and, if known, "lang" (`language`: typed, stated or guessed; "": not known), "site", "base" (from
 * siteinfo), "date" (in the file's name, YYYY-MM-DD), "licence" (of Wikimedia's wikis, recognised by their address).
 * The caller owns the reference. */
json_t *provenance_json(const char *path, const struct siteinfo *siteinfo, const char *language);
