/* A dataset as one HTML page: what went in, what was left out on the way, what came out. The page stands alone: no
 * script, no network, no other file. It stays below REPORT_BYTES_MAX, whatever the size of the dataset and its texts.
 * It depends only on the dataset and the names and templates in its build.json: equal datasets give equal pages. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#define REPORT_BYTES_MAX 2000000u

/* Adds the page to `page`. Errors: no dataset, a newer version, a damaged or foreign file; ERR_STOPPED. */
int corpus_report_make(struct buf *page, const char *directory, struct error *err);
