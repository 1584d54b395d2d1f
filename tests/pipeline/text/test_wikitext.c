/* Wikitext → text: the visible text (wikitext.cases), the kind of page, one fate for every byte, nothing left from the
 * page before, and the same cost for hostile pages as for others. */
#include "base/arena.h"
#include "base/random.h"
#include "pipeline/text/trace.h"
#include "pipeline/text/variants.h"
#include "pipeline/text/wikitext.h"
#include "tests/cases.h"
#include "tests/pipeline/text/hostile.h"
#include "tests/unit.h"

CLOSE_AT(wikitext)

#ifndef __has_feature
#define __has_feature(name) 0 /* clang has it, gcc defines __SANITIZE_ADDRESS__ */
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HOSTILE_BYTES (128u << 10)
#define PAIR_STEP     64u
#else
#define HOSTILE_BYTES (256u << 10)
#define PAIR_STEP     16u
#endif
#define CASES          SOURCE_DIR "/tests/pipeline/text/wikitext.cases"
#define GRAMMAR_CASES  SOURCE_DIR "/tests/pipeline/text/wikitext_grammar.cases"
#define LANGUAGE_CASES SOURCE_DIR "/tests/pipeline/text/wikitext_languages.cases"
#define CALLS          SOURCE_DIR "/tests/pipeline/text/convert.calls"

static void count_letters(struct str text, int64_t sign, int64_t letters[256])
{
    for (size_t at = 0; at < text.size; at++)
        if ((text.data[at] >= '0' && text.data[at] <= '9') ||
            ((text.data[at] | 32) >= 'a' && (text.data[at] | 32) <= 'z'))
            letters[(unsigned char)text.data[at]] += sign;
}

/* A trace has every byte of the page once, from left to right, with the fates that the facts count. Its kept steps have
 * the letters of the text, because tidying removes no letters; only leaks that a paragraph's end showed do. */
static void check_trace(const struct trace *trace, const struct wikitext_facts *facts, struct str page, struct str text)
{
    uint64_t bytes[FATES] = {0};
    int64_t letters[256] = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        assert_int_equal(step->from, at);
        assert_true(step->to > at || (step->to == at && step->is_shown_otherwise));
        at = step->to;
        bytes[step->fate] += step->to - step->from;
        const struct str shown = step->is_shown_otherwise
                                     ? (struct str){trace->shown.data + step->shown_at, step->shown_size}
                                     : (struct str){page.data + step->from, step->to - step->from};
        if (step->fate == FATE_KEPT)
            count_letters(shown, 1, letters);
    }
    assert_int_equal(at, facts->is_redirect ? 0 : page.size);
    assert_true(bytes[FATE_MENDED] <= facts->bytes[FATE_MENDED]);
    bytes[FATE_KEPT] += bytes[FATE_MENDED];
    bytes[FATE_MENDED] = 0;
    for (int fate = 0; fate < FATES && !facts->is_redirect; fate++) {
        const uint64_t mended = fate == FATE_KEPT ? facts->bytes[FATE_MENDED] : 0;
        if (fate != FATE_MENDED && bytes[fate] != facts->bytes[fate] + mended)
            fail_msg("%s: %u in the trace, %u counted: %.*s", fate_name((enum fate)fate), (unsigned)bytes[fate],
                     (unsigned)(facts->bytes[fate] + mended), (int)(page.size < 1000 ? page.size : 1000), page.data);
    }
    count_letters(text, -1, letters);
    for (int byte = 0; byte < 256; byte++)
        if (letters[byte] < 0 || (letters[byte] > 0 && facts->leaks == 0))
            fail_msg("'%c' %d times too often in the trace: %.*s", byte, (int)letters[byte],
                     (int)(page.size < 1000 ? page.size : 1000), page.data);
}

/* A reader that lives on, as in a build: what it read before must not show in the next page. */
struct reader {
    char lang[16], variant[16]; /* the options keep these */
    uint32_t keep;
    struct wikitext *wikitext;
    struct trace trace;
};

#define READERS 128

static struct reader pool[READERS];
static size_t pool_count;

static void reader_open(struct reader *reader, struct str lang, struct str variant, uint32_t keep)
{
    *reader = (struct reader){.keep = keep};
    memcpy(reader->lang, lang.data, lang.size < sizeof reader->lang ? lang.size : sizeof reader->lang - 1);
    memcpy(reader->variant, variant.data,
           variant.size < sizeof reader->variant ? variant.size : sizeof reader->variant - 1);
    reader->wikitext = wikitext_open(&(struct wikitext_options){.language = language_find(lang),
                                                                .code = reader->lang,
                                                                .variant = reader->variant,
                                                                .keep = keep,
                                                                .kinds = KIND_DISAMBIGUATION,
                                                                .trace = &reader->trace});
}

static void reader_close(struct reader *reader)
{
    wikitext_close(reader->wikitext);
    trace_release(&reader->trace);
}

static struct reader *reader_of(struct str lang, struct str variant, uint32_t keep)
{
    for (size_t i = 0; i < pool_count && i < READERS; i++)
        if (str_equal(lang, str_of(pool[i].lang)) && str_equal(variant, str_of(pool[i].variant)) &&
            pool[i].keep == keep)
            return &pool[i];
    struct reader *reader = &pool[pool_count++ % READERS];
    if (pool_count > READERS)
        reader_close(reader);
    reader_open(reader, lang, variant, keep);
    return reader;
}

static int close_readers(void **state)
{
    (void)state;
    for (size_t i = 0; i < pool_count && i < READERS; i++)
        reader_close(&pool[i]);
    return 0;
}

static struct wikitext_facts read_with(struct reader *reader, struct str text, struct buf *out)
{
    const struct page page = {
        .title = STR("Main Page"), .timestamp = STR("2026-02-03T04:05:06Z"), .model = STR("wikitext"), .text = text};
    struct wikitext_facts facts;
    const size_t before = out->size;
    wikitext_read(reader->wikitext, &page, out, &facts);
    check_trace(&reader->trace, &facts, text, (struct str){out->data + before, out->size - before});
    return facts;
}

/* Everything that a reader says about its last page, as text. */
static void add_said(const struct wikitext *wikitext, const struct wikitext_facts *facts, struct buf *said)
{
    char folded[NAME_BYTES_MAX];
    struct str whole;
    enum unknown_kind kind;
    buf_addf(said, "\n%d %u %zu %zu %zu %zu %zu:", facts->is_redirect, facts->kinds, facts->unknown, facts->holes,
             facts->leaks, facts->sentences, (size_t)facts->steps);
    for (int fate = 0; fate < FATES; fate++)
        buf_addf(said, " %zu", (size_t)facts->bytes[fate]);
    for (size_t i = 0; i < facts->unknown; i++) {
        buf_add_str(said, wikitext_unknown(wikitext, i, folded, &whole, &kind));
        buf_addf(said, " %d ", kind);
        buf_add_str(said, whole);
    }
    for (size_t i = 0; i < facts->leaks; i++)
        buf_add_str(said, wikitext_leak(wikitext, i, folded));
}

/* Reads the page with a new reader, and with one that has read other pages, which must say the same. */
static struct wikitext_facts read_spelled(struct str text, struct str lang, struct str variant, uint32_t keep,
                                          struct buf *out)
{
    struct reader fresh, *used = reader_of(lang, variant, keep);
    SCOPED(buf_release) struct buf alone = {0}, after = {0};
    reader_open(&fresh, lang, variant, keep);
    const struct wikitext_facts facts = read_with(&fresh, text, &alone), again = read_with(used, text, &after);
    buf_add_str(out, buf_str(&alone));
    add_said(fresh.wikitext, &facts, &alone);
    add_said(used->wikitext, &again, &after);
    if (!str_equal(buf_str(&alone), buf_str(&after)))
        fail_msg("a reader that read other pages says of %.*s\n%s\n-- instead of\n%s",
                 (int)(text.size < 1000 ? text.size : 1000), text.data, buf_text(&after), buf_text(&alone));
    reader_close(&fresh);
    return facts;
}

static struct wikitext_facts read_page(struct str text, struct str lang, uint32_t keep, struct buf *out)
{
    return read_spelled(text, lang, STR(""), keep, out);
}

static uint32_t keep_of(struct str list)
{
    static const char *const names[] = {"headings", "lists", "prose-lists", "pre", "captions"};
    if (list.size == 0)
        return KEEP_PROSE_LISTS;
    uint32_t keep = 0;
    for (size_t from = 0; from <= list.size;) {
        const char *comma = memchr(list.data + from, ',', list.size - from);
        const size_t to = comma ? (size_t)(comma - list.data) : list.size;
        for (unsigned i = 0; i < 5; i++)
            if (str_equal((struct str){list.data + from, to - from}, str_of(names[i])))
                keep |= 1u << i;
        from = to + 1;
    }
    return keep;
}

static void run_case(const struct test_case *each, struct buf *out)
{
    struct str lang = cases_setting(each, "lang");
    if (lang.size == 0)
        lang = STR("en");
    read_spelled(each->input, lang, cases_setting(each, "variant"), keep_of(cases_setting(each, "keep")), out);
}

TEST(cases_show_what_a_reader_sees)
{
    assert_int_equal(cases_run(CASES, run_case), 0);
    assert_int_equal(cases_run(GRAMMAR_CASES, run_case), 0);
    assert_int_equal(cases_run(LANGUAGE_CASES, run_case), 0);
}

static void run_call(struct str page, struct buf *out)
{
    read_page(page, STR("en"), KEEP_PROSE_LISTS, out);
}

TEST(calls_show_what_mediawiki_shows)
{
    assert_int_equal(calls_run(CALLS, run_call), 0);
}

static struct wikitext_facts facts_of(const char *text, const char *lang)
{
    SCOPED(buf_release) struct buf out = {0};
    const struct wikitext_facts facts = read_page(str_of(text), str_of(lang), KEEP_PROSE_LISTS, &out);
    if (facts.is_redirect)
        assert_int_equal(out.size, 0);
    return facts;
}

TEST(redirects_are_known_in_every_language)
{
    assert_true(facts_of("#REDIRECT [[X]]", "en").is_redirect);
    assert_true(facts_of("\n #redirect: [[X]] {{R from}}", "en").is_redirect);
    assert_true(facts_of("#WEITERLEITUNG [[X]]", "de").is_redirect);
    assert_true(facts_of("#REDIRECT [[X]]", "de").is_redirect);
    assert_true(facts_of("#перенаправление [[X]]", "ru").is_redirect);
    assert_true(facts_of("#転送[[X]]", "ja").is_redirect);
    assert_true(facts_of("＃リダイレクト [[X]]", "ja").is_redirect);
    assert_true(facts_of("#REDIRECCIÓN [[X]]", "es").is_redirect);
    assert_true(facts_of("#redirection [[X]]", "fr").is_redirect);
    assert_true(facts_of("#RINVIA [[X]]", "it").is_redirect);
    assert_true(facts_of("#DOORVERWIJZING [[X]]", "nl").is_redirect);
    assert_true(facts_of("#PATRZ [[X]]", "pl").is_redirect);
    assert_true(facts_of("#REDIRECIONAMENTO [[X]]", "pt").is_redirect);
    assert_true(facts_of("#OMDIRIGERING [[X]]", "sv").is_redirect);
    assert_true(facts_of("#重定向 [[X]]", "zh").is_redirect);
    assert_true(facts_of("#تحويل [[X]]", "ar").is_redirect);
    assert_true(facts_of("#REDIRECT [[X]]", "xx").is_redirect);
    assert_true(facts_of("#넘겨주기 [[X]]", "ko").is_redirect);
    assert_true(facts_of("#넘겨주기[[:분류:X|x]] {{넘겨주기 틀}}", "ko").is_redirect);
    assert_true(facts_of("#ΑΝΑΚΑΤΕΥΘΥΝΣΗ: [[X]]", "el").is_redirect);
    assert_true(facts_of("#ανακατευθυνση :\n[[X]]", "el").is_redirect);
    assert_true(facts_of("#تغییرمسیر [[X]]", "fa").is_redirect);
    assert_true(facts_of("#Ohjaus [[X]]\n[[Luokka:Y]]", "fi").is_redirect);
    assert_true(facts_of("#पुनर्प्रेषित [[X]]", "hi").is_redirect);
    assert_true(facts_of("#перенаправление [[X]]", "tt").is_redirect); /* of ru */
    assert_false(facts_of("＃перенаправление [[X]]", "ru").is_redirect);
    assert_false(facts_of("#перенаправление [[X]]", "bg").is_redirect);
    assert_false(facts_of("# REDIRECT [[X]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECTION [[X]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT to [[X]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[X", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[X\n]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[{{X}}]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[X[Y]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT [[X|y]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT <!-- now --> [[X]]", "en").is_redirect);
    assert_true(facts_of("#REDIRECT\n\n[[X#y]]", "en").is_redirect);
    assert_false(facts_of("#WEITERLEITUNG [[X]]", "en").is_redirect);
    assert_false(facts_of("# REDIRECTED to [[X]]", "en").is_redirect);
    assert_false(facts_of("#REDIRECT", "en").is_redirect);
    assert_false(facts_of("A #REDIRECT [[X]]", "en").is_redirect);
    assert_false(facts_of("", "en").is_redirect);
}

TEST(disambiguations_are_known_by_template_or_magic_word)
{
    assert_true(facts_of("X may be:\n* [[Y]]\n==See also==\n* z\n{{disambiguation}}", "en").kinds &
                KIND_DISAMBIGUATION);
    assert_true(facts_of("{{Disambig|geo}}", "en").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{ hndis\n| name = X }}", "en").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("== References ==\n__DISAMBIG__", "en").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{Begriffsklärung}}", "de").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{неоднозначность}}", "ru").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{Неоднозначность}}", "ru").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{曖昧さ回避}}", "ja").kinds & KIND_DISAMBIGUATION);
    assert_true(facts_of("{{توضيح}}", "ar").kinds & KIND_DISAMBIGUATION);
    assert_false(facts_of("{{Disambiguation needed}} {{dablink|x}}", "en").kinds & KIND_DISAMBIGUATION);
    assert_false(facts_of("<!-- {{disambig}} --> <nowiki>{{disambig}}</nowiki>", "en").kinds & KIND_DISAMBIGUATION);
    assert_false(facts_of("{{Begriffsklärung}}", "en").kinds & KIND_DISAMBIGUATION);
}

TEST(spellings_have_codes)
{
    SCOPED(buf_release) struct buf codes = {0};
    variant_add_codes(&codes);
    buf_text(&codes);
    for (const char *const *code = (const char *const[]){"ban-x-palmleaf", "mni-beng", "zh-tw", "zgh", NULL}; *code;
         code++)
        assert_non_null(strstr(codes.data, *code));
    for (char *rest = codes.data, *code; (code = strsep(&rest, " "));)
        assert_true(variant_is_code(str_of(code)));
    assert_false(variant_is_code(STR("zh-xx")));
    const struct variant_wiki *zh = variant_wiki_find(STR("zh"));
    assert_true(variant_rank(zh, STR("zh-tw"), STR("zh-tw")) < variant_rank(zh, STR("zh-hant"), STR("zh-tw")));
    assert_true(variant_rank(zh, STR("zh-hk"), STR("zh-tw")) < variant_rank(zh, STR("zh-hans"), STR("zh-tw")));
    assert_true(variant_rank(zh, STR("zh-hans"), STR("")) < variant_rank(zh, STR("zh-hant"), STR("")));
    assert_null(variant_wiki_find(STR("de")));
}

TEST(namespaces_come_from_the_dump)
{
    struct wiki_namespace names[] = {{6, STR("Skrá")}, {14, STR("Flokkur")}, {102, STR("Gátt")}, {0, STR("")}};
    const struct siteinfo siteinfo = {.sitename = STR("Alfræði"), .namespaces = names, .namespace_count = 4};
    SCOPED(wikitext_close_at)
    struct wikitext *wikitext =
        wikitext_open(&(struct wikitext_options){.siteinfo = &siteinfo, .language = language_find(STR("is"))});
    const struct page page = {
        .title = STR("X"),
        .text = STR("[[skrá:X.jpg|a]]b[[Flokkur:C]] [[gátt:d|e]] {{ns:14}} {{ns:Image}} {{SITENAME}}")};
    SCOPED(buf_release) struct buf out = {0};
    struct wikitext_facts facts;
    wikitext_read(wikitext, &page, &out, &facts);
    assert_string_equal(buf_text(&out), "b e Flokkur Skrá Alfræði\n");
    assert_int_equal(wikitext_namespace(wikitext, STR("Gátt:X")), 102);
    assert_int_equal(wikitext_namespace(wikitext, STR("talk: X")), 1);
    assert_int_equal(wikitext_namespace(wikitext, STR("User_talk:X")), 3);
    assert_int_equal(wikitext_namespace(wikitext, STR("2001: A Space Odyssey")), 0);
    assert_int_equal(wikitext_namespace(wikitext, STR("")), 0);
}

TEST(every_byte_has_one_fate)
{
    const struct wikitext_facts facts = facts_of("A {{b}} [[c]]\n* d\n<!-- e -->== F ==\n<ref>g</ref>\n", "en");
    assert_int_equal(facts.bytes[FATE_TEMPLATE], 5);
    assert_int_equal(facts.bytes[FATE_LIST], 1);
    assert_int_equal(facts.bytes[FATE_COMMENT], 10);
    assert_int_equal(facts.bytes[FATE_HEADING], 7);
    assert_int_equal(facts.bytes[FATE_REFERENCE], 12);
    assert_int_equal(facts.bytes[FATE_KEPT], 3); /* wikitext_read asserts the sum on every page */
    assert_int_equal(facts.bytes[FATE_MENDED], 1);
}

/* A hole has words on both sides, in a paragraph that is kept. */
TEST(holes_are_inside_sentences)
{
    static const struct {
        const char *text;
        size_t holes;
    } cases[] = {{"An area of {{TA|9 km}}, and {{TA|8 km}} more.", 2},
                 {"{{TA}} An area.", 0},
                 {"An area {{TA}}.", 0},
                 {"{{Box|a=b}}\nAn area.\n{{Box}}\n\n* item {{TA}} goes on", 1},
                 {"An end.{{note}} A sentence. {{TA}} is its beginning.", 1},
                 {"„An end.“{{note}}{{note}} A sentence", 0},
                 {"An area ({{TA}}) of", 1},
                 {"== A {{TA}} heading ==\nText {{lang|fr|mot {{TA}} mot}} text.", 1},
                 {"A [[File:A.jpg|thumb|caption with {{TA}} in it]] {{TA}} text", 2},
                 {"* short {{TA}} item", 0},
                 {"A word{{sfn|x}} or{{citation needed}} two{{ipa-fr|x}} here", 0},
                 {"面積{{TA}}平方公里。{{note}}人口", 1}};
    struct wikitext_options options = {.language = language_find(STR("en")), .keep = KEEP_CAPTIONS};
    SCOPED(buf_release) struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wikitext_facts facts;
        options.keep = i == 3 ? KEEP_LISTS : KEEP_CAPTIONS;
        SCOPED(wikitext_close_at) struct wikitext *wikitext = wikitext_open(&options);
        wikitext_read(wikitext, &(struct page){.title = STR("X"), .text = str_of(cases[i].text)}, &out, &facts);
        if (facts.holes != cases[i].holes)
            fail_msg("%s: %zu holes", cases[i].text, facts.holes);
    }
}

/* Unknown templates with whole sentences are counted apart from holes. */
TEST(sentences_of_unknown_templates_are_counted)
{
    const struct str text = STR("He {{odd|was the first man who stood on that hill}} or {{odd|not}} there.\n\n"
                                "{{odd|\n* an item of a list that has words enough for it}}");
    SCOPED(wikitext_close_at)
    struct wikitext *wikitext = wikitext_open(&(struct wikitext_options){.language = language_find(STR("en"))});
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    wikitext_read(wikitext, &(struct page){.title = STR("X"), .text = text}, &out, &facts);
    assert_int_equal(facts.unknown, 3);
    assert_int_equal(facts.sentences, 2);
    assert_int_equal(facts.holes, 1);
    static const enum unknown_kind kinds[] = {UNKNOWN_SENTENCE, UNKNOWN_HOLE, UNKNOWN_SENTENCE};
    for (size_t i = 0; i < 3; i++) {
        char folded[NAME_BYTES_MAX];
        struct str whole;
        enum unknown_kind kind;
        assert_true(str_equal(wikitext_unknown(wikitext, i, folded, &whole, &kind), STR("Odd")));
        assert_int_equal(kind, kinds[i]);
    }
}

TEST(templates_without_a_row_are_reported)
{
    const struct str text = STR("{{nobody_Knows|{{inner}}}} {{lang|fr|mot}} {{lang|fr}} {{{argument}}} {{{{x}}|b}}\n"
                                "{| \n| {{in a table}}\n|}\n<ref>{{in a ref}}</ref> {{convert|{{x}}|km}} {{Ünïq}} "
                                "{{template:}} {{Template:a}}");
    static const struct {
        const char *name, *text;
    } expected[] = {{"Nobody Knows", "{{nobody_Knows|{{inner}}}}"},
                    {"", "{{{{x}}|b}}"},
                    {"Convert", "{{convert|{{x}}|km}}"},
                    {"Ünïq", "{{Ünïq}}"},
                    {"Template:", "{{template:}}"},
                    {"A", "{{Template:a}}"}};
    SCOPED(wikitext_close_at)
    struct wikitext *wikitext = wikitext_open(&(struct wikitext_options){.language = language_find(STR("en"))});
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    for (int again = 0; again < 2; again++) {
        wikitext_read(wikitext, &(struct page){.title = STR("X"), .text = text}, &out, &facts);
        assert_int_equal(facts.unknown, 6);
        for (size_t i = 0; i < facts.unknown; i++) {
            char folded[NAME_BYTES_MAX];
            struct str whole;
            enum unknown_kind kind;
            const struct str name = wikitext_unknown(wikitext, i, folded, &whole, &kind);
            assert_int_equal(kind, UNKNOWN_APART);
            assert_int_equal(name.size, strlen(expected[i].name));
            assert_memory_equal(name.data, expected[i].name, name.size);
            assert_int_equal(whole.size, strlen(expected[i].text));
            assert_memory_equal(whole.data, expected[i].text, whole.size);
        }
    }
    wikitext_read(wikitext, &(struct page){.title = STR("X"), .text = STR("#REDIRECT [[Y]] {{unknown}}")}, &out,
                  &facts);
    assert_int_equal(facts.unknown, 0);
}

static void check_steps(struct wikitext *wikitext, struct str text, struct buf *out, const char *what, const char *more)
{
    const struct page page = {.title = STR("Main Page"), .text = text};
    struct wikitext_facts facts;
    buf_reset(out);
    wikitext_read(wikitext, &page, out, &facts);
    if (facts.steps > (uint64_t)WIKITEXT_STEPS_PER_BYTE_MAX * text.size)
        fail_msg("%s %s: %.1f steps a byte", what, more, (double)facts.steps / (double)text.size);
    assert_true(out->size <= 4 * text.size + 64);
}

/* Checks linear cost: one bound of steps per byte on pages of 64 KiB and of 256 KiB. Pairs of patterns, with something
 * between, have found faults that single ones did not; they use 4 KiB, where a quadratic cost already exceeds the
 * bound. */
TEST(hostile_pages_cost_no_more_steps)
{
    static const char *const between[] = {"", "x ", "\n", "|", "}}", "]]"};
    SCOPED(buf_release) struct buf page = {0}, out = {0};
    struct wikitext *readers[2] = {
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("en")), .keep = KEEP_PROSE_LISTS}),
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("zh")), .keep = 31})};
    const size_t count = HOSTILE_COUNT, sizes[] = {64u << 10, HOSTILE_BYTES};
    for (size_t i = 0; i < HOSTILE_SHAPE_COUNT * 4; i++) {
        hostile_build(&page, &hostile_shapes[i / 4], sizes[i / 2 % 2]);
        check_steps(readers[i % 2], buf_str(&page), &out, hostile_shapes[i / 4].head, hostile_shapes[i / 4].unit);
    }
    for (size_t i = 0; i < count; i++) {
        for (unsigned size = 0; size < 2; size++) {
            hostile_repeat(&page, hostile[i], sizes[size]);
            check_steps(readers[i % 2], buf_str(&page), &out, hostile[i], "");
        }
        for (size_t k = i % PAIR_STEP; k < count; k += PAIR_STEP) {
            const char *middle = between[(i + k / PAIR_STEP) % 6];
            buf_reset(&page);
            while (page.size < 4096) {
                buf_add_text(&page, hostile[i]);
                buf_add_text(&page, middle);
                buf_add_text(&page, hostile[k]);
            }
            check_steps(readers[k % 2], buf_str(&page), &out, hostile[i], hostile[k]);
        }
    }
    wikitext_close(readers[0]);
    wikitext_close(readers[1]);
}

/* Nested deeper than any stack of the parser: all openings, then all closings. */
TEST(deep_nesting_ends)
{
    static const char *const pairs[][2] = {{"{{a|", "}}"},           {"{{nowrap|", "}}"}, {"[[a|", "]]"},
                                           {"{{{a|", "}}}"},         {"\n{|\n|", "\n|}"}, {"<table>", "</table>"},
                                           {"<div>", "</div>"},      {"{{quote|", "}}"},  {"[[File:a|b ", "]]"},
                                           {"{{nowrap|[[a|", "]]}}"}};
    SCOPED(buf_release) struct buf page = {0}, out = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        buf_reset(&page);
        for (unsigned side = 0; side < 2; side++)
            for (unsigned k = 0; k < 20000; k++)
                buf_add_text(&page, pairs[i][side]);
        buf_reset(&out);
        read_page(buf_str(&page), STR("en"), 31, &out);
    }
}

/* Computed text is at most four times as long as its source. */
TEST(computed_text_does_not_grow)
{
    static const char *const bits[] = {"{{#time:cccccccccccccccccccccccc}}",
                                       "{{#time:FFFFFFFFFFFFFFFFFFFF}}",
                                       "{{padleft:|20|𐍈}}",
                                       "{{padright:|99|é}}",
                                       "{{numtext|777777}}",
                                       "{{numtext|777777777}}",
                                       "{{cvt|7777|m|spell=in}}",
                                       "{{cvt|7e29|m|spell=in}}"};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        SCOPED(buf_release) struct buf page = {0}, out = {0};
        for (unsigned k = 0; k < 50; k++)
            buf_add_text(&page, bits[i]);
        read_page(buf_str(&page), STR("en"), 31, &out);
        if (out.size > 4 * page.size + 64)
            fail_msg("%s: %zu bytes of %zu", bits[i], out.size, page.size);
    }
}

static bool is_clean(struct str text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' && text.data[i] != '\n' && text.data[i] != '\t')
            return false;
    return utf8_valid(text) && (text.size == 0 || text.data[text.size - 1] == '\n');
}

/* Random sequences of markup: asserts hold, and the text is UTF-8 in paragraphs. */
TEST(any_mixture_of_markup_is_read)
{
    static const char *const more[] = {
        "a",        "b c.", "é",   "漢字", "|",      "File:x",    "Category:y", "nowrap", "lang", "quote",
        "http://x", "}}",   "]]",  "|}",   "</ref>", "</nowiki>", "-->",        "</s>",   "\n|-", "''",
        "fr:",      ":",    "ref", "/>",   ">",      "=",         "（",         "）"};
    const size_t hostile_count = HOSTILE_COUNT, more_count = sizeof more / sizeof more[0];
    SCOPED(buf_release) struct buf page = {0}, out = {0};
    for (uint32_t round = 0; round < 3000; round++) {
        buf_reset(&page);
        buf_reset(&out);
        const uint32_t count = 1 + round % 60;
        for (uint32_t k = 0; k < count; k++) {
            const uint64_t draw = (uint64_t)round * 2654435761u + (uint64_t)k * 40503u * (round + 7);
            const uint64_t pick = (draw ^ draw >> 13) * 0x9E3779B97F4A7C15u >> 40;
            const char *bit = pick % 2 ? hostile[pick / 2 % hostile_count] : more[pick / 2 % more_count];
            buf_add_text(&page, bit);
        }
        read_page(buf_str(&page), round % 2 ? STR("en") : STR("zh"), round % 32, &out);
        assert_true(is_clean(buf_str(&out)));
    }
}

TEST(control_characters_go)
{
    SCOPED(buf_release) struct buf out = {0};
    const struct wikitext_facts facts = read_page(STR("A\x02"
                                                      "B\x01<nowiki>\x7F\x1B</nowiki>\r\n\tC"),
                                                  STR("en"), 0, &out);
    assert_string_equal(buf_text(&out), "AB\x7F \tC\n");
    assert_int_equal(facts.bytes[FATE_CONTROL], 4);
}

TEST(tiny_pages)
{
    SCOPED(buf_release) struct buf out = {0};
    for (unsigned byte = 0; byte < 128; byte++) {
        const char text[2] = {(char)byte, (char)byte};
        read_page((struct str){text, 1}, STR("en"), 31, &out);
        read_page((struct str){text, 2}, STR("zh"), 0, &out);
    }
    read_page(STR(""), STR("en"), 31, &out);
    assert_true(is_clean(buf_str(&out)));
}

GROUP(NULL, close_readers)
