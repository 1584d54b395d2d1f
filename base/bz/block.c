/* The flow of one block. Start reading here, then symbols.h, bz_rows.h, unroll.h. */
#include "base/bz/block.h"

#include "base/mem.h"

#include <assert.h>

#define MAGIC_BITS  48
#define LEVEL_BYTES 100000u /* of text for each level of a stream */

struct block_space *block_space_new(void)
{
    struct block_space *space = mem_aligned(sizeof(*space));
    crc_fill(&space->crcs);
    return space;
}

const struct block_stages *block_stages(enum vector_level level)
{
#if defined(__x86_64__)
    static const struct block_stages *const stages[] = {
        [VECTOR_BASE] = &block_stages_base, [VECTOR_AVX2] = &block_stages_avx2, [VECTOR_AVX512] = &block_stages_avx512};
    _Static_assert(sizeof stages / sizeof *stages == VECTOR_LEVELS, "stages for every level");
    return stages[level];
#else
    (void)level;
    return &block_stages_base;
#endif
}

/* For bytes that end in the block or right after it: true if what there is would be damaged whatever follows. */
static bool is_damaged(const struct block_space *space, size_t size_max, bool whole)
{
    uint64_t size = 0;
    for (size_t i = 0; i < space->run_count; i++)
        size += space->runs[i] >> 8;
    return size > size_max || space->origin >= (whole ? size : size_max);
}

/* Checks that a magic follows the block. */
static enum bzip2_result check_end(const uint8_t *bytes, size_t size, uint64_t end)
{
    if (end + MAGIC_BITS > (uint64_t)size * 8)
        return BZIP2_SHORT;
    const uint64_t magic = bzip2_bits(bytes, size, end, MAGIC_BITS);
    return magic == BZIP2_MAGIC_BLOCK || magic == BZIP2_MAGIC_END ? BZIP2_DONE : BZIP2_DAMAGED;
}

enum bzip2_result block_decode(struct block_space *space, const struct block_stages *stages, const uint8_t *bytes,
                               size_t size, uint64_t bit, uint32_t level, size_t text_max, struct buf *text,
                               uint64_t *end)
{
    const size_t size_max = (size_t)level * LEVEL_BYTES, before = text->size;
    struct bits in = bits_from(bytes, size, bit + MAGIC_BITS);
    enum bzip2_result result = block_head(space, &in);
    if (result != BZIP2_DONE)
        return result;
    /* Huffman codes, move-to-front and run lengths: bits to runs of the last column. A block does not say how long it
     * is: that the bits were read as they were written shows only in its end symbol and the magic number after it. */
    result = stages->symbols(space, &in);
    assert(space->run_count <= RUNS_MAX && bits_place(&in) > bit);
    const bool whole = result == BZIP2_DONE;
    *end = bits_place(&in);
    if (whole)
        result = check_end(bytes, size, *end);
    /* More bytes would not help a block that is wrong already: the caller need not wait for them. */
    if (result == BZIP2_SHORT && is_damaged(space, size_max, whole))
        result = BZIP2_DAMAGED;
    /* Undo the sorting of rotations (BWT), then the runs of four and more that the encoder shortened before it. */
    if (result == BZIP2_DONE)
        result = stages->rows(space, size_max);
    if (result == BZIP2_DONE)
        result = stages->unroll(space, text_max, text);
    /* The CRC is of the text, so it covers every stage above. */
    if (result == BZIP2_DONE &&
        stages->crc(&space->crcs, (const uint8_t *)text->data + before, text->size - before) != space->crc)
        result = BZIP2_DAMAGED;
    if (result != BZIP2_DONE)
        text->size = before;
    return result;
}
