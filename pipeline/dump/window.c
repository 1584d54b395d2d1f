/* A window is decoded without knowing what precedes it: a magic inside an earlier block is taken for a block too, and
 * the level of the stream is a guess. That costs time, never correctness: chain.c takes only the blocks that it
 * reaches, and decodes what is missing here. */
#include "pipeline/dump/window.h"

#include "base/mem.h"

#include <assert.h>

#define READ_ON_BYTES ((size_t)384 << 10) /* at once; a full block of text takes 230 to 330 KB */
#define EXPANSION     5                   /* of text, usually at most */
#define FALSE_MAX     16                  /* false starts; with more of them, the rest is left to the chain */

uint32_t stream_level(const uint8_t *bytes, size_t size)
{
    bool header = size >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' && bytes[3] <= '9';
    return header ? bytes[3] - (uint32_t)'0' : 0;
}

void piece_release(struct dump_piece *piece)
{
    buf_release(&piece->bytes);
    buf_release(&piece->text);
    mem_free(piece->blocks);
    mem_free(piece->gaps);
    *piece = (struct dump_piece){0};
}

/* Takes the gaps in the piece's window; the END piece takes those at the end. */
static void piece_take_gaps(const struct byte_source *source, struct dump_piece *piece)
{
    const struct gap *gaps;
    const uint64_t end = piece->end ? UINT64_MAX : piece->from + piece->window_size;
    piece->gap_count = byte_source_gaps(source, piece->from, end, &gaps);
    if (piece->gap_count == 0)
        return;
    piece->gaps = mem_grow(piece->gaps, piece->gap_count, sizeof *gaps);
    memcpy(piece->gaps, gaps, piece->gap_count * sizeof *gaps);
}

int piece_read(struct byte_source *source, uint64_t window, size_t window_bytes, size_t beyond,
               struct dump_piece *piece, struct error *err)
{
    *piece = (struct dump_piece){.window = window,
                                 .from = window * window_bytes,
                                 .bytes = piece->bytes,
                                 .text = piece->text,
                                 .blocks = piece->blocks,
                                 .gaps = piece->gaps,
                                 .block_capacity = piece->block_capacity};
    buf_reset(&piece->bytes);
    buf_reset(&piece->text);
    if (beyond > 0) /* blocks may extend further; memory reserved and not touched costs nothing */
        buf_reserve(&piece->bytes, window_bytes + beyond + READ_ON_BYTES);
    TRY(byte_source_read(source, piece->from, window_bytes + beyond, &piece->bytes, err));
    assert(piece->bytes.size <= window_bytes + beyond);
    piece->last = piece->bytes.size < window_bytes + beyond;
    piece->window_size = piece->bytes.size < window_bytes ? piece->bytes.size : window_bytes;
    piece->end = piece->window_size == 0;
    if (piece->end)
        piece->from = byte_source_end(source);
    if (byte_source_is_packed(source))
        piece_take_gaps(source, piece);
    return !piece->end;
}

/* Reads on until the bytes before `end` (counted from the piece's first) are there, if the file has them. */
static int piece_extend(const struct byte_source *source, struct dump_piece *piece, size_t end, struct error *err)
{
    if (piece->last || source->pipe || piece->bytes.size >= end)
        return 0;
    TRY(byte_source_read_file(source, piece->from + piece->bytes.size, end - piece->bytes.size, &piece->bytes, err));
    assert(piece->bytes.size <= end);
    piece->last = piece->bytes.size < end;
    return 0;
}

int piece_block(const struct byte_source *source, struct dump_piece *piece, uint64_t bit, uint32_t level,
                size_t text_max, struct buf *text, struct bzip2_block *block, enum bzip2_result *result,
                struct error *err)
{
    assert(bit / 8 >= piece->from);
    size_t start = (size_t)(bit / 8 - piece->from);
    size_t size = piece->bytes.size > start ? piece->bytes.size - start : 0; /* what the block may read */
    struct bzip2_memory memory = bzip2_take();
    int read = 0;
    /* How long a block is shows only when it is decoded: it is tried with more and more bytes, until it ends, the file
     * ends, or it is longer than any encoder writes. */
    for (;; size += READ_ON_BYTES) {
        if (size < READ_ON_BYTES)
            size = READ_ON_BYTES;
        if (size > BZIP2_BLOCK_BYTES_MAX)
            size = BZIP2_BLOCK_BYTES_MAX;
        read = piece_extend(source, piece, start + size, err);
        if (read < 0)
            break;
        size_t end = piece->bytes.size < start + size ? piece->bytes.size : start + size;
        *result = bzip2_decode(&memory, (const uint8_t *)piece->bytes.data, end, bit - piece->from * 8, level, text_max,
                               text, block);
        if (*result != BZIP2_SHORT || (piece->last && end == piece->bytes.size))
            break;
        if (size == BZIP2_BLOCK_BYTES_MAX) {
            *result = BZIP2_DAMAGED;
            break;
        }
    }
    bzip2_give(&memory);
    TRY(read);
    if (*result == BZIP2_DONE) {
        block->start += piece->from * 8;
        block->end += piece->from * 8;
    }
    return 0;
}

static void block_add(struct dump_piece *piece, const struct bzip2_block *block)
{
    assert(block->start < block->end && block->text_from + block->text_size == piece->text.size);
    assert(piece->block_count == 0 || piece->blocks[piece->block_count - 1].end <= block->start);
    piece->blocks = mem_room(piece->blocks, piece->block_count + 1, &piece->block_capacity, sizeof(*piece->blocks));
    piece->blocks[piece->block_count++] = *block;
}

int piece_decode(const struct byte_source *source, struct dump_piece *piece, uint32_t level, size_t text_max,
                 struct error *err)
{
    uint64_t bit = 0, end = (uint64_t)piece->window_size * 8;
    buf_reserve(&piece->text, piece->window_size * EXPANSION < text_max ? piece->window_size * EXPANSION : text_max);
    /* From one magic to the next: after a block at its end, because a magic inside it is none; after a false start at
     * the next bit. */
    for (unsigned false_starts = 0; false_starts < FALSE_MAX;) {
        const uint8_t *bytes = (const uint8_t *)piece->bytes.data;
        bit = bzip2_find(bytes, piece->bytes.size, bit, end);
        if (bit == UINT64_MAX)
            break;
        /* A block after a header is the first of its stream, whose level it states. */
        if (bit % 8 == 0 && bit >= 32 && stream_level(bytes + bit / 8 - 4, 4))
            level = stream_level(bytes + bit / 8 - 4, 4);

        struct bzip2_block block;
        enum bzip2_result result;
        size_t room = text_max > piece->text.size ? text_max - piece->text.size : 0;
        uint64_t at = piece->from * 8 + bit;
        TRY(piece_block(source, piece, at, level, room, &piece->text, &block, &result, err));
        if (result == BZIP2_DAMAGED && level < BZIP2_LEVEL_MAX) /* perhaps the guessed level was too low */
            TRY(piece_block(source, piece, at, BZIP2_LEVEL_MAX, room, &piece->text, &block, &result, err));
        if (result == BZIP2_LONG) /* text_max is reached: what is left is decoded when the chain comes to it */
            break;
        false_starts += result != BZIP2_DONE;
        if (result == BZIP2_DONE)
            block_add(piece, &block);
        bit = result == BZIP2_DONE ? block.end - piece->from * 8 : bit + 1;
    }
    return 0;
}
