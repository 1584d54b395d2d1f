/* The little that we need around jansson: a whole file as an object, a value as text, fields of a kind. */
#ifndef TRAINER_KEEP_JSON_H
#define TRAINER_KEEP_JSON_H

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stddef.h>

#define JSON_FILE_BYTES_MAX (64u << 20) /* a tokenizer.json of a large vocabulary takes a few MB */

/* Reads a file that holds one JSON object; the caller json_decref's it. `kind` is the error's where it does not. */
int json_file_read(const char *path, enum error_kind kind, json_t **out, struct error *err);
/* Writes value as indented text with a final newline (base/file.h: whole or not at all). */
int json_file_write(const char *path, const json_t *value, struct error *err);
/* Appends value as text; flags are jansson's (JSON_COMPACT, JSON_SORT_KEYS, JSON_INDENT(2)). Reals have
 * at most 15 digits, so text → value → text is stable, but a double need not come back to the bit. */
void json_add_text(const json_t *value, size_t flags, struct buf *out);

#endif
