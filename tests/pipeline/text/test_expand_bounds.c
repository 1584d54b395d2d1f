/* Templates that ask for more than a page may have: every page stays within the bounds of expand.h, counted in steps
 * and bytes, on a thread's stack. Also tests what is reused for later pages, and which of too many templates are
 * kept. */
#include "base/thread.h"
#include "pipeline/text/templates/dictionary.h"
#include "pipeline/text/templates/expand.h"
#include "pipeline/text/wikitext.h"
#include "tests/unit.h"

CLOSE_AT(wikitext)

static void repeat(struct buf *out, const char *text, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        for (const char *at = text; *at; at++) {
            if (*at == '%' || *at == '+')
                buf_addf(out, "%u", *at == '%' ? i : i + 1);
            else
                buf_add_byte(out, *at);
        }
}

/* A file of renderings, and a page that calls them. Parts of both are repeated; % is the number of the repetition, +
 * the next one. */
static const struct hostile_template {
    const char *what;
    unsigned n;
    const char *lines, *head, *unit, *middle, *closing, *tail; /* lines: repeated n times; the others make one more */
    unsigned calls;
    const char *page_unit, *page_middle, *page_closing;
} hostile_templates[] = {
    {"calls that double", 30, "E% = @wikitext {{E+}}{{E+}}\n", "E30 = @wikitext x", "", "", "", "\n", 1, "{{E0}}", "",
     ""},
    {"arguments that double", 40, "D% = @wikitext {{D+|{{{1}}}{{{1}}}}}\n", "D40 = @wikitext {{{1}}}", "", "", "", "\n",
     1, "{{D0|abc}}", "", ""},
    {"defaults in defaults", 4000, "", "A = @wikitext ", "{{{a%|", "x", "}}}", "\n", 1, "{{A}}", "", ""},
    {"functions in functions", 4000, "", "A = @wikitext ", "{{#if:", "x", "|y}}", "\n", 1, "{{A}}", "", ""},
    {"functions in functions on a page", 1, "", "A = @wikitext x", "", "", "", "\n", 4000, "{{#if:", "x", "|y}}"},
    {"calls in arguments", 1, "", "A = @wikitext {{{1}}}{{{1}}}", "", "", "", "\n", 4000, "{{A|", "x", "}}"},
    {"calls in names", 1, "", "A = @wikitext A", "", "", "", "\n", 4000, "{{", "A", "}}"},
    {"lists in arguments", 1, "", "A = @wikitext *{{{1}}}", "", "", "", "\n", 4000, "{{A|", "x", "}}"},
    {"bars in arguments", 1, "", "A = @wikitext {{unknown|{{{1}}}}}", "", "", "", "\n", 1000, "{{A|1=", "a=b", "}}"},
    {"a long choice", 20000, "", "Sw = @wikitext {{#switch:{{{1}}}", "|k%=v", "", "", "}}\n", 3000, "{{Sw|k19999}} ",
     "", ""},
    {"braces", 65000, "", "A = @wikitext ", "{{", "", "", "\n", 100, "{{A}}", "", ""},
    {"bars", 60000, "", "A = @wikitext {{B", "|", "", "", "}}\nB = @wikitext b\n", 200, "{{A}}", "", ""},
    {"many arguments, asked for often", 20000, "", "Q = @wikitext ", "{{{%}}}", "", "", "\n", 200,
     "{{Q|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|25|26|27|28|29|30}}", "", ""},
    {"a loop through redirects", 1, "", "R0 => R1\nR1 => R0\nL = @wikitext {{R0}}{{L}}", "", "", "", "\n", 100,
     "{{R0}}{{L}}", "", ""},
    {"a loop through computed names", 1, "", "N = @wikitext {{N{{{1}}}|{{{1}}}1}}\nN1 = @wikitext {{N|1}}{{N|1}}", "",
     "", "", "\n", 100, "{{N|1}}", "", ""},
    {"pages that insert themselves", 1, "", ":P = @wikitext {{:P}}{{:Q}}\n:Q = @wikitext {{:P}}{{:Q}}", "", "", "",
     "\n", 100, "{{:P}}", "", ""},
    {"calls in calls, each of another", 60, "C% = @wikitext {{C+|{{{1|}}}x}}\n", "C60 = @wikitext y", "", "", "", "\n",
     50, "{{C0}}", "", ""},
};

struct reading {
    const struct hostile_template *each;
    struct str file, page;
};

static void *read_hostile(void *context)
{
    const struct reading *reading = context;
    struct templates *templates;
    struct error err;
    char hash[17];
    SCOPED(buf_release) struct buf out = {0};
    struct wikitext_facts facts;
    const uint64_t most = EXPAND_BYTES_MAX(reading->page.size);
    if (templates_parse(&templates, reading->file, "made", hash, &err) < 0)
        return (void *)"the file is wrong";
    SCOPED(wikitext_close_at)
    struct wikitext *wikitext =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("en")), .templates = templates});
    const struct page page = {.title = STR("P"), .timestamp = STR("2026-02-03T04:05:06Z"), .text = reading->page};
    wikitext_read(wikitext, &page, &out, &facts);
    const char *wrong = out.size > 2 * most       ? "it shows too much"
                        : facts.steps > 36 * most ? "it takes too many steps"
                                                  : NULL;
    templates_free(templates);
    return (void *)(uintptr_t)wrong;
}

TEST(hostile_templates_stay_within_the_bounds)
{
    for (size_t i = 0; i < sizeof hostile_templates / sizeof *hostile_templates; i++) {
        const struct hostile_template *each = &hostile_templates[i];
        SCOPED(buf_release) struct buf file = {0}, page = {0};
        repeat(&file, each->lines, each->n);
        buf_add_text(&file, each->head);
        repeat(&file, each->unit, each->n);
        buf_add_text(&file, each->middle);
        repeat(&file, each->closing, each->n);
        buf_add_text(&file, each->tail);
        repeat(&page, each->page_unit, each->calls);
        buf_add_text(&page, each->page_middle);
        repeat(&page, each->page_closing, each->calls);
        struct reading reading = {each, buf_str(&file), buf_str(&page)};
        pthread_t thread;
        void *wrong = NULL;
        assert_int_equal(thread_start(&thread, read_hostile, &reading), 0);
        pthread_join(thread, &wrong);
        if (wrong)
            fail_msg("%s: %s", each->what, (const char *)wrong);
    }
}

static void show(struct wikitext *wikitext, const char *title, const char *text, const char *wanted)
{
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    wikitext_read(wikitext, &(struct page){.title = str_of(title), .text = str_of(text)}, &out, &facts);
    assert_string_equal(buf_text(&out), wanted);
}

/* A call without arguments is expanded once for all pages, unless the result depends on the page. */
TEST(pages_do_not_mix)
{
    static const char file[] = "Title = @wikitext {{#ifeq:{{PAGENAME}}|A|first|other}}\n"
                               "Low = @wikitext {{#ifeq:{{lc:X}}{{NAMESPACE}}|x|low|high}}\n"
                               "Sub = @wikitext {{/Part}}\n"
                               ":A/Part = @wikitext part of A\n"
                               ":B/Part = @wikitext part of B\n"
                               "Default = @wikitext {{{1|none}}}\n";
    struct templates *templates;
    struct error err;
    char hash[17];
    assert_int_equal(templates_parse(&templates, STR(file), "made", hash, &err), 0);
    SCOPED(wikitext_close_at)
    struct wikitext *wikitext =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("en")), .templates = templates});
    show(wikitext, "A", "It is {{Title}}, {{Low}}, {{Sub}}, {{Default}}.", "It is first, low, part of A, none.\n");
    show(wikitext, "B", "It is {{Title}}, {{Low}}, {{Sub}}, {{Default}}.", "It is other, low, part of B, none.\n");
    show(wikitext, "B", "It is {{Default}}, {{Default|b}}, {{Default}}.", "It is none, b, none.\n");
    templates_free(templates);
}

/* Function names are those of the current page's wiki, not of the first page that called the template. */
TEST(wikis_do_not_mix)
{
    static const char file[] =
        "Both = @wikitext {{НАЗВАНИЕ СТРАНИЦЫ}} {{#если:x|да|нет}}\nНАЗВАНИЕ СТРАНИЦЫ = @wikitext own\n";
    struct templates *templates;
    struct error err;
    char hash[17];
    assert_int_equal(templates_parse(&templates, STR(file), "made", hash, &err), 0);
    SCOPED(wikitext_close_at)
    struct wikitext *english =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("en")), .templates = templates});
    SCOPED(wikitext_close_at)
    struct wikitext *russian =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("ru")), .templates = templates});
    show(english, "A", "It is {{Both}}.", "It is own.\n");
    show(russian, "A", "It is {{Both}}.", "It is A да.\n");
    show(english, "B", "It is {{Both|x}}.", "It is own.\n");
    templates_free(templates);
}

static void add(struct dictionary *dictionary, unsigned number)
{
    SCOPED(buf_release) struct buf name = {0}, text = {0};
    buf_addf(&name, "Template %u", number);
    if (number % 4 == 0) {
        buf_add_text(&text, "{{Box|");
        repeat(&text, "of a box\n", 10 + number % 50);
        buf_add_text(&text, "}}");
    } else {
        repeat(&text, "words\n", number * number % 97);
        buf_addf(&text, "end %u", number);
    }
    dictionary_add(dictionary, buf_str(&name), number % 4 == 0 ? BODY_CALL : BODY_WIKITEXT, buf_str(&text));
}

#define BYTES_WITHOUT_BOXES 205000u /* for all but the bodies of boxes, some of which are shorter */

static struct dictionary_facts print(size_t bytes_max, bool forward, struct buf *out)
{
    struct dictionary *dictionary = dictionary_open(bytes_max);
    for (unsigned i = 0; i < 500; i++)
        add(dictionary, forward ? i : 499 - i);
    dictionary_add(dictionary, STR("Box"), BODY_TABLE, STR("{|\n|}"));
    const struct dictionary_facts facts = dictionary_print(dictionary, STR("en"), out);
    dictionary_close(dictionary);
    return facts;
}

/* What does not fit is left out by its size alone; boxes remain known as such. */
TEST(the_longest_are_left_out)
{
    SCOPED(buf_release) struct buf all = {0};
    assert_int_equal(print(1u << 20, true, &all).left_out, 0);
    buf_reset(&all);
    assert_int_equal(print(BYTES_WITHOUT_BOXES, true, &all).left_out, 0);
    for (size_t bytes_max = 500 * 160; bytes_max < all.size + 500 * 200; bytes_max += 7001) {
        SCOPED(buf_release) struct buf forward = {0}, backward = {0};
        const struct dictionary_facts facts = print(bytes_max, true, &forward);
        assert_int_equal(print(bytes_max, false, &backward).left_out, facts.left_out);
        assert_true(str_equal(buf_str(&forward), buf_str(&backward)));
        assert_true(forward.size <= bytes_max);
        const char *text = buf_text(&forward);
        assert_non_null(strstr(text, "\nTemplate 4 = @table\n"));
        assert_non_null(strstr(text, "\nTemplate 496 = @table\n"));
        assert_non_null(strstr(text, "\nTemplate 97 = @wikitext end 97\n"));
        const bool has_longest = strstr(text, "end 75\n"); /* 96 times "words" */
        assert_int_equal(has_longest, facts.left_out == 0);
    }
}
