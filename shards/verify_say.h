/* The output of `verify`, in both programs: progress, facts for --json, a line for each damaged range. */
#pragma once

#include "base/progress.h"
#include "shards/verify.h"

#include <jansson.h>

/* A verify_progress that updates the line of `progress` and obeys requests to stop. `progress` must outlive it. */
struct verify_progress verify_shown(struct progress *progress);

/* ok, files, bytes, damaged [{file, from, to, what}], unnamed [name]. The caller owns the reference. */
json_t *verify_json(const struct verify_report *report);
/* Prints ranges and names on stdout, or that there are none. Any damage is an ERR_VERIFY that names the first of it. */
int verify_say(const char *directory, const struct verify_report *report, struct error *err);
