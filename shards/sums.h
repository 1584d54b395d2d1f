/* SHA256SUMS of a dataset, as sha256sum(1) writes and checks them: what one signs who vouches for the dataset.
 *
 *     HEX  manifest.json
 *     HEX  seq128/train-00000-of-00004.dss          names below the dataset, sorted bytewise
 *
 * They name the manifest and what it names, so equal datasets have equal sums: build.json is not
 * among them. */
#ifndef SHARDS_SUMS_H
#define SHARDS_SUMS_H

#include "shards/verify.h"

/* Writes the sums of the dataset in `directory` to a file; its bytes were verified just before. */
int sums_write(const char *directory, const char *path, struct verify_progress progress, struct error *err);
/* Compares: what differs, or is not listed, is added to the report. A list of something else: ERR_VERIFY. */
int sums_check(const char *directory, const char *path, struct verify_progress progress, struct verify_report *report,
               struct error *err);

#endif
