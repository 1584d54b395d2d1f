/* Units of a compressed file that stand in a row and tell where they end (frames of Zstandard, members of gzip as bgzip
 * writes them), decoded side by side by the threads of base/parallel.h. What is odd about a unit is left to a reader
 * who takes the file a step at a time: only units that decoded to their last byte are given. */
#ifndef PIPELINE_DUMP_AHEAD_H
#define PIPELINE_DUMP_AHEAD_H

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "pipeline/dump/codecs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AHEAD_STORED_MAX ((size_t)4 << 20)  /* bytes of the file at a time */
#define AHEAD_TEXT_MAX   ((size_t)32 << 20) /* of text */
#define AHEAD_UNITS_MAX  256

struct ahead;

struct ahead *ahead_open(const struct codec *codec); /* NULL: units of this codec do not tell where they end */
void ahead_close(struct ahead *ahead);               /* NULL is fine */

/* Decodes units from byte `from` of the file on, at least two and as many as there is room for. Returns how many; 0:
 * what begins there is for the other reader. */
int ahead_make(struct ahead *ahead, struct file *file, uint64_t from, struct error *err);
/* The next of them: its text, valid until ahead_make, and its bytes in the file. False: they have all been given. */
bool ahead_next(struct ahead *ahead, struct str *text, size_t *stored);
size_t ahead_memory(const struct ahead *ahead); /* bytes that it holds at most */

#endif
