/* The form of a text file is guessed from its beginning: common forms of files, and forms that must not be confused. */
#include "tests/pipeline/dump_files.h"

#include "pipeline/look.h"

static void look(struct str text, const char *language, struct look *out)
{
    struct dump_options options = dump_defaults();
    struct dump *dump;
    struct error err = {0};
    if (dump_open(&dump, test_file(text), &options, &err) < 0)
        fail_msg("%s", err.text);
    look_read(dump, language_find(str_of(language)), FORM_AUTO, "text", out);
    dump_close(dump);
}

static void assert_form(const char *name, const char *text, const char *language, enum text_form form)
{
    struct look found;
    look(str_of(text), language, &found);
    if (found.form != form)
        fail_msg("%s: %s instead of %s", name, text_form_names[found.form], text_form_names[form]);
    assert_true(found.recognised);
}

static void the_form_of_text_is_recognised(void **state)
{
    (void)state;
    assert_form("sentences", "One is here.\nTwo are there.\n\nThree came.\nFour went.\n", "en", FORM_SENTENCES);
    assert_form("one document", "One is here.\nTwo are there.\nThree came.\n", "en", FORM_SENTENCES);
    assert_form("titles and sentences", "A title\nIt is here.\nIt was there.\n\nAnother\nIt went.\n", "en",
                FORM_SENTENCES);
    assert_form("verse",
                "Tiger tiger burning bright\nin the forests of the night\nwhat immortal hand or eye\n"
                "could frame thy\nfearful symmetry\n\nIn what distant deeps or skies\nburnt the fire\n",
                "en", FORM_SENTENCES);
    assert_form("Japanese sentences",
                "これは船です。\nとても大きい船で、北で造られました。\n売られました。\n\n村は水の下です。\n", "ja",
                FORM_SENTENCES);
    assert_form("paragraphs", "One is here. Two are there.\n\nThree came. Four went. Five too.\n", "en",
                FORM_PARAGRAPHS);
    assert_form("paragraphs, wide blanks between them",
                "One is here. Two are there.\n　\nThree came. Four went.\n\u00a0\nFive too. Six too.\n", "en",
                FORM_PARAGRAPHS);
    assert_form("paragraphs of a document", "One is here. Two are there.\nAnd three. Four.\n\nFive came. Six.\n", "en",
                FORM_PARAGRAPHS);
    assert_form("documents", "One is here. Two are there.\nThree came. Four went. Five too.\n", "en", FORM_LINES);
    assert_form("one line", "One is here. Two are there.", "en", FORM_LINES);
    assert_form("wrapped",
                "The ship was built in the north of the\ncountry, in a yard by the river. It is\nthe largest of its "
                "kind. The men that\nbuilt it lived in a village near the\nriver, which is under water now.\n\nIt "
                "was small, and had no church, but\nthere was a school, which was the first\nof its kind.\n",
                "en", FORM_WRAPPED);
    assert_form("wrapped Japanese",
                "これはとても大きい船で、国の北の川のほとりにある造船所で造られたものであ\n"
                "り、その種類の中で最も大きい。造った人々は川の近くの村に住んでいたが、今\n"
                "は水の下にある。小さな村で、教会はなかったが、学校があり、それは国で最初\n"
                "の学校であった。\n",
                "ja", FORM_WRAPPED);
}

/* A document that is longer than the examined beginning may be longer than the largest document. */
static void many_lines_without_an_empty_one_are_documents(void **state)
{
    (void)state;
    struct buf text = {0};
    struct look found;
    while (text.size < DUMP_HEAD_BYTES / 2)
        buf_add_text(&text, "The ship was built in the north.\n");
    look(buf_str(&text), "en", &found);
    assert_int_equal(found.form, FORM_SENTENCES);
    while (text.size < 2 * DUMP_HEAD_BYTES)
        buf_add_text(&text, "The ship was built in the north.\n");
    look(buf_str(&text), "en", &found);
    assert_int_equal(found.form, FORM_LINES);
    assert_int_equal(found.documents, found.sentences);
    buf_release(&text);
}

static void keys_of_json_lines_are_named(void **state)
{
    (void)state;
    struct look found;
    look(STR("{\"text\": \"One is here. Two came.\"}\n{\"text\": \"Three.\\n\\n\"}\n{\"text\": \" \"}\n"), "en",
         &found);
    assert_int_equal(found.documents, 2);
    assert_int_equal(found.sentences, 3);
    look(STR("{\"url\": 1, \"body\": \"x\"}\n{\"no\": 1}\n"), "en", &found);
    assert_int_equal(found.documents, 0);
    assert_string_equal(found.keys, "url, body");
    struct buf many = {0};
    for (int i = 0; i < 100; i++)
        buf_addf(&many, "%s\"a-key-of-some-length-%d\": 1", i ? ", " : "{", i);
    buf_add_text(&many, "}\n");
    look(buf_str(&many), "en", &found);
    assert_true(strlen(found.keys) < sizeof found.keys);
    assert_non_null(strstr(found.keys, "-9, …"));
    buf_release(&many);
    look(STR("{\"text\": broken\n"), "en", &found);
    assert_string_equal(found.keys, "");
}

/* The language of a wiki's first paragraphs; NULL: none is clear. */
static const char *wiki_language(const char *wikitext)
{
    struct dump_options options = dump_defaults();
    struct dump *dump;
    struct error err = {0};
    struct buf xml = {0};
    buf_addf(&xml,
             "<mediawiki xml:lang=\"en\"><siteinfo></siteinfo><page><title>A</title><ns>0</ns><id>1</id><revision>"
             "<text>%s</text></revision></page></mediawiki>\n",
             wikitext);
    if (dump_open(&dump, test_file(buf_str(&xml)), &options, &err) < 0)
        fail_msg("%s", err.text);
    const char *language = look_language(dump, NULL);
    dump_close(dump);
    buf_release(&xml);
    return language;
}

static void a_wiki_is_judged_by_its_paragraphs(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_form_of_text_is_recognised),
        cmocka_unit_test(many_lines_without_an_empty_one_are_documents),
        cmocka_unit_test(keys_of_json_lines_are_named),
        cmocka_unit_test(a_wiki_is_judged_by_its_paragraphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
