#include "pipeline/counts.h"

#include "base/progress.h"

#include <assert.h>

_Static_assert(sizeof(struct counts) % sizeof(uint64_t) == 0, "counts are whole words");

static const struct {
    const char *name, *words;
} fates[] = {
    [PAGE_KEPT] = {"kept", "kept"},
    [PAGE_REDIRECT] = {"redirect", "redirects"},
    [PAGE_NAMESPACE] = {"namespace", "other namespaces"},
    [PAGE_MODEL] = {"model", "not wikitext"},
    [PAGE_DISAMBIGUATION] = {"disambiguation", "disambiguation"},
    [PAGE_LIST] = {"list", "lists"},
    [PAGE_STUB] = {"stub", "stubs"},
    [PAGE_EMPTY] = {"empty", "without text"},
    [PAGE_DUPLICATE] = {"duplicate", "duplicates"},
    [PAGE_SHORT] = {"short", "with too few words"},
    [PAGE_MALFORMED] = {"malformed", "malformed"},
    [PAGE_OVERSIZE] = {"oversize", "over 16 MiB"},
    [PAGE_DAMAGED] = {"damaged", "broken off by damage"},
};
_Static_assert(sizeof fates / sizeof *fates == PAGE_FATES, "a row for every fate");

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

void counts_group(struct counts *counts, const struct group *group)
{
    counts->pages[PAGE_OVERSIZE] += group->oversize;
    counts->pages[PAGE_DAMAGED] += group->cut;
    counts->gaps += group->gaps;
    counts->gap_bytes += group->gap_bytes;
    counts->sums_right += group->sums_right;
    counts->sums_wrong += group->sums_wrong;
}

void counts_damage(const struct counts *counts, struct buf *out)
{
    char count[32], bytes[32];
    if (counts->gaps > 0)
        buf_addf(out, "%s place%s, %s of the file skipped", format_count(counts->gaps, count),
                 counts->gaps == 1 ? "" : "s", format_bytes(counts->gap_bytes, bytes));
    if (counts->sums_wrong > 0)
        buf_addf(out, "%s%s file%s with another SHA-256", out->size ? ", " : "",
                 format_count(counts->sums_wrong, count), counts->sums_wrong == 1 ? "" : "s");
    if (counts->ill_formed > 0)
        buf_addf(out, "%s%s bytes that are not UTF-8", out->size ? ", " : "", format_count(counts->ill_formed, count));
    if (counts->nul_bytes > 0)
        buf_addf(out, "%s%s NUL bytes dropped", out->size ? ", " : "", format_count(counts->nul_bytes, count));
}

void counts_dropped(const struct counts *counts, struct buf *out)
{
    char count[32];
    const size_t from = out->size;
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++)
        if (counts->pages[fate] > 0)
            buf_addf(out, "%s%s %s", out->size > from ? ", " : "", format_count(counts->pages[fate], count),
                     page_fate_words((enum page_fate)fate));
}
