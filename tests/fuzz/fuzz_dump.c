// room: pipeline
// bytes: 65536
/* In: how to read (salvage, windows, groups, records), how to write (plain, bzip2 in blocks of a size, where a byte is
 * damaged), and the text of an input: wiki, text or JSON lines. Held: the verdict, its place, and the records are the
 * same whatever the windows and groups are, whether blocks are decoded beforehand or by the cut, and after a restart
 * from any state; with salvage, damage after the head is no error. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/input/input_kind.h"
#include "tests/pipeline/dump/libbz2.h"

/* What was read: each record with its size before it. */
struct harvest {
    struct buf records;
    uint64_t count, oversize, gap_bytes, cut;
    bool good;
    struct error err; /* where not good */
};

static void harvest_group(struct harvest *harvest, const struct group *group)
{
    for (size_t i = 0; i < group->record_count; i++) {
        assert(group->records[i].size > 0 && group->records[i].offset + group->records[i].size <= group->text.size);
        buf_addf(&harvest->records, "%zu:", group->records[i].size);
        buf_add(&harvest->records, group->text.data + group->records[i].offset, group->records[i].size);
    }
    harvest->count += group->record_count;
    harvest->oversize += group->oversize;
    harvest->gap_bytes += group->gap_bytes;
    harvest->cut += group->cut;
}

/* From `window` on, up to the end or (with a state to fill) the end of window `stop`. */
static int read_windows(struct dump *dump, uint64_t window, uint64_t stop, bool decode, struct dump_state *state,
                        struct harvest *harvest)
{
    static struct dump_piece piece; /* kept: it holds 7 MB, and what it was used for must not matter */
    static struct group group;
    int result = 1;
    for (; result > 0; window++) {
        result = dump_read(dump, window, &piece, &harvest->err);
        if (result >= 0 && decode && dump_decode(dump, &piece, &harvest->err) < 0)
            result = -1;
        for (int again = 1; result >= 0 && again > 0;) {
            again = dump_cut(dump, &piece, &group, &harvest->err);
            if (again >= 0)
                harvest_group(harvest, &group);
            else
                result = -1;
        }
        if (state && result > 0 && window == stop) {
            dump_state(dump, state);
            break;
        }
    }
    return result;
}

static void read_whole(const char *path, const struct dump_options *options, bool decode, struct harvest *harvest)
{
    struct dump *dump;
    *harvest = (struct harvest){0};
    harvest->good = dump_open(&dump, path, options, &harvest->err) == 0;
    if (!harvest->good)
        return;
    harvest->good = read_windows(dump, 0, 0, decode, NULL, harvest) >= 0;
    assert(harvest->good || !options->salvage || harvest->err.kind != ERR_INPUT);
    dump_close(dump);
}

/* Stops after window `stop` and goes on with another dump. */
static void read_restarted(const char *path, const struct dump_options *options, uint64_t stop, struct harvest *harvest)
{
    struct dump *dump;
    struct dump_state state = {0};
    *harvest = (struct harvest){0};
    harvest->good = dump_open(&dump, path, options, &harvest->err) == 0;
    if (!harvest->good)
        return;
    int result = read_windows(dump, 0, stop, true, &state, harvest);
    dump_close(dump);
    if (result > 0) {
        const int opened = dump_open(&dump, path, options, &harvest->err);
        assert(opened == 0);
        const int restored = dump_restore(dump, &state, &harvest->err);
        assert(restored == 0);
        result = read_windows(dump, state.next_window, 0, true, NULL, harvest);
        dump_close(dump);
    }
    harvest->good = result >= 0;
}

static void check_same(const struct harvest *a, const struct harvest *b, bool with_records)
{
    assert(a->good == b->good);
    if (!a->good)
        assert(a->err.kind == b->err.kind && a->err.offset == b->err.offset && strcmp(a->err.text, b->err.text) == 0);
    if (!with_records)
        return;
    assert(a->count == b->count && a->oversize == b->oversize && a->gap_bytes == b->gap_bytes && a->cut == b->cut);
    assert(str_equal(buf_str(&a->records), buf_str(&b->records)));
}

static size_t window_bytes(unsigned choice)
{
    return 1 + (size_t)choice * choice / 16;
}

static void check_file(const char *path, struct dump_options options, unsigned other, unsigned stop)
{
    struct harvest whole, again;
    read_whole(path, &options, true, &whole);
    read_whole(path, &options, false, &again); /* all decoding is left to the cut */
    check_same(&whole, &again, true);
    buf_release(&again.records);
    read_restarted(path, &options, stop, &again);
    check_same(&whole, &again, true);
    buf_release(&again.records);
    options.window_bytes = options.window_bytes_plain = window_bytes(other);
    options.group_bytes_max = 1 + other % 7 * 100;
    options.piece_bytes_max = other % 5 * 200;
    read_whole(path, &options, true, &again);
    check_same(&whole, &again, whole.good); /* before an error, groups may wait to be full */
    buf_release(&again.records);
    buf_release(&whole.records);
}

static void compress(struct buf *out, struct str text, size_t block_bytes)
{
    bz_stream stream = LIBBZ2_STREAM;
    int result = BZ2_bzCompressInit(&stream, 1, 0, 0);
    assert(result == BZ_OK);
    buf_reserve(out, 2 * text.size + 64 * (text.size / block_bytes + 2) + 600);
    stream.next_out = out->data;
    stream.avail_out = (unsigned)out->capacity;
    for (size_t at = 0; result != BZ_STREAM_END; at += block_bytes) {
        const size_t size = text.size - at < block_bytes ? text.size - at : block_bytes;
        stream.next_in = (char *)(uintptr_t)text.data + at;
        stream.avail_in = (unsigned)size;
        result = BZ2_bzCompress(&stream, at + size == text.size ? BZ_FINISH : BZ_FLUSH);
        assert(result == BZ_STREAM_END || result == BZ_RUN_OK);
    }
    out->size = out->capacity - stream.avail_out;
    BZ2_bzCompressEnd(&stream);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned flags = take_byte(&data, &size), window = take_byte(&data, &size), other = take_byte(&data, &size);
    const unsigned page = take_byte(&data, &size), stop = take_byte(&data, &size), block = take_byte(&data, &size);
    const unsigned place = take_byte(&data, &size), mask = take_byte(&data, &size);
    struct dump_options options = dump_defaults(input_formats);
    options.salvage = flags & 1;
    options.window_bytes = options.window_bytes_plain = window_bytes(window);
    options.page_bytes_max = page ? page * 8 : PAGE_BYTES_MAX;
    SCOPED(buf_release) struct buf file = {0};
    if (flags & 2)
        compress(&file, as_str(data, size), 20 + block * 4);
    else
        buf_add(&file, data, size);
    if (file.size)
        file.data[file.size * place / 256] ^= (char)mask;
    check_file(fuzz_file(buf_str(&file)), options, other, stop);
    return 0;
}
