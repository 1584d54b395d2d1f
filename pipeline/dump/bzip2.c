/* Blocks are decoded by base/bz. A block that it finds odd or wrong is given to libbz2, which decides, as a stream of
 * its own: "BZh", the level, and the bits from the block's start on, shifted to a byte boundary. The end of that stream
 * is not made up. libbz2 takes its input byte by byte as it needs bits, so with no room for output it stops right after
 * the block's last bit. The block's end is one of the last eight bit positions: the one that a magic follows. (Only one
 * can, because neither magic contains a part of the other or of itself.) Then the text is taken out without further
 * input; libbz2 has checked the CRC when it asks for the next byte. */
#include "pipeline/dump/bzip2.h"

#include "base/bz/block.h"
#include "base/mem.h"

#include <assert.h>
#include <bzlib.h>
#include <pthread.h>
#include <stdlib.h>

#define MAGIC_BITS    48
#define SHIFTED_BYTES 4096u        /* shifted at once */
#define TEXT_STEP     (256u << 10) /* room given to libbz2 at once */

/* A magic covers all eight bits of the third byte from its start. `phases[b]` has bit s if b can be that byte of a
 * magic that starts s bits into its first byte. Only 3 of 100 bytes need a closer look. */
static void find_phases(uint8_t phases[256])
{
    memset(phases, 0, 256);
    for (unsigned s = 0; s < 8; s++)
        phases[BZIP2_MAGIC_BLOCK >> (24 + s) & 0xff] |= (uint8_t)(1u << s);
}

uint64_t bzip2_find(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to)
{
    if ((uint64_t)size * 8 < MAGIC_BITS)
        return UINT64_MAX;
    if (to > (uint64_t)size * 8 - MAGIC_BITS + 1)
        to = (uint64_t)size * 8 - MAGIC_BITS + 1;
    uint8_t phases[256];
    find_phases(phases);
    for (size_t i = (size_t)(from / 8); (uint64_t)i * 8 < to; i++) {
        unsigned possible = phases[bytes[i + 2]];
        for (unsigned s = 0; possible >> s; s++) {
            uint64_t bit = (uint64_t)i * 8 + s;
            if ((possible >> s & 1) && bit >= from && bit < to &&
                bzip2_bits(bytes, size, bit, MAGIC_BITS) == BZIP2_MAGIC_BLOCK)
                return bit;
        }
    }
    return UINT64_MAX;
}

static void open_memory(struct bzip2_memory *memory)
{
    const char *asked = getenv("DSDATA_BZIP2");
    memory->space = block_space_new();
    memory->stages = asked && strcmp(asked, "libbz2") == 0 ? NULL : block_stages(vector_level());
}

void bzip2_release(struct bzip2_memory *memory)
{
    mem_free(memory->space);
    *memory = (struct bzip2_memory){0};
}

/* Decoders that are not in use. */
static struct {
    pthread_mutex_t mutex;
    struct bzip2_memory *memories;
    size_t count, capacity;
} idle = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct bzip2_memory bzip2_take(void)
{
    struct bzip2_memory memory = {0};
    pthread_mutex_lock(&idle.mutex);
    if (idle.count > 0)
        memory = idle.memories[--idle.count];
    pthread_mutex_unlock(&idle.mutex);
    return memory;
}

void bzip2_give(struct bzip2_memory *memory)
{
    pthread_mutex_lock(&idle.mutex);
    idle.memories = mem_room(idle.memories, idle.count + 1, &idle.capacity, sizeof *idle.memories);
    idle.memories[idle.count++] = *memory;
    pthread_mutex_unlock(&idle.mutex);
    *memory = (struct bzip2_memory){0};
}

/* libbz2 allocates twice per stream: its state, and four bytes for each byte of the block. */
static void *memory_take(void *opaque, int count, int bytes)
{
    struct bzip2_memory *memory = opaque;
    struct block_space *space = memory->space;
    const size_t size = (size_t)count * (size_t)bytes;
    assert(memory->parts < 2 && size <= (memory->parts ? sizeof(space->rows) : sizeof(space->runs)));
    return memory->parts++ ? space->rows : space->runs;
}

static void memory_give(void *opaque, void *part)
{
    (void)opaque;
    (void)part;
}

/* Feeds libbz2 the bits from `bit` on until it has read a whole block. 1: it has, and *after is the bit after its last
 * byte; 0: the bytes have ended; -1: libbz2 refuses them. */
static int read_block(bz_stream *stream, const uint8_t *bytes, size_t size, uint64_t bit, uint64_t *after)
{
    unsigned shift = (unsigned)(bit % 8);
    size_t at = (size_t)(bit / 8);
    while (at + 1 <
           size) { /* the last byte may lack the bits that a shift takes from its successor; a magic is there anyway */
        size_t count = size - at - 1 < SHIFTED_BYTES ? size - at - 1 : SHIFTED_BYTES;
        char shifted[SHIFTED_BYTES];
        for (size_t i = 0; i < count; i++)
            shifted[i] = (char)(uint8_t)((unsigned)(bytes[at + i] << 8 | bytes[at + i + 1]) << shift >> 8);
        stream->next_in = shifted;
        stream->avail_in = (unsigned)count;
        if (BZ2_bzDecompress(stream) != BZ_OK)
            return -1;
        at += count - stream->avail_in;
        if (stream->avail_in > 0) {
            *after = (uint64_t)at * 8 + shift;
            return 1;
        }
    }
    return 0;
}

/* Writes the text of the block that libbz2 has read. */
static enum bzip2_result write_text(bz_stream *stream, size_t text_max, struct buf *text)
{
    size_t from = text->size;
    stream->avail_in = 0;
    do {
        if (text->size - from > text_max)
            return BZIP2_LONG;
        size_t room = text_max - (text->size - from) + 1; /* one byte more than allowed reveals a block that is too
                                                           * long */
        if (room > TEXT_STEP)
            room = TEXT_STEP;
        buf_reserve(text, room);
        stream->next_out = text->data + text->size;
        stream->avail_out = (unsigned)room;
        if (BZ2_bzDecompress(stream) != BZ_OK)
            return BZIP2_DAMAGED;
        text->size += room - stream->avail_out;
    } while (stream->avail_out == 0);
    return text->size - from > text_max ? BZIP2_LONG : BZIP2_DONE;
}

/* Finds the block's end among the eight bits up to `after`. */
static enum bzip2_result find_end(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *end)
{
    if (after + MAGIC_BITS > (uint64_t)size * 8)
        return BZIP2_SHORT;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t magic = bzip2_bits(bytes, size, after - i, MAGIC_BITS);
        if (magic == BZIP2_MAGIC_BLOCK || magic == BZIP2_MAGIC_END) {
            *end = after - i;
            return BZIP2_DONE;
        }
    }
    return BZIP2_DAMAGED;
}

/* After its text: whether the magic that find_end saw follows where libbz2 itself is, which takes five of its bytes and
 * refuses a wrong one. Damage may move the end of a block by a few bits, and the magic is then only near it. */
static bool magic_follows(bz_stream *stream, const uint8_t *bytes, size_t size, uint64_t after)
{
    char next[5];
    for (size_t i = 0; i < sizeof next; i++)
        next[i] = (char)(uint8_t)bzip2_bits(bytes, size, after + 8 * i, 8);
    stream->next_in = next;
    stream->avail_in = sizeof next;
    return BZ2_bzDecompress(stream) == BZ_OK;
}

static enum bzip2_result decode_by_libbz2(struct bzip2_memory *memory, const uint8_t *bytes, size_t size, uint64_t bit,
                                          uint32_t level, size_t text_max, struct buf *text, uint64_t *end)
{
    memory->parts = 0;
    bz_stream stream = {.bzalloc = memory_take, .bzfree = memory_give, .opaque = memory};
    int begun = BZ2_bzDecompressInit(&stream, 0, 0);
    assert(begun == BZ_OK);
    char header[4] = {'B', 'Z', 'h', (char)('0' + level)};
    stream.next_in = header;
    stream.avail_in = sizeof(header);
    int header_read = BZ2_bzDecompress(&stream);
    assert(header_read == BZ_OK);

    uint64_t after = 0;
    const size_t before = text->size;
    const int whole = read_block(&stream, bytes, size, bit, &after);
    enum bzip2_result result = whole < 0 ? BZIP2_DAMAGED : whole == 0 ? BZIP2_SHORT : find_end(bytes, size, after, end);
    if (result == BZIP2_DONE)
        result = write_text(&stream, text_max, text);
    if (result == BZIP2_DONE && !magic_follows(&stream, bytes, size, after))
        result = BZIP2_DAMAGED;
    if (result != BZIP2_DONE)
        text->size = before;
    BZ2_bzDecompressEnd(&stream);
    return result;
}

enum bzip2_result bzip2_decode(struct bzip2_memory *memory, const uint8_t *bytes, size_t size, uint64_t bit,
                               uint32_t level, size_t text_max, struct buf *text, struct bzip2_block *block)
{
    assert(level >= 1 && level <= BZIP2_LEVEL_MAX);
    if (bit + MAGIC_BITS > (uint64_t)size * 8)
        return BZIP2_SHORT;
    if (bzip2_bits(bytes, size, bit, MAGIC_BITS) != BZIP2_MAGIC_BLOCK)
        return BZIP2_DAMAGED;
    if (!memory->space)
        open_memory(memory);
    uint64_t end = 0;
    const size_t before = text->size;
    enum bzip2_result result = BZIP2_DAMAGED;
    if (memory->stages)
        result = block_decode(memory->space, memory->stages, bytes, size, bit, level, text_max, text, &end);
    if (result == BZIP2_DAMAGED)
        result = decode_by_libbz2(memory, bytes, size, bit, level, text_max, text, &end);
    assert(result != BZIP2_DONE || (end > bit && text->size - before <= text_max));
    assert(result == BZIP2_DONE || text->size == before);
    if (result == BZIP2_DONE)
        *block = (struct bzip2_block){.start = bit,
                                      .end = end,
                                      .crc = (uint32_t)bzip2_bits(bytes, size, bit + MAGIC_BITS, 32),
                                      .level = level,
                                      .text_from = before,
                                      .text_size = text->size - before};
    return result;
}
