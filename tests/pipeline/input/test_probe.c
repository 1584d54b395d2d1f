/* What the beginning of an input shows. (The form of text: test_text_layout.c.) */
#include "tests/pipeline/dump/dump_files.h"

#include "pipeline/input/inputs.h"
#include "pipeline/input/probe.h"

static void probe(struct str text, const char *language, struct probe *out)
{
    struct dump_options options = dump_defaults(input_formats);
    struct dump *dump;
    struct error err = {0};
    if (dump_open(&dump, test_file(text), &options, &err) != 0)
        fail_msg("%s", err.text);
    probe_read(dump, language_find(str_of(language)), "text", out);
    dump_close(dump);
}

/* What a form takes for documents and sentences. */
TEST(a_form_is_taken)
{
    static const struct {
        enum text_form form;
        bool wrapped;
        uint64_t documents, sentences;
    } cases[] = {{FORM_SENTENCES, false, 3, 6}, {FORM_PARAGRAPHS, false, 3, 7}, {FORM_LINES, false, 6, 7},
                 {FORM_WRAPPED, true, 3, 7},    {FORM_FILE, false, 1, 7},       {FORM_SECTIONS, false, 2, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct probe found;
        probe(STR("\xef\xbb\xbfOne is here. Two are there.\nThree.\n\nFour.\nFive.\n\n\nSix.\nSeven.\n"), "en", &found);
        probe_take_form(&found, cases[i].form, &found.layout);
        assert_int_equal(found.form, cases[i].form);
        assert_int_equal(found.wrapped, cases[i].wrapped);
        assert_int_equal(found.documents, cases[i].documents);
        assert_int_equal(found.sentences, cases[i].sentences);
    }
}

/* Whether lines are joined is a matter of each file, except for one that is too short to tell. */
TEST(lines_of_a_file_are_joined_by_its_own_layout)
{
    static const char wrapped[] = "The ferry left an hour before the tide\nwith nobody on the quay who could say\nwhy "
                                  "it had, and my aunt looked at the\nplace where it had been.\n";
    struct probe book, note;
    probe(str_of(wrapped), "en", &book);
    probe(STR("It was cold.\nShe nodded.\n"), "en", &note);
    probe_take_form(&book, FORM_FILE, &note.layout);
    assert_true(book.wrapped);
    probe_take_form(&note, FORM_FILE, &book.layout);
    assert_true(note.wrapped);
    probe(STR("It was cold.\nShe nodded.\nWe left.\nIt rained.\n"), "en", &note);
    probe_take_form(&note, FORM_FILE, &book.layout);
    assert_false(note.wrapped);
}

/* The last line of a beginning may be cut off, so it does not count. */
TEST(a_beginning_ends_with_a_line)
{
    SCOPED(buf_release) struct buf text = {0};
    struct probe found;
    while (text.size < 2 * DUMP_HEAD_BYTES)
        buf_add_text(&text, "The ship was built in the north.\n");
    probe(buf_str(&text), "en", &found);
    assert_int_equal(found.layout.documents[CUT_LINES], DUMP_HEAD_BYTES / strlen("The ship was built in the north.\n"));
    assert_int_equal(found.layout.whole, 0);
    assert_int_equal(found.layout.brief[CUT_LINES], found.layout.documents[CUT_LINES]);
}

/* A line that is longer than the part examined is taken as far as it goes; a file of exactly that size is whole. */
TEST(a_beginning_may_hold_no_line_end)
{
    for (int more = -1; more <= 1; more++) {
        SCOPED(buf_release) struct buf text = {0};
        struct probe found;
        while (text.size < DUMP_HEAD_BYTES + more)
            buf_add_byte(&text, text.size % 6 == 5 ? ' ' : 'a');
        probe(buf_str(&text), "en", &found);
        assert_int_equal(found.layout.documents[CUT_LINES], 1);
        assert_int_equal(found.bytes, more < 0 ? DUMP_HEAD_BYTES - 1 : DUMP_HEAD_BYTES);
    }
}

/* The fingerprint of a file with a byte changed at `at`; SIZE_MAX: with none. */
static uint64_t fingerprint(struct buf *text, size_t at)
{
    struct dump_options options = dump_defaults(input_formats);
    size_t in_folder = 0;
    struct inputs inputs = {.count = 1, .in_folder = &in_folder};
    uint64_t found = 0;
    struct error err = {0};
    if (at != SIZE_MAX)
        text->data[at] ^= 1;
    char *path = (char *)(uintptr_t)test_file(buf_str(text));
    struct dump *dump;
    if (dump_open(&dump, path, &options, &err) != 0)
        fail_msg("%s", err.text);
    inputs.paths = &path;
    inputs.dumps = &dump;
    assert_int_equal(inputs_fingerprint(&inputs, 0, &found, &err), 0);
    dump_close(dump);
    if (at != SIZE_MAX)
        text->data[at] ^= 1;
    return found;
}

/* Any change in the first or last 64 KiB shows, at their edges too; one between them does not. */
TEST(a_fingerprint_is_that_of_both_ends)
{
    enum { END = 64 << 10 };
    static const size_t sizes[] = {1, END - 1, END, END + 1, 2 * END - 1, 2 * END, 2 * END + 1, 3 * END};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        SCOPED(buf_release) struct buf text = {0};
        while (text.size < sizes[i])
            buf_add_byte(&text, text.size % 60 == 59 ? '\n' : 'd');
        const uint64_t whole = fingerprint(&text, SIZE_MAX);
        const size_t places[] = {0, END - 1, END, text.size / 2, text.size - END - 1, text.size - END, text.size - 1};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            if (places[k] < text.size)
                assert_int_equal(fingerprint(&text, places[k]) != whole,
                                 places[k] < END || places[k] + END >= text.size);
    }
}

TEST(keys_of_json_lines_are_named)
{
    struct probe found;
    probe(STR("{\"text\": \"One is here. Two came.\"}\n{\"text\": \"Three.\\n\\n\"}\n{\"text\": \" \"}\n"), "en",
          &found);
    assert_int_equal(found.documents, 2);
    assert_int_equal(found.sentences, 3);
    probe(STR("{\"url\": 1, \"body\": \"x\"}\n{\"no\": 1}\n"), "en", &found);
    assert_int_equal(found.documents, 0);
    assert_string_equal(found.keys, "url, body");
    struct buf many = {0};
    for (int i = 0; i < 100; i++)
        buf_addf(&many, "%s\"a-key-of-some-length-%d\": 1", i ? ", " : "{", i);
    buf_add_text(&many, "}\n");
    probe(buf_str(&many), "en", &found);
    assert_true(strlen(found.keys) < sizeof found.keys);
    assert_non_null(strstr(found.keys, "-9, …"));
    buf_release(&many);
    probe(STR("{\"text\": broken\n"), "en", &found);
    assert_string_equal(found.keys, "");
}

/* The language of a wiki's first paragraphs; NULL: none is clear. */
static const char *wiki_language(const char *wikitext)
{
    struct dump_options options = dump_defaults(input_formats);
    struct dump *dump;
    struct error err = {0};
    SCOPED(buf_release) struct buf xml = {0};
    buf_addf(&xml,
             "<mediawiki xml:lang=\"en\"><siteinfo></siteinfo><page><title>A</title><ns>0</ns><id>1</id><revision>"
             "<text>%s</text></revision></page></mediawiki>\n",
             wikitext);
    if (dump_open(&dump, test_file(buf_str(&xml)), &options, &err) != 0)
        fail_msg("%s", err.text);
    const char *language = probe_language(dump, NULL);
    dump_close(dump);
    return language;
}

TEST(a_wiki_is_judged_by_its_paragraphs)
{
    assert_string_equal(wiki_language("{{Box\n|the=of and in a\n|is=that was for it}}\n"
                                      "'''Das Schiff''' wurde im [[Norden]] des Landes gebaut.&lt;ref name=\"a\"&gt;"
                                      "The ship that was built in the north of the country&lt;/ref&gt;\n\n"
                                      "Es ist {{lang|en|the one that is in the north and of it}} das größte und wurde "
                                      "an eine Firma verkauft, die es nicht mehr hat.\n* The list of it\n"),
                        "de");
    assert_string_equal(wiki_language("x\n船は{{lang|en|The ship and the one that it is}}国の北部で建造された。"
                                      "最大の船である。"),
                        "ja");
    assert_null(wiki_language("#REDIRECT [[The ship of the north and the south]]"));
    assert_null(wiki_language("x\nDas Schiff {{wurde im Norden des Landes gebaut, das ist und war der"));
    assert_null(wiki_language(""));
}
