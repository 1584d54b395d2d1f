/* The second pass: a walk over the page that never goes back. Its state and its parts: walk.h. */
#include "pipeline/text/wikitext.h"

#include "base/mem.h"
#include "pipeline/text/markup/quotes.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/variants.h"
#include "pipeline/text/walk.h"

#include <assert.h>

#define END_BYTES_MAX 64u /* of each end of a title, for patterns */

/* A name for matching with patterns: "list of *", "*-stub", "stub". */
struct ends {
    struct str head, tail;
    bool is_whole; /* both are the whole name */
    char head_folded[NAME_BYTES_MAX], tail_folded[NAME_BYTES_MAX];
};

static void read_ends(struct ends *ends, struct str name)
{
    const size_t size = name.size < END_BYTES_MAX ? name.size : END_BYTES_MAX;
    ends->head = name_fold((struct str){name.data, size}, ends->head_folded);
    ends->tail = name_fold(str_from(name, name.size - size), ends->tail_folded);
    ends->is_whole = size == name.size;
}

static bool matches(struct str pattern, const struct ends *ends)
{
    if (str_starts(pattern, STR("*")))
        return str_ends(ends->tail, str_from(pattern, 1));
    if (str_ends(pattern, STR("*")))
        return str_starts(ends->head, (struct str){pattern.data, pattern.size - 1});
    return ends->is_whole && str_equal(ends->head, pattern);
}

/* True if one of the patterns matches, and none of those after a '!'. */
static bool fits(struct words patterns, const struct ends *ends)
{
    bool fits = false;
    for (size_t i = 0; i < patterns.count; i++) {
        const struct str pattern = str_of(patterns.items[i]);
        if (!str_starts(pattern, STR("!")))
            fits = fits || matches(pattern, ends);
        else if (matches(str_from(pattern, 1), ends))
            return false;
    }
    return fits;
}

static uint32_t kinds_of_template(const struct language *language, struct str name, const struct ends *ends,
                                  uint32_t wanted)
{
    uint32_t kinds = 0;
    if (words_have(language->disambiguations, name))
        kinds |= KIND_DISAMBIGUATION;
    if (wanted & KIND_LIST && words_have(language->list_templates, name))
        kinds |= KIND_LIST;
    if (wanted & KIND_STUB && fits(language->stub_templates, ends))
        kinds |= KIND_STUB;
    return kinds;
}

/* [[Category:Lists of …|sort key]] */
static bool is_list_category(const struct kind_page *page, const struct span *span, const struct language *language)
{
    const struct str inner = span_inner(page->text, span);
    const char *bar = memchr(inner.data, '|', inner.size);
    const struct str target = bar ? str_range(inner.data, bar) : inner;
    const char *colon = memchr(target.data, ':', target.size < NAME_BYTES_MAX ? target.size : NAME_BYTES_MAX);
    if (!colon || link_kind_of(page->namespaces, target) != LINK_CATEGORY)
        return false;
    struct ends ends;
    read_ends(&ends, str_range(colon + 1, target.data + target.size));
    return fits(language->list_categories, &ends);
}

static uint32_t kinds_of_span(const struct kind_page *page, uint32_t index, const struct language *language,
                              uint32_t wanted)
{
    const struct span *span = &page->spans->items[index];
    const struct str inner = span_inner(page->text, span);
    char folded[NAME_BYTES_MAX], canonical[NAME_BYTES_MAX];
    struct ends ends;
    struct str name;
    switch (span->kind) {
    case SPAN_TEMPLATE:
        name = name_fold(template_name(page->text, page->spans, index, canonical), folded);
        if (wanted & KIND_STUB)
            read_ends(&ends, name);
        return kinds_of_template(language, name, &ends, wanted) |
               (language == language_english() ? 0 : kinds_of_template(language_english(), name, &ends, wanted));
    case SPAN_MAGIC:
        name = name_fold(inner, folded);
        return words_have(language->disambiguation_magic, name) ||
                       words_have(language_english()->disambiguation_magic, name)
                   ? KIND_DISAMBIGUATION
                   : 0;
    case SPAN_LINK:
        return wanted & KIND_LIST && is_list_category(page, span, language) ? KIND_LIST : 0;
    default:
        return 0;
    }
}

uint32_t kinds_of(const struct kind_page *page, uint32_t wanted)
{
    const struct spans *spans = page->spans;
    uint32_t kinds = 0;
    if (wanted & KIND_LIST) {
        struct ends ends;
        read_ends(&ends, page->title);
        kinds |= fits(page->language->list_titles, &ends) ? KIND_LIST : 0;
    }
    for (uint32_t i = 0; i < spans->count && (kinds & wanted) != wanted; i = spans->items[i].next)
        kinds |= kinds_of_span(page, i, page->language, wanted);
    return kinds & wanted;
}

static void read_stop(struct wikitext *w)
{
    const struct span *span = spans_at(&w->spans, &w->span, w->at);
    if (span && (span->kind == SPAN_COMMENT || span->end <= walk_inner_end(w)))
        construct_read(w);
    else if (w->text.data[w->at] == '\n')
        line_end(w);
    else
        inline_read(w);
}

static void walk(struct wikitext *w)
{
    for (;;) {
        const uint32_t limit = walk_inner_end(w);
        if (w->at >= limit && w->depth == 0)
            break;
        if (w->at >= limit) {
            walk_pop(w);
        } else if (w->line_start) {
            line_begin(w);
        } else {
            const uint32_t stop = signs_next(&w->signs, w->at, limit);
            if (stop > w->at)
                walk_keep(w, stop);
            else
                read_stop(w);
        }
    }
    walk_end_paragraph(w);
}

/* Replaces the text by that in which the calls of known templates are expanded. */
static void expand(struct wikitext *w, const struct page *page)
{
    const struct template_page source = walk_template_page(w);
    struct str text;
    w->copies = NULL;
    w->page_size = (uint32_t)page->text.size;
    w->copy = w->traced = 0;
    if (!w->expander || !expand_page(w->expander, &source, &text, &w->copies, &w->copy_count, &w->facts->steps))
        return;
    w->facts->steps += w->spans.steps + w->size;
    w->text = text;
    w->size = (uint32_t)text.size;
    spans_find(&w->spans, &w->magic, w->variants != NULL, text);
}

/* The calls that were expanded are what is left of the page. */
static void finish_fates(struct wikitext *w)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < FATES; i++)
        bytes += w->facts->bytes[i];
    assert(bytes <= w->page_size && (w->copies || bytes == w->page_size));
    w->facts->bytes[FATE_TEMPLATE] += w->page_size - bytes;
    if (w->options.trace)
        trace_bytes(w->options.trace, w->traced, w->page_size, FATE_TEMPLATE);
}

void wikitext_read(struct wikitext *w, const struct page *page, struct buf *out, struct wikitext_facts *facts)
{
    *facts = (struct wikitext_facts){0};
    if (w->options.trace)
        trace_reset(w->options.trace);
    if (page->text.size == 0)
        return;
    assert(w->depth == 0 && w->renders.count == 0);
    const size_t of_page = offsetof(struct wikitext, facts);
    memset((char *)w + of_page, 0, sizeof *w - of_page);
    w->facts = facts;
    w->title = page->title;
    w->timestamp = page->timestamp;
    w->text = page->text;
    w->size = (uint32_t)page->text.size;
    if (link_is_redirect(page->text, &w->magic)) { /* it shows nothing, so its spans are not needed */
        facts->is_redirect = true;
        facts->bytes[FATE_MARKUP] = page->text.size;
        return;
    }
    spans_find(&w->spans, &w->magic, w->variants != NULL, page->text);
    facts->kinds = kinds_of(&(struct kind_page){.title = page->title,
                                                .text = page->text,
                                                .spans = &w->spans,
                                                .language = w->options.language,
                                                .namespaces = &w->namespaces},
                            w->options.kinds);

    expand(w, page);
    signs_find(&w->signs, &w->stops, w->text);
    for (size_t i = 0; i < w->spans.count && w->magic.wide; i++)
        if (w->spans.items[i].kind == SPAN_MAGIC)
            signs_add(&w->signs, w->spans.items[i].start);
    w->paragraphs.out = out;
    w->paragraphs.start = out->size;
    w->paragraphs.steps = 0;
    w->leaks.watched_count = 0;
    w->leaks.has_names = false;
    w->renders.read_end = 0;
    w->quotes_apostrophe = QUOTES_NONE;
    w->line_out = out->size;
    w->break_out = SIZE_MAX;
    w->line_start = true;
    walk(w);

    assert(w->depth == 0 && w->inline_depth == 0 && !w->paragraphs.is_open && w->renders.count == 0);
    facts->steps += w->spans.steps + w->paragraphs.steps + w->size;
    /* Every byte of the page has one fate, so the figures of a report add up to the text that was read. */
    finish_fates(w);
}

struct str wikitext_unknown(const struct wikitext *w, size_t i, char name[NAME_BYTES_MAX], struct str *text,
                            enum unknown_kind *kind)
{
    const struct span *span = &w->spans.items[w->unknown[i].span];
    *text = str_part(w->text, span->start, span->end);
    *kind = w->unknown[i].kind;
    return template_name(w->text, &w->spans, w->unknown[i].span, name);
}

struct str wikitext_leak(const struct wikitext *w, size_t i, char name[NAME_BYTES_MAX])
{
    const uint32_t span = w->leaks.items[i].span;
    return span == LEAK_OF_PAGE ? STR("") : template_name(w->text, &w->spans, span, name);
}

int32_t wikitext_namespace(const struct wikitext *w, struct str title)
{
    return namespaces_of_title(&w->namespaces, title);
}

struct wikitext *wikitext_open(const struct wikitext_options *options)
{
    struct wikitext *w = mem_clear(1, sizeof *w);
    w->options = *options;
    w->code = str_of(options->code && options->code[0] ? options->code : options->language->code);
    if (options->language == language_english())
        w->code = STR("en"); /* of which simple is one */
    w->magic = magic_find(options->language, w->code);
    w->variants = variant_wiki_find(w->code);
    w->variant = options->variant ? options->variant : "";
    w->style = number_style_find(w->code);
    w->paragraphs.keep = options->keep;
    namespaces_init(&w->namespaces, options->siteinfo, &w->magic);
    if (options->templates)
        w->expander = expander_open(options->templates, &w->namespaces, &w->magic);
    for (unsigned char byte = 0; byte < ' '; byte++)
        if (byte != '\t')
            sign_set_add(&w->stops, byte);
    for (const char *stop = "'&<>[{~_"; *stop; stop++)
        sign_set_add(&w->stops, (unsigned char)*stop);
    if (w->variants)
        sign_set_add(&w->stops, '-');
    return w;
}

void wikitext_close(struct wikitext *w)
{
    if (!w)
        return;
    expander_close(w->expander);
    namespaces_release(&w->namespaces);
    spans_release(&w->spans);
    signs_release(&w->signs);
    renders_release(&w->renders);
    leaks_release(&w->leaks);
    buf_release(&w->paragraphs.captions);
    mem_free(w->frames);
    mem_free(w->unknown);
    mem_free(w->open);
    mem_free(w);
}
