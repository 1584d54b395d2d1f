/* How two datasets differ. */
#pragma once

#include "pipeline/parts/dsdata_settings.h"

/* Prints the differences, as lines or as an object: "same" and "differences" [{"of", "name", "a", "b"}]. Equal datasets
 * are not an error. Errors: those of manifest_read. */
int show_difference(const struct dsdata_settings *settings, const char *a, const char *b, struct error *err);
