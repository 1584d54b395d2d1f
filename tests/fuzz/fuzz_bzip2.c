// room: pipeline
/* In: a level, and either bytes that may hold blocks, or what stands after a block's CRC: then the CRC and the end
 * that fit what our decoder makes of it are written in. Held: every magic is found and nothing else; at each level of
 * the CPU, what our decoder takes, libbz2 takes with the same text and end, and where both have a verdict it is the
 * same. */
#include "tests/fuzz/fuzz.h"

#include "base/bz/block.h"
#include "pipeline/dump/bzip2.h"

#define TEXT_MAX   (1u << 20)
#define BLOCKS_MAX 4u
#define CRC_AT     48u
#define BODY_AT    80u

static struct block_space *space;
static struct bzip2_memory libbz2; /* without stages: libbz2 alone */

static void check_find(const uint8_t *bytes, size_t size)
{
    uint64_t found = bzip2_find(bytes, size, 0, UINT64_MAX);
    for (uint64_t bit = 0; bit + 48 <= (uint64_t)size * 8; bit++) {
        if (bzip2_bits(bytes, size, bit, 48) != BZIP2_MAGIC_BLOCK)
            continue;
        assert(found == bit);
        found = bzip2_find(bytes, size, bit + 1, UINT64_MAX);
    }
    assert(found == UINT64_MAX);
}

static void check_block(const uint8_t *bytes, size_t size, uint64_t bit, uint32_t level)
{
    SCOPED(buf_release) struct buf ours = {0}, theirs = {0};
    struct bzip2_block block = {0};
    const enum bzip2_result verdict = bzip2_decode(&libbz2, bytes, size, bit, level, TEXT_MAX, &theirs, &block);
    enum bzip2_result first = BZIP2_DONE;
    for (unsigned cpu = VECTOR_BASE; cpu <= (unsigned)vector_level(); cpu++) {
        uint64_t end = 0;
        buf_reset(&ours);
        const enum bzip2_result result =
            block_decode(space, block_stages(cpu), bytes, size, bit, level, TEXT_MAX, &ours, &end);
        if (cpu == VECTOR_BASE)
            first = result;
        assert(result == first);
        /* A damaged block that the bytes also cut off may be said to be either. */
        assert(result == BZIP2_DAMAGED || result == verdict || (result == BZIP2_SHORT && verdict == BZIP2_DAMAGED));
        if (result == BZIP2_DONE)
            assert(end == block.end && str_equal(buf_str(&ours), buf_str(&theirs)));
        else
            assert(ours.size == 0);
    }
}

static void put_bits(struct buf *file, uint64_t bit, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, bit++) {
        const char mask = (char)(0x80 >> bit % 8);
        file->data[bit / 8] = (char)((file->data[bit / 8] & ~mask) | (value >> (count - 1 - i) & 1 ? mask : 0));
    }
}

/* A block of these bits with the right CRC and a magic after it, as far as our decoder can read it. */
static void forge(struct buf *file, struct str body, uint32_t level)
{
    const struct block_stages *stages = block_stages(VECTOR_BASE);
    SCOPED(buf_release) struct buf text = {0};
    static const char room[10 + 8];
    buf_add(file, room, BODY_AT / 8);
    put_bits(file, 0, BZIP2_MAGIC_BLOCK, 48);
    buf_add_str(file, body);
    buf_add(file, room, 8);
    struct bits in = bits_from((const uint8_t *)file->data, file->size, CRC_AT);
    if (block_head(space, &in) == BZIP2_DONE && stages->symbols(space, &in) == BZIP2_DONE) {
        const uint64_t end = bits_place(&in);
        if (end + 48 <= (uint64_t)file->size * 8 && stages->rows(space, level * 100000) == BZIP2_DONE &&
            stages->unroll(space, TEXT_MAX, &text) == BZIP2_DONE) {
            put_bits(file, end, BZIP2_MAGIC_END, 48);
            put_bits(file, CRC_AT, stages->crc(&space->crcs, (const uint8_t *)text.data, text.size), 32);
        }
    }
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned choice = take_byte(&data, &size);
    const uint32_t level = 1 + choice / 2 % BZIP2_LEVEL_MAX;
    SCOPED(buf_release) struct buf file = {0};
    if (!space) {
        space = block_space_new();
        libbz2.space = block_space_new();
    }
    if (choice % 2)
        forge(&file, as_str(data, size), level);
    else
        buf_add(&file, data, size);
    SCOPED(mem_free_at) uint8_t *exact = mem_alloc(file.size);
    if (file.size)
        memcpy(exact, file.data, file.size);
    check_find(exact, file.size);
    uint64_t bit = 0;
    for (unsigned i = 0; i < BLOCKS_MAX; i++, bit++) {
        bit = bzip2_find(exact, file.size, bit, UINT64_MAX);
        if (bit == UINT64_MAX)
            break;
        check_block(exact, file.size, bit, level);
    }
    return 0;
}
