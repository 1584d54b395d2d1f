/* struct dump_piece: the bytes of a window, and the blocks that may start in it. */
#pragma once

#include "base/error.h"
#include "pipeline/dump/byte_source.h"
#include "pipeline/dump/bzip2.h"
#include "pipeline/dump/dump.h"

#include <stdint.h>

/* Bytes after the window in every piece of a bzip2 file (as far as the file goes): enough for a magic, a stream's
 * header and a trailer that begin in the window. */
#define WINDOW_BEYOND 64u

/* Fills the piece with bytes [from, from + window_bytes) and `beyond` more. 0 if `from` is at or after the end of the
 * input: then the piece is the END piece, and its `from` is the end of the input; else 1; < 0: as byte_source_read. */
int piece_read(struct byte_source *source, uint64_t window, size_t window_bytes, size_t beyond,
               struct dump_piece *piece, struct error *err);

/* Decodes the block at `bit` of the file, reading on as far as it extends. BZIP2_SHORT: the input ends inside it. Bits
 * in *block are counted in the file. < 0: the file cannot be read; damage is a *result, not an error. */
int piece_block(const struct byte_source *source, struct dump_piece *piece, uint64_t bit, uint32_t level,
                size_t text_max, struct buf *text, struct bzip2_block *block, enum bzip2_result *result,
                struct error *err);

/* Finds and decodes what looks like a block that starts in the window, up to text_max bytes of text. `level`: of the
 * stream, unless a header in the window says it. */
int piece_decode(const struct byte_source *source, struct dump_piece *piece, uint32_t level, size_t text_max,
                 struct error *err);

/* The level in the stream header at bytes[0..4), or 0 if there is none. */
uint32_t stream_level(const uint8_t *bytes, size_t size);
