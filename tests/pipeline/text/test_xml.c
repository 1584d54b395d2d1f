/* One <page> → struct page: schemas of many years, and broken or hostile XML. */
#include "pipeline/text/xml/xml.h"

#include "base/random.h"
#include "tests/unit.h"

#include <bzlib.h>

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

TEST(a_page_of_schema_0_11)
{
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

TEST(a_page_of_schema_0_3)
{
    assert_int_equal(
        parse(
            "<page><revision><text>b</text></revision><title>T</title><id>1</id><restrictions>x</restrictions></page>"),
        0);
    assert_false(page.has_ns);
    assert_str(page.text, "b");
    assert_str(page.title, "T");
    assert_str(page.model, "");
}

TEST(the_last_revision_counts)
{
    assert_int_equal(parse("<page><id>1</id><revision><id>2</id><model>json</model><text>old</text></revision>"
                           "<revision><id>3</id><text>new</text></revision></page>"),
                     0);
    assert_str(page.text, "new");
    assert_str(page.model, "");
    assert_int_equal(page.revision_id, 3);
    assert_int_equal(parse("<page><revision><text>old</text></revision><revision><id>4</id></revision></page>"), 0);
    assert_str(page.text, "");
}

TEST(redirects_and_namespaces)
{
    assert_int_equal(
        parse("<page><title>a</title><ns>-1</ns><redirect title=\"b\" /><revision><text/></revision></page>"), 0);
    assert_true(page.is_redirect && page.ns == -1);
    assert_int_equal(parse("<page><ns> 2300 </ns><revision><redirect/></revision></page>"), 0);
    assert_true(!page.is_redirect && page.ns == 2300);
}

TEST(empty_and_deleted_texts)
{
    assert_int_equal(parse("<page><revision><text deleted=\"deleted\" /></revision></page>"), 0);
    assert_str(page.text, "");
    assert_int_equal(parse("<page/>"), 0);
    assert_int_equal(parse("<page></page>"), 0);
    assert_true(page.id == 0 && page.title.size == 0 && !page.has_ns);
}

TEST(malformed_pages_are_refused)
{
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
        "<page>&bogus;</page>",
        "<page>a & b</page>",
        "<page>&#0;</page>",
        "<page>\x01</page>",
        "<page a=1></page>",
        "<!DOCTYPE page [<!ENTITY a \"b\">]><page>&a;</page>",
        "<?xml version=\"1.0\"?><!DOCTYPE page><page></page>",
        "<page><!DOCTYPE x></page>",
        "<page><revision><text>a & b</revision></page>",
        "<page><revision><tex>a & b</tex></revision></page>",
        "<page><revision><text>a</text></revision><revision><text>b & c</revision></page>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse(bad[i]) != -1)
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(parse("<page><id>9223372036854775807</id></page>"), 0); /* and the parser still works */
    assert_true(page.id == INT64_MAX && page.repairs == 0);
}

#define BIT(reason) (1u << REPAIR_##reason)

/* What is no number is as if it were absent; the page stays. */
TEST(odd_numbers_are_absent)
{
    static const char *const ids[] = {"", " ", "x", "-1", "9223372036854775808", "1.5", "0x10", "12 34", "1e3"};
    static const char *const spaces[] = {"", "2147483648", "-", "a", "+1", "1.0"};
    char text[128];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        snprintf(text, sizeof text, "<page><id>%s</id><revision><text>t</text></revision></page>", ids[i]);
        assert_int_equal(parse(text), 0);
        assert_true(page.id == 0 && page.repairs == BIT(ID) && str_equal(page.id_text, str_trim(str_of(ids[i]))));
        snprintf(text, sizeof text, "<page><id>7</id><revision><id>%s</id><text>t</text></revision></page>", ids[i]);
        assert_int_equal(parse(text), 0);
        assert_true(page.id == 7 && page.revision_id == 0 && page.repairs == BIT(ID));
    }
    /* Of several revisions the last one counts. */
    assert_int_equal(parse("<page><id>7</id><revision><id>x</id><text>s</text></revision>"
                           "<revision><id>8</id><text>t</text></revision></page>"),
                     0);
    assert_true(page.revision_id == 8 && page.repairs == 0);
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        snprintf(text, sizeof text, "<page><ns>%s</ns><revision><text>t</text></revision></page>", spaces[i]);
        assert_int_equal(parse(text), 0);
        assert_true(!page.has_ns && page.ns == 0 && page.repairs == BIT(ID));
        assert_str(page.text, "t");
    }
}

#define OF(title, text)                                                                                                \
    "<page><title>" title "</title><ns>0</ns><id>5</id><revision><id>6</id><timestamp>2020</timestamp>"                \
    "<contributor><username>x</username><id>7</id></contributor><model>wikitext</model><text bytes=\"1\">" text        \
    "</text><sha1>z</sha1></revision></page>"

/* Pages that are not well-formed XML: the fields are the same as if they were. */
TEST(ill_formed_pages_are_mended)
{
    static const struct {
        struct str xml;
        const char *title, *text;
        uint32_t repairs;
    } cases[] = {
        {STR(OF("T", "a & b &amp; c")), "T", "a & b & c", BIT(REFERENCE)},
        {STR(OF("A & B", "c")), "A & B", "c", BIT(REFERENCE)},
        {STR(OF("T", "a&nbsp;b &bogus; &lt &")), "T", "a&nbsp;b &bogus; &lt &", BIT(REFERENCE)},
        {STR(OF("T", "a&#xD800;b&#0;c&#xFFFF;d&#x110000;e&#99999999999999999999;&#233;")), "T",
         "a\xEF\xBF\xBD"
         "b\xEF\xBF\xBD"
         "c\xEF\xBF\xBD"
         "d\xEF\xBF\xBD"
         "e\xEF\xBF\xBD\xC3\xA9",
         BIT(REFERENCE)},
        {STR(OF("T", "&#; &#x; &#12 &#1a;")), "T", "&#; &#x; &#12 &#1a;", BIT(REFERENCE)},
        {STR(OF("T", "a\x01"
                     "b\x0B\x1F\xEF\xBF\xBE"
                     "c")),
         "T", "abc", BIT(CHARACTER)},
        {STR(OF("T", "a\0b\0")), "T", "ab", BIT(NUL)},
        {STR(OF("T", "a < b, <br> and <ref>c</ref>")), "T", "a < b, <br> and <ref>c</ref>", BIT(TAG)},
        {STR(OF("T", "say <text>x</text> or <id>9</id> & <title>U</title>")), "T",
         "say <text>x</text> or <id>9</id> & <title>U</title>", BIT(TAG) | BIT(REFERENCE)},
        {STR(OF("T", "a <b>c</b> and <br/> d<p class=\"x\">e</p>")), "T", "a <b>c</b> and <br/> d<p class=\"x\">e</p>",
         BIT(TAG)}, /* well-formed, but not escaped */
        {STR(OF("The <i>T</i>", "c")), "The <i>T</i>", "c", BIT(TAG)},
        {STR(OF("1 < 2", "c")), "1 < 2", "c", BIT(TAG)},
        {STR(OF("T", "<![CDATA[a &amp; <b>]]> & &lt;")), "T", "a &amp; <b> & <", BIT(REFERENCE)},
        {STR(OF("T", "a\r\nb\rc & d")), "T", "a\nb\nc & d", BIT(REFERENCE)},
        {STR(OF("T", "a\xFF\xC3"
                     "b")),
         "T",
         "a\xEF\xBF\xBD\xEF\xBF\xBD"
         "b",
         BIT(ENCODING)},
        {STR(OF("T", "a\xFF & b")), "T", "a\xEF\xBF\xBD & b", BIT(ENCODING) | BIT(REFERENCE)},
        {STR("<page><title>T<ns>0</ns><id>5</id><revision><id>6</id><timestamp>2020</timestamp><text>c</text></page>"),
         "T", "c", BIT(TAG)},
        {STR("<page><title>T</title><ns>0</ns><id>5</id><revision><id>6<timestamp>2020</timestamp><text>c</text>"), "T",
         "c", BIT(TAG)},
        {STR("<page><title>T</title><ns>0</ns><id>5</id><id>9</id><revision><id>6</id><timestamp>2020</timestamp>"
             "<comment>a & <id>3</id></comment><text xml:space=preserve>c</text></revision></page>"),
         "T", "c", BIT(TAG)},
        {STR("<page><title>T</title><ns>0</ns><id>5</id><revision><id>1</id><text>old "
             "&</text></revision><revision><id>6"
             "</id><timestamp>2020</timestamp><text>a</text><text>b</text></revision></page>"),
         "T", "a", BIT(REFERENCE)},
        {STR("<page a=1><title>T</title><ns>0</ns><id>5</id><revision><id>6</id><timestamp>2020</timestamp><text "
             "a=\">\" "
             "deleted=\"deleted\" /></revision></page>"),
         "T", "", BIT(TAG)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena_reset(&arena);
        if (page_parse(parser, cases[i].xml, &arena, &page) < 0 || page.repairs != cases[i].repairs ||
            !str_equal(page.title, str_of(cases[i].title)) || !str_equal(page.text, str_of(cases[i].text)) ||
            page.id != 5 || page.revision_id != 6 || !page.has_ns || !str_equal(page.timestamp, STR("2020")))
            fail_msg("case %zu: id %u, %u, repairs %x, title %.*s, text %.*s", i, (unsigned)page.id,
                     (unsigned)page.revision_id, page.repairs, (int)page.title.size, page.title.data,
                     (int)page.text.size, page.text.data);
    }
    assert_int_equal(parse("<page><redirect title=x /><revision><redirect/><text></text></revision></page>"), 0);
    assert_true(page.is_redirect);
}

/* Well-formed XML is mended to the same fields: what expat reads needs no mending, and would suffer none. */
TEST(mending_changes_nothing_else)
{
    struct page plain;
    SCOPED(arena_release) struct arena other = {0};
    struct page_parser *second = page_parser_open();
    const struct str broken = STR(OF("T &amp; U", "a &lt;ref name=&quot;x&quot;&gt; &#233;&apos;\n") "&");
    const struct str whole = {broken.data, broken.size - 1};
    arena_reset(&arena);
    assert_int_equal(page_parse(second, whole, &other, &plain), 0);
    assert_int_equal(page_parse(parser, broken, &arena, &page), 0);
    assert_true(plain.repairs == 0 && page.repairs == BIT(TAG) && str_equal(page.text, plain.text));
    assert_true(str_equal(page.title, plain.title) && page.id == plain.id && page.revision_id == plain.revision_id);
    page_parser_close(second);
}

/* Tags that are never closed: the time stays linear. */
TEST(hostile_pages_take_linear_time)
{
    static const char *const parts[] = {
        "<comment>", "<id>",   "<revision><id>", "<revision><text></text", "<revision><text>x</text", "<", "&",
        "<![CDATA[", "<text>", "<text a=\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        SCOPED(buf_release) struct buf fragment = {0};
        buf_add_text(&fragment, "<page><revision><text>&");
        buf_add_text(&fragment, i % 2 ? "</text>" : "");
        while (fragment.size < (16u << 20))
            buf_add_text(&fragment, parts[i]);
        arena_reset(&arena);
        page_parse(parser, buf_str(&fragment), &arena, &page); /* quadratic, it would take hours */
    }
}

TEST(truncations_before_the_end_of_the_text_are_refused)
{
    const struct str whole =
        STR("<page><title>T&amp;</title><ns>0</ns><id>1</id><revision><text xml:space=\"preserve\">"
            "a &lt; b</text></revision></page>");
    const size_t text_end = str_find(whole, STR("</text")) + strlen("</text");
    for (size_t size = 0; size < whole.size; size++) {
        arena_reset(&arena);
        const bool has_text = size >= text_end;
        assert_int_equal(page_parse(parser, (struct str){whole.data, size}, &arena, &page), has_text ? 0 : -1);
        assert_true(!has_text || (page.repairs == BIT(TAG) && str_equal(page.text, STR("a < b"))));
    }
    arena_reset(&arena);
    assert_int_equal(page_parse(parser, whole, &arena, &page), 0);
}

TEST(other_xml_is_read_as_what_it_is)
{
    assert_int_equal(
        parse("<page><!-- c --><?pi x?><title><![CDATA[a<b]]></title><title2>x</title2><upload><text>u</text></upload>"
              "<revision><text>a<![CDATA[<b>c</b>]]>d</text></revision></page>"),
        0);
    assert_str(page.title, "a<b");
    assert_str(page.text, "a<b>c</b>d");
}

/* The page after it is still read: a memory limit that one page reached does not affect others. */
TEST(deep_nesting_is_refused)
{
    SCOPED(buf_release) struct buf fragment = {0};
    buf_add_text(&fragment, "<page>");
    for (unsigned i = 0; i < 600000; i++)
        buf_add_text(&fragment, "<a>");
    for (unsigned i = 0; i < 600000; i++)
        buf_add_text(&fragment, "</a>");
    buf_add_text(&fragment, "</page>");
    arena_reset(&arena);
    assert_int_equal(page_parse(parser, buf_str(&fragment), &arena, &page), -1);
    assert_int_equal(parse("<page><title><![CDATA[a]]></title></page>"), 0); /* read by expat */
}

/* The fast path and expat. */

static bool is_same(const struct page *a, const struct page *b)
{
    return str_equal(a->title, b->title) && str_equal(a->text, b->text) && str_equal(a->model, b->model) &&
           str_equal(a->timestamp, b->timestamp) && a->id == b->id && a->revision_id == b->revision_id &&
           a->ns == b->ns && a->has_ns == b->has_ns && a->is_redirect == b->is_redirect &&
           str_equal(a->id_text, b->id_text) && a->repairs == b->repairs;
}

/* True if the fast path and expat give the same for a fragment. */
static bool parsers_agree(struct str fragment)
{
    static struct page_parser *expat;
    struct page other;
    if (!expat) {
        expat = page_parser_open();
        page_parser_use_expat(expat);
    }
    arena_reset(&arena);
    const int result = page_parse(parser, fragment, &arena, &page);
    const bool agree = page_parse(expat, fragment, &arena, &other) == result && (result < 0 || is_same(&page, &other));
    if (fragment.size == 0) { /* the last call */
        page_parser_close(expat);
        expat = NULL;
    }
    return agree;
}

static const char exported[] =
    "<page>\n    <title>T &amp; U</title>\n    <ns>0</ns>\n    <id>12</id>\n    <redirect title=\"A &quot;b&quot;\" "
    "/>\n"
    "    <revision>\n      <id>34</id>\n      <parentid>33</parentid>\n      "
    "<timestamp>2020-01-01T00:00:00Z</timestamp>\n"
    "      <contributor>\n        <username>x</username>\n        <id>7</id>\n      </contributor>\n      <minor/>\n"
    "      <comment deleted=\"deleted\" />\n      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
    "      <text bytes=\"9\" sha1=\"z\" xml:space=\"preserve\">{{a|\tb}} &lt;ref name=&quot;x&quot;&gt;&amp;nbsp;&apos;"
    "\xC3\xA9\xE4\xB8\xAD\xEF\xBC\x8C\xF0\x9F\x98\x80&lt;/ref&gt; and a longer run of plain text that goes on</text>\n"
    "      <sha1>z</sha1>\n    </revision>\n  </page>";

TEST(the_fast_path_and_expat_agree)
{
    static const char *const fragments[] = {
        exported,
        "<page><text a=\"1\" a=\"2\"/></page>",
        "<page><text b=\"1\" a=\"2\"/></page>",
        "<page><text a=\"1\"b=\"2\"/></page>",
        "<page><text b=\"1\" a=\"2\" c=\"3\" b=\"4\"/></page>",
        "<page><text a=\"\" b=\"\" c=\"\" d=\"\"/></page>",
        "<page><text a=\"\" b=\"\" c=\"\" d=\"\" e=\"\"/></page>",
        "<page><text a=\"\" b=\"\" c=\"\" d=\"\" a=\"\"/></page>",
        "<page><text  a = '1' >x</text ></page>",
        "<page><text a=\"<\"/></page>",
        "<page><text a=\"&b;\"/></page>",
        "<page><text a=\"&lt;>\"/></page>",
        "<page><a:b/><:c/><d:/></page>",
        "<page a:=\"\" b:c:d=\"\"/>",
        "<page><revision><text>a\r\nb\rc</text></revision></page>",
        "<page><revision><text>a]]>b</text></revision></page>",
        "<page><revision><text>a>b ]] ></text></revision></page>",
        "<page><revision><text>\xEF\xBF\xBD\xEF\xBF\xBC</text></revision></page>",
        "<page><revision><text>\xEF\xBF\xBE</text></revision></page>",
        "<page><revision><text>0123456789abcdef\xEF\xBF\xBF</text></revision></page>",
        "<page><revision><text>&LT;</text></revision></page>",
        "<page><revision><text>&lt</text></revision></page>",
        "<page><revision><text>a<!-- & -->b</text></revision></page>",
        "<page><revision><text>\x7F\xC2\x80</text></revision></page>",
        "<page><revision><a><text>no</text></a><text>a<b/>c<d>e</d></text></revision></page>",
        "<page><revision></page></revision>",
        "<page><a></b></page>",
        "<page></page >",
        "<page></page/>",
        "<page><a/ ></page>",
        "<page><averyverylongname>x</averyverylongname></page>",
        "<pag\xC3\xA9/>",
        "<page>\n</page>\n<page/>",
        "<page/>x",
    };
    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++)
        if (!parsers_agree(str_of(fragments[i])))
            fail_msg("expat reads otherwise: %s", fragments[i]);
    for (size_t size = 0; size < sizeof exported; size++)
        assert_true(parsers_agree((struct str){exported, size}));
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[64];
        const size_t size =
            (size_t)snprintf(text, sizeof text, "<page><title>0123456%cabcdefghijklmnop</title></page>", byte);
        assert_true(parsers_agree((struct str){text, size}));
    }
    parsers_agree(STR(""));
}

TEST(the_fast_path_and_expat_agree_of_a_dump)
{
    SCOPED(buf_release) struct buf xml = {0};
    BZFILE *file = BZ2_bzopen(SOURCE_DIR "/samples/samplewiki.xml.bz2", "rb");
    assert_non_null(file);
    for (int got = 1; got > 0; xml.size += (size_t)got) {
        buf_reserve(&xml, 65536);
        got = BZ2_bzread(file, xml.data + xml.size, 65536);
        assert_true(got >= 0);
    }
    BZ2_bzclose(file);
    size_t pages = 0;
    const char *end = xml.data + xml.size;
    for (const char *at = xml.data; (at = memmem(at, (size_t)(end - at), "<page>", 6)); pages++) {
        const char *close = memmem(at, (size_t)(end - at), "</page>", 7);
        assert_non_null(close);
        assert_true(parsers_agree(str_range(at, close + 7)));
        at = close;
    }
    assert_true(pages > 10);
    parsers_agree(STR(""));
}

/* Bytes of an exported page are overwritten, removed and repeated at random positions. */
TEST(the_fast_path_and_expat_agree_on_damaged_pages)
{
    static const char bytes[] = "<>&;/\"'= \n\r\t\x01:!?-]a0\xEF\xBF\xBE\xC3\xA9";
    const struct random_stream random = random_stream(7, RANDOM_PAIR, 0, 0, 0, 0, 0);
    char text[2 * sizeof exported];
    for (uint32_t turn = 0; turn < 20000; turn++) {
        size_t size = sizeof exported - 1;
        memcpy(text, exported, size);
        uint32_t words[4];
        for (uint32_t damage = 0; damage <= turn % 3; damage++) {
            random_at4(&random, turn, damage, words);
            const size_t at = words[0] % size, count = 1 + words[1] % 24 % (size - at);
            switch (words[2] % 3) {
            case 0:
                text[at] = bytes[words[3] % (sizeof bytes - 1)];
                break;
            case 1:
                memmove(text + at, text + at + count, size - at - count);
                size -= count;
                break;
            default:
                memmove(text + at + count, text + at, size - at);
                size += count;
            }
        }
        if (!parsers_agree((struct str){text, size}))
            fail_msg("expat reads otherwise, turn %u: %.*s", turn, (int)size, text);
    }
    parsers_agree(STR(""));
}

GROUP(set_up, tear_down)
