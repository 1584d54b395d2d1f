// room: pipeline
// bytes: 65536
/* In: a language, what to keep, and a page of wikitext. Held: the text is well-formed UTF-8 without a gap left in it
 * and no longer than a few times the page; every byte has one fate, in the counts and in the trace; no tag of the page
 * stands in it, unless something on the page may say that it is meant; the work is linear; the page reads the same once
 * more. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/leaks.h"
#include "pipeline/text/tidy.h"
#include "pipeline/text/trace.h"
#include "pipeline/text/wikitext.h"

#define STEPS_FREE 1024u /* of the shortest pages */

static const char *const codes[] = {"en", "de", "zh", "ja", "fr", "ru", "ar", "es", "it", "nl", "pl", "pt", "sv", "xx"};
#define CODES (sizeof codes / sizeof *codes)

static void check_trace(const struct trace *trace, const struct wikitext_facts *facts, size_t size)
{
    uint64_t bytes[FATES] = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        assert(step->from == at && step->to >= step->from);
        at = step->to;
        bytes[step->fate] += step->to - step->from;
    }
    assert(at == (facts->is_redirect ? 0 : size));
    bytes[FATE_KEPT] += bytes[FATE_MENDED]; /* tidying is not told place by place */
    for (int fate = 0; fate < FATES && !facts->is_redirect; fate++)
        if (fate != FATE_MENDED)
            assert(bytes[fate] == facts->bytes[fate] + (fate == FATE_KEPT ? facts->bytes[FATE_MENDED] : 0));
}

/* Entities, literal text, formulas and templates may say that a tag is to be seen. */
static bool says_literal(struct str page)
{
    static const char *const signs[] = {"&",      "{{",   "nowiki", "NOWIKI", "Nowiki", "pre", "PRE", "syntaxhighlight",
                                        "source", "math", "chem",   "<ce",    "tex",    "-{",  "<''", "</''"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(page.data, page.size, signs[i], strlen(signs[i])))
            return true;
    return false;
}

static void check_leaks(struct str page, struct str text)
{
    uint64_t steps = 0;
    if (says_literal(page))
        return;
    for (size_t at = 0; at < text.size; at++) {
        const struct str rest = {text.data + at, text.size - at};
        const size_t size = text.data[at] == '<' ? leak_tag(rest, &steps) : 0;
        if (size > 0 && rest.data[size - 1] == '>') /* that it ends its line may be tidying's doing */
            assert(!memmem(page.data, page.size, rest.data, size));
    }
}

static void check_page(struct wikitext *wikitext, const struct trace *trace, struct str text)
{
    const struct page page = {
        .title = STR("Main Page"), .timestamp = STR("2026-02-03T04:05:06Z"), .model = STR("wikitext"), .text = text};
    SCOPED(buf_release) struct buf out = {0}, again = {0};
    struct wikitext_facts facts, facts_again;
    uint64_t sum = 0;
    wikitext_read(wikitext, &page, &out, &facts);
    check_trace(trace, &facts, text.size);
    assert(utf8_valid(buf_str(&out)));
    assert(out.size == 0 || (!memchr(out.data, GAP, out.size) && out.data[out.size - 1] == '\n'));
    assert(out.size <= 4 * text.size + 64);
    check_leaks(text, buf_str(&out));
    assert(facts.steps <= (uint64_t)WIKITEXT_STEPS_PER_BYTE_MAX * text.size + STEPS_FREE);
    for (int fate = 0; fate < FATES; fate++)
        sum += facts.bytes[fate];
    assert(sum == text.size);
    size_t holes = 0, sentences = 0;
    for (size_t i = 0; i < facts.unknown; i++) {
        char folded[NAME_BYTES_MAX];
        struct str whole;
        enum unknown_kind kind;
        const struct str name = wikitext_unknown(wikitext, i, folded, &whole, &kind);
        holes += kind == UNKNOWN_HOLE;
        sentences += kind == UNKNOWN_SENTENCE;
        assert(utf8_valid(name) && whole.data >= text.data && whole.data + whole.size <= text.data + text.size);
    }
    assert(holes == facts.holes && sentences == facts.sentences);
    wikitext_read(wikitext, &page, &again, &facts_again);
    assert(str_equal(buf_str(&out), buf_str(&again)));
}

static struct trace trace;

/* One per language, kept until other things are to be kept: opening it took most of the time, and what it read before
 * must not matter. */
static struct wikitext *wikitext_of(unsigned lang, unsigned keep)
{
    static struct wikitext *opened[CODES];
    static unsigned kept[CODES];
    if (opened[lang] && kept[lang] != keep) {
        wikitext_close(opened[lang]);
        opened[lang] = NULL;
    }
    kept[lang] = keep;
    if (!opened[lang])
        opened[lang] = wikitext_open(&(struct wikitext_options){.language = language_find(str_of(codes[lang])),
                                                                .keep = keep,
                                                                .kinds = KIND_DISAMBIGUATION | KIND_LIST | KIND_STUB,
                                                                .trace = &trace});
    return opened[lang];
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const unsigned lang = take_byte(&data, &size) % CODES, keep = take_byte(&data, &size) % 32;
    struct wikitext *wikitext = wikitext_of(lang, keep);
    SCOPED(mem_free_at) char *text = mem_alloc(size);
    if (size)
        memcpy(text, data, size);
    check_page(wikitext, &trace, (struct str){text, utf8_repair(text, size, NULL)});
    return 0;
}
