/* The second pass: a walk over the page that never goes back. Its state and its parts: walk.h. */
#include "pipeline/text/wikitext.h"

#include "base/mem.h"
#include "pipeline/text/markup/quotes.h"
#include "pipeline/text/templates/number_style.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/variants.h"
#include "pipeline/text/walk.h"

#include <assert.h>

static void read_stop(struct wikitext *w)
{
    while (w->span < w->spans.count && w->spans.items[w->span].start < w->at)
        w->span++;
    if (w->span < w->spans.count && w->spans.items[w->span].start == w->at &&
        (w->spans.items[w->span].kind == SPAN_COMMENT || w->spans.items[w->span].end <= walk_inner_end(w))) {
        construct_read(w);
        return;
    }
    if (w->text.data[w->at] == '\n')
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
    *text = str_range(w->text.data + span->start, w->text.data + span->end);
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
