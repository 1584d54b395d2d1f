/* Results for bzip2 files of every shape: the same text as libbz2, or an error that names the byte, with every window
 * size. */
#include "tests/pipeline/dump/dump_files.h"

#include "pipeline/dump/bzip2.h"

static const size_t windows[] = {13, 100, 4096, 1 << 20};

/* Reads with all window sizes, also with all decoding left to the cut. Returns 0 if all succeed, with the groups of the
 * plain text, or -1 if all fail with the same error; anything else fails the test. */
static int verdict(struct str file, struct str text, struct error *err)
{
    SCOPED(buf_release) struct buf expected = {0}, got = {0};
    struct error last = {0};
    int result = 0, text_result = 0;
    if (text.size) {
        struct dump_options whole = small_options(SIZE_MAX / 16);
        text_result = read_bytes(text, &whole, &expected, err);
        assert_int_equal(text_result, 0);
    }
    for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
        struct dump_options options = small_options(windows[i]);
        options.piece_bytes_max = i % 2 ? 1000 : 24u << 20;
        result = read_bytes(file, &options, &got, &last);
        if (i > 0) {
            assert_int_equal(result < 0, err->kind != ERR_NONE);
            if (result < 0)
                assert_string_equal(last.text, err->text);
        }
        if (result < 0)
            *err = last;
        else
            err->kind = ERR_NONE;
        if (result == 0 && windows[i] == 1 << 20)
            assert_same(buf_str(&got), buf_str(&expected)); /* with one window, the groups are those of the plain text
                                                             * */
    }
    return result;
}

static void assert_refused(struct str file, const char *message, uint64_t offset)
{
    struct error err;
    assert_int_equal(verdict(file, (struct str){0}, &err), -1);
    if (err.kind != ERR_INPUT || !strstr(err.text, message) || err.offset != offset)
        fail_msg("kind %d, byte %" PRIu64 " (not %" PRIu64 "): %s (not: %s)", (int)err.kind, err.offset, offset,
                 err.text, message);
    assert_true(err.hint[0] != '\0');
}

static void assert_accepted(struct str file, struct str text)
{
    struct error err = {0};
    if (verdict(file, text, &err) < 0)
        fail_msg("refused at byte %" PRIu64 ": %s", err.offset, err.text);
}

static struct buf make_dump(unsigned pages)
{
    struct buf text = {0};
    add_dump(&text, pages, 300, 5);
    return text;
}

/* Adds the text in streams of `part` bytes. */
static void add_streams(struct buf *file, struct str text, size_t part, size_t block_bytes)
{
    for (size_t at = 0; at < text.size; at += part) {
        struct str piece = {text.data + at, text.size - at < part ? text.size - at : part};
        add_stream(file, piece, 1 + (int)(at / part % 2), at / part % 2 ? block_bytes : 0);
    }
}

/* First, because it checks the peak of memory. */
TEST(a_bomb_stays_small)
{
    struct buf text = {0}, file = {0}, part = {0}, got = {0};
    add_page(&text, 1, 10, &(uint64_t){1});
    buf_add_text(&part, test_head);
    buf_add_str(&part, buf_str(&text));
    buf_add_text(&part, "<page><text>");
    add_stream(&file, buf_str(&part), 9, 0);
    buf_reset(&part);
    buf_reserve(&part, 40000000);
    memset(part.data, '\n', 40000000);
    part.size = 40000000;
    for (int i = 0; i < 5; i++)
        add_stream(&file, buf_str(&part), 9, 0);
    buf_release(&part);
    buf_add_text(&part, "</text></page>");
    buf_add_str(&part, buf_str(&text));
    buf_add_text(&part, "</mediawiki>");
    add_stream(&file, buf_str(&part), 9, 0);
    assert_true(file.size < 2000);
    uint64_t before = mem_peak_bytes();
    struct dump_options options = small_options(1 << 20);
    struct error err;
    assert_int_equal(read_bytes(buf_str(&file), &options, &got, &err), 0);
    assert_non_null(strstr(got.data, "records 2 oversize 1"));
    assert_true(got.size < 1000);
    assert_true(mem_peak_bytes() - before < 200u << 20); /* one block's text, a piece, a group */
    buf_release(&text);
    buf_release(&file);
    buf_release(&part);
    buf_release(&got);
}

TEST(streams_of_every_shape_are_one_text)
{
    SCOPED(buf_release) struct buf text = make_dump(12), file = {0};
    for (size_t part = 1; part < text.size; part = part * 3 + 1) {
        for (size_t block = 1; block < 300; block = block * 5 + 2) {
            if (text.size / part > 500 || text.size / block > 500)
                continue;
            buf_reset(&file);
            add_streams(&file, buf_str(&text), part, block);
            assert_accepted(buf_str(&file), buf_str(&text));
        }
    }
    buf_reset(&file);
    add_stream(&file, buf_str(&text), 9, 0);
    assert_accepted(buf_str(&file), buf_str(&text));
}

TEST(empty_streams_and_zero_padding_are_fine)
{
    SCOPED(buf_release) struct buf text = make_dump(3), file = {0};
    for (int i = 0; i < 3; i++)
        add_stream(&file, (struct str){"", 0}, 9 - i, 0);
    add_streams(&file, buf_str(&text), 400, 50);
    add_stream(&file, (struct str){"", 0}, 1, 0);
    assert_accepted(buf_str(&file), buf_str(&text));
    for (int i = 0; i < 300; i++) {
        buf_add_byte(&file, 0);
        if (i < 5 || i % 99 == 0)
            assert_accepted(buf_str(&file), buf_str(&text));
    }
}

TEST(trailing_garbage_is_named)
{
    SCOPED(buf_release) struct buf text = make_dump(3), file = {0};
    add_streams(&file, buf_str(&text), 400, 50);
    size_t end = file.size;
    buf_add_text(&file, "garbage");
    assert_refused(buf_str(&file), "other bytes follow", end);
    file.size = end;
    for (int i = 0; i < 50; i++)
        buf_add_byte(&file, 0);
    buf_add_byte(&file, 'B');
    assert_refused(buf_str(&file), "other bytes follow", end + 50);
    file.size = end + 10;
    add_stream(&file, STR("x"), 1, 0); /* a stream after a gap */
    assert_refused(buf_str(&file), "other bytes follow", end + 10);
    file.size = end;
    buf_add_text(&file, "BZ");
    assert_refused(buf_str(&file), "truncated", end + 2);
}

TEST(every_truncation_is_named)
{
    SCOPED(buf_release) struct buf text = make_dump(5), file = {0}, got = {0};
    for (int shape = 0; shape < 2; shape++) {
        buf_reset(&file);
        size_t last = SIZE_MAX;
        if (shape) {
            add_streams(&file, (struct str){text.data, text.size - 1}, 500, 60);
            last = file.size;
            add_stream(&file, STR("\n"), 9, 0);
            last = file.size - last;
        } else {
            add_stream(&file, buf_str(&text), 1, 333);
        }
        for (size_t size = 4; size < file.size; size++) { /* a shorter file is taken for text */
            struct error err;
            struct dump_options options = small_options(size % 2 ? 64 : 1 << 20);
            if (read_bytes((struct str){file.data, size}, &options, &got, &err) == 0) {
                assert_int_equal(file.size - size, last); /* only the newline after </mediawiki> is gone */
                continue;
            }
            assert_int_equal(err.kind, ERR_INPUT);
            assert_non_null(strstr(err.text, "truncated"));
            assert_int_equal(err.offset, size);
        }
    }
}

/* A flipped bit (at least two in every byte) is found, unless it has no meaning (padding, an unused table). */
TEST(every_flipped_bit_is_found_or_harmless)
{
    SCOPED(buf_release) struct buf text = make_dump(2), file = {0}, good = {0}, got = {0}, peer = {0};
    add_stream(&file, (struct str){text.data, 700}, 1, 0);
    add_stream(&file, (struct str){text.data + 700, text.size - 700}, 2, 400);
    struct dump_options options = small_options(200);
    struct error err;
    assert_int_equal(read_bytes(buf_str(&file), &options, &good, &err), 0);
    unsigned harmless = 0;
    for (size_t bit = 0; bit < file.size * 8; bit += 3) {
        file.data[bit / 8] ^= (char)(1u << bit % 8);
        buf_reset(&peer);
        bool peer_refuses = decode_all(buf_str(&file), &peer) < 0;
        int result = read_bytes(buf_str(&file), &options, &got, &err);
        if (result < 0) {
            assert_true(err.kind == ERR_INPUT);
            assert_true(bit < 32 || err.offset <= file.size);
        } else {
            assert_same(buf_str(&got), buf_str(&good));
            harmless++;
        }
        assert_int_equal(result < 0, peer_refuses); /* libbz2's verdict */
        file.data[bit / 8] ^= (char)(1u << bit % 8);
    }
    assert_true(harmless < file.size / 4);
}

TEST(a_wrong_stream_crc_is_named)
{
    SCOPED(buf_release) struct buf text = make_dump(3), file = {0};
    add_stream(&file, (struct str){text.data, 800}, 5, 100);
    size_t end = file.size;
    add_stream(&file, (struct str){text.data + 800, text.size - 800}, 5, 0);
    file.data[end - 3] ^= 0x10; /* inside the combined CRC, whatever the padding */
    struct error err;
    assert_int_equal(verdict(buf_str(&file), (struct str){0}, &err), -1);
    assert_non_null(strstr(err.text, "CRC of the bzip2 stream"));
    assert_true(err.offset >= end - 6 && err.offset < end);
}

/* The header of a stream is changed to a lower level than its block needs. */
TEST(a_block_above_its_streams_level_is_refused)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    uint64_t random = 1;
    buf_add_text(&text, test_head);
    for (unsigned i = 0; i < 40; i++)
        add_page(&text, i, 5000, &random);
    buf_add_text(&text, "</mediawiki>");
    add_stream(&file, (struct str){text.data, 1000}, 9, 0);
    size_t second = file.size;
    add_stream(&file, (struct str){text.data + 1000, text.size - 1000}, 3, 0);
    assert_accepted(buf_str(&file), buf_str(&text));
    file.data[second + 3] = '9'; /* a higher level than needed */
    assert_accepted(buf_str(&file), buf_str(&text));
    file.data[second + 3] = '1';
    assert_refused(buf_str(&file), "longer than the header of its stream allows", second + 4);
    file.data[second + 3] = '0';
    assert_refused(buf_str(&file), "other bytes follow", second);
}

struct bits {
    struct buf bytes;
    unsigned used; /* bits */
};

static void bits_add(struct bits *bits, uint64_t value, unsigned count)
{
    while (count-- > 0) {
        if (bits->used % 8 == 0)
            buf_add_byte(&bits->bytes, 0);
        bits->bytes.data[bits->bytes.size - 1] |= (char)((value >> count & 1) << (7 - bits->used++ % 8));
    }
}

/* Returns the one-block stream with a block's magic planted `count` times in superfluous selectors, which a decoder
 * skips. This works because the magic has no three ones in a row. */
static struct buf plant_in_selectors(struct str stream, unsigned count)
{
    const uint8_t *from = (const uint8_t *)stream.data;
    struct bits out = {0};
    uint64_t at = 32 + 48 + 32 + 1 + 24;
    unsigned groups = 0, zeros = 0;
    for (unsigned i = 0; i < 16; i++)
        groups += (unsigned)bzip2_bits(from, stream.size, at + i, 1);
    at += 16 + 16 * groups;
    assert_true(bzip2_bits(from, stream.size, at, 3) >= 3); /* at least 3 tables, so that "110" is a valid selector */
    unsigned selectors = (unsigned)bzip2_bits(from, stream.size, at + 3, 15);
    for (uint64_t i = 0; i < at + 3; i++)
        bits_add(&out, bzip2_bits(from, stream.size, i, 1), 1);
    for (unsigned i = 0; i < 48; i++)
        zeros += !(BZIP2_MAGIC_BLOCK >> i & 1);
    bits_add(&out, selectors + count * (zeros + 1), 15);
    at += 18;
    for (unsigned i = 0; i < selectors; at++) {
        uint64_t bit = bzip2_bits(from, stream.size, at, 1);
        bits_add(&out, bit, 1);
        i += !bit;
    }
    for (unsigned i = 0; i < count; i++) {
        bits_add(&out, BZIP2_MAGIC_BLOCK, 48); /* ends with a one */
        bits_add(&out, 0, 1);
    }
    for (uint64_t end = (uint64_t)stream.size * 8; at < end; at++)
        bits_add(&out, bzip2_bits(from, stream.size, at, 1), 1);
    return out.bytes;
}

TEST(magics_inside_a_block_are_passed_over)
{
    SCOPED(buf_release) struct buf text = make_dump(12), stream = {0}, peer = {0};
    add_stream(&stream, buf_str(&text), 1, 0);
    for (unsigned count = 0; count <= 100; count = count * 5 + 1) {
        SCOPED(buf_release) struct buf planted = plant_in_selectors(buf_str(&stream), count);
        buf_reset(&peer);
        assert_int_equal(decode_all(buf_str(&planted), &peer), 0);
        assert_same(buf_str(&peer), buf_str(&text));
        assert_accepted(buf_str(&planted), buf_str(&text));
    }
}

/* Returns the stream with code lengths of the first table that first go up and down `detours` times. */
static struct buf plant_detours(struct str stream, unsigned detours)
{
    const uint8_t *from = (const uint8_t *)stream.data;
    struct bits out = {0};
    uint64_t at = 32 + 48 + 32 + 1 + 24;
    unsigned groups = 0;
    for (unsigned i = 0; i < 16; i++)
        groups += (unsigned)bzip2_bits(from, stream.size, at + i, 1);
    at += 16 + 16 * groups + 3;
    const unsigned selectors = (unsigned)bzip2_bits(from, stream.size, at, 15);
    at += 15;
    for (unsigned i = 0; i < selectors; at++)
        i += !bzip2_bits(from, stream.size, at, 1);
    at += 5;
    for (uint64_t i = 0; i < at; i++)
        bits_add(&out, bzip2_bits(from, stream.size, i, 1), 1);
    for (unsigned i = 0; i < detours; i++)
        bits_add(&out, 11, 4); /* one more, one less */
    for (uint64_t end = (uint64_t)stream.size * 8; at < end; at++)
        bits_add(&out, bzip2_bits(from, stream.size, at, 1), 1);
    return out.bytes;
}

TEST(a_block_is_at_most_three_megabytes)
{
    SCOPED(buf_release) struct buf text = make_dump(12), stream = {0}, peer = {0}, got = {0};
    const struct dump_options options = small_options(1 << 20);
    add_stream(&stream, buf_str(&text), 1, 0);
    for (unsigned more = 0; more < 2; more++) {
        struct error err = {0};
        SCOPED(buf_release)
        struct buf planted = plant_detours(buf_str(&stream), 2 * (BZIP2_BLOCK_BYTES_MAX + (more ? 0 : -100000)));
        buf_reset(&peer);
        assert_int_equal(decode_all(buf_str(&planted), &peer), 0);
        assert_same(buf_str(&peer), buf_str(&text));
        assert_int_equal(read_bytes(buf_str(&planted), &options, &got, &err), more ? -1 : 0);
        if (more)
            assert_true(err.kind == ERR_INPUT && err.offset == 4 && strstr(err.text, "bzip2 block that begins here"));
    }
}

/* A valid block inside bytes that are not a block, as an attacker would plant it. */
TEST(planted_blocks_are_not_taken)
{
    SCOPED(buf_release) struct buf text = make_dump(3), file = {0}, planted = {0};
    add_stream(&file, buf_str(&text), 9, 0);
    add_stream(&planted, STR("<page>planted</page>"), 9, 0);
    size_t end = file.size;
    buf_add(&file, planted.data + 1, planted.size - 1); /* without its B: garbage that contains a valid block */
    assert_refused(buf_str(&file), "other bytes follow", end);
    /* Many false magics: the parallel decoding gives up on the window, the chain does not. */
    buf_reset(&file);
    add_stream(&file, (struct str){text.data, 50}, 9, 0);
    end = file.size;
    for (int i = 0; i < 200; i++)
        buf_add(&file, "\x31\x41\x59\x26\x53\x59", 6);
    assert_refused(buf_str(&file), "other bytes follow", end);
}

GROUP(NULL, test_file_remove)
