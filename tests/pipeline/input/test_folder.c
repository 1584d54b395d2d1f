/* Folders of parts: names, their order, refused folders, lists of checksums. */
#include "pipeline/input/folder.h"

#include "base/file.h"
#include "base/log.h"
#include "tests/unit.h"

#define X     "xxwiki-2026-11-01-"
#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
#define SUM_b "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char directory[] = "/tmp/test_folder.XXXXXX";

static int make(void **state)
{
    (void)state;
    log_open("test", LOG_QUIET, false);
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static void put(const char *name, const char *text)
{
    struct error err;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
}

static int clear(void **state)
{
    (void)state;
    struct error err;
    SCOPED(path_list_release) struct path_list names = {0};
    path_list(&names, directory, &err);
    for (size_t i = 0; i < names.count; i++) {
        SCOPED(mem_free_at) char *path = path_join(directory, names.names[i]);
        path_remove(path, &err);
    }
    return path_remove(directory, &err);
}

/* Expects these names of parts, each followed by a blank. */
static void expect(const char *wanted)
{
    struct error err;
    struct folder folder;
    SCOPED(buf_release) struct buf names = {0};
    if (folder_read(&folder, directory, false, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < folder.count; i++)
        buf_addf(&names, "%s ", strrchr(folder.parts[i].path, '/') + 1);
    assert_string_equal(buf_text(&names), wanted);
    folder_release(&folder);
}

static void refuse(bool salvage, enum error_kind kind, const char *word, const char *other)
{
    struct error err = {0};
    struct folder folder;
    assert_int_equal(folder_read(&folder, directory, salvage, &err), -1);
    assert_int_equal(err.kind, kind);
    if (!strstr(err.text, word) || !strstr(err.text, other))
        fail_msg("'%s' has not '%s' and '%s'", err.text, word, other);
    folder_release(&folder);
}

TEST(names_of_parts)
{
    static const struct {
        const char *name, *export;
        uint64_t page, last, revision, revision_last;
    } names[] = {
        {"enwiki-2026-11-01-p10p1147431.xml.bz2", "enwiki-2026-11-01", 10, 1147431, 0, 0},
        {"zh_yuewiki-2026-11-01-p1p1.xml", "zh_yuewiki-2026-11-01", 1, 1, 0, 0},
        {"enwiki-2026-11-01-p45046r266092r5566832.xml.zst", "enwiki-2026-11-01", 45046, 45046, 266092, 5566832},
        {"enwiki-20261101-pages-articles12.xml-p10p20.bz2", "enwiki-20261101-pages-articles", 10, 20, 0, 0},
        {"fiwiki-20261101-pages-articles.xml.bz2", "fiwiki-20261101-pages-articles", 0, 0, 0, 0},
        {"enwiki-2026-11-01-p20p10.xml.bz2", "enwiki-2026-11-01-p20p10", 0, 0, 0, 0},
        {"enwiki-2026-11-01-p1p99999999999999999999.xml", "enwiki-2026-11-01-p1p99999999999999999999", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct part_name part;
        assert_true(part_name_read(str_of(names[i].name), &part));
        assert_true(str_equal(part.export, str_of(names[i].export)));
        assert_int_equal(part.has_pages, names[i].last > 0);
        assert_int_equal(part.page, names[i].page);
        assert_int_equal(part.last, names[i].last);
        assert_int_equal(part.revision, names[i].revision);
        assert_int_equal(part.revision_last, names[i].revision_last);
    }
    static const char *const others[] = {"SHA256SUMS",
                                         "index.html",
                                         "_SUCCESS",
                                         X "p1p9.xml.bz2.part",
                                         "enwiki-20261101-pages-articles-multistream-index.txt.bz2",
                                         "enwiki-20261101-pages-articles-multistream-index1.txt-p1p41242.bz2",
                                         ".xml.bz2",
                                         ".hidden-p1p2.xml",
                                         "-p1p2.bz2",
                                         ""};
    struct part_name part;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(part_name_read(str_of(others[i]), &part));
}

TEST_WITH(parts_in_the_order_of_their_pages, make, clear)
{
    put(X "p9p99.xml.bz2", "");
    put(X "p1000p2000.xml.bz2", "");
    put(X "p1p8.xml.bz2", "");
    put(X "p100r1r20.xml.bz2", "");
    put(X "p100r21r300.xml.bz2", "");
    put(X "p101p999.xml.bz2", "");
    put(X "p2001p3000.xml.bz2.part", "");
    put("index.html", "");
    put("_SUCCESS", "");
    put("yywiki-2026-11-01-p1p9.xml.bz2.tmp", "");
    /* For page 100, the part with the newest revisions. */
    expect(X "p1p8.xml.bz2 " X "p9p99.xml.bz2 " X "p100r21r300.xml.bz2 " X "p101p999.xml.bz2 " X "p1000p2000.xml.bz2 ");
}

TEST_WITH(mixtures_are_refused, make, clear)
{
    refuse(false, ERR_USAGE, "without a part", "");
    put(X "p1p9.xml.bz2", "");
    put("xxwiki-2026-10-01-p10p19.xml.bz2", "");
    refuse(true, ERR_USAGE, "two exports: " X "p1p9.xml.bz2", "xxwiki-2026-10-01-p10p19.xml.bz2");
    clear(NULL);
    make(NULL);
    put(X "p1p9.xml.bz2", "");
    put("yywiki-2026-11-01-p10p19.xml.bz2", "");
    refuse(true, ERR_USAGE, "two wikis: " X "p1p9.xml.bz2", "yywiki-2026-11-01-p10p19.xml.bz2");
    clear(NULL);
    make(NULL);
    put(X "p1p9.xml.bz2", "");
    put(X "p9p19.xml.bz2", "");
    refuse(true, ERR_USAGE, "twice: in " X "p1p9.xml.bz2", X "p9p19.xml.bz2");
    clear(NULL);
    make(NULL);
    put(X "p1p9.xml.bz2", "");
    put(X "p1p9.xml", "");
    refuse(true, ERR_USAGE, "twice", X "p1p9.xml.bz2");
    clear(NULL);
    make(NULL);
    put(X "p100r1r20.xml.bz2", "");
    put(X "p100r20r30.xml.bz2", "");
    refuse(true, ERR_USAGE, "twice", X "p100r20r30.xml.bz2");
    clear(NULL);
    make(NULL);
    put("xxwiki-20261101-pages-articles.xml.bz2", "");
    put("xxwiki-20261101-pages-articles1.xml-p1p9.bz2", "");
    refuse(true, ERR_USAGE, "twice", "pages-articles1");
}

TEST_WITH(sums_go_to_their_parts, make, clear)
{
    struct error err;
    struct folder folder;
    put(X "p1p8.xml.bz2", "");
    put(X "p9p99.xml.bz2", "");
    put(X "p100p200.xml.bz2", "");
    put("SHA256SUMS",
        SUM_B " *xml/bzip2/" X "p9p99.xml.bz2\r\n\r\n" SUM_A "  _SUCCESS\n" SUM_A "  ./" X "p1p8.xml.bz2\r\n");
    assert_int_equal(folder_read(&folder, directory, false, &err), 0);
    assert_int_equal(folder.count, 3);
    assert_string_equal(folder.parts[0].sha256, SUM_A);
    assert_string_equal(folder.parts[1].sha256, SUM_b);
    assert_string_equal(folder.parts[2].sha256, "");
    folder_release(&folder);
}

TEST_WITH(lists_that_do_not_fit, make, clear)
{
    put(X "p1p8.xml.bz2", "");
    put("SHA256SUMS", SUM_A "  " X "p1p8.xml.bz2\n" SUM_A "  " X "p9p99.xml.bz2\n" SUM_A "  " X "p100p200.xml.bz2\n");
    refuse(false, ERR_INPUT, X "p9p99.xml.bz2", "1 more");
    struct error err;
    struct folder folder;
    assert_int_equal(folder_read(&folder, directory, true, &err), 0);
    assert_int_equal(folder.count, 1);
    folder_release(&folder);
    put("SHA256SUMS", SUM_A "  " X "p1p8.xml.bz2\n" SUM_B "  " X "p1p8.xml.bz2\n");
    refuse(true, ERR_INPUT, "line 2", X "p1p8.xml.bz2");
    put("SHA256SUMS", "<html>\n");
    refuse(true, ERR_INPUT, "line 1", "sha256sum");
}
