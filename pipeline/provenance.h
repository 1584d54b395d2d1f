/* Where an input comes from, for build.json: what a model card wants to say of it. No part of the dataset. */
#ifndef PIPELINE_PROVENANCE_H
#define PIPELINE_PROVENANCE_H

#include "pipeline/page_parts.h"

#include <jansson.h>

/* {"name", "wiki"} and, where they are known, "site", "base" (of siteinfo), "date" (in the file's name, YYYY-MM-DD),
 * "licence" (of the text of Wikimedia's wikis, by their address). The caller owns the reference. */
json_t *provenance_json(const char *path, const struct siteinfo *siteinfo);

#endif
