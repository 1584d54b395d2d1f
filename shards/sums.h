/* SHA256SUMS of a dataset, as sha256sum(1) writes and checks them: the list to sign when vouching for a dataset.
 *
 *     HEX  manifest.json
 *     HEX  seq128/train-00000-of-00004.dss          names below the dataset, sorted bytewise
 *
 * The list covers the manifest and what it names. build.json is not included, so equal datasets have equal sums. */
#pragma once

#include "shards/verify.h"

/* Writes the sums of the dataset in `directory` to a file. The caller has just verified the dataset. ERR_STOPPED:
 * `progress` asked for it, and no file was written. */
int sums_write(const char *directory, const char *path, struct verify_progress progress, struct error *err);
/* Compares the dataset with a list; what differs or is not listed is added to the report. ERR_VERIFY: it is not a list
 * of this dataset; ERR_STOPPED. */
int sums_check(const char *directory, const char *path, struct verify_progress progress, struct verify_report *report,
               struct error *err);
