/* Decodes a whole bzip2 file in memory: one or more streams, then nothing but zero bytes. For a user's files that fit
 * into memory; dumps are read in pieces (pipeline/dump). */
#ifndef BASE_BZ_STREAM_H
#define BASE_BZ_STREAM_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

bool bzip2_begins(struct str bytes); /* does it begin like a bzip2 file? */

/* Appends the text. Every CRC is checked; on error *text is as long as before. `name`: the file, for messages.
 * ERR_INPUT, with the byte: truncated, damaged, or a block that only bzip2 itself reads (255 or more different bytes,
 * randomised); ERR_UNSAFE: more than text_max bytes. */
int bzip2_unpack(const char *name, struct str bytes, size_t text_max, struct buf *text, struct error *err);

#endif
