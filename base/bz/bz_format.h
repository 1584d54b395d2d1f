/* The format of bzip2, as far as every reader must know it:
 *
 *     stream   BZh level │ block │ block │ … │ 0x177245385090, combined CRC │ bits up to the next byte
 *     block    0x314159265359, CRC (32 bits), …        starts and ends at any bit
 *
 * Bits are counted from the first byte's highest bit. Format:
 * https://github.com/dsnet/compress/blob/master/doc/bzip2-format.pdf */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BZIP2_MAGIC_BLOCK 0x314159265359u /* 48 bits */
#define BZIP2_MAGIC_END   0x177245385090u
#define BZIP2_LEVEL_MAX   9

/* Compressed bytes of a block. The longest block that an encoder can write takes 2.3 MB (block.h asserts the sum).
 * libbz2 has no limit: the delta coding of code lengths may step up and down forever. A block with 800 kB of such steps
 * is refused, which bounds memory on hostile input. */
#define BZIP2_BLOCK_BYTES_MAX (3u << 20)
/* Decoded bytes of a block: 900,000 bytes, of which each 5 (four equal bytes and a count) expand to at most 259. */
#define BZIP2_TEXT_BYTES_MAX (900000u / 5 * 259)

enum bzip2_result {
    BZIP2_DONE,
    BZIP2_SHORT,   /* the bytes end before the block and the magic after it */
    BZIP2_DAMAGED, /* not a block, a wrong CRC, too long for the level, or no magic after it */
    BZIP2_LONG,    /* decodes to more than text_max */
};

/* The bits [bit, bit + count), count at most 56; all of them must be in bytes[0..size). */
uint64_t bzip2_bits(const uint8_t *bytes, size_t size, uint64_t bit, unsigned count);
