/* Decodes consecutive units of a compressed file in parallel (base/parallel.h), if units tell where they end: frames of
 * Zstandard, and members of gzip as bgzip writes them. Only units that decoded to their last byte are given. Anything
 * odd is left to a reader that decodes the file step by step. */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/codecs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AHEAD_STORED_MAX ((size_t)4 << 20)  /* bytes of the file at once */
#define AHEAD_TEXT_MAX   ((size_t)32 << 20) /* of text */
#define AHEAD_UNITS_MAX  256

struct ahead;

struct ahead *ahead_open(const struct codec *codec); /* NULL: units of this codec do not tell their size */
void ahead_close(struct ahead *ahead);               /* NULL is fine */

/* Decodes units from byte `from` of the file on, at least two and as many as fit. Returns how many; 0: what begins
 * there is left to the other reader; < 0: the file cannot be read. All earlier units must have been given. */
int ahead_make(struct ahead *ahead, struct file *file, uint64_t from, struct error *err);
/* The next of these units: its text, valid until ahead_make, and its size in the file. False: all have been given. */
bool ahead_next(struct ahead *ahead, struct str *text, size_t *stored);
size_t ahead_memory(const struct ahead *ahead); /* the most bytes that it holds */
