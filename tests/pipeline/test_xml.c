/* One <page> → struct page: the schemas of many years, and XML that is broken or hostile. */
#include "pipeline/text/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static struct page_parser *parser;
static struct arena arena;
static struct page page;

static int parse(const char *fragment)
{
    arena_reset(&arena);
    return page_parse(parser, str_of(fragment), &arena, &page);
}

static int set_up(void **state)
{
    (void)state;
    parser = page_parser_open();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    page_parser_close(parser);
    page_parser_close(NULL);
    arena_release(&arena);
    return 0;
}

#define assert_str(view, text) assert_true(str_equal((view), STR(text)))

static void a_page_of_schema_0_11(void **state)
{
    (void)state;
    assert_int_equal(
        parse(
            "  <page>\n <title>A &amp; B &lt;c&gt; \"d\"</title>\n<ns>0</ns><id>12</id>"
            "<revision><id>345</id><parentid>344</parentid><timestamp>2020-01-01T00:00:00Z</timestamp>"
            "<contributor><username>x</username><id>7</id></contributor><comment>c</comment><origin>1</origin>"
            "<model>wikitext</model><format>text/x-wiki</format>"
            "<text bytes=\"9\" sha1=\"z\" xml:space=\"preserve\">line &amp;amp; 1\n  "
            "&lt;ref&gt;&#233;&#x4e2d;</text><sha1>z</sha1>"
            "<content><role>other</role><id>99</id><model>json</model><text>no</text></content></revision>\n</page>\n"),
        0);
    assert_int_equal(page.id, 12);
    assert_int_equal(page.revision_id, 345);
    assert_true(page.has_ns && page.ns == 0 && !page.is_redirect);
    assert_str(page.title, "A & B <c> \"d\"");
    assert_str(page.model, "wikitext");
    assert_str(page.timestamp, "2020-01-01T00:00:00Z");
    assert_str(page.text, "line &amp; 1\n  <ref>\xC3\xA9\xE4\xB8\xAD");
}

static void a_page_of_schema_0_3(void **state)
{
    (void)state;
    assert_int_equal(
        parse(
            "<page><revision><text>b</text></revision><title>T</title><id>1</id><restrictions>x</restrictions></page>"),
        0);
    assert_false(page.has_ns);
    assert_str(page.text, "b");
    assert_str(page.title, "T");
    assert_str(page.model, "");
}

static void the_last_revision_counts(void **state)
{
    (void)state;
    assert_int_equal(parse("<page><id>1</id><revision><id>2</id><model>json</model><text>old</text></revision>"
                           "<revision><id>3</id><text>new</text></revision></page>"),
                     0);
    assert_str(page.text, "new");
    assert_str(page.model, "");
    assert_int_equal(page.revision_id, 3);
    assert_int_equal(parse("<page><revision><text>old</text></revision><revision><id>4</id></revision></page>"), 0);
    assert_str(page.text, "");
}

static void redirects_and_namespaces(void **state)
{
    (void)state;
    assert_int_equal(
        parse("<page><title>a</title><ns>-1</ns><redirect title=\"b\" /><revision><text/></revision></page>"), 0);
    assert_true(page.is_redirect && page.ns == -1);
    assert_int_equal(parse("<page><ns> 2300 </ns><revision><redirect/></revision></page>"), 0);
    assert_true(!page.is_redirect && page.ns == 2300);
}

static void empty_and_deleted_texts(void **state)
{
    (void)state;
    assert_int_equal(parse("<page><revision><text deleted=\"deleted\" /></revision></page>"), 0);
    assert_str(page.text, "");
    assert_int_equal(parse("<page/>"), 0);
    assert_int_equal(parse("<page></page>"), 0);
    assert_true(page.id == 0 && page.title.size == 0 && !page.has_ns);
}

static void malformed_pages_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "x",
        "<",
        "<page",
        "<page>",
        "<page></pag>",
        "<page><title></page>",
        "<pages></pages>",
        "<page></page><page></page>",
        "<page></page>x",
        "<page><id>x</id></page>",
        "<page><id></id></page>",
        "<page><id>-1</id></page>",
        "<page><id>18446744073709551616</id></page>",
        "<page><ns>2147483648</ns></page>",
        "<page><ns>-</ns></page>",
        "<page>&bogus;</page>",
        "<page>a & b</page>",
        "<page>&#0;</page>",
        "<page>\x01</page>",
        "<page>\xFF</page>",
        "<page>\xED\xA0\x80</page>",
        "<page a=1></page>",
        "<page><revision><text>a</text><text>b</text></revision></page>",
        "<!DOCTYPE page [<!ENTITY a \"b\">]><page>&a;</page>",
        "<?xml version=\"1.0\"?><!DOCTYPE page><page></page>",
        "<page><!DOCTYPE x></page>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse(bad[i]) != -1)
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(parse("<page><id>18446744073709551615</id></page>"), 0); /* and the parser goes on */
    assert_true(page.id == UINT64_MAX);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    const struct str whole =
        STR("<page><title>T&amp;</title><ns>0</ns><id>1</id><revision><text xml:space=\"preserve\">"
            "a &lt; b</text></revision></page>");
    for (size_t size = 0; size < whole.size; size++) {
        arena_reset(&arena);
        assert_int_equal(page_parse(parser, (struct str){whole.data, size}, &arena, &page), -1);
    }
    arena_reset(&arena);
    assert_int_equal(page_parse(parser, whole, &arena, &page), 0);
}

static void other_xml_is_read_as_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(
        parse("<page><!-- c --><?pi x?><title><![CDATA[a<b]]></title><title2>x</title2><upload><text>u</text></upload>"
              "<revision><text>a<b>c</b>d</text></revision></page>"),
        0);
    assert_str(page.title, "a<b");
    assert_str(page.text, "ad");
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    struct buf fragment = {0};
    buf_add_text(&fragment, "<page>");
    for (unsigned i = 0; i < 100000; i++)
        buf_add_text(&fragment, "<a>");
    for (unsigned i = 0; i < 100000; i++)
        buf_add_text(&fragment, "</a>");
    buf_add_text(&fragment, "</page>");
    arena_reset(&arena);
    assert_int_equal(page_parse(parser, buf_str(&fragment), &arena, &page), -1);
    buf_release(&fragment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_schema_0_11),       cmocka_unit_test(a_page_of_schema_0_3),
        cmocka_unit_test(the_last_revision_counts),    cmocka_unit_test(redirects_and_namespaces),
        cmocka_unit_test(empty_and_deleted_texts),     cmocka_unit_test(malformed_pages_are_refused),
        cmocka_unit_test(every_truncation_is_refused), cmocka_unit_test(other_xml_is_read_as_what_it_is),
        cmocka_unit_test(deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
