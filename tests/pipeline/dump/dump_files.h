/* Small inputs for the tests of pipeline/dump: bzip2 files of any shape and dumps; the groups that a reader gives are
 * written as text, to be compared. */
#pragma once

#include "base/file.h"
#include "pipeline/input/input_kind.h"
#include "tests/pipeline/dump/libbz2.h"

#include <assert.h>
#include <bzlib.h>

#include "tests/unit.h" /* last: cmocka's fail is a macro */

#define UNUSED __attribute__((unused))

/* A separate random generator, so that inputs never change. */
static UNUSED uint32_t test_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

#define REAL_PATH_BYTES 4096

/* The path of a real dump: in DS_DATA_DIR, by default beside the project. It need not exist. */
static UNUSED void real_dump(const char *name, char path[REAL_PATH_BYTES])
{
    const char *folder = getenv("DS_DATA_DIR");
    snprintf(path, REAL_PATH_BYTES, "%s/%s.xml.bz2", folder ? folder : SOURCE_DIR "/../shared/data", name);
}

/* ------------------------------------------------------------------------------------------------- bzip2 files */

/* Appends one stream. block_bytes > 0: libbz2 is flushed after every block_bytes of text, which ends a block. */
static UNUSED void add_stream(struct buf *out, struct str text, int level, size_t block_bytes)
{
    bz_stream stream = {0};
    int result = BZ2_bzCompressInit(&stream, level, 0, 0);
    assert(result == BZ_OK);
    size_t step = block_bytes ? block_bytes : text.size;
    for (size_t at = 0;; at += step) {
        size_t size = text.size - at < step ? text.size - at : step;
        int action = at + size == text.size ? BZ_FINISH : BZ_FLUSH,
            want = action == BZ_FINISH ? BZ_STREAM_END : BZ_RUN_OK;
        stream.next_in = (char *)(uintptr_t)text.data + at;
        stream.avail_in = (unsigned)size;
        do {
            buf_reserve(out, 65536);
            stream.next_out = out->data + out->size;
            stream.avail_out = 65536;
            result = BZ2_bzCompress(&stream, action);
            assert(result >= 0);
            out->size += 65536 - stream.avail_out;
        } while (result != want);
        if (action == BZ_FINISH)
            break;
    }
    BZ2_bzCompressEnd(&stream);
}

/* The file of a text: as it is, or with `packed` one such stream. */
static UNUSED void file_of_text(struct buf *file, struct str text, bool packed, int level, size_t block_bytes)
{
    buf_reset(file);
    if (packed)
        add_stream(file, text, level, block_bytes);
    else
        buf_add_str(file, text);
}

/* ------------------------------------------------------------------------------------------------------- dumps */

static const char test_head[] =
    "<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.10/\" version=\"0.10\" xml:lang=\"de\">\n"
    "  <siteinfo>\n    <sitename>Probe &amp; Wiki</sitename>\n    <dbname>dewiki</dbname>\n    "
    "<case>case-sensitive</case>\n"
    "    <namespaces>\n      <namespace key=\"-2\" case=\"case-sensitive\">Medium</namespace>\n"
    "      <namespace key=\"0\" case=\"case-sensitive\" />\n"
    "      <namespace key=\"6\" case=\"case-sensitive\">Datei</namespace>\n    </namespaces>\n  </siteinfo>\n";

static UNUSED void add_page(struct buf *out, unsigned id, size_t text_bytes, uint64_t *random)
{
    buf_addf(out, "  <page>\n    <title>Page %u</title>\n    <ns>0</ns>\n    <id>%u</id>\n    <text>", id, id);
    for (size_t i = 0; i < text_bytes; i++)
        buf_add_byte(out, (char)(i % 7 == 6 ? ' ' : 'a' + test_random(random) % 26));
    buf_add_text(out, "</text>\n  </page>\n");
}

/* A whole dump of pages with up to text_bytes of text each. */
static UNUSED void add_dump(struct buf *out, unsigned pages, size_t text_bytes, uint64_t seed)
{
    uint64_t random = seed;
    buf_add_text(out, test_head);
    for (unsigned i = 1; i <= pages; i++)
        add_page(out, i, test_random(&random) % (text_bytes + 1), &random);
    buf_add_text(out, "</mediawiki>\n");
}

/* ------------------------------------------------------------------------------------------------------- files */

/* Writes the temporary file of this process, replacing the one before. Removed by test_file_remove. */
static UNUSED const char *test_file(struct str bytes)
{
    static char path[64];
    snprintf(path, sizeof(path), "dump-test-%ld.tmp-input", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert(file);
    size_t written = bytes.size ? fwrite(bytes.data, 1, bytes.size, file) : 0;
    assert(written == bytes.size);
    fclose(file);
    return path;
}

static UNUSED int test_file_remove(void **state)
{
    (void)state;
    unlink(test_file(STR("")));
    return 0;
}

/* ----------------------------------------------------------------------------------------------------- reading */

static UNUSED struct dump_options small_options(size_t window_bytes)
{
    struct dump_options options = dump_defaults(input_formats);
    options.file = 3;
    options.window_bytes = options.window_bytes_plain = window_bytes;
    return options;
}

/* A group as text. */
static UNUSED void write_group(struct buf *out, const struct group *group)
{
    if (group->record_count == 0 && group->oversize == 0 && group->gaps == 0)
        return;
    if (group->gaps)
        buf_addf(out, "== gaps %" PRIu64 " bytes %" PRIu64 " cut %" PRIu64 "\n", group->gaps, group->gap_bytes,
                 group->cut);
    buf_addf(out, "== file %u window %u part %u records %zu oversize %" PRIu64 "\n", group->file, group->window,
             group->part, group->record_count, group->oversize);
    for (size_t i = 0; i < group->record_count; i++) {
        buf_addf(out, "-- %zu\n", group->records[i].size);
        buf_add(out, group->text.data + group->records[i].offset, group->records[i].size);
        buf_add_byte(out, '\n');
    }
}

/* Called after each piece, once all its groups were given. */
struct observer {
    void (*after)(void *context, const struct dump *dump, uint64_t window, const struct buf *out);
    void *context;
};

/* Appends all groups of an open dump from `window` on to *out. decode = false leaves all decoding to the cut. */
static UNUSED int read_groups(struct dump *dump, uint64_t window, bool decode, const struct observer *observer,
                              struct buf *out, struct error *err)
{
    struct dump_piece piece = {0};
    struct group group = {0};
    int more = 1, again = 0;
    for (; more > 0; window++) {
        more = dump_read(dump, window, &piece, err);
        if (more >= 0 && decode && dump_decode(dump, &piece, err) < 0)
            more = -1;
        if (more < 0)
            break;
        do {
            again = dump_cut(dump, &piece, &group, err);
            if (again >= 0)
                write_group(out, &group);
        } while (again > 0);
        if (again < 0) {
            more = -1;
            break;
        }
        if (observer)
            observer->after(observer->context, dump, window, out);
    }
    piece_release(&piece);
    group_release(&group);
    return more;
}

/* Reads the whole file. Returns 0, or -1 with *err. */
static UNUSED int read_path(const char *path, const struct dump_options *options, struct buf *out, struct error *err)
{
    struct dump *dump;
    buf_reset(out);
    if (dump_open(&dump, path, options, err) != 0)
        return -1;
    int result = read_groups(dump, 0, true, NULL, out, err);
    dump_close(dump);
    return result;
}

static UNUSED int read_bytes(struct str bytes, const struct dump_options *options, struct buf *out, struct error *err)
{
    return read_path(test_file(bytes), options, out, err);
}

static UNUSED void assert_same(struct str a, struct str b)
{
    if (!str_equal(a, b)) {
        size_t at = 0;
        while (at < a.size && at < b.size && a.data[at] == b.data[at])
            at++;
        size_t from = at > 200 ? at - 200 : 0;
        print_error("first difference at %zu of %zu and %zu:\n%.*s\n---- and\n%.*s\n", at, a.size, b.size,
                    (int)(a.size - from < 400 ? a.size - from : 400), a.data + from,
                    (int)(b.size - from < 400 ? b.size - from : 400), b.data + from);
        fail_msg("texts differ");
    }
}
