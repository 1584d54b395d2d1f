/* JSON from outside, as jansson's tree, in bounded memory. A tree takes 4 to 9 times the text of the files we know
 * (manifests, tokenizers, headers of tensors), but up to 75 times for a text of nothing but "{},". So each kind of file
 * has a limit of its size, and its tree may take JSON_TREE_PER_BYTE times that limit (briefly up to twice as much,
 * while a hash table grows). */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <jansson.h>
#include <stddef.h>

#define JSON_TREE_PER_BYTE 8u

/* For process_open: makes jansson allocate from base/mem.h. */
void json_memory_open(void);

/* The text as an object or array (duplicate keys are refused), which the caller json_decref's. NULL and *why if it is
 * neither, or if the tree would take more than JSON_TREE_PER_BYTE * bytes_max. Any thread. */
json_t *json_parse(struct str text, size_t bytes_max, json_error_t *why);

/* The byte of the text at which json_parse gave up. */
uint64_t json_error_place(const json_error_t *why);

/* Reads a whole file of at most bytes_max (else ERR_UNSAFE) that holds one object (else `kind`), also after a UTF-8
 * mark. */
int json_read(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err);

/* The same for files that other programs write, as Python does: an integer beyond 64 bits (model_max_length) becomes a
 * real, and NaN, Infinity, -Infinity and numbers beyond a double become null. */
int json_read_foreign(const char *path, size_t bytes_max, enum error_kind kind, json_t **out, struct error *err);

/* Writing JSON with jansson: a value to a file or to text. base/json.h reads. */

/* Writes value as indented text with a final newline; the file is replaced atomically (base/file.h). */
int json_file_write(const char *path, const json_t *value, struct error *err);
/* Appends value as text; flags are jansson's (JSON_COMPACT, JSON_SORT_KEYS, JSON_INDENT(2)). Reals have at most 15
 * digits, so text → value → text is stable, but double → text → double is not always bit-exact. */
void json_add_text(const json_t *value, size_t flags, struct buf *out);
