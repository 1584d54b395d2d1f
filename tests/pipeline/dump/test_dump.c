/* A whole input: its kind, the group of each page, and that threads, pipes and restarts change nothing. */
// labels: threads
#include "tests/pipeline/dump/dump_files.h"

#include "base/belt.h"
#include "base/hash.h"
#include "pipeline/dump/bzip2.h"
#include "pipeline/dump/byte_source.h"

#include <sys/wait.h>

/* ------------------------------------------------------------------------------------------------------- kinds */

TEST(the_siteinfo_is_read)
{
    SCOPED(buf_release) struct buf text = {0};
    struct dump *dump;
    struct error err;
    struct dump_options options = small_options(50);
    add_dump(&text, 3, 100, 1);
    assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
    const struct siteinfo *info = dump_siteinfo(dump);
    assert_int_equal(dump_kind(dump), SOURCE_WIKI);
    assert_int_equal(dump_container(dump), CONTAINER_NONE);
    assert_int_equal(dump_bytes(dump), text.size);
    assert_int_equal(dump_windows(dump), (text.size + 49) / 50);
    assert_true(str_equal(info->sitename, STR("Probe & Wiki")));
    assert_true(str_equal(info->dbname, STR("dewiki")));
    assert_true(str_equal(info->language, STR("de")));
    assert_true(info->case_sensitive);
    assert_int_equal(info->namespace_count, 3);
    assert_int_equal(info->namespaces[0].key, -2);
    assert_true(str_equal(info->namespaces[1].name, STR("")));
    assert_int_equal(info->namespaces[2].key, 6);
    assert_true(str_equal(info->namespaces[2].name, STR("Datei")));
    dump_close(dump);

    assert_int_equal(dump_open(&dump, test_file(STR("<mediawiki><page>")), &options, &err), 0); /* an old dump without
                                                                                                 * <siteinfo> */
    assert_int_equal(dump_siteinfo(dump)->namespace_count, 0);
    assert_false(dump_siteinfo(dump)->case_sensitive);
    dump_close(dump);
}

struct sniff_case {
    struct str bytes;
    enum source_kind asked, found; /* found SOURCE_UNKNOWN: refused */
    enum error_kind error;
    const char *text, *hint; /* parts of the message */
};

#define FOUND(bytes, asked, found)                                                                                     \
    {                                                                                                                  \
        {bytes, sizeof(bytes) - 1}, asked, found, ERR_NONE, "", ""                                                     \
    }
#define REFUSED(bytes, asked, error, text, hint)                                                                       \
    {                                                                                                                  \
        {bytes, sizeof(bytes) - 1}, asked, SOURCE_UNKNOWN, error, text, hint                                           \
    }

static const struct sniff_case sniff_cases[] = {
    FOUND("<mediawiki><page>", SOURCE_UNKNOWN, SOURCE_WIKI),
    FOUND("\xef\xbb\xbf <?xml version=\"1.0\"?>\n<mediawiki>\n<page>", SOURCE_WIKI, SOURCE_WIKI),
    FOUND("Hello.\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("{{Infobox}} is text\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("{| class=\"wikitable\"\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    REFUSED("gr\xfc\xdf Gott, a line of text in Latin-1", SOURCE_UNKNOWN, ERR_UNSAFE, "is not text in UTF-8",
            "--encoding windows-1252"),
    FOUND("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("BZh is how bzip2 begins", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("{\"text\": \"x\"}\n", SOURCE_UNKNOWN, SOURCE_JSONL),
    FOUND("\n { \"text\": \"x\"}\n", SOURCE_UNKNOWN, SOURCE_JSONL),
    FOUND("{}", SOURCE_JSONL, SOURCE_JSONL),
    FOUND("{\"text\": \"x\"}\n", SOURCE_TEXT, SOURCE_TEXT),
    FOUND("<doc id=1>\nText\n", SOURCE_TEXT, SOURCE_TEXT),
    REFUSED("", SOURCE_UNKNOWN, ERR_INPUT, "empty", ""),
    REFUSED(" \n\n\t ", SOURCE_TEXT, ERR_INPUT, "blanks", ""),
    REFUSED("<mediawiki></mediawiki>", SOURCE_UNKNOWN, ERR_INPUT, "without pages", ""),
    REFUSED("<doc id=\"1\" title=\"A\">\nText\n", SOURCE_UNKNOWN, ERR_INPUT, "WikiExtractor", "--text"),
    REFUSED("<feed>\n<doc>\n", SOURCE_UNKNOWN, ERR_INPUT, "markup", "--text"),
    REFUSED("Hello.\n", SOURCE_WIKI, ERR_INPUT, "not a MediaWiki dump", "--text"),
    REFUSED("Hello.\n", SOURCE_JSONL, ERR_INPUT, "not JSONL", ""),
    REFUSED("{\"text\": \"x\"}\n", SOURCE_WIKI, ERR_INPUT, "not a MediaWiki dump", "--jsonl"),
    REFUSED("<mediawiki><page>", SOURCE_TEXT, ERR_INPUT, "not text", "--wiki"),
    REFUSED("<mediawiki><page>", SOURCE_JSONL, ERR_INPUT, "not JSONL", "--wiki"),
    REFUSED("<mediawiki <page>", SOURCE_UNKNOWN, ERR_INPUT, "not XML", ""),
    REFUSED("\n<!DOCTYPE HTML>\n<html>404</html>", SOURCE_UNKNOWN, ERR_INPUT, "HTML", "download"),
    REFUSED("<HTML><body>", SOURCE_WIKI, ERR_INPUT, "HTML", ""),
    REFUSED("<HTML><body>", SOURCE_TEXT, ERR_INPUT, "HTML", "trafilatura"),
    REFUSED("<!DOCTYPE x [<!ENTITY a \"b\">]><mediawiki>&a;<page>", SOURCE_UNKNOWN, ERR_UNSAFE, "DOCTYPE", ""),
    REFUSED("\x7f"
            "ELF\0\0\0\1\2\3",
            SOURCE_UNKNOWN, ERR_INPUT, "neither", ""),
    FOUND("a\0b", SOURCE_TEXT, SOURCE_TEXT),
    REFUSED("a\0b", SOURCE_UNKNOWN, ERR_INPUT, "NUL", "--text FILE"),
    REFUSED("H\0e\0l\0l\0o\0", SOURCE_TEXT, ERR_UNSAFE, "is not text in UTF-8", "--encoding utf-16le"),
    REFUSED("\0H\0e\0l\0l\0o", SOURCE_UNKNOWN, ERR_UNSAFE, "is not text in UTF-8", "--encoding utf-16be"),
    REFUSED("\0\0\0H\0\0\0e\0\0\0y", SOURCE_UNKNOWN, ERR_UNSAFE, "is not text in UTF-8", "--encoding utf-32be"),
    REFUSED("\xcb\xcf\xd4 \xc9 \xc4\xcf\xcd", SOURCE_UNKNOWN, ERR_UNSAFE, "is not text in UTF-8", "--encoding koi8-r"),
    REFUSED("\x1b$B\x25\x46\x1b(B", SOURCE_UNKNOWN, ERR_UNSAFE, "is not text in UTF-8", "--encoding iso-2022-jp"),
    REFUSED("\x01\x02\x03\xff\xfe\x04\x05\x06", SOURCE_UNKNOWN, ERR_INPUT, "neither a dump nor text", ""),
    REFUSED("\x01\x02\x03\xff\xfe\x04\x05\x06", SOURCE_TEXT, ERR_UNSAFE, "is not text in UTF-8", "--encoding NAME"),
    REFUSED("na\xc3\xafve, caf\xc3\xa9, \xe2\x80\x9cso\xe2\x80\x9d and \xff", SOURCE_TEXT, ERR_UNSAFE,
            "is not text in UTF-8", "--encoding utf-8-lossy"),
    FOUND("{\"text\": \"gr\xfc\xdf\"}\n", SOURCE_UNKNOWN, SOURCE_JSONL),
    REFUSED("617:10:AccessibleComputing\n617:12:Anarchism\n617:13:A: B\n", SOURCE_UNKNOWN, ERR_INPUT,
            "index of a multistream dump", "-multistream.xml.bz2"),
    REFUSED("617:10:AccessibleComputing\n617:12:Anarchism\n617:13:A: B\n", SOURCE_TEXT, ERR_INPUT,
            "index of a multistream dump", "-multistream.xml.bz2"),
    FOUND("10:30:00 The train leaves.\n11:00 It arrives.\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    REFUSED("-- MySQL dump 10.19\n--\nCREATE TABLE `page` (\n", SOURCE_UNKNOWN, ERR_INPUT, "SQL dump",
            "pages-articles"),
    REFUSED("[\n{\"type\":\"item\",\"id\":\"Q1\",\"labels\":{}},\n", SOURCE_UNKNOWN, ERR_INPUT, "Wikidata",
            "pages-articles"),
    REFUSED("One line.\rAnother.\rA third.", SOURCE_TEXT, ERR_UNSAFE, "in CR alone", "tr '\\r' '\\n' < dump-test-"),
    FOUND("One line, and a stray \r.", SOURCE_TEXT, SOURCE_TEXT),
    REFUSED("PAR1\x15\x04\x15", SOURCE_UNKNOWN, ERR_UNSAFE, "a Parquet file", "--jsonl -"),
    REFUSED("\x04\x22\x4d\x18", SOURCE_UNKNOWN, ERR_UNSAFE, "is an LZ4 file", "lz4 -dc"),
    FOUND("[1] Smith, 1990.\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("One, two\nthree, four\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    REFUSED("[{\"text\": \"x\"}]", SOURCE_TEXT, ERR_UNSAFE, "is a JSON array, not text", "with --jsonl;"),
    REFUSED("id,text\n1,\"a, b\"\n", SOURCE_TEXT, ERR_UNSAFE, "a table (CSV), not text", "--jsonl --text-key COLUMN"),
    FOUND("[\n {\"text\": \"x\"}]", SOURCE_UNKNOWN, SOURCE_JSONL),
    REFUSED("[{\"text\": \"x\"}", SOURCE_UNKNOWN, ERR_INPUT, "truncated", ""),
    REFUSED("[[1]]", SOURCE_JSONL, ERR_UNSAFE, "JSON array of arrays", "jq"),
    FOUND("id,text\n1,\"a, b\"\n", SOURCE_UNKNOWN, SOURCE_JSONL),
    FOUND("text,label\n\"One line,\nand another.\",0\n", SOURCE_UNKNOWN, SOURCE_JSONL),
    FOUND("text,label\n\"One line,\nand another.\n", SOURCE_UNKNOWN, SOURCE_TEXT),
    FOUND("\"id\"\t\"text\"\r\n1\ta b\r\n", SOURCE_JSONL, SOURCE_JSONL),
    REFUSED("id,text\n1,\"a, b\"\n", SOURCE_WIKI, ERR_UNSAFE, "a table (CSV)", "--jsonl"),
    REFUSED("%PDF-1.7\n%\xe2\xe3", SOURCE_TEXT, ERR_UNSAFE, "PDF", "pdftotext dump-test-"),
    REFUSED("\xff\xfeH\0i\0", SOURCE_TEXT, ERR_UNSAFE, "is encoded in utf-16", "--encoding utf-16"),
    REFUSED("\xff\xfe\0\0H\0\0\0", SOURCE_TEXT, ERR_UNSAFE, "is encoded in utf-32", "--encoding utf-32"),
    FOUND("<?xml version=\"1.0\" encoding=\"utf-8\"?><mediawiki><page>", SOURCE_UNKNOWN, SOURCE_WIKI),
    FOUND("<?xml version=\"1.0\" encoding = 'US-ASCII'?><mediawiki><page>", SOURCE_UNKNOWN, SOURCE_WIKI),
    FOUND("<?xml version=\"1.0\"?><mediawiki a=\"encoding='x'\"><page>", SOURCE_UNKNOWN, SOURCE_WIKI),
    REFUSED("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><mediawiki><page>", SOURCE_UNKNOWN, ERR_UNSAFE,
            "in iso-8859-1", "--encoding iso-8859-1"),
    REFUSED("\xef\xbb\xbf<?xml version='1.0' encoding\n= 'koi8-r' ?><mediawiki><page>", SOURCE_WIKI, ERR_UNSAFE,
            "in koi8-r", "--encoding koi8-r"),
    REFUSED("<?xml version=\"1.0\" encoding=\"x' -o y\"?><mediawiki><page>", SOURCE_UNKNOWN, ERR_UNSAFE,
            "an unknown encoding", "find out"),
    REFUSED("\x1f\x8b\x08\0\0\0", SOURCE_WIKI, ERR_INPUT, "truncated", "download"),
    REFUSED("\x28\xb5\x2f\xfd no frame", SOURCE_UNKNOWN, ERR_INPUT, "damaged", "download"),
    REFUSED("\xfd"
            "7zXZ\0 no stream",
            SOURCE_UNKNOWN, ERR_INPUT, "damaged", "download"),
    REFUSED("LZIP", SOURCE_UNKNOWN, ERR_UNSAFE, "lzip", "-input | dsdata build --out D -"),
    REFUSED("7z\xbc\xaf\x27\x1c", SOURCE_UNKNOWN, ERR_UNSAFE, "7-Zip", "7z x -so"),
    REFUSED("PK\3\4", SOURCE_UNKNOWN, ERR_UNSAFE, "zip", "unzip -q dump-test-"),
    REFUSED("BZh9", SOURCE_UNKNOWN, ERR_INPUT, "truncated", "download"),
    REFUSED("BZh9 is not bzip2", SOURCE_UNKNOWN, ERR_INPUT, "damaged", "download"),
};

/* Reads to the end or the first error. */
static int read_all(struct dump *dump, uint64_t number, struct error *err)
{
    struct dump_piece piece = {0};
    struct group group = {0};
    int more = 1, result = 0;
    for (; result == 0 && more > 0; number++) {
        more = dump_read(dump, number, &piece, err);
        assert_true(more >= 0);
        assert_int_equal(dump_decode(dump, &piece, err), 0);
        do
            result = dump_cut(dump, &piece, &group, err);
        while (result > 0);
    }
    piece_release(&piece);
    group_release(&group);
    return result;
}

/* The expansion limit holds for each window: salvage does not avoid it, and a reader that begins at the window finds it
 * too. */
TEST(a_bomb_is_refused_in_its_window)
{
    enum { WINDOW = 2000, BOMB = 400000 };
    SCOPED(buf_release) struct buf file = {0}, text = {0}, blanks = {0};
    struct error err, again;
    struct dump *dump;
    struct dump_state entry;
    uint64_t random = 5;
    for (size_t i = 0; i < BOMB; i++)
        buf_add_byte(&blanks, ' ');
    buf_add_text(&text, test_head);
    for (unsigned i = 0; i < 30; i++)
        add_page(&text, i, 400, &random);
    add_stream(&file, buf_str(&text), 9, 500);
    const size_t bomb_at = file.size;
    for (int i = 0; i < 3; i++)
        add_stream(&file, buf_str(&blanks), 9, 0);
    const size_t bomb_end = file.size;
    add_stream(&file, STR("</mediawiki>"), 9, 0);
    assert_true(bomb_at > 2 * WINDOW && bomb_end - bomb_at < 300);
    struct dump_options options = small_options(WINDOW);
    for (unsigned choice = 0; choice < 8; choice++) {
        options.salvage = choice & 1;
        options.ratio_text_min = choice & 2 ? 3 * BOMB : 2 * BOMB; /* the window's pages, too, are before the bomb */
        options.ratio_max = choice & 4 ? 3 * BOMB : 100;
        const bool refused = !(choice & 4);
        assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
        assert_int_equal(read_all(dump, 0, &err), refused ? -1 : 0);
        if (refused) {
            assert_int_equal(err.kind, ERR_UNSAFE);
            assert_non_null(strstr(err.hint, "--max-ratio"));
            assert_true(err.offset > bomb_at && err.offset <= bomb_end);
            dump_guess(dump, bomb_at / WINDOW, &entry);
            assert_int_equal(dump_restore(dump, &entry, &again), 0);
            assert_int_equal(read_all(dump, bomb_at / WINDOW, &again), -1);
            assert_int_equal(again.kind, ERR_UNSAFE);
            assert_int_equal(again.offset, err.offset);
        }
        dump_close(dump);
    }
}

TEST(the_kind_follows_from_the_content)
{
    for (size_t i = 0; i < 2 * sizeof(sniff_cases) / sizeof(*sniff_cases); i++) {
        const struct sniff_case *c = &sniff_cases[i / 2];
        struct dump_options options = small_options(16);
        struct dump *dump;
        struct error err = {0};
        SCOPED(buf_release) struct buf file = {0};
        options.kind = c->asked;
        if (i % 2 && (c->bytes.size == 0 || c->error == ERR_UNSAFE || strstr(c->hint, "download")))
            continue;
        if (i % 2)
            add_stream(&file, c->bytes, 9, 3); /* the same bytes inside bzip2 */
        else
            buf_add_str(&file, c->bytes);
        int result = dump_open(&dump, test_file(buf_str(&file)), &options, &err);
        if ((result == 0) != (c->error == ERR_NONE) || err.kind != c->error || !strstr(err.text, c->text) ||
            !strstr(err.hint, c->hint))
            fail_msg("case %zu: %d, kind %d, %s | %s", i, result, (int)err.kind, err.text, err.hint);
        if (result == 0) {
            assert_int_equal(dump_kind(dump), c->found);
            assert_int_equal(dump_container(dump), i % 2 ? CONTAINER_BZIP2 : CONTAINER_NONE);
            dump_close(dump);
        } else {
            assert_string_not_equal(err.file, "");
        }
    }
}

TEST(hints_for_compressed_inputs_unpack_them)
{
    static const struct {
        struct str bytes;
        const char *hint;
    } cases[] = {{STR("[\n [\"x\"]]"), "-input | jq -c '.[] | {text: "},
                 {STR("One line.\rAnother.\rA third."), "-input | tr '\\r' '\\n' | dsdata"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dump_options options = small_options(16);
        struct dump *dump;
        struct error err = {0};
        SCOPED(buf_release) struct buf file = {0};
        add_stream(&file, cases[i].bytes, 9, 3);
        assert_int_not_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
        assert_int_equal(err.kind, ERR_UNSAFE);
        assert_memory_equal(err.hint, "bzip2 -dc ", 10);
        assert_non_null(strstr(err.hint, cases[i].hint));
    }
}

TEST(what_cannot_be_opened_is_a_usage_error)
{
    struct dump_options options = dump_defaults(input_formats);
    struct dump *dump;
    struct error err;
    assert_int_equal(dump_open(&dump, "no/such/file.bz2", &options, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(dump_open(&dump, "/", &options, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    SCOPED(buf_release) struct buf tar = {0};
    for (int i = 0; i < 600; i++)
        buf_add_byte(&tar, 'x');
    memcpy(tar.data + 257, "ustar", 5);
    assert_int_equal(dump_open(&dump, test_file(buf_str(&tar)), &options, &err), DUMP_OTHER);
    assert_int_equal(err.kind, ERR_UNSAFE);
}

/* A file that is truncated while it is read gives an error with the offset, not stale bytes of a buffer. */
TEST(a_file_that_becomes_shorter_is_an_error)
{
    struct byte_source source;
    SCOPED(buf_release) struct buf out = {0};
    struct error err;
    const char *path = test_file(STR("0123456789"));
    assert_int_equal(byte_source_open(&source, path, &err), 0);
    assert_int_equal(byte_source_read(&source, 2, 100, &out, &err), 0);
    assert_true(str_equal(buf_str(&out), STR("23456789")));
    assert_int_equal(truncate(path, 6), 0);
    assert_int_equal(byte_source_read(&source, 4, 4, &out, &err), -1);
    assert_int_equal(err.kind, ERR_INPUT);
    assert_int_equal(err.offset, 6);
    assert_non_null(strstr(err.text, "became shorter"));
    byte_source_close(&source);
}

TEST(a_byte_order_mark_is_no_text)
{
    SCOPED(buf_release) struct buf file = {0}, out = {0};
    struct error err;
    for (size_t window = 1; window < 8; window++) {
        struct dump_options options = small_options(window);
        options.kind = SOURCE_JSONL;
        file_of_text(&file, STR("\xef\xbb\xbf{}"), window % 2, 9, window);
        assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), 0);
        assert_non_null(strstr(buf_text(&out), "records 1 oversize 0\n-- 2\n{}\n"));
    }
}

/* ------------------------------------------------------------------------------------------------------ groups */

/* Computes the expected groups the slow way: from the file's blocks, one after the other, and the positions of
 * <page>. */
static void expect_groups(struct str file, size_t window_bytes, struct buf *expected)
{
    SCOPED(buf_release) struct buf text = {0}, body = {0};
    struct bzip2_memory memory = {0};
    struct bzip2_block blocks[500];
    size_t count = 0, records = 0, group = SIZE_MAX;
    const uint8_t *bytes = (const uint8_t *)file.data;
    for (uint64_t bit = 0; (bit = bzip2_find(bytes, file.size, bit, UINT64_MAX)) != UINT64_MAX; bit++)
        if (bzip2_decode(&memory, bytes, file.size, bit, 9, SIZE_MAX / 2, &text, &blocks[count]) == BZIP2_DONE)
            assert_true(++count < 500);
    buf_text(&text);
    const char *at = text.data, *begin;
    do {
        size_t last = group, i = 0;
        begin = strstr(at, "<page>");
        while (begin && blocks[i].text_from + blocks[i].text_size <= (size_t)(begin - text.data))
            i++;
        group = begin ? (size_t)(blocks[i].start / 8) / window_bytes : SIZE_MAX;
        if (group != last && records) {
            buf_addf(expected, "== file 3 window %zu part 0 records %zu oversize 0\n", last, records);
            buf_add_str(expected, buf_str(&body));
            buf_reset(&body);
            records = 0;
        }
        if (begin) {
            at = strstr(begin, "</page>") + 7;
            buf_addf(&body, "-- %zu\n%.*s\n", (size_t)(at - begin), (int)(at - begin), begin);
            records++;
        }
    } while (begin);
    bzip2_release(&memory);
}

/* Single and multistream, blocks that cut tags anywhere, windows that cut blocks and magics anywhere. */
TEST(a_page_is_in_the_group_of_its_blocks_window)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0}, expected = {0};
    struct error err;
    for (int shape = 0; shape < 3; shape++) {
        for (size_t block = 11; block < 2000; block = block * 3 + 1) {
            buf_reset(&text);
            buf_reset(&file);
            add_dump(&text, block < 50 ? 10 : 25, block < 50 ? 100 : 900, block);
            if (shape == 0)
                add_stream(&file, buf_str(&text), 1, block);
            for (size_t at = 0; shape > 0 && at < text.size; at += block)
                add_stream(&file, (struct str){text.data + at, text.size - at < block ? text.size - at : block}, 1,
                           shape == 2 ? block / 2 : 0);
            for (size_t window = file.size / 400 + 1; window < 2 * file.size; window = window * 2 + 3) {
                struct dump_options options = small_options(window);
                options.piece_bytes_max = window % 3 ? 1u << 20 : block * 2;
                buf_reset(&expected);
                expect_groups(buf_str(&file), window, &expected);
                if (read_bytes(buf_str(&file), &options, &out, &err) < 0)
                    fail_msg("%s", err.text);
                assert_same(buf_str(&out), buf_str(&expected));
            }
        }
    }
}

/* The records of a peek are also in the groups; for a file of one window they are all of them. */
TEST(a_peek_gives_whole_records)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, all = {0};
    struct dump_piece piece = {0};
    struct group group = {0};
    struct error err;
    struct dump *dump;
    add_dump(&text, 30, 300, 2);
    for (int shape = 0; shape < 4; shape++) {
        file_of_text(&file, buf_str(&text), shape % 2, 1, 150);
        if (shape >= 2)
            file.data[file.size - 40] ^= 1; /* a peek ignores damage */
        for (size_t window = 300; window < 1 << 20; window *= 9) {
            struct dump_options options = small_options(window);
            size_t seen = 0;
            if (shape < 2)
                assert_int_equal(read_bytes(buf_str(&file), &options, &all, &err), 0);
            assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
            for (uint64_t i = dump_windows(dump); i-- > 0;) {
                assert_int_equal(dump_read(dump, i, &piece, &err), 1);
                assert_int_equal(dump_decode(dump, &piece, &err), 0);
                assert_int_equal(dump_peek(dump, &piece, &group, &err), 0);
                for (size_t r = 0; r < group.record_count && shape < 2; r++)
                    assert_true(str_find(buf_str(&all), (struct str){group.text.data + group.records[r].offset,
                                                                     group.records[r].size}) != SIZE_MAX);
                seen += group.record_count;
            }
            assert_true(seen <= 30 && (shape >= 2 || window < file.size || seen == 30));
            dump_close(dump);
        }
    }
    piece_release(&piece);
    group_release(&group);
}

TEST(the_hash_is_of_every_byte)
{
    SCOPED(buf_release) struct buf text = {0}, out = {0};
    struct dump *dump;
    struct error err;
    struct dump_options options = small_options(64);
    uint64_t first = 0;
    add_dump(&text, 2, 50, 1);
    for (size_t i = 0; i < 3; i++) {
        if (i == 2)
            text.data[text.size - 1] = ' '; /* a byte after the last record */
        assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
        assert_int_equal(read_groups(dump, 0, true, NULL, &out, &err), 0);
        if (i == 0)
            first = dump_hash(dump);
        else
            assert_int_equal(dump_hash(dump) == first, i == 1);
        dump_close(dump);
    }
}

static const char *sum_of(struct str bytes)
{
    static char digits[SHA256_DIGITS + 1];
    struct sha256 sum = sha256_begin();
    sha256_add(&sum, bytes.data, bytes.size);
    return sha256_text(&sum, digits);
}

TEST(a_wrong_sum_is_reported_at_the_end)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    struct dump *dump;
    struct error err;
    add_dump(&text, 5, 300, 1);
    add_stream(&file, buf_str(&text), 1, 100);
    for (int salvage = 0; salvage < 2; salvage++)
        for (int right = 0; right < 2; right++) {
            char digits[SHA256_DIGITS + 1];
            strcpy(digits, sum_of(buf_str(&file)));
            digits[63] = right ? digits[63] : digits[63] == '0' ? '1' : '0';
            struct dump_options options = small_options(97);
            options.sha256 = digits;
            options.salvage = salvage;
            assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
            assert_true(dump_is_summed(dump));
            assert_false(dump_divides(dump));
            assert_int_equal(read_all(dump, 0, &err), right || salvage ? 0 : -1);
            if (!right && !salvage) {
                assert_int_equal(err.kind, ERR_INPUT);
                assert_non_null(strstr(err.text, "SHA-256"));
            }
            dump_close(dump);
        }
}

/* ----------------------------------------------------------------------------------------------------- restart */

struct states {
    struct dump_state state[4000];
    size_t out_size[4000]; /* bytes of groups given until then */
    size_t count;
    size_t from; /* window of the first state */
};

static void keep_state(void *context, const struct dump *dump, uint64_t window, const struct buf *out)
{
    struct states *states = context;
    if (states->count == 0)
        states->from = (size_t)window;
    assert_true(states->count < 4000);
    dump_state(dump, &states->state[states->count]);
    states->out_size[states->count++] = out->size;
}

static void assert_same_state(const struct dump_state *a, const struct dump_state *b)
{
    assert_int_equal(a->next_window, b->next_window);
    assert_int_equal(a->next_part, b->next_part);
    assert_int_equal(a->bit, b->bit);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->crc, b->crc);
    assert_int_equal(a->padding, b->padding);
    assert_int_equal(a->unsure, b->unsure);
    assert_int_equal(a->lost, b->lost);
    assert_int_equal(a->open, b->open);
    assert_int_equal(a->match, b->match);
    assert_int_equal(a->closed, b->closed);
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->sum.bytes, b->sum.bytes);
    assert_memory_equal(a->sum.state, b->sum.state, sizeof a->sum.state);
}

/* A restart from the state after every piece gives exactly the remaining groups, and the same states and hash as
 * without the restart. Equal states cover the restart of a restart. */
static void assert_restarts(const char *path, const struct dump_options *options)
{
    static struct states whole, rest;
    SCOPED(buf_release) struct buf all = {0}, out = {0};
    struct dump *dump;
    struct error err;
    whole.count = 0;
    assert_int_equal(dump_open(&dump, path, options, &err), 0);
    if (read_groups(dump, 0, true, &(struct observer){keep_state, &whole}, &all, &err) < 0)
        fail_msg("%s", err.text);
    uint64_t hash = dump_hash(dump);
    dump_close(dump);
    for (size_t i = 0; i < whole.count; i++) {
        buf_reset(&out);
        rest.count = 0;
        assert_int_equal(dump_open(&dump, path, options, &err), 0);
        assert_int_equal(dump_restore(dump, &whole.state[i], &err), 0);
        struct dump_state again;
        dump_state(dump, &again);
        assert_same_state(&again, &whole.state[i]);
        if (read_groups(dump, whole.state[i].next_window, true, &(struct observer){keep_state, &rest}, &out, &err) < 0)
            fail_msg("%s", err.text);
        assert_same(buf_str(&out), (struct str){all.data + whole.out_size[i], all.size - whole.out_size[i]});
        assert_int_equal(dump_hash(dump), hash);
        for (size_t j = i > rest.from ? i : rest.from; j < whole.count; j++)
            assert_same_state(&rest.state[j - rest.from], &whole.state[j]);
        dump_close(dump);
    }
}

TEST(a_restart_gives_the_groups_that_were_missing)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    uint64_t random = 1;
    buf_add_text(&text, test_head);
    for (unsigned i = 0; i < 6; i++)
        add_page(&text, i, i == 2 ? 400 : test_random(&random) % 40, &random);
    buf_add_text(&text, "<page>not closed");
    add_page(&text, 9, 5, &random);
    buf_add_text(&text, "<page><page></page></mediawiki>\n");
    for (int shape = 0; shape < 3; shape++) {
        if (shape < 2)
            file_of_text(&file, buf_str(&text), shape == 1, 1, 30);
        else
            buf_reset(&file);
        for (size_t at = 0; shape == 2 && at < text.size; at += 90)
            add_stream(&file, (struct str){text.data + at, text.size - at < 90 ? text.size - at : 90}, 1, 47);
        if (shape == 2)
            for (int i = 0; i < 100; i++)
                buf_add_byte(&file, 0);
        const char *path = test_file(buf_str(&file));
        for (size_t window = file.size / 100 + 1; window < 2 * file.size; window = window * 2 + 1) {
            struct dump_options options = small_options(window);
            options.sha256 = window % 3 ? sum_of(buf_str(&file)) : NULL;
            assert_restarts(path, &options);
            options.page_bytes_max = 300;  /* one page is skipped */
            options.group_bytes_max = 200; /* groups of several parts */
            assert_restarts(path, &options);
        }
    }
}

/* A state from a start without --sha256 has no sum; the restart computes it from the beginning of the file. */
TEST(a_sum_is_made_up_for)
{
    SCOPED(buf_release) struct buf text = {0}, out = {0};
    struct dump *dump;
    struct error err;
    static struct states states;
    add_dump(&text, 9, 300, 2);
    struct dump_options options = small_options(101);
    states.count = 0;
    assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
    assert_int_equal(read_groups(dump, 0, true, &(struct observer){keep_state, &states}, &out, &err), 0);
    dump_close(dump);
    for (size_t i = 0; i < states.count; i++)
        for (int right = 0; right < 2; right++) {
            char digits[SHA256_DIGITS + 1];
            strcpy(digits, sum_of(buf_str(&text)));
            digits[0] = right ? digits[0] : digits[0] == '0' ? '1' : '0';
            options.sha256 = digits;
            assert_int_equal(states.state[i].sum.bytes, 0);
            assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
            assert_int_equal(dump_restore(dump, &states.state[i], &err), 0);
            assert_int_equal(read_all(dump, states.state[i].next_window, &err), right ? 0 : -1);
            dump_close(dump);
        }
}

TEST(text_and_jsonl_restart_too)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    uint64_t random = 7;
    buf_add_text(&text, "\xef\xbb\xbf");
    for (unsigned i = 0; i < 60; i++)
        buf_addf(&text, "{\"%u\": %u}%s%s", i, test_random(&random), i % 3 ? "\n" : " \r\n", i % 7 ? "" : " \n\n");
    for (int shape = 0; shape < 4; shape++) {
        file_of_text(&file, buf_str(&text), shape % 2, 1, 13);
        const char *path = test_file(buf_str(&file));
        for (size_t window = file.size / 100 + 1; window < 2 * file.size; window = window * 2 + 1) {
            struct dump_options options = small_options(window);
            options.kind = shape < 2 ? SOURCE_TEXT : SOURCE_JSONL;
            options.group_bytes_max = 150;
            static const uint32_t blank_lines[] = {1, 0, 2, WHOLE_FILE};
            for (size_t i = 0; i < (shape < 2 ? sizeof blank_lines / sizeof *blank_lines : 1); i++) {
                options.blank_lines = blank_lines[i];
                assert_restarts(path, &options);
            }
        }
    }
}

/* Asking for the length reads ahead, and leaves the input at its beginning. */
TEST(a_length_is_compared_before_reading)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, before = {0}, after = {0};
    struct error err;
    for (unsigned i = 0; i < 60; i++)
        buf_addf(&text, "Line %u.\n%s", i, i % 3 ? "" : "\n");
    for (int shape = 0; shape < 2; shape++) {
        struct dump *dump;
        struct dump_options options = small_options(50);
        file_of_text(&file, buf_str(&text), shape == 1, 1, 13);
        assert_int_equal(read_bytes(buf_str(&file), &options, &before, &err), 0);
        assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
        assert_int_equal(dump_exceeds(dump, 0, &err), 1);
        assert_int_equal(dump_exceeds(dump, text.size - 1, &err), 1);
        assert_int_equal(dump_exceeds(dump, text.size, &err), 0);
        buf_reset(&after);
        assert_int_equal(read_groups(dump, 0, true, NULL, &after, &err), 0);
        assert_same(buf_str(&after), buf_str(&before));
        dump_close(dump);
    }
}

/* Salvage also restarts from any state: gaps begin at, span, or end at a window's border. */
TEST(salvage_restarts)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    add_dump(&text, 12, 90, 5);
    for (size_t at = 0; at < text.size; at += 300)
        add_stream(&file, (struct str){text.data + at, text.size - at < 300 ? text.size - at : 300}, 1, 60);
    for (size_t at = file.size / 2; at < file.size; at += file.size / 11) {
        for (size_t i = at; i < at + 150 && i < file.size; i += 20)
            file.data[i] ^= 1;
        const char *path = test_file(buf_str(&file));
        for (size_t window = file.size / 60; window < 2 * file.size; window = window * 3 + 1) {
            struct dump_options options = small_options(window);
            options.salvage = true;
            assert_restarts(path, &options);
        }
        for (size_t i = at; i < at + 150 && i < file.size; i += 20)
            file.data[i] ^= 1;
    }
}

TEST(a_state_that_cannot_be_is_refused)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0};
    struct dump *dump;
    struct error err;
    struct dump_options options = small_options(16);
    add_dump(&text, 2, 50, 1);
    add_stream(&file, buf_str(&text), 1, 0);
    assert_int_equal(dump_open(&dump, test_file(buf_str(&file)), &options, &err), 0);
    assert_int_equal(dump_restore(dump, &(struct dump_state){0}, &err), 0); /* the beginning */
    const struct dump_state bad[] = {{.next_window = dump_windows(dump) + 1},
                                     {.level = 10},
                                     {.bit = file.size * 8 + 8},
                                     {.bit = 5},
                                     {.next_window = 2, .bit = 8},
                                     {.match = 6},
                                     {.match = 16},
                                     {.match = 65}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(dump_restore(dump, &bad[i], &err), -1);
        assert_int_equal(err.kind, ERR_MISMATCH);
    }
    dump_close(dump);
}

/* ----------------------------------------------------------------------------------------------- pipe and belt */

/* Reads the bytes as a dump from standard input, through a pipe. */
static int read_pipe(struct str bytes, const struct dump_options *options, struct buf *out, struct error *err)
{
    int ends[2], kept = dup(STDIN_FILENO), status;
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        for (size_t at = 0; at < bytes.size;) {
            ssize_t size = write(ends[1], bytes.data + at, bytes.size - at < 1000 ? bytes.size - at : 1000);
            if (size <= 0)
                _exit(1);
            at += (size_t)size;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    int result = read_path("-", options, out, err);
    dup2(kept, STDIN_FILENO);
    close(kept);
    waitpid(writer, &status, 0);
    return result;
}

TEST(a_pipe_is_as_a_file)
{
    SCOPED(buf_release) struct buf text = {0}, file = {0}, out = {0}, piped = {0};
    struct error err;
    add_dump(&text, 300, 3000, 4);
    for (int shape = 0; shape < 3; shape++) {
        file_of_text(&file, buf_str(&text), shape > 0, shape == 1 ? 1 : 9, 0);
        for (size_t window = 4096; window < 1 << 21; window *= 16) {
            struct dump_options options = small_options(window);
            assert_int_equal(read_bytes(buf_str(&file), &options, &out, &err), 0);
            if (read_pipe(buf_str(&file), &options, &piped, &err) < 0)
                fail_msg("%s: %s", err.file, err.text);
            assert_same(buf_str(&piped), buf_str(&out));
        }
        struct dump_options options = small_options(4096);
        assert_int_equal(read_pipe((struct str){file.data, file.size / 2}, &options, &piped, &err), -1);
        assert_int_equal(err.kind, ERR_INPUT);
        assert_int_equal(err.offset, file.size / 2);
        assert_string_equal(err.file, "standard input");
    }
}

struct job {
    struct dump_piece piece;
    struct group group;
};

struct flow {
    struct dump *dump;
    bool ended;
    struct buf out;
};

static int flow_read(void *context, void *job, uint64_t number, struct error *err)
{
    struct flow *flow = context;
    if (flow->ended)
        return BELT_END;
    int more = dump_read(flow->dump, number, &((struct job *)job)->piece, err);
    flow->ended = more == 0;
    return more < 0 ? -1 : BELT_NEXT;
}

static int flow_decode(void *context, void *job, uint64_t number, struct error *err)
{
    (void)number;
    return dump_decode(((struct flow *)context)->dump, &((struct job *)job)->piece, err);
}

static int flow_cut(void *context, void *job, uint64_t number, struct error *err)
{
    (void)number;
    struct job *j = job;
    int more = dump_cut(((struct flow *)context)->dump, &j->piece, &j->group, err);
    return more < 0 ? -1 : more ? BELT_MORE : BELT_NEXT;
}

static int flow_collect(void *context, void *job, uint64_t number, struct error *err)
{
    (void)number, (void)err;
    write_group(&((struct flow *)context)->out, &((struct job *)job)->group);
    return BELT_NEXT;
}

static void flow_release(void *job)
{
    piece_release(&((struct job *)job)->piece);
    group_release(&((struct job *)job)->group);
}

TEST(threads_change_nothing)
{
    static const struct belt_step steps[] = {
        {"read", 1, flow_read}, {"decode", 0, flow_decode}, {"cut", 1, flow_cut}, {"collect", 1, flow_collect}};
    SCOPED(buf_release) struct buf text = {0}, file = {0}, expected = {0};
    struct error err;
    add_dump(&text, 200, 2000, 6);
    add_stream(&file, buf_str(&text), 1, 5000);
    struct dump_options options = small_options(2000);
    options.piece_bytes_max = 6000; /* the cut has to decode some blocks itself */
    options.group_bytes_max = 4000;
    assert_int_equal(read_bytes(buf_str(&file), &options, &expected, &err), 0);
    for (size_t threads = 1; threads <= 8; threads *= 2) {
        struct flow flow = {0};
        assert_int_equal(dump_open(&flow.dump, test_file(buf_str(&file)), &options, &err), 0);
        const struct belt_options belt = {.steps = steps,
                                          .step_count = 4,
                                          .depth = 2 * threads,
                                          .threads = threads,
                                          .job_size = sizeof(struct job),
                                          .job_release = flow_release,
                                          .context = &flow};
        assert_int_equal(belt_run(&belt, NULL, &err), 0);
        assert_same(buf_str(&flow.out), buf_str(&expected));
        dump_close(flow.dump);
        buf_release(&flow.out);
    }
}

/* Otherwise groups would not be processed in parallel. */
TEST(a_piece_gives_its_group_at_one_call)
{
    SCOPED(buf_release) struct buf text = {0};
    struct error err;
    struct dump *dump;
    struct dump_piece piece = {0};
    struct group group = {0};
    add_dump(&text, 300, 2000, 6);
    const struct dump_options options = small_options(5000);
    assert_int_equal(dump_open(&dump, test_file(buf_str(&text)), &options, &err), 0);
    uint64_t groups = 0, further_calls = 0;
    for (uint64_t window = 0; dump_read(dump, window, &piece, &err) > 0; window++) {
        assert_int_equal(dump_decode(dump, &piece, &err), 0);
        int more;
        do {
            more = dump_cut(dump, &piece, &group, &err);
            assert_true(more >= 0);
            groups += group.record_count > 0;
            further_calls += more > 0;
        } while (more);
    }
    assert_true(groups > 50 && further_calls < groups / 4);
    piece_release(&piece);
    group_release(&group);
    dump_close(dump);
}

/* --------------------------------------------------------------------------------------------------- real data */

TEST(the_english_sample_is_whole)
{
    char path[REAL_PATH_BYTES];
    SCOPED(buf_release) struct buf file = {0}, text = {0}, body = {0}, out = {0}, small = {0};
    struct error err;
    real_dump("enwiki-2016-sample", path);
    if (access(path, R_OK) != 0) {
        print_message("%s is absent: skipped\n", path);
        skip();
    }
    assert_int_equal(file_read_all(path, 1u << 30, &file, &err), 0);
    assert_int_equal(decode_all(buf_str(&file), &text), 0);
    buf_text(&text);
    size_t pages = 0;
    for (const char *at = text.data, *begin; (begin = strstr(at, "<page>")) != NULL; pages++) {
        at = strstr(begin, "</page>") + 7;
        buf_addf(&body, "-- %zu\n", (size_t)(at - begin));
        buf_add_str(&body, str_range(begin, at));
        buf_add_byte(&body, '\n');
    }
    assert_int_equal(pages, 206);
    for (size_t window = 1u << 30; window >= 10000; window /= 1000) {
        struct dump_options options = small_options(window);
        assert_int_equal(read_path(path, &options, &out, &err), 0);
        /* without the lines of the groups */
        buf_reset(&small);
        for (const char *at = buf_text(&out), *end = out.data + out.size; at < end;) {
            const char *next = memmem(at, (size_t)(end - at), "\n== file", 8);
            next = next ? next + 1 : end;
            const char *records = strchr(at, '\n') + 1;
            buf_add_str(&small, str_range(records, next));
            at = next;
        }
        assert_same(buf_str(&small), buf_str(&body));
    }
}

GROUP(NULL, test_file_remove)
