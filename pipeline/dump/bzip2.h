/* One bzip2 block at a time, from memory: where blocks may start, and the text of a block. Pure. Files, streams, levels
 * and the CRCs of streams are left to chain.h. The format is drawn in base/bz/bz_format.h. */
#pragma once

#include "base/bz/bz_format.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bzip2_block {
    uint64_t start, end; /* bits: of its magic, and of the magic after it */
    uint32_t crc;
    uint32_t level;              /* the block is not longer than this level allows */
    size_t text_from, text_size; /* in the buffer that it was decoded to */
};

/* A decoder and its memory (7.4 MB, of which text uses 5). Ready to use when zeroed; one thread at a time. The
 * environment variable DSDATA_BZIP2=libbz2 makes it use libbz2 only. */
struct bzip2_memory {
    struct block_space *space;
    const struct block_stages *stages; /* NULL: libbz2 only */
    unsigned parts;                    /* allocations of libbz2 in the space */
};
void bzip2_release(struct bzip2_memory *memory);
/* Takes an unused decoder, or a new one. Unused decoders are kept until the program ends: as many as threads have ever
 * decoded at once. Any thread. */
struct bzip2_memory bzip2_take(void);
void bzip2_give(struct bzip2_memory *memory);

/* The first bit in [from, to) at which a block's magic starts that is completely in bytes[0..size), or UINT64_MAX. */
uint64_t bzip2_find(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to);

/* Decodes the block at `bit` and appends its text, at most text_max bytes. Only if the result is BZIP2_DONE is *block
 * filled and *text longer; then the CRC is right. Bits in *block are counted in `bytes`. */
enum bzip2_result bzip2_decode(struct bzip2_memory *memory, const uint8_t *bytes, size_t size, uint64_t bit,
                               uint32_t level, size_t text_max, struct buf *text, struct bzip2_block *block);
