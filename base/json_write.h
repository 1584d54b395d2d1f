/* Writing JSON with jansson: a value to a file or to text. base/json.h reads. */
#pragma once

#include "base/json.h"

#include <stddef.h>

/* Writes value as indented text with a final newline; the file is replaced atomically (base/file.h). */
int json_file_write(const char *path, const json_t *value, struct error *err);
/* Appends value as text; flags are jansson's (JSON_COMPACT, JSON_SORT_KEYS, JSON_INDENT(2)). Reals have at most 15
 * digits, so text → value → text is stable, but double → text → double is not always bit-exact. */
void json_add_text(const json_t *value, size_t flags, struct buf *out);
