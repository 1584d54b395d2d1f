/* Parses untrusted JSON with jansson in bounded memory, and writes JSON. The tree of a known file (manifest, tokenizer,
 * safetensors header) takes 4 to 9 times its size, but that of a text of only "{}," up to 75 times. So each kind of
 * file has a size limit, and its tree may take JSON_TREE_PER_BYTE times that limit (briefly up to twice as much, while
 * a hash table grows). */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stddef.h>

#define JSON_TREE_PER_BYTE 8u

/* For process_open: makes jansson allocate from base/mem.h. */
void json_memory_open(void);

/* Parses an object or array without duplicate keys. The caller json_decref's it. NULL and *why if the text is neither,
 * or if the tree would take more than JSON_TREE_PER_BYTE * bytes_max. Any thread. */
json_t *json_parse(struct str text, size_t bytes_max, json_error_t *why);

/* The byte offset at which json_parse failed. */
uint64_t json_error_place(const json_error_t *why);

/* Reads a whole file of at most bytes_max (else ERR_UNSAFE) that holds one object (else `kind`). Skips a byte order
 * mark. */
int json_read(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err);

/* The same for files that other programs write, such as Python: an integer beyond 64 bits (model_max_length) becomes a
 * real; NaN, Infinity, -Infinity and numbers too large for a double become null. */
int json_read_foreign(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err);

/* Writing JSON: a value to a file or to text. */

/* Writes value as indented text with a final newline; the file is replaced atomically (base/file.h). */
int json_file_write(const char *path, const json_t *value, struct error *err);
/* Appends value as text; flags are jansson's (JSON_COMPACT, JSON_SORT_KEYS, JSON_INDENT(2)). Reals have at most 15
 * digits, so text → value → text is stable, but double → text → double is not always bit-exact. */
void json_add_text(const json_t *value, size_t flags, struct buf *out);
