/* --salvage: with any byte damaged, or the file cut anywhere, the records elsewhere are read completely, in their
 * groups, and the damage is counted. */
#include "tests/pipeline/dump/dump_files.h"

enum { PAGES = 30, PAGE_BYTES = 400, BLOCK_BYTES = 500 };

struct salvaged {
    size_t records, gaps, cut;
};

/* Reads a damaged file; every record must be in the `whole` text, in the same order. Returns false if the head is
 * damaged, which is an error even with --salvage. */
static bool salvage(struct str file, enum source_kind kind, size_t window, struct str whole, struct salvaged *seen)
{
    struct dump_options options = small_options(window);
    options.kind = kind;
    options.salvage = true;
    struct dump *dump;
    struct dump_piece piece = {0};
    struct group group = {0};
    struct error err;
    *seen = (struct salvaged){0};
    if (dump_open(&dump, test_file(file), &options, &err) != 0)
        return false;
    size_t from = 0;
    for (uint64_t number = 0, more = 1; more; number++) {
        const int got = dump_read(dump, number, &piece, &err);
        assert_true(got >= 0);
        more = (uint64_t)got;
        assert_int_equal(dump_decode(dump, &piece, &err), 0);
        int again;
        do {
            again = dump_cut(dump, &piece, &group, &err);
            if (again < 0)
                fail_msg("%s", err.text);
            for (size_t i = 0; i < group.record_count; i++) {
                const struct str record = {group.text.data + group.records[i].offset, group.records[i].size};
                const size_t at = str_find((struct str){whole.data + from, whole.size - from}, record);
                if (at == SIZE_MAX)
                    fail_msg("no such record: %.*s", (int)record.size, record.data);
                from += at + record.size;
            }
            seen->records += group.record_count;
            seen->gaps += group.gaps;
            seen->cut += group.cut;
        } while (again > 0);
    }
    dump_close(dump);
    piece_release(&piece);
    group_release(&group);
    return true;
}

static void make_dump(struct buf *text, struct buf *file, size_t stream_bytes)
{
    uint64_t random = 3;
    buf_add_text(text, test_head);
    for (unsigned i = 0; i < PAGES; i++)
        add_page(text, 1000 + i, PAGE_BYTES, &random);
    buf_add_text(text, "</mediawiki>\n");
    for (size_t at = 0; at < text->size; at += stream_bytes)
        add_stream(file, (struct str){text->data + at, text->size - at < stream_bytes ? text->size - at : stream_bytes},
                   1, BLOCK_BYTES);
}

/* A page spans at most two blocks, a block touches at most three pages, and one more may have begun before: 4 pages are
 * lost at most. */
TEST(pages_around_a_flipped_byte_are_whole)
{
    static const size_t streams[] = {3000, 1u << 20}, windows[] = {97, 700, 1u << 20};
    for (size_t s = 0; s < 2; s++) {
        SCOPED(buf_release) struct buf text = {0}, file = {0};
        size_t harmless = 0, opened = 0;
        make_dump(&text, &file, streams[s]);
        for (size_t at = 0; at < file.size; at += 31) {
            struct salvaged seen;
            file.data[at] ^= (char)(1 << at % 8);
            for (size_t w = 0; w < 3; w++) {
                if (!salvage(buf_str(&file), SOURCE_WIKI, windows[w], buf_str(&text), &seen))
                    continue;
                opened++;
                assert_true(seen.records >= PAGES - 4);
                assert_true(seen.records == PAGES || seen.gaps == 1);
                assert_true(seen.cut <= seen.gaps);
                harmless += seen.gaps == 0;
            }
            file.data[at] ^= (char)(1 << at % 8);
        }
        assert_true(opened > file.size / 31 * 2);
        assert_true(harmless < opened / 50); /* padding bits of a stream's last byte */
    }
}

static size_t count_of(struct str text, const char *what)
{
    size_t count = 0;
    for (size_t at; (at = str_find(text, str_of(what))) != SIZE_MAX; count++)
        text = str_range(text.data + at + 1, text.data + text.size);
    return count;
}

TEST(records_before_a_cut_are_complete)
{
    for (int compressed = 0; compressed < 2; compressed++) {
        SCOPED(buf_release) struct buf text = {0}, file = {0};
        make_dump(&text, &file, 3000);
        const struct str bytes = compressed ? buf_str(&file) : buf_str(&text);
        size_t before = 0;
        for (size_t size = 1; size < bytes.size; size += 37) {
            struct salvaged seen;
            if (!salvage((struct str){bytes.data, size}, SOURCE_WIKI, 700, buf_str(&text), &seen))
                continue;
            assert_true(seen.gaps == 1 || (seen.gaps == 0 && seen.records == PAGES && size + 20 > bytes.size));
            assert_true(seen.records >= before);
            if (!compressed) { /* an unfinished page is counted */
                const struct str left = {bytes.data, size};
                assert_int_equal(seen.records, count_of(left, "</page>"));
                assert_int_equal(seen.cut, count_of(left, "<page>") - seen.records);
            }
            before = seen.records;
        }
        assert_true(before >= PAGES - 2);
    }
}

TEST(lines_begin_anew_after_a_gap)
{
    for (int kind = SOURCE_TEXT; kind <= SOURCE_JSONL; kind++) {
        SCOPED(buf_release) struct buf text = {0}, file = {0};
        uint64_t random = 9;
        for (unsigned i = 0; i < 80; i++)
            buf_addf(&text, "{\"%u\": %u}\n%s", i, test_random(&random), kind == SOURCE_TEXT && i % 4 == 3 ? "\n" : "");
        add_stream(&file, buf_str(&text), 1, 200);
        const size_t all = kind == SOURCE_TEXT ? 20 : 80;
        for (size_t at = 20; at < file.size; at += 9) {
            struct salvaged seen;
            file.data[at] ^= 16;
            if (salvage(buf_str(&file), (enum source_kind)kind, 300, buf_str(&text), &seen)) {
                assert_true(seen.records >= all * 7 / 10);
                assert_true(seen.records == all || seen.gaps == 1);
            }
            file.data[at] ^= 16;
        }
    }
}

GROUP(NULL, test_file_remove)
