/* One bzip2 block: found at every bit, decoded with its exact end, refused when anything is wrong. */
#include "tests/pipeline/dump/dump_files.h"

#include "pipeline/dump/bzip2.h"

/* Makes a varied text: words, runs, bytes. */
static void make_text(struct buf *text, size_t size, uint64_t seed)
{
    uint64_t random = seed;
    while (text->size < size) {
        uint32_t draw = test_random(&random);
        size_t run = draw % 2000 == 0 ? draw / 64 % 700 : 1;
        for (size_t i = 0; i < run; i++)
            buf_add_byte(text, (char)(seed % 2 ? draw >> 8 : 'a' + (draw >> 8) % 7));
    }
    text->size = size;
}

static const uint8_t *data(const struct buf *buf)
{
    return (const uint8_t *)buf->data;
}

TEST(bits_are_read_at_every_place)
{
    const uint8_t bytes[9] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x81};
    assert_int_equal(bzip2_bits(bytes, 9, 0, 8), 0x12);
    assert_int_equal(bzip2_bits(bytes, 9, 4, 48), 0x23456789abcd);
    assert_int_equal(bzip2_bits(bytes, 9, 7, 56), (0x123456789abcdef0u << 7) >> 8);
    assert_int_equal(bzip2_bits(bytes, 9, 71, 1), 1);
    assert_int_equal(bzip2_bits(bytes, 9, 70, 2), 1);
    assert_int_equal(bzip2_bits(bytes, 9, 64, 8), 0x81);
}

TEST(a_magic_is_found_at_every_bit)
{
    for (uint64_t at = 0; at <= 8 * 20 - 48; at++) {
        for (int fill = 0; fill < 2; fill++) {
            uint8_t bytes[20];
            memset(bytes, fill ? 0x35 : 0, sizeof(bytes)); /* a byte of the magic, to reach the exact comparison */
            for (unsigned i = 0; i < 48; i++) {
                unsigned bit = BZIP2_MAGIC_BLOCK >> (47 - i) & 1;
                uint8_t mask = (uint8_t)(0x80 >> (at + i) % 8);
                bytes[(at + i) / 8] = (uint8_t)((bytes[(at + i) / 8] & ~mask) | (bit ? mask : 0));
            }
            assert_int_equal(bzip2_find(bytes, 20, 0, 160), at);
            assert_int_equal(bzip2_find(bytes, 20, at, at + 1), at);
            assert_int_equal(bzip2_find(bytes, 20, 0, at), UINT64_MAX);
            assert_int_equal(bzip2_find(bytes, 20, at + 1, 160), UINT64_MAX);
            size_t needed = (size_t)((at + 48 + 7) / 8);
            assert_int_equal(bzip2_find(bytes, needed, 0, 160), at);
            assert_int_equal(bzip2_find(bytes, needed - 1, 0, 160), UINT64_MAX);
        }
    }
}

/* Follows the blocks of one stream and compares the result with its original text. Returns the number of blocks. */
static unsigned follow(struct str text, int level, size_t block_bytes, size_t before)
{
    SCOPED(buf_release) struct buf file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block block;
    unsigned blocks = 0;
    for (size_t i = 0; i < before; i++)
        buf_add_byte(&file, 'x');
    add_stream(&file, text, level, block_bytes);
    uint64_t bit = before * 8 + 32;
    while (bzip2_bits(data(&file), file.size, bit, 48) == BZIP2_MAGIC_BLOCK) {
        size_t from = out.size;
        assert_int_equal(bzip2_find(data(&file), file.size, bit, bit + 1), bit);
        assert_int_equal(
            bzip2_decode(&memory, data(&file), file.size, bit, (uint32_t)level, SIZE_MAX / 2, &out, &block),
            BZIP2_DONE);
        assert_int_equal(block.start, bit);
        assert_int_equal(block.text_from, from);
        assert_int_equal(block.text_size, out.size - from);
        bit = block.end;
        blocks++;
    }
    assert_int_equal(bzip2_bits(data(&file), file.size, bit, 48), BZIP2_MAGIC_END);
    assert_int_equal((bit + 80 + 7) / 8, file.size);
    assert_same(buf_str(&out), text);
    bzip2_release(&memory);
    return blocks;
}

TEST(blocks_decode_to_the_text)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        SCOPED(buf_release) struct buf text = {0};
        make_text(&text, 250000, seed);
        assert_true(follow(buf_str(&text), 1, 0, 0) >= 2);
        assert_int_equal(follow(buf_str(&text), 9, 0, 5), 1);
        assert_int_equal(follow((struct str){text.data, 5000}, 9, 100, 3), 50); /* 50 blocks, which begin at all bits of
                                                                                 * a byte */
        assert_int_equal(follow((struct str){text.data, 1}, 9, 0, 0), 1);
        assert_int_equal(follow((struct str){text.data, 40}, 1, 1, 0), 40);
    }
}

/* A block needs the magic after it, including the last byte that the magic touches. */
static void short_input_is_short(const char *decoder)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block block;
    setenv("DSDATA_BZIP2", decoder, 1);
    make_text(&text, 3000, 8);
    add_stream(&file, buf_str(&text), 9, 0);
    const size_t least = file.size - 4; /* the stream's CRC */
    for (size_t size = 4; size < least; size++)
        assert_int_equal(bzip2_decode(&memory, data(&file), size, 32, 9, 10000, &out, &block), BZIP2_SHORT);
    assert_int_equal(out.size, 0);
    assert_int_equal(bzip2_decode(&memory, data(&file), least, 32, 9, 10000, &out, &block), BZIP2_DONE);
    assert_same(buf_str(&out), buf_str(&text));
    unsetenv("DSDATA_BZIP2");
    bzip2_release(&memory);
}

TEST(short_input_is_short_at_every_length)
{
    short_input_is_short("own");
    short_input_is_short("libbz2");
}

TEST(a_block_begins_with_its_magic)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block block;
    make_text(&text, 3000, 8);
    add_stream(&file, buf_str(&text), 9, 0);
    for (unsigned bit = 32; bit < 32 + 48; bit++) {
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
        assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 9, 10000, &out, &block), BZIP2_DAMAGED);
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
    }
    bzip2_release(&memory);
}

TEST(no_flipped_bit_changes_the_text)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    unsigned same = 0;
    make_text(&text, 700, 3);
    add_stream(&file, buf_str(&text), 1, 0);
    struct bzip2_block whole, block;
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 1, 10000, &out, &whole), BZIP2_DONE);
    for (uint64_t bit = 0; bit < file.size * 8; bit++) {
        buf_reset(&out);
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
        if (bzip2_decode(&memory, data(&file), file.size, 32, 1, 10000, &out, &block) == BZIP2_DONE) {
            assert_same(buf_str(&out), buf_str(&text));
            /* a bit inside the block, in an unused part of a table */
            same += bit >= 32 && bit < whole.end;
        } else {
            assert_int_equal(out.size, 0);
        }
        file.data[bit / 8] ^= (char)(0x80 >> bit % 8);
    }
    assert_true(same < 100);
    bzip2_release(&memory);
}

TEST(a_block_too_long_is_refused)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block block;
    make_text(&text, 150000, 2);
    add_stream(&file, buf_str(&text), 2, 0);
    buf_add_text(&out, "kept");
    /* too long for its level */
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 1, SIZE_MAX / 2, &out, &block), BZIP2_DAMAGED);
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 2, SIZE_MAX / 2, &out, &block), BZIP2_DONE);
    out.size = 4;
    /* too long for the room */
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 2, 149999, &out, &block), BZIP2_LONG);
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 2, 0, &out, &block), BZIP2_LONG);
    assert_int_equal(out.size, 4);
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 2, 150000, &out, &block), BZIP2_DONE);
    assert_int_equal(out.size, 150004);
    assert_memory_equal(out.data, "kept", 4);
    bzip2_release(&memory);
}

TEST(a_full_block_of_zeros_is_its_46_megabytes)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block block;
    buf_reserve(&text, 47000000);
    memset(text.data, 0, 47000000);
    text.size = 47000000;
    add_stream(&file, buf_str(&text), 9, 0);
    assert_true(file.size < 200);
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 9, 1u << 20, &out, &block), BZIP2_LONG);
    assert_int_equal(bzip2_decode(&memory, data(&file), file.size, 32, 9, BZIP2_TEXT_BYTES_MAX, &out, &block),
                     BZIP2_DONE);
    assert_true(block.text_size > 45000000 && block.text_size <= BZIP2_TEXT_BYTES_MAX);
    bzip2_release(&memory);
}
