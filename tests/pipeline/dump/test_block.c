/* Our block decoder against libbz2, at every CPU level of this machine: the same text and end for every block that ours
 * accepts, whether good, damaged or forged; it accepts the blocks that encoders write. */
#include "tests/pipeline/dump/dump_files.h"

#include "base/bz/block.h"

static struct block_space *space;
static struct bzip2_memory libbz2;

static int open_decoders(void **state)
{
    (void)state;
    space = block_space_new();
    libbz2.space = block_space_new(); /* no stages: libbz2 alone */
    return 0;
}

static int close_decoders(void **state)
{
    (void)state;
    mem_free(space);
    bzip2_release(&libbz2);
    return 0;
}

static const uint8_t *data(const struct buf *buf)
{
    return (const uint8_t *)buf->data;
}

/* Decodes the block at bit 32 at all CPU levels and compares each result with libbz2's. Returns ours. */
static enum bzip2_result compare(const struct buf *file, uint32_t level, size_t text_max)
{
    SCOPED(buf_release) struct buf ours = {0}, theirs = {0};
    struct bzip2_block block = {0};
    const enum bzip2_result verdict =
        bzip2_decode(&libbz2, data(file), file->size, 32, level, text_max, &theirs, &block);
    enum bzip2_result first = BZIP2_DONE;
    for (unsigned cpu = VECTOR_BASE; cpu <= vector_level(); cpu++) {
        uint64_t end = 0;
        buf_reset(&ours);
        buf_add_text(&ours, "kept");
        const enum bzip2_result result =
            block_decode(space, block_stages(cpu), data(file), file->size, 32, level, text_max, &ours, &end);
        if (cpu == VECTOR_BASE)
            first = result;
        assert_int_equal(result, first);
        assert_memory_equal(ours.data, "kept", 4);
        if (result != BZIP2_DONE)
            assert_int_equal(ours.size, 4);
        if (result != BZIP2_DAMAGED)
            assert_int_equal(result, verdict);
        if (result == BZIP2_DONE) {
            assert_int_equal(end, block.end);
            assert_same((struct str){ours.data + 4, ours.size - 4}, buf_str(&theirs));
        }
    }
    return first;
}

/* Makes a text of one kind: letters, few runs, many runs, a period, one byte value, many values. */
#define KINDS 9
static void make_text(struct buf *text, unsigned kind, size_t size)
{
    static const unsigned values[KINDS] = {26, 5, 2, 26, 1, 254, 250, 200, 70};
    uint64_t random = kind * 77 + size;
    const size_t period = kind == 3 ? 7 + size % 90 : SIZE_MAX;
    buf_reset(text);
    while (text->size < size) {
        const uint32_t draw = test_random(&random), value = draw % values[kind], skewed = draw / 256 % (value + 1);
        const size_t run = draw / 4096 % 30 == 0 ? draw / 131072 % (kind == 1 ? 300 : 9) : 1;
        for (size_t i = 0; i < run; i++)
            buf_add_byte(text, text->size >= period ? text->data[text->size - period]
                                                    : (char)(kind < 5    ? 'a' + skewed
                                                             : kind == 8 ? skewed
                                                                         : value));
    }
    text->size = size;
}

TEST(what_encoders_write_is_taken)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 8, 50, 51, 99, 255, 1000, 4159, 4161, 30000, 99000};
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            make_text(&text, kind, sizes[i]);
            buf_reset(&file);
            add_stream(&file, buf_str(&text), 1, 0);
            if (compare(&file, 1, SIZE_MAX / 2) != BZIP2_DONE)
                fail_msg("kind %u, %zu bytes: not taken", kind, sizes[i]);
            assert_int_equal(compare(&file, 1, text.size), BZIP2_DONE);
            assert_int_equal(compare(&file, 1, text.size - 1), BZIP2_LONG);
        }
    }
}

/* Runs of every length at the end and elsewhere. Blocks with 255 or 256 byte values are left to libbz2. */
TEST(odd_blocks_are_left_to_libbz2)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    for (unsigned values = 253; values <= 256; values++) {
        buf_reset(&text);
        buf_reset(&file);
        for (unsigned i = 0; i < 3000; i++)
            buf_add_byte(&text, (char)(i % 7 * i % values == 0 ? i % values : i * 7 % values));
        for (unsigned i = 0; i < values; i++)
            buf_add_byte(&text, (char)i);
        add_stream(&file, buf_str(&text), 1, 0);
        assert_int_equal(compare(&file, 1, SIZE_MAX / 2), values <= 254 ? BZIP2_DONE : BZIP2_DAMAGED);
    }
    for (size_t run = 1; run < 600; run += run < 10 || (run > 250 && run < 265) ? 1 : 37) {
        buf_reset(&text);
        buf_reset(&file);
        for (size_t i = 0; i < 2 * run; i++)
            buf_add_byte(&text, i < run ? 'x' : 'y');
        add_stream(&file, buf_str(&text), 1, 0);
        assert_int_equal(compare(&file, 1, SIZE_MAX / 2), BZIP2_DONE);
    }
    file.data[32 / 8 + 10] ^= (char)0x80; /* randomised: the bit after magic and CRC */
    assert_int_equal(compare(&file, 1, SIZE_MAX / 2), BZIP2_DAMAGED);
}

static void put_bits(struct buf *file, uint64_t bit, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++, bit++) {
        const char mask = (char)(0x80 >> bit % 8);
        file->data[bit / 8] = (char)((file->data[bit / 8] & ~mask) | (value >> (count - 1 - i) & 1 ? mask : 0));
    }
}

/* Decodes without checking CRC and end. If there is a text, writes its CRC and the end into the block. */
static bool forge(struct buf *file, size_t size_max)
{
    const struct block_stages *stages = block_stages(VECTOR_BASE);
    struct bits in = bits_from(data(file), file->size, 32 + 48);
    struct buf text = {0};
    if (block_head(space, &in) != BZIP2_DONE || stages->symbols(space, &in) != BZIP2_DONE)
        return false;
    const uint64_t end = bits_place(&in);
    if (end + 48 > (uint64_t)file->size * 8 || stages->rows(space, size_max) != BZIP2_DONE ||
        stages->unroll(space, 1 << 24, &text) != BZIP2_DONE) {
        buf_release(&text);
        return false;
    }
    put_bits(file, end, BZIP2_MAGIC_END, 48);
    put_bits(file, 32 + 48, stages->crc(&space->crcs, (const uint8_t *)text.data, text.size), 32);
    buf_release(&text);
    return true;
}

/* Bits after the CRC are flipped, then CRC and end are made to match the decoded text. libbz2 must read the same. */
TEST(forged_blocks_give_the_text_of_libbz2)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, forged = {0};
    uint64_t random = 1;
    unsigned taken = 0, tried = 0;
    for (unsigned round = 0; round < 60; round++) {
        make_text(&text, round % KINDS, 20 + test_random(&random) % (round % 10 ? 400 : 9000));
        buf_reset(&file);
        add_stream(&file, buf_str(&text), 1, 0);
        for (unsigned i = 0; i < 40; i++, tried++) {
            buf_reset(&forged);
            buf_add_str(&forged, buf_str(&file));
            for (unsigned flips = 1 + i % 3; flips > 0; flips--) {
                /* for half of the files only bits of the head, which has the tables */
                const uint64_t bits = (file.size - 14 - 10) * 8, some = i % 2 && bits > 700 ? 700 : bits;
                const uint64_t bit = 14 * 8 + test_random(&random) % some;
                forged.data[bit / 8] ^= (char)(0x80 >> bit % 8);
            }
            compare(&forged, 1, SIZE_MAX / 2);
            for (unsigned zeros = 0; zeros < 64; zeros++)
                buf_add_byte(&forged, (char)test_random(&random)); /* room for another end */
            if (forge(&forged, 100000)) {
                assert_int_equal(compare(&forged, 1, SIZE_MAX / 2), BZIP2_DONE);
                taken++;
            }
        }
    }
    assert_true(taken > tried / 20);
}

struct writing {
    struct buf *file;
    unsigned free; /* unused bits of its last byte */
};

static void add_bits(struct writing *to, uint32_t value, unsigned count)
{
    while (count-- > 0) {
        if (to->free == 0) {
            buf_add_byte(to->file, 0);
            to->free = 8;
        }
        to->file->data[to->file->size - 1] |= (char)((value >> count & 1) << --to->free);
    }
}

/* Makes a block of the maximal number of bits: codes of 20 bits, selectors of maximal length and number (more than are
 * used), 900,000 symbols. In addition, the coded lengths go down and up again `detours` times. */
static void make_long_block(struct buf *file, unsigned detours)
{
    struct writing to = {file, 0};
    uint64_t random = 3;
    buf_add_text(file, "BZh91AY&SY");
    add_bits(&to, 0, 32);      /* CRC */
    add_bits(&to, 12345, 25);  /* not randomised; origin */
    add_bits(&to, 0xFFFF, 16); /* 254 bytes in use */
    for (unsigned i = 0; i < 16; i++)
        add_bits(&to, i < 15 ? 0xFFFF : 0xFFFC, 16);
    add_bits(&to, TABLES_MAX, 3);
    add_bits(&to, 32767, 15);
    for (unsigned i = 0; i < 32767; i++)
        add_bits(&to, 62, 6); /* the last in the list */
    for (unsigned table = 0; table < TABLES_MAX; table++) {
        add_bits(&to, 20, 5);
        for (unsigned i = 0; i < detours; i++)
            add_bits(&to, 14, 4); /* length - 1, length + 1 */
        for (unsigned symbol = 0; symbol < 256; symbol++)
            add_bits(&to, 0, 1);
    }
    for (unsigned i = 0; i < BLOCK_BYTES_MAX; i++)
        add_bits(&to, 2 + test_random(&random) % 253, 20);
    add_bits(&to, 255, 20); /* the end */
    for (unsigned i = 0; i < 12; i++)
        add_bits(&to, 0, 8); /* room for the end of the stream */
}

/* The largest block without detours fits into BZIP2_BLOCK_BYTES_MAX; one with detours is larger and is accepted too. */
TEST(the_longest_block_is_taken)
{
    SCOPED(buf_release) struct buf file = {0};
    for (unsigned detours = 0; detours < 2000000; detours += 1999999) {
        buf_reset(&file);
        make_long_block(&file, detours);
        assert_true(forge(&file, BLOCK_BYTES_MAX));
        assert_int_equal(compare(&file, 9, SIZE_MAX / 2), BZIP2_DONE);
        if (detours == 0)
            assert_in_range(file.size, BLOCK_BITS_MAX / 8 - 8000, BLOCK_BITS_MAX / 8 + 16);
        else
            assert_true(file.size > BZIP2_BLOCK_BYTES_MAX);
    }
}

/* Cut off at every byte; random bytes after a magic. */
TEST(ends_and_noise_are_refused)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    uint64_t random = 5;
    make_text(&text, 0, 700);
    add_stream(&file, buf_str(&text), 1, 0);
    const size_t size = file.size;
    for (file.size = 12; file.size < size; file.size++) {
        struct buf cut = {0}; /* separate memory, so that a sanitizer finds reads past its end */
        buf_add_str(&cut, buf_str(&file));
        const enum bzip2_result result = compare(&cut, 1, SIZE_MAX / 2);
        assert_true(result != BZIP2_DONE || file.size > size - 6);
        buf_release(&cut);
    }
    for (unsigned i = 0; i < 300; i++) {
        for (size_t at = 10; at < size; at++)
            file.data[at] = (char)test_random(&random);
        if (i % 2)
            memcpy(file.data + 14, "\0\0\0\0\x80\0\0\xff\xff\x50\x01\xff", 12); /* the beginning of a valid head */
        compare(&file, 1 + i % 9, SIZE_MAX / 2);
    }
}

TEST(the_samples_blocks_are_taken)
{
    static const char *const names[] = {"enwiki-2016-sample", "dewiki-mini", "arwiki-mini", "jawiki-mini"};
    struct buf text = {0}, peer = {0}, file = {0};
    unsigned blocks = 0;
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[REAL_PATH_BYTES];
        real_dump(names[i], path);
        FILE *in = fopen(path, "rb");
        if (!in)
            continue;
        buf_reset(&file);
        for (size_t got = 1; got > 0; file.size += got) {
            buf_reserve(&file, 1 << 20);
            got = fread(file.data + file.size, 1, 1 << 20, in);
        }
        fclose(in);
        for (uint64_t bit = 0;; blocks++) {
            struct bzip2_block block;
            uint64_t end = 0;
            bit = bzip2_find(data(&file), file.size, bit, UINT64_MAX);
            if (bit == UINT64_MAX)
                break;
            buf_reset(&peer);
            assert_int_equal(bzip2_decode(&libbz2, data(&file), file.size, bit, 9, SIZE_MAX / 2, &peer, &block),
                             BZIP2_DONE);
            for (unsigned cpu = VECTOR_BASE; cpu <= vector_level(); cpu++) {
                buf_reset(&text);
                assert_int_equal(
                    block_decode(space, block_stages(cpu), data(&file), file.size, bit, 9, SIZE_MAX / 2, &text, &end),
                    BZIP2_DONE);
                assert_int_equal(end, block.end);
                assert_same(buf_str(&text), buf_str(&peer));
            }
            bit = block.end;
        }
    }
    buf_release(&file);
    buf_release(&text);
    buf_release(&peer);
    if (blocks == 0) {
        print_message("DS_DATA_DIR names no folder with real dumps: skipped\n");
        skip();
    }
}

GROUP(open_decoders, close_decoders)
