/* The file after --out, checked before the work begins (base/target.h). */
#pragma once

#include "base/target.h"
#include "pipeline/parts/dsdata_settings.h"

/* The bytes of a path before its endings: where ".jsonl.zst" begins. */
size_t output_file_stem(const char *path);
/* The name of one of several files: "valid.jsonl" → "valid-00000-of-00004.jsonl"; for a single one the path itself. The
 * caller frees it with mem_free. */
char *output_file_numbered(const char *path, uint64_t index, uint64_t count);

/* Refuses a `path` that may not be created or replaced. `form` is that of what the command writes (NULL: it recognises
 * nothing). Inputs, the template file and `bare` arguments are what it reads. Standard output ("-" or NULL) is fine. */
int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      const struct target_form *form, struct error *err);
