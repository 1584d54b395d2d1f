/* Decodes a bzip2 file: headers, blocks and ends of streams in turn. */
#include "base/bz/stream.h"

#include "base/bz/block.h"
#include "base/mem.h"

#include <assert.h>

#define HEADER_BYTES 4
#define MAGIC_BITS   48
#define END_BITS     80 /* magic and combined CRC */

struct unpacking {
    const char *name;
    const uint8_t *bytes;
    size_t size, text_max;
    uint64_t bit;        /* all bits before it have been read */
    uint32_t level, crc; /* of the stream; level 0: between two streams */
    struct block_space *space;
    const struct block_stages *stages;
};

static uint32_t level_at(const uint8_t *bytes, size_t size)
{
    return size >= HEADER_BYTES && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' && bytes[3] <= '9'
               ? (uint32_t)(bytes[3] - '0')
               : 0;
}

bool bzip2_begins(struct str bytes)
{
    return level_at((const uint8_t *)bytes.data, bytes.size) > 0;
}

static int truncated(const struct unpacking *u, struct error *err)
{
    return fail_at(err, ERR_INPUT, u->name, u->size, "is truncated: the bzip2 stream does not end");
}

static int damaged(const struct unpacking *u, const char *what, struct error *err)
{
    fail_at(err, ERR_INPUT, u->name, u->bit / 8, "damaged: %s", what);
    return hint(err, "'bzip2 -t' tests the file; if it finds no damage, give the output of bzcat");
}

/* Reads a header, or zero bytes up to the end. */
static int read_header(struct unpacking *u, struct error *err)
{
    assert(u->bit % 8 == 0); /* a stream begins with a byte */
    const size_t at = (size_t)(u->bit / 8);
    u->level = level_at(u->bytes + at, u->size - at);
    u->crc = 0;
    if (u->level > 0) {
        u->bit += 8 * HEADER_BYTES;
        return 0;
    }
    for (; u->bit / 8 < u->size; u->bit += 8)
        if (u->bytes[u->bit / 8] != 0)
            return damaged(u, "neither a bzip2 stream nor the end of the file begins here", err);
    return 0;
}

static int read_block(struct unpacking *u, struct buf *text, struct error *err)
{
    assert(u->level >= 1 && text->size <= u->text_max);
    const size_t room = u->text_max - text->size, left = (size_t)(u->size - u->bit / 8);
    const uint8_t *from = u->bytes + u->bit / 8;
    uint64_t end;
    switch (block_decode(u->space, u->stages, from, left < BZIP2_BLOCK_BYTES_MAX ? left : BZIP2_BLOCK_BYTES_MAX,
                         u->bit % 8, u->level, room, text, &end)) {
    case BZIP2_DONE:
        u->crc = (u->crc << 1 | u->crc >> 31) ^ (uint32_t)bzip2_bits(u->bytes, u->size, u->bit + MAGIC_BITS, 32);
        u->bit = u->bit / 8 * 8 + end;
        return 0;
    case BZIP2_LONG:
        return fail_at(err, ERR_UNSAFE, u->name, u->bit / 8, "is longer than %zu bytes unpacked", u->text_max);
    case BZIP2_SHORT:
        if (left <= BZIP2_BLOCK_BYTES_MAX)
            return truncated(u, err);
        break;
    case BZIP2_DAMAGED:
        break;
    }
    return damaged(u, "the bzip2 block that begins here cannot be decoded, or its CRC does not match", err);
}

static int read_end(struct unpacking *u, struct error *err)
{
    if (u->bit + END_BITS > (uint64_t)u->size * 8)
        return truncated(u, err);
    if (bzip2_bits(u->bytes, u->size, u->bit + MAGIC_BITS, 32) != u->crc)
        return damaged(u, "the CRC of the bzip2 stream that ends here does not match its blocks", err);
    u->bit = (u->bit + END_BITS + 7) / 8 * 8;
    u->level = 0;
    return 0;
}

static int read_part(struct unpacking *u, struct buf *text, struct error *err)
{
    if (u->level == 0)
        return read_header(u, err);
    if (u->bit + MAGIC_BITS > (uint64_t)u->size * 8)
        return truncated(u, err);
    const uint64_t magic = bzip2_bits(u->bytes, u->size, u->bit, MAGIC_BITS);
    if (magic == BZIP2_MAGIC_BLOCK)
        return read_block(u, text, err);
    if (magic == BZIP2_MAGIC_END)
        return read_end(u, err);
    return damaged(u, "neither a bzip2 block nor the end of a stream begins here", err);
}

int bzip2_unpack(const char *name, struct str bytes, size_t text_max, struct buf *text, struct error *err)
{
    const size_t before = text->size;
    struct unpacking u = {
        .name = name,
        .bytes = (const uint8_t *)bytes.data,
        .size = bytes.size,
        .text_max = before + text_max,
        .space = block_space_new(),
        .stages = block_stages(vector_level()),
    };
    int result = 0;
    while (result == 0 && (u.level > 0 || u.bit / 8 < u.size))
        result = read_part(&u, text, err);
    if (result < 0)
        text->size = before;
    mem_free(u.space);
    return result;
}
