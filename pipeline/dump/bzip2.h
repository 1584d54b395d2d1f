/* One bzip2 block at a time, from memory: where blocks may start, and what a block says. Pure. Knows nothing of files,
 * streams, levels or CRCs of streams: that is chain.h.
 *
 *     stream   BZh level │ block │ block │ … │ 0x177245385090, combined CRC │ bits up to the next byte
 *     block    0x314159265359, CRC (32 bits), …        starts and ends at any bit
 *
 * Bits are counted from the first byte's highest. Format:
 * https://github.com/dsnet/compress/blob/master/doc/bzip2-format.pdf */
#ifndef PIPELINE_DUMP_BZIP2_H
#define PIPELINE_DUMP_BZIP2_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BZIP2_MAGIC_BLOCK 0x314159265359u /* 48 bits */
#define BZIP2_MAGIC_END   0x177245385090u
#define BZIP2_LEVEL_MAX   9

/* Compressed bytes of a block: the longest that an encoder can write takes 2.3 MB (the sum is asserted in bz/block.h). For
 * libbz2 there is no longest one, because it lets the lengths of codes go up and down without end; a block that does so
 * for 800 kB is refused, so that hostile input cannot ask for any amount of memory. */
#define BZIP2_BLOCK_BYTES_MAX (3u << 20)
/* Decoded bytes of a block: 900,000 in runs of 5 that stand for up to 259. */
#define BZIP2_TEXT_BYTES_MAX (900000u / 5 * 259)

struct bzip2_block {
    uint64_t start, end; /* bits: of its magic, and of the magic behind it */
    uint32_t crc;
    uint32_t level;              /* it is not longer than this level allows */
    size_t text_from, text_size; /* in the buffer it was decoded to */
};

enum bzip2_result {
    BZIP2_DONE,
    BZIP2_SHORT,   /* the bytes end before the block and the magic behind it do */
    BZIP2_DAMAGED, /* not a block, a wrong CRC, too long for the level, or no magic behind it */
    BZIP2_LONG,    /* decodes to more than text_max */
};

/* A decoder and its memory (7.4 MB, of which text touches 5). Zeroed is ready to use; one thread at a time. The environment
 * variable DSDATA_BZIP2=libbz2 makes it libbz2 alone. */
struct bzip2_memory {
    struct block_space *space;
    const struct block_stages *stages; /* NULL: libbz2 alone */
    unsigned parts;                    /* that libbz2 has taken of the space */
};
void bzip2_release(struct bzip2_memory *memory);
/* One that was given back, or a new one. Those that nobody has are kept until the program ends: as many as threads have
 * ever decoded at once. Any thread. */
struct bzip2_memory bzip2_take(void);
void bzip2_give(struct bzip2_memory *memory);

/* The bits [bit, bit + count), count at most 56; all of them must be in bytes[0..size). */
uint64_t bzip2_bits(const uint8_t *bytes, size_t size, uint64_t bit, unsigned count);

/* First bit in [from, to) where a block's magic stands that is wholly in bytes[0..size), or UINT64_MAX. */
uint64_t bzip2_find(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to);

/* Decodes the block at `bit` and appends its text, at most text_max bytes. *block is filled and *text is longer only
 * where the result is BZIP2_DONE: then its CRC holds. Bits in *block are those of `bytes`. */
enum bzip2_result bzip2_decode(struct bzip2_memory *memory, const uint8_t *bytes, size_t size, uint64_t bit,
                               uint32_t level, size_t text_max, struct buf *text, struct bzip2_block *block);

#endif
