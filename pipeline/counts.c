#include "pipeline/counts.h"

#include <assert.h>

_Static_assert(sizeof(struct counts) % sizeof(uint64_t) == 0, "counts are whole words");

static const struct {
    const char *name, *words;
} fates[PAGE_FATES] = {
    [PAGE_KEPT] = {"kept", "kept"},
    [PAGE_REDIRECT] = {"redirect", "redirects"},
    [PAGE_NAMESPACE] = {"namespace", "other namespaces"},
    [PAGE_MODEL] = {"model", "not wikitext"},
    [PAGE_DISAMBIGUATION] = {"disambiguation", "disambiguation"},
    [PAGE_EMPTY] = {"empty", "without text"},
    [PAGE_MALFORMED] = {"malformed", "malformed"},
    [PAGE_OVERSIZE] = {"oversize", "over 16 MiB"},
};

const char *page_fate_name(enum page_fate fate)
{
    assert(fate < PAGE_FATES);
    return fates[fate].name;
}

const char *page_fate_words(enum page_fate fate)
{
    assert(fate < PAGE_FATES);
    return fates[fate].words;
}
