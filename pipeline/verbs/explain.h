/* dsdata extract --explain TITLE: one page of a dump, what is kept of it, and what is left out and why. */
#pragma once

#include "pipeline/input/inputs.h"
#include "pipeline/build/repeats.h"
#include "pipeline/build/resource_plan.h"

/* Reads the inputs up to the first page of settings->explain and prints it on standard output. No such page, or no dump
 * among the inputs: ERR_USAGE. `repeats`: pages to drop; its recipe is NULL: none. */
int explain(const struct dsdata_settings *settings, const struct inputs *inputs, const struct resource_plan *plan,
            const struct repeats *repeats, struct error *err);

/* Adds the explanation of record `index` of a dump's group, for the screen that standard output is. */
void explain_page(const struct article_options *options, const struct repeats *repeats, struct group *group,
                  size_t index, struct buf *out);
