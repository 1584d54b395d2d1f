#include "pipeline/text/page_kinds.h"

#include "pipeline/text/templates/templates.h"

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
    ends->tail = name_fold(str_range(name.data + name.size - size, name.data + name.size), ends->tail_folded);
    ends->is_whole = size == name.size;
}

static bool matches(struct str pattern, const struct ends *ends)
{
    if (str_starts(pattern, STR("*")))
        return str_ends(ends->tail, str_range(pattern.data + 1, pattern.data + pattern.size));
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
        else if (matches(str_range(pattern.data + 1, pattern.data + pattern.size), ends))
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
    const struct str inner = str_range(page->text.data + span->inner_start, page->text.data + span->inner_end);
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
    const struct str inner = str_range(page->text.data + span->inner_start, page->text.data + span->inner_end);
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
