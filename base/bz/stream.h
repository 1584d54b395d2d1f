/* Decodes a bzip2 file block by block: one or more streams, then nothing but zero bytes. For a user's files, in bounded
 * memory and one thread; dumps are read in pieces (pipeline/dump).
 *
 *     bzip2_stream_open → bzip2_stream_next … → bzip2_stream_close
 */
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define BZIP2_TEXT_MAX (48u << 20) /* of a block: 900,000 bytes, of which each 5 become up to 259 */

bool bzip2_begins(struct str bytes); /* they begin like a bzip2 file */

/* `begun`: the first bytes of the file (copied); `file` (borrowed) gives the others; NULL: there are no others. `name`:
 * the file, for messages. */
struct bzip2_stream *bzip2_stream_open(const char *name, struct str begun, struct file *file);
/* Appends the text of the next block, at most BZIP2_TEXT_MAX bytes, and returns 1; 0 at the end of the file. Every CRC
 * is checked; on error *text is as long as before. ERR_INPUT, with the byte: truncated, damaged, or a block that only
 * bzip2 itself reads (255 or more different bytes, randomised). */
int bzip2_stream_next(struct bzip2_stream *stream, struct buf *text, struct error *err);
void bzip2_stream_close(struct bzip2_stream *stream); /* NULL is fine */
