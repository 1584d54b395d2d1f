/* gzip, Zstandard and xz: a file is read as the plain file would be, for any division into units and any way of
 * reading. Damage, truncation and excessive size are errors that name the byte; --salvage skips damage. */
#include "tests/pipeline/dump/dump_files.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* The last one is gzip as bgzip writes it: each member has its size. */
enum { GZIP, ZSTD, XZ, BGZIP, PACKINGS };
static const enum container containers[PACKINGS] = {CONTAINER_GZIP, CONTAINER_ZSTD, CONTAINER_XZ, CONTAINER_GZIP};
_Static_assert(PACKINGS == CONTAINERS - CONTAINER_GZIP + 1, "every container with a codec, gzip in two forms");

/* ----------------------------------------------------------------------------------------------------- packing */

static void add_gzip(struct buf *out, struct str text, bool tells)
{
    z_stream stream = {0};
    uint8_t extra[] = {'X', 'Y', 1, 0, 9, 'B', 'C', 2, 0, 0, 0}; /* another field before bgzip's */
    gz_header header = {.extra = extra, .extra_len = sizeof extra, .os = 255};
    const size_t from = out->size;
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (tells)
        assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
    const size_t room = deflateBound(&stream, text.size) + 64;
    buf_reserve(out, room);
    stream.next_in = (Bytef *)(uintptr_t)text.data;
    stream.avail_in = (uInt)text.size;
    stream.next_out = (Bytef *)out->data + out->size;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out->size += room - stream.avail_out;
    deflateEnd(&stream);
    if (!tells)
        return;
    const size_t bytes = out->size - from - 1;
    assert_in_range(bytes, 1, UINT16_MAX);
    out->data[from + 21] = (char)(bytes & 0xff);
    out->data[from + 22] = (char)(bytes >> 8);
}

static void add_zstd(struct buf *out, struct str text, int window_log)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (window_log)
        ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    buf_reserve(out, ZSTD_compressBound(text.size));
    ZSTD_inBuffer in = {text.data, text.size, 0};
    ZSTD_outBuffer to = {out->data + out->size, ZSTD_compressBound(text.size), 0};
    assert_int_equal(ZSTD_compressStream2(context, &to, &in, window_log ? ZSTD_e_flush : ZSTD_e_end), 0);
    out->size += to.pos;
    ZSTD_freeCCtx(context);
}

static void add_xz(struct buf *out, struct str text)
{
    const size_t room = lzma_stream_buffer_bound(text.size);
    size_t made = 0;
    buf_reserve(out, room);
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text.data, text.size,
                                             (uint8_t *)out->data + out->size, &made, room),
                     LZMA_OK);
    out->size += made;
}

static void add_unit(struct buf *out, struct str text, size_t packing)
{
    if (packing == GZIP || packing == BGZIP)
        add_gzip(out, text, packing == BGZIP);
    else if (packing == ZSTD)
        add_zstd(out, text, 0);
    else
        add_xz(out, text);
}

/* Packs the text as `units` units of equal length. */
static void pack(struct buf *out, struct str text, size_t packing, size_t units)
{
    buf_reset(out);
    for (size_t i = 0; i < units; i++) {
        const size_t from = text.size * i / units, to = text.size * (i + 1) / units;
        add_unit(out, (struct str){text.data + from, to - from}, packing);
    }
}

/* ------------------------------------------------------------------------------------------------------- tests */

TEST(a_packed_dump_gives_the_groups_of_the_plain_one)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, plain = {0}, packed = {0};
    struct error err;
    const struct dump_options options = small_options(700);
    add_dump(&text, 40, 300, 5);
    assert_int_equal(read_bytes(buf_str(&text), &options, &plain, &err), 0);
    for (size_t i = 0; i < PACKINGS; i++) {
        for (size_t units = 1; units < 40; units += 1 + units * 3) {
            pack(&file, buf_str(&text), i, units);
            if (units > 1 && containers[i] != CONTAINER_ZSTD)
                buf_add(&file, "\0\0\0\0", 4); /* padding */
            assert_int_equal(read_bytes(buf_str(&file), &options, &packed, &err), 0);
            assert_true(str_equal(buf_str(&plain), buf_str(&packed)));
        }
    }
}

TEST(every_row_of_the_codecs_is_complete)
{
    for (enum container container = CONTAINER_NONE + 1; container < CONTAINERS; container++) {
        const struct codec *codec = codec_of(container);
        SCOPED(buf_release) struct buf name = {0};
        assert_true(codec->name && codec->unit && codec->tool && codec->extension && codec->extension[0] == '.');
        assert_true(codec->expansion_percent >= 100 && codec->magic_bytes > 0);
        assert_true(codec->begins && codec->open && codec->step && codec->again && codec->memory && codec->close);
        buf_addf(&name, "a%s", codec->extension);
        struct str cut = buf_str(&name), only = str_of(codec->extension);
        assert_true(codec_cut_extension(&cut) && str_equal(cut, STR("a")));
        assert_false(codec_cut_extension(&only)); /* nothing would be left */
    }
}

/* A unit is measured from the byte on at which all of it is there, whatever follows. */
TEST(a_unit_is_measured_when_it_is_whole)
{
    for (size_t i = 0; i < PACKINGS; i++) {
        const struct codec *codec = codec_of(containers[i]);
        SCOPED(buf_release) struct buf file = {0};
        size_t bytes = 0;
        add_unit(&file, STR("a text of one unit"), i);
        const size_t unit = file.size;
        add_unit(&file, STR("the next"), i);
        for (size_t size = 0; codec->measure && i != GZIP && size <= file.size; size++) {
            const bool measured = codec->measure((const uint8_t *)file.data, size, &bytes);
            assert_int_equal(measured, size >= unit);
            assert_true(!measured || bytes == unit);
        }
    }
}

/* bgzip's size of the member at `at`. */
static size_t stated_size(const struct buf *file, size_t at)
{
    return (uint8_t)file->data[at + 21] + ((size_t)(uint8_t)file->data[at + 22] << 8) + 1;
}

/* Sizes in bgzip's headers say only where members may be decoded ahead; they are not checked. */
TEST(a_wrong_size_in_a_member_loses_no_text)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, plain = {0}, packed = {0};
    struct error err;
    const struct dump_options options = small_options(700);
    add_dump(&text, 40, 300, 5);
    assert_int_equal(read_bytes(buf_str(&text), &options, &plain, &err), 0);
    for (int longer = 0; longer < 2; longer++) {
        pack(&file, buf_str(&text), BGZIP, 6);
        const size_t second = stated_size(&file, 0), size = stated_size(&file, second);
        const size_t stated =
            longer ? size + stated_size(&file, second + size) : size - 1; /* two members, or too short */
        file.data[second + 21] = (char)((stated - 1) & 0xff);
        file.data[second + 22] = (char)((stated - 1) >> 8);
        assert_int_equal(read_bytes(buf_str(&file), &options, &packed, &err), 0);
        assert_true(str_equal(buf_str(&plain), buf_str(&packed)));
    }
}

TEST(its_hash_and_size_are_those_of_the_text)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    struct dump *dump;
    const struct dump_options options = small_options(700);
    add_dump(&text, 40, 300, 6);
    assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
    assert_true(read_groups(dump, 0, true, NULL, &out, &err) >= 0);
    const uint64_t hash = dump_hash(dump), windows = dump_windows(dump);
    dump_close(dump);
    for (size_t i = 0; i < PACKINGS; i++) {
        pack(&file, buf_str(&text), i, 3);
        assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
        assert_int_equal(dump_container(dump), containers[i]);
        assert_false(dump_divides(dump));
        assert_true(dump_memory(dump) > 0);
        assert_int_equal(dump_stored_bytes(dump), file.size);
        assert_int_equal(dump_bytes(dump), 0);
        assert_int_equal(dump_windows(dump), 0);
        if (i % 2) /* before it was read, or only after */
            assert_int_equal(dump_measure(dump, &err), 0);
        assert_true(read_groups(dump, 0, true, NULL, &out, &err) >= 0);
        assert_int_equal(dump_measure(dump, &err), 0);
        assert_int_equal(dump_bytes(dump), text.size);
        assert_int_equal(dump_windows(dump), windows);
        assert_true(dump_hash(dump) == hash);
        dump_close(dump);
    }
}

/* Keeps the state after one window, and the bytes of groups given until then. */
struct stop {
    uint64_t window;
    struct dump_state state;
    size_t size;
};

static void keep_state(void *context, const struct dump *dump, uint64_t window, const struct buf *out)
{
    struct stop *stop = context;
    if (window != stop->window)
        return;
    dump_state(dump, &stop->state);
    stop->size = out->size;
}

TEST(reading_resumes_from_any_window)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, whole = {0}, rest = {0};
    struct error err;
    struct dump *dump;
    const struct dump_options options = small_options(700);
    add_dump(&text, 30, 300, 7);
    for (size_t i = 0; i < PACKINGS; i++) {
        pack(&file, buf_str(&text), i, 2);
        for (uint64_t window = 0; window < 8; window++) {
            struct stop stop = {.window = window};
            const struct observer observer = {keep_state, &stop};
            buf_reset(&whole);
            buf_reset(&rest);
            assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
            assert_true(read_groups(dump, 0, true, &observer, &whole, &err) >= 0);
            assert_int_equal(dump_restore(dump, &stop.state, &err), 0); /* back to that window, after the end was
                                                                         * reached */
            assert_true(read_groups(dump, stop.state.next_window, true, NULL, &rest, &err) >= 0);
            dump_close(dump);
            const struct str tail = {whole.data + stop.size, whole.size - stop.size};
            assert_true(str_equal(tail, buf_str(&rest)));
        }
    }
}

TEST(a_cut_file_is_truncated_wherever_it_ends)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    const struct dump_options options = small_options(700);
    add_dump(&text, 6, 100, 8);
    for (size_t i = 0; i < PACKINGS; i++) {
        pack(&file, buf_str(&text), i, 2);
        for (size_t size = MAGIC_BYTES_MAX; size < file.size; size++) {
            assert_int_equal(read_bytes((struct str){file.data, size}, &options, &out, &err), -1);
            assert_int_equal(err.kind, ERR_INPUT);
            assert_non_null(strstr(err.text, "truncated")); /* the file, or (if cut at the end of a unit) the dump */
        }
    }
}

TEST(a_wrong_byte_is_reported_or_harmless)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, plain = {0}, out = {0};
    struct error err;
    const struct dump_options options = small_options(700);
    add_dump(&text, 6, 100, 9);
    assert_int_equal(read_bytes(buf_str(&text), &options, &plain, &err), 0);
    for (size_t i = 0; i < PACKINGS; i++) {
        size_t told = 0;
        pack(&file, buf_str(&text), i, 2);
        for (size_t at = 0; at < file.size; at++) {
            file.data[at] ^= 0x15;
            if (read_bytes(buf_str(&file), &options, &out, &err) < 0)
                told += err.kind == ERR_INPUT || err.kind == ERR_UNSAFE;
            else
                assert_true(str_equal(buf_str(&plain), buf_str(&out)));
            file.data[at] ^= 0x15;
        }
        assert_true(told + 40 > file.size);
    }
    buf_add(&file, "more", 4);
    assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), -1);
    assert_non_null(strstr(err.text, "other bytes follow"));
    assert_int_equal(err.offset, file.size - 4);
}

/* Five units, one of them damaged in the middle: the records of the others are read, and one gap is counted. */
TEST(salvage_continues_with_the_next_unit)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    struct dump_options options = small_options(700);
    for (unsigned line = 0; line < 500; line++)
        buf_addf(&text, "{\"text\": \"line %u has %u words\"}\n", line, line * 7919 % 1000);
    for (size_t i = 0; i < PACKINGS; i++) {
        pack(&file, buf_str(&text), i, 5);
        for (size_t bad = 1; bad < 5; bad++) { /* not the first one, which has the head */
            SCOPED(buf_release) struct buf broken = {0};
            buf_add_str(&broken, buf_str(&file));
            memset(broken.data + file.size * (2 * bad + 1) / 10, 'x', 40);
            options.salvage = false;
            assert_int_equal(read_bytes(buf_str(&broken), &options, &out, &err), -1);
            assert_int_equal(err.kind, ERR_INPUT);
            assert_true(err.offset < file.size);
            options.salvage = true;
            assert_int_equal(read_bytes(buf_str(&broken), &options, &out, &err), 0);
            const size_t gap = str_find(buf_str(&out), STR("== gaps 1"));
            assert_int_not_equal(gap, SIZE_MAX);
            assert_int_equal(str_find(buf_str(&out), STR("== gaps 1 bytes 0 ")), SIZE_MAX);
            assert_int_equal(str_find((struct str){out.data + gap + 1, out.size - gap - 1}, STR("== gaps ")), SIZE_MAX);
            assert_true(bad == 4 || str_find(buf_str(&out), STR("line 499 has")) != SIZE_MAX);
            assert_int_not_equal(str_find(buf_str(&out), STR("line 0 has")), SIZE_MAX);
        }
    }
}

/* More units than are decoded at a time: long ones, empty ones, and some that expand many times. */
TEST(many_units_are_one_stream)
{
    static const size_t packings[] = {ZSTD, BGZIP};
    SCOPED(buf_release) struct buf text = {0}, file = {0}, plain = {0}, out = {0};
    struct error err;
    const struct dump_options options = small_options(1 << 16);
    for (size_t i = 0; i < 2; i++) {
        uint32_t noise = 1;
        buf_reset(&text);
        buf_reset(&file);
        for (size_t unit = 0; unit < 700; unit++) {
            const size_t from = text.size, words = unit % 50 == 0 ? 6000 : unit % 7;
            for (size_t word = 0; word < words; word++)
                buf_addf(&text, "{\"text\": \"w%u\"}\n", (noise = noise * 1664525 + 1013904223) >> 8);
            if (unit % 90 == 89)
                for (size_t line = 0; line < 4000; line++)
                    buf_add_text(&text, "{\"text\": \"the same\"}\n");
            add_unit(&file, (struct str){text.data + from, text.size - from}, packings[i]);
        }
        assert_int_equal(read_bytes(buf_str(&text), &options, &plain, &err), 0);
        assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), 0);
        assert_true(str_equal(buf_str(&plain), buf_str(&out)));
    }
}

/* A file is read if the limit is its own ratio, and not if it is one less. */
static void expect_exact_ratio(struct str file, struct dump_options options)
{
    SCOPED(buf_release) struct buf out = {0};
    struct error err;
    char times[32];
    uint64_t low = 0, high = 1 << 17; /* the ratio is above `low`, and at most `high` */
    while (high - low > 1) {
        options.ratio_max = low + (high - low) / 2;
        if (read_bytes(file, &options, &out, &err) < 0)
            low = options.ratio_max;
        else
            high = options.ratio_max;
    }
    options.ratio_max = low;
    assert_int_equal(read_bytes(file, &options, &out, &err), -1);
    assert_non_null(strstr(err.text, format_count(high, times)));
}

TEST(a_bomb_and_a_huge_window_are_refused)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0};
    struct error err;
    struct dump_options options = small_options(1 << 20);
    options.ratio_max = 100;
    options.ratio_text_min = 1 << 20;
    buf_add_text(&text, "{\"text\": \"a\"}\n");
    for (size_t i = 0; i < 8 << 20; i++)
        buf_add_byte(&text, ' ');
    for (size_t i = 0; i < PACKINGS; i++) {
        pack(&file, buf_str(&text), i, 1);
        assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), -1);
        assert_int_equal(err.kind, ERR_UNSAFE);
        assert_non_null(strstr(err.hint, "--max-ratio"));
    }
    text.size = options.ratio_text_min;
    for (size_t i = 0; i < PACKINGS; i++) { /* so little text is read at any ratio */
        pack(&file, buf_str(&text), i, 1);
        assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), 0);
    }
    text.size = 2 << 20;
    pack(&file, buf_str(&text), GZIP, 1);
    expect_exact_ratio(buf_str(&file), options);
    buf_reset(&file);
    add_zstd(&file, (struct str){text.data, 20}, 30);
    assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), -1);
    assert_int_equal(err.kind, ERR_UNSAFE);
    assert_non_null(strstr(err.text, "memory"));
}

GROUP(NULL, test_file_remove)
