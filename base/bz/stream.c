/* Decodes a bzip2 file: headers, blocks and ends of streams in turn. */
#include "base/bz/stream.h"

#include "base/bz/block.h"
#include "base/mem.h"

#include <assert.h>

#define HEADER_BYTES 4
#define MAGIC_BITS   48
#define END_BITS     80 /* magic and combined CRC */
#define WINDOW_BYTES (2 * BZIP2_BLOCK_BYTES_MAX)

struct bzip2_stream {
    const char *name;
    struct file *file;   /* NULL: nothing follows */
    struct buf window;   /* of the file */
    uint64_t before;     /* bytes of the file before the window */
    uint64_t bit;        /* of the window: all bits before it have been read */
    uint32_t level, crc; /* of the stream; level 0: between two streams */
    bool zeros;          /* only zero bytes may follow */
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

static int truncated(const struct bzip2_stream *s, struct error *err)
{
    return fail_at(err, ERR_INPUT, s->name, s->before + s->window.size, "is truncated: the bzip2 stream does not end");
}

static int damaged(const struct bzip2_stream *s, const char *what, struct error *err)
{
    fail_at(err, ERR_INPUT, s->name, s->before + s->bit / 8, "damaged: %s", what);
    return hint(err, "'bzip2 -t' tests the file; if it finds no damage, give the output of bzcat");
}

static const uint8_t *bytes_of(const struct bzip2_stream *s)
{
    return (const uint8_t *)s->window.data;
}

/* Reads a header, or zero bytes up to the end. */
static int read_header(struct bzip2_stream *s, struct error *err)
{
    assert(s->bit % 8 == 0); /* a stream begins with a byte */
    const size_t at = (size_t)(s->bit / 8), size = s->window.size;
    s->level = s->zeros ? 0 : level_at(bytes_of(s) + at, size - at);
    s->crc = 0;
    if (s->level > 0) {
        s->bit += 8 * HEADER_BYTES;
        return 0;
    }
    s->zeros = true;
    for (; s->bit / 8 < size; s->bit += 8)
        if (bytes_of(s)[s->bit / 8] != 0)
            return damaged(s, "neither a bzip2 stream nor the end of the file begins here", err);
    return 0;
}

/* Returns 1. */
static int read_block(struct bzip2_stream *s, struct buf *text, struct error *err)
{
    assert(s->level >= 1);
    const size_t left = s->window.size - (size_t)(s->bit / 8);
    const uint8_t *from = bytes_of(s) + s->bit / 8;
    uint64_t end;
    switch (block_decode(s->space, s->stages, from, left < BZIP2_BLOCK_BYTES_MAX ? left : BZIP2_BLOCK_BYTES_MAX,
                         s->bit % 8, s->level, BZIP2_TEXT_MAX, text, &end)) {
    case BZIP2_DONE:
        s->crc =
            (s->crc << 1 | s->crc >> 31) ^ (uint32_t)bzip2_bits(bytes_of(s), s->window.size, s->bit + MAGIC_BITS, 32);
        s->bit = s->bit / 8 * 8 + end;
        return 1;
    case BZIP2_SHORT:
        if (left <= BZIP2_BLOCK_BYTES_MAX)
            return truncated(s, err);
        break;
    case BZIP2_LONG: /* no block is */
    case BZIP2_DAMAGED:
        break;
    }
    return damaged(s, "the bzip2 block that begins here cannot be decoded, or its CRC does not match", err);
}

static int read_end(struct bzip2_stream *s, struct error *err)
{
    if (s->bit + END_BITS > (uint64_t)s->window.size * 8)
        return truncated(s, err);
    if (bzip2_bits(bytes_of(s), s->window.size, s->bit + MAGIC_BITS, 32) != s->crc)
        return damaged(s, "the CRC of the bzip2 stream that ends here does not match its blocks", err);
    s->bit = (s->bit + END_BITS + 7) / 8 * 8;
    s->level = 0;
    return 0;
}

/* Returns 1 if it was a block. */
static int read_part(struct bzip2_stream *s, struct buf *text, struct error *err)
{
    if (s->level == 0)
        return read_header(s, err);
    if (s->bit + MAGIC_BITS > (uint64_t)s->window.size * 8)
        return truncated(s, err);
    const uint64_t magic = bzip2_bits(bytes_of(s), s->window.size, s->bit, MAGIC_BITS);
    if (magic == BZIP2_MAGIC_BLOCK)
        return read_block(s, text, err);
    if (magic == BZIP2_MAGIC_END)
        return read_end(s, err);
    return damaged(s, "neither a bzip2 block nor the end of a stream begins here", err);
}

/* Fills the window, so that it holds the longest part whole, or all that is left of the file. */
static int refill(struct bzip2_stream *s, struct error *err)
{
    const size_t done = (size_t)(s->bit / 8), left = s->window.size - done;
    if (!s->file || left > BZIP2_BLOCK_BYTES_MAX)
        return 0;
    if (done > 0)
        memmove(s->window.data, s->window.data + done, left);
    s->window.size = left;
    s->before += done;
    s->bit %= 8;
    buf_reserve(&s->window, WINDOW_BYTES - left);
    const int64_t got = file_read(s->file, s->window.data + left, WINDOW_BYTES - left, err);
    TRY(got);
    s->window.size += (size_t)got;
    if (s->window.size < WINDOW_BYTES)
        s->file = NULL;
    return 0;
}

struct bzip2_stream *bzip2_stream_open(const char *name, struct str begun, struct file *file)
{
    struct bzip2_stream *s = mem_clear(1, sizeof *s);
    s->name = name;
    s->file = file;
    s->space = block_space_new();
    s->stages = block_stages(vector_level());
    buf_add_str(&s->window, begun);
    return s;
}

int bzip2_stream_next(struct bzip2_stream *s, struct buf *text, struct error *err)
{
    const size_t before = text->size;
    int result = 0;
    while (result == 0) {
        TRY(refill(s, err));
        if (s->level == 0 && s->bit / 8 == s->window.size)
            return 0;
        result = read_part(s, text, err);
    }
    if (result < 0)
        text->size = before;
    return result;
}

void bzip2_stream_close(struct bzip2_stream *s)
{
    if (!s)
        return;
    buf_release(&s->window);
    mem_free(s->space);
    mem_free(s);
}
