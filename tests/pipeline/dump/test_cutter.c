/* Text to records: the borders of records, which do not depend on how the text is cut into spans. */
#include "tests/pipeline/dump/dump_files.h"

#include "pipeline/dump/cutter.h"

/* Each record says where it begins in the text. */
static void take_group(struct buf *out, const struct group *group, struct str text)
{
    for (size_t i = 0; i < group->record_count; i++) {
        const struct record *record = &group->records[i];
        assert_true(record->at + record->size <= text.size);
        assert_memory_equal(text.data + record->at, group->text.data + record->offset, record->size);
    }
    write_group(out, group);
}

/* Cuts `text` as windows of window_bytes, each fed in spans of span_bytes. Where window `restart` begins, another
 * struct cutter continues, if all earlier records were given. Returns what cutter_end returns. */
static int cut_restarting(enum source_kind kind, struct str text, size_t window_bytes, size_t span_bytes,
                          size_t restart, const struct dump_options *options, struct buf *out)
{
    struct cutter cutter;
    struct group group = {0};
    struct error err;
    struct dump_state entry = {0};
    cutter_init(&cutter, options, input_formats[kind], false);
    buf_reset(out);
    for (size_t at = 0; at < text.size; at += window_bytes) {
        size_t end = text.size - at < window_bytes ? text.size : at + window_bytes;
        entry.next_window = at / window_bytes;
        if (at > 0 && entry.next_window == restart && cutter_settled(&cutter, restart)) {
            struct dump_state state = {.next_window = restart};
            cutter_state(&cutter, &state);
            cutter_release(&cutter);
            cutter_init(&cutter, options, input_formats[kind], false);
            assert_int_equal(cutter_restore(&cutter, &state), 0);
        }
        cutter_enter(&cutter, (uint32_t)entry.next_window, &entry);
        for (size_t from = at; from < end;) {
            bool full;
            size_t size = end - from < span_bytes ? end - from : span_bytes;
            from += cutter_feed(&cutter, (struct str){text.data + from, size}, from, &group, &full);
            if (full)
                take_group(out, &group, text);
        }
        group_reset(&group);
        if (cutter_leave(&cutter, &group))
            take_group(out, &group, text);
    }
    group_reset(&group);
    int result = cutter_end(&cutter, "probe", text.size, &group, &err);
    take_group(out, &group, text);
    cutter_release(&cutter);
    group_release(&group);
    return result;
}

static int cut(enum source_kind kind, struct str text, size_t window_bytes, size_t span_bytes,
               const struct dump_options *options, struct buf *out)
{
    return cut_restarting(kind, text, window_bytes, span_bytes, SIZE_MAX, options, out);
}

/* Expects `expected` from one window, with spans of every size. */
static void assert_cut(enum source_kind kind, struct str text, const struct dump_options *options, const char *expected)
{
    SCOPED(buf_release) struct buf out = {0};
    for (size_t span = 1; span <= text.size; span++) {
        assert_int_equal(cut(kind, text, SIZE_MAX / 2, span, options, &out), 0);
        assert_same(buf_str(&out), str_of(expected));
    }
}

TEST(pages_are_the_text_between_their_tags)
{
    struct dump_options options = small_options(1);
    assert_cut(SOURCE_WIKI,
               STR("<mediawiki a><siteinfo/>\n <page>one</page>\n< page>no</page><pages>no</pages>"
                   "<page></page><<page>x<page </page ></p</page></mediawiki>tail"),
               &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 16\n<page>one</page>\n-- 13\n<page></page>\n"
               "-- 31\n<page>x<page </page ></p</page>\n");
    assert_cut(SOURCE_WIKI, STR("<mediawiki></mediawiki>"), &options, "");
    /* concatenated dumps */
    assert_cut(SOURCE_WIKI, STR("<mediawiki><page>1</page></mediawiki><mediawiki><page>2</page></mediawiki>"), &options,
               "== file 3 window 0 part 0 records 2 oversize 0\n-- 14\n<page>1</page>\n-- 14\n<page>2</page>\n");
}

TEST(a_page_that_is_not_closed_spoils_no_other)
{
    struct dump_options options = small_options(1);
    assert_cut(SOURCE_WIKI, STR("<mediawiki><page>broken<page>good</page><page>off</mediawiki>"), &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 12\n<page>broken\n-- 17\n<page>good</page>\n-- "
               "9\n<page>off\n");
}

TEST(an_open_wiki_is_truncated)
{
    struct dump_options options = small_options(1);
    SCOPED(buf_release) struct buf out = {0};
    static const char *const cases[] = {
        "<mediawiki><page>",      "<mediawiki><page></page>",           "<mediawiki>",
        "<page></page>",          "<mediawiki></mediawiki><mediawiki>", "<mediawiki></mediawiki><page>",
        "<mediawiki></mediawiki", "<mediawiki><page></mediawik>"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(cut(SOURCE_WIKI, str_of(cases[i]), 100, 100, &options, &out), -1);
}

TEST(documents_end_at_blank_lines)
{
    struct dump_options options = small_options(1);
    assert_cut(SOURCE_TEXT, STR("\n \r\n  one\ntwo \n\n\n\nthree\r\n \t\r\nfour"), &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 7\none\ntwo\n-- 5\nthree\n-- 4\nfour\n");
    assert_cut(SOURCE_TEXT, STR("a\n\nb\n"), &options,
               "== file 3 window 0 part 0 records 2 oversize 0\n-- 1\na\n-- 1\nb\n");
    assert_cut(SOURCE_TEXT, STR("a\nb\n   "), &options, "== file 3 window 0 part 0 records 1 oversize 0\n-- 3\na\nb\n");
    assert_cut(SOURCE_TEXT, STR("a\nb\n   c"), &options,
               "== file 3 window 0 part 0 records 1 oversize 0\n-- 8\na\nb\n   c\n");
    assert_cut(SOURCE_TEXT, STR(" \n\t\n\n"), &options, "");
}

/* Cuts for windows and spans of every size, and restarts at every window; the groups expected are computed from whole
 * lines. */
static void assert_documents(enum source_kind kind, struct str text, const struct dump_options *options)
{
    SCOPED(buf_release) struct buf out = {0}, expected = {0}, body = {0};
    for (size_t window = 1; window <= text.size; window++) {
        size_t last = SIZE_MAX, records = 0, from = SIZE_MAX, to = 0;
        buf_reset(&expected);
        buf_reset(&body);
        for (size_t at = 0; at <= text.size;) {
            const char *newline = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
            const size_t stop = newline ? (size_t)(newline - text.data) : text.size;
            const bool shows = !str_is_blank((struct str){text.data + at, stop - at});
            if (shows && from == SIZE_MAX)
                from = at + strspn(text.data + at, " \t\r");
            if (shows)
                for (to = stop; strchr(" \t\r", text.data[to - 1]);)
                    to--;
            at = stop + 1;
            if (from == SIZE_MAX || (shows && options->blank_lines == 1 && kind == SOURCE_TEXT && at <= text.size))
                continue; /* no record, or it may go on */
            if (from / window != last && records) {
                buf_addf(&expected, "== file 3 window %zu part 0 records %zu oversize 0\n", last, records);
                buf_add_str(&expected, buf_str(&body));
                buf_reset(&body);
                records = 0;
            }
            last = from / window;
            records++;
            buf_addf(&body, "-- %zu\n%.*s\n", to - from, (int)(to - from), text.data + from);
            from = SIZE_MAX;
        }
        if (records)
            buf_addf(&expected, "== file 3 window %zu part 0 records %zu oversize 0\n", last, records);
        buf_add_str(&expected, buf_str(&body));
        for (size_t span = 1; span <= window; span++) {
            assert_int_equal(cut(kind, text, window, span, options, &out), 0);
            assert_same(buf_str(&out), buf_str(&expected));
        }
        for (size_t restart = 1; restart * window < text.size; restart++) {
            assert_int_equal(cut_restarting(kind, text, window, window, restart, options, &out), 0);
            assert_same(buf_str(&out), buf_str(&expected));
        }
    }
}

TEST(a_line_that_shows_nothing_is_blank)
{
    struct dump_options options = small_options(1);
    assert_cut(SOURCE_TEXT, STR("a\n\xC2\xA0\nb\xC2\xA0\n \xE3\x80\x80\t\r\nc\n\xE2\x80\xA8\n"), &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 1\na\n-- 3\nb\xC2\xA0\n-- 1\nc\n");
    static const char *const blanks[] = {"",
                                         " \t",
                                         "\xC2\xA0",
                                         "\xE3\x80\x80\xE3\x80\x80",
                                         "\xE2\x80\x8B",
                                         "\xEF\xBB\xBF",
                                         " \xE2\x80\xA9 ",
                                         "\xE1\xA0\x8E\r"};
    static const char *const shown[] = {"a", "\xE3\x81\x82", "\xE2\x80\x94", "\xC2\xAB"}; /* begin like blanks */
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            for (unsigned form = 0; form < 3; form++) {
                SCOPED(buf_release) struct buf text = {0};
                const char *blank = blanks[i], *line = shown[k];
                buf_addf(&text, "%s\n%s%s\n%s\n%s\n%s\n\n%s\n%s%s%s", blank, blank, line, line, blank, blank, line,
                         line, blank, form == 0 ? "" : "\n");
                buf_text(&text);
                options.blank_lines = form != 2;
                assert_documents(form == 1 ? SOURCE_JSONL : SOURCE_TEXT, buf_str(&text), &options);
            }
}

TEST(a_document_ends_at_as_many_blank_lines_as_asked_for)
{
    struct dump_options options = small_options(1);
    const struct str text = STR("\n\na\nb\n\nc\n \n\u3000\r\n\nd\n\ne\n\n");
    options.blank_lines = 2;
    assert_cut(SOURCE_TEXT, text, &options,
               "== file 3 window 0 part 0 records 2 oversize 0\n-- 6\na\nb\n\nc\n-- 4\nd\n\ne\n");
    options.blank_lines = 3;
    assert_cut(SOURCE_TEXT, text, &options,
               "== file 3 window 0 part 0 records 2 oversize 0\n-- 6\na\nb\n\nc\n-- 4\nd\n\ne\n");
    options.blank_lines = 4;
    assert_cut(SOURCE_TEXT, text, &options,
               "== file 3 window 0 part 0 records 1 oversize 0\n-- 19\na\nb\n\nc\n \n\u3000\r\n\nd\n\ne\n");
    options.blank_lines = WHOLE_FILE;
    assert_cut(SOURCE_TEXT, text, &options,
               "== file 3 window 0 part 0 records 1 oversize 0\n-- 19\na\nb\n\nc\n \n\u3000\r\n\nd\n\ne\n");
    assert_cut(SOURCE_TEXT, STR("\n \n\u3000\n"), &options, "");
    options.blank_lines = 0;
    assert_cut(SOURCE_TEXT, STR("a\nb\n\n\u3000\nc"), &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 1\na\n-- 1\nb\n-- 1\nc\n");
}

/* Of documents that may span windows, a look at one window takes the lines that are complete in it. */
TEST(a_look_at_a_window_takes_parts_of_long_documents)
{
    static const struct {
        uint32_t blank_lines;
        bool first, last;
        const char *records; /* each ended by '|' */
    } cases[] = {{WHOLE_FILE, true, true, "ne\ntwo\n\n\nthree\nfo|"},
                 {WHOLE_FILE, false, false, "two\n\n\nthree|"},
                 {WHOLE_FILE, true, false, "ne\ntwo\n\n\nthree|"},
                 {2, false, true, "two|three\nfo|"},
                 {2, false, false, "two|three|"},
                 {1, false, true, "three\nfo|"},
                 {1, true, false, "ne\ntwo|"},
                 {0, false, false, "two|three|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dump_options options = small_options(1);
        struct cutter cutter;
        struct group group = {0};
        SCOPED(buf_release) struct buf out = {0};
        options.blank_lines = cases[i].blank_lines;
        cutter_init(&cutter, &options, input_formats[SOURCE_TEXT], false);
        cutter_peek(&cutter, STR("ne\ntwo\n\n\nthree\nfo"), cases[i].first, cases[i].last, &group);
        for (size_t k = 0; k < group.record_count; k++)
            buf_addf(&out, "%.*s|", (int)group.records[k].size, group.text.data + group.records[k].offset);
        assert_string_equal(buf_text(&out), cases[i].records);
        cutter_release(&cutter);
        group_release(&group);
    }
}

TEST(a_json_line_is_a_record)
{
    struct dump_options options = small_options(1);
    assert_cut(SOURCE_JSONL, STR("\n{\"a\":1}\r\n  {} \n\n[]"), &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 7\n{\"a\":1}\n-- 2\n{}\n-- 2\n[]\n");
}

TEST(long_records_are_skipped_and_counted)
{
    struct dump_options options = small_options(1);
    options.page_bytes_max = 20;
    assert_cut(SOURCE_WIKI,
               STR("<mediawiki><page>1234567</page><page>12345678</page><page>too long<page>1</page></mediawiki>"),
               &options,
               "== file 3 window 0 part 0 records 3 oversize 1\n-- 20\n<page>1234567</page>\n-- 14\n<page>too long\n-- "
               "14\n<page>1</page>\n");
    options.page_bytes_max = 6; /* in text, trailing blanks count */
    assert_cut(SOURCE_TEXT, STR("1234\n\n123456\n7\n\n\n1\n2\n\n"), &options,
               "== file 3 window 0 part 0 records 2 oversize 1\n-- 4\n1234\n-- 3\n1\n2\n");
    assert_cut(SOURCE_JSONL, STR("12345678\n12345\n1234567"), &options,
               "== file 3 window 0 part 0 records 1 oversize 2\n-- 5\n12345\n");
}

TEST(a_long_group_is_given_in_parts)
{
    struct dump_options options = small_options(1);
    options.group_bytes_max = 28;
    assert_cut(SOURCE_WIKI, STR("<mediawiki><page>1</page><page>2</page><page>3</page><page>4</page></mediawiki>"),
               &options,
               "== file 3 window 0 part 0 records 3 oversize 0\n-- 14\n<page>1</page>\n-- 14\n<page>2</page>\n-- "
               "14\n<page>3</page>\n"
               "== file 3 window 0 part 1 records 1 oversize 0\n-- 14\n<page>4</page>\n");
    options.group_bytes_max = 0;
    assert_cut(SOURCE_TEXT, STR("1\n\n2\n\n3"), &options,
               "== file 3 window 0 part 0 records 1 oversize 0\n-- 1\n1\n== file 3 window 0 part 1 records 1 oversize "
               "0\n-- 1\n2\n"
               "== file 3 window 0 part 2 records 1 oversize 0\n-- 1\n3\n");
}

/* For windows of every size, a record's group is the window of its first byte, and records are in the order of the
 * text. Spans of any size give the same. */
TEST(a_record_is_in_the_group_where_it_begins)
{
    static const char wiki[] =
        "<mediawiki><page>0</page> <page>1</page>\n\n<page>22222222222222222222222222222</page> junk "
        "<page></page><page>4</page></mediawiki> ";
    struct dump_options options = small_options(1);
    SCOPED(buf_release) struct buf out = {0}, again = {0}, expected = {0};
    for (size_t window = 1; window < sizeof(wiki) + 1; window++) {
        assert_int_equal(cut(SOURCE_WIKI, STR(wiki), window, window, &options, &out), 0);
        buf_reset(&expected);
        size_t last = SIZE_MAX, records = 0;
        struct buf body = {0};
        const char *at = wiki, *begin;
        for (bool more = true; more;) {
            begin = strstr(at, "<page>");
            size_t group = begin ? (size_t)(begin - wiki) / window : SIZE_MAX;
            if (group != last && records) {
                buf_addf(&expected, "== file 3 window %zu part 0 records %zu oversize 0\n", last, records);
                buf_add_str(&expected, buf_str(&body));
                buf_reset(&body);
                records = 0;
            }
            last = group;
            more = begin != NULL;
            if (more) {
                at = strstr(begin, "</page>") + 7;
                buf_addf(&body, "-- %zu\n%.*s\n", (size_t)(at - begin), (int)(at - begin), begin);
                records++;
            }
        }
        buf_release(&body);
        assert_same(buf_str(&out), buf_str(&expected));
        for (size_t span = 1; span < window; span++) {
            assert_int_equal(cut(SOURCE_WIKI, STR(wiki), window, span, &options, &again), 0);
            assert_same(buf_str(&again), buf_str(&out));
        }
    }
}
