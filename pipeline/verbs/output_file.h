/* Where a verb writes. The name is checked before the work begins, which may take hours. */
#ifndef PIPELINE_VERBS_OUTPUT_FILE_H
#define PIPELINE_VERBS_OUTPUT_FILE_H

#include "pipeline/dsdata_settings.h"

/* May `path` be created or replaced? ERR_USAGE: it is a directory or a device, its folder does not exist, it is one of
 * a dataset's own files, or it is a file that this command reads. Standard output ("-" or NULL) is fine. */
int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      struct error *err);
/* The same, and without --force an existing file is ERR_USAGE too. */
int output_file_new(const struct dsdata_settings *settings, struct opt_paths bare, const char *path, struct error *err);

#endif
