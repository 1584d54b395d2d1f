/* Usually this only compares numbers: the blocks were decoded by piece_decode. A block that is not in the piece, or was
 * decoded with a level higher than its stream's, is decoded here. So the verdict on a file is libbz2's, whatever was
 * guessed before. */
#include "pipeline/dump/chain.h"

#include "pipeline/dump/window.h"

#include <assert.h>
#include <inttypes.h>

#define DAMAGE_HINT                                                                                                    \
    "compare the file with the checksum published beside it; if they differ, download it again ('bzip2 -t' tests "     \
    "it), or "                                                                                                         \
    "leave out what is damaged with --salvage"

static const uint8_t *piece_at(const struct dump_piece *piece, uint64_t offset, size_t *left)
{
    assert(offset >= piece->from);
    size_t at = (size_t)(offset - piece->from);
    *left = piece->bytes.size > at ? piece->bytes.size - at : 0;
    return (const uint8_t *)piece->bytes.data + at;
}

static uint64_t file_end(const struct dump_piece *piece)
{
    return piece->from + piece->bytes.size; /* the end of the file, if piece->last */
}

static int truncated(const struct byte_source *source, uint64_t end, uint64_t start, const char *what,
                     struct error *err)
{
    fail_at(err, ERR_INPUT, source->name, end,
            "the file is truncated: it ends inside the %s that begins at byte %" PRIu64, what, start);
    return hint(err, DAMAGE_HINT);
}

/* Checks that every byte of the window from the chain on is zero. */
static int take_padding(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                        struct error *err)
{
    size_t left;
    uint64_t at = chain->bit / 8, end = piece->from + piece->window_size;
    const uint8_t *bytes = piece_at(piece, at, &left);
    assert(at <= end && left >= end - at);
    for (uint64_t i = 0; i < end - at; i++) {
        if (bytes[i] != 0) {
            fail_at(err, ERR_INPUT, source->name, at + i, "the bzip2 data end here, but other bytes follow");
            return hint(err, DAMAGE_HINT);
        }
    }
    chain->bit = end * 8;
    return 0;
}

/* Between streams: reads a header, or begins the padding. */
static int take_header(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                       struct error *err)
{
    size_t left;
    uint64_t at = chain->bit / 8;
    assert(chain->bit % 8 == 0); /* a stream begins with a byte */
    const uint8_t *bytes = piece_at(piece, at, &left);
    uint32_t level = stream_level(bytes, left);
    if (level) {
        chain->level = level;
        chain->crc = 0;
        chain->bit += 32;
        return 0;
    }
    if (left < 4 && memcmp(bytes, "BZh", left < 3 ? left : 3) == 0)
        return truncated(source, file_end(piece), at, "bzip2 header", err);
    chain->padding = true;
    return take_padding(chain, source, piece, err);
}

/* Reads the end of a stream: magic, combined CRC, and any bits up to the next byte. */
static int take_trailer(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                        struct error *err)
{
    const uint8_t *bytes = (const uint8_t *)piece->bytes.data;
    uint64_t bit = chain->bit - piece->from * 8;
    if (bit + 80 > (uint64_t)piece->bytes.size * 8)
        return truncated(source, file_end(piece), chain->bit / 8, "end of a bzip2 stream", err);
    const uint32_t stored = (uint32_t)bzip2_bits(bytes, piece->bytes.size, bit + 48, 32);
    if (!chain->unsure && stored != chain->crc) {
        fail_at(err, ERR_INPUT, source->name, (chain->bit + 48) / 8,
                "damaged: the CRC of the bzip2 stream that ends here does not match its blocks");
        return hint(err, DAMAGE_HINT);
    }
    /* In the stream where a guess began, chain->crc covers its later blocks only: `unsure`, and dump_join compares. */
    if (chain->head.place == HEAD_INSIDE) {
        assert(chain->unsure);
        chain->head.place = HEAD_AFTER;
        chain->head.crc = chain->crc;
        chain->head.stored = stored;
    }
    chain->bit = (chain->bit + 80 + 7) / 8 * 8;
    chain->level = 0;
    chain->crc = 0;
    chain->unsure = false;
    return 0;
}

/* Reports why the block at the chain's bit is refused. */
static int refuse_block(struct chain *chain, const struct byte_source *source, struct dump_piece *piece,
                        enum bzip2_result result, struct error *err)
{
    uint64_t at = chain->bit / 8;
    struct bzip2_block block;
    if (result == BZIP2_SHORT)
        return truncated(source, file_end(piece), at, "bzip2 block", err);
    TRY(piece_block(source, piece, chain->bit, BZIP2_LEVEL_MAX, BZIP2_TEXT_BYTES_MAX, &chain->text, &block, &result,
                    err));
    if (result == BZIP2_DONE)
        fail_at(err, ERR_INPUT, source->name, at,
                "damaged: the bzip2 block that begins here is longer than the header of its stream allows (BZh%" PRIu32
                ")",
                chain->level);
    else
        fail_at(err, ERR_INPUT, source->name, at,
                "damaged: the bzip2 block that begins here cannot be decoded, or its CRC does not match");
    return hint(err, DAMAGE_HINT);
}

static int take_block(struct chain *chain, const struct byte_source *source, struct dump_piece *piece, struct str *text,
                      struct error *err)
{
    while (piece->next_block < piece->block_count && piece->blocks[piece->next_block].start < chain->bit)
        piece->next_block++; /* false starts inside real blocks */
    struct bzip2_block block = {0};
    const struct buf *from = &piece->text;
    if (piece->next_block < piece->block_count)
        block = piece->blocks[piece->next_block];
    if (block.start != chain->bit || block.level > chain->level) {
        enum bzip2_result result;
        from = &chain->text;
        buf_reset(&chain->text);
        TRY(piece_block(source, piece, chain->bit, chain->level, BZIP2_TEXT_BYTES_MAX, &chain->text, &block, &result,
                        err));
        if (result != BZIP2_DONE)
            return refuse_block(chain, source, piece, result, err);
    }
    assert(block.start == chain->bit && block.end > block.start && block.level <= chain->level);
    /* The combined CRC of a stream: rotated by one for each block. Because that is linear, dump_join can prepend the
     * blocks before a part that began with a guess, if it knows how many blocks came after them. */
    chain->crc = (chain->crc << 1 | chain->crc >> 31) ^ block.crc;
    if (chain->head.place == HEAD_INSIDE) {
        chain->head.blocks++;
        if (chain->head.level < block.level)
            chain->head.level = block.level;
    }
    chain->bit = block.end;
    *text = (struct str){from->data + block.text_from, block.text_size};
    return CHAIN_TEXT;
}

/* After damage, or at the beginning of a part of a file: finds the next block in the window whose CRC is right. Nothing
 * is known about its stream. */
static int look_for_block(struct chain *chain, const struct byte_source *source, struct dump_piece *piece,
                          struct error *err)
{
    assert(chain->bit >= piece->from * 8);
    uint64_t bit = chain->bit - piece->from * 8;
    const uint64_t end = (uint64_t)piece->window_size * 8;
    for (;; bit++) {
        struct bzip2_block block;
        enum bzip2_result result;
        bit = bzip2_find((const uint8_t *)piece->bytes.data, piece->bytes.size, bit, end);
        if (bit == UINT64_MAX)
            break;
        const uint64_t at = piece->from * 8 + bit;
        buf_reset(&chain->text);
        TRY(piece_block(source, piece, at, BZIP2_LEVEL_MAX, BZIP2_TEXT_BYTES_MAX, &chain->text, &block, &result, err));
        /* A magic alone may be chance. A block whose CRC is right is not, so it ends the search; its level is unknown,
         * and the combined CRC of its stream cannot be checked. */
        if (result == BZIP2_DONE) {
            chain->bit = at;
            chain->level = BZIP2_LEVEL_MAX;
            chain->crc = 0;
            chain->unsure = true;
            chain->padding = false;
            return CHAIN_TEXT;
        }
    }
    chain->bit = piece->from * 8 + end;
    return CHAIN_END;
}

int chain_to_block(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece,
                   struct error *err)
{
    uint64_t window_end = (piece->from + piece->window_size) * 8;
    while (chain->bit < window_end) {
        assert(chain->bit / 8 >= piece->from);
        uint64_t bit = chain->bit - piece->from * 8, bits = (uint64_t)piece->bytes.size * 8, magic = 0;
        if (chain->padding) {
            TRY(take_padding(chain, source, piece, err));
            continue;
        }
        if (chain->level == 0) {
            TRY(take_header(chain, source, piece, err));
            continue;
        }
        if (bit + 48 > bits)
            return truncated(source, file_end(piece), chain->bit / 8, "bzip2 stream", err);
        magic = bzip2_bits((const uint8_t *)piece->bytes.data, piece->bytes.size, bit, 48);
        if (magic == BZIP2_MAGIC_BLOCK)
            return CHAIN_TEXT;
        if (magic != BZIP2_MAGIC_END) {
            fail_at(err, ERR_INPUT, source->name, chain->bit / 8,
                    "damaged: neither a bzip2 block nor the end of a stream begins here");
            return hint(err, DAMAGE_HINT);
        }
        TRY(take_trailer(chain, source, piece, err));
    }
    return CHAIN_END;
}

static int next_text(struct chain *chain, const struct byte_source *source, struct dump_piece *piece, struct str *text,
                     struct error *err)
{
    const int more = chain_to_block(chain, source, piece, err);
    return more == CHAIN_TEXT ? take_block(chain, source, piece, text, err) : more;
}

int chain_next(struct chain *chain, const struct byte_source *source, struct dump_piece *piece, struct str *text,
               struct error *err)
{
    const bool sought = chain->head.place == HEAD_SOUGHT;
    assert(!piece->end);             /* chain_end takes that one */
    assert(!sought || !chain->lost); /* a part that seeks its first block has lost none */
    if (!chain->lost && !sought) {
        const int more = next_text(chain, source, piece, text, err);
        if (more >= 0 || !chain->salvage || err->kind != ERR_INPUT)
            return more;
        chain->lost = chain->bit;
    }
    const int found = look_for_block(chain, source, piece, err);
    if (found != CHAIN_TEXT)
        return found;
    if (sought) {
        chain->head.place = HEAD_INSIDE;
        chain->head.bit = chain->bit;
        return next_text(chain, source, piece, text, err);
    }
    if (chain->head.place == HEAD_INSIDE)
        chain->head.place = HEAD_UNCHECKED;
    assert(chain->bit >= chain->lost); /* the search goes forward */
    chain->gap_bytes = (chain->bit - chain->lost) / 8;
    chain->lost = 0;
    return CHAIN_GAP;
}

int chain_end(struct chain *chain, const struct byte_source *source, const struct dump_piece *piece, struct error *err)
{
    assert(piece->end);
    if (!chain->lost && (chain->level == 0 || chain->head.place == HEAD_SOUGHT))
        return 0;
    if (!chain->salvage)
        return truncated(source, piece->from, chain->bit / 8, "bzip2 stream", err);
    chain->gap_bytes = piece->from - (chain->lost ? chain->lost : chain->bit) / 8;
    chain->lost = chain->level = 0;
    return CHAIN_GAP;
}
