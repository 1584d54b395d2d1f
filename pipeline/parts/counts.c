#include "pipeline/parts/counts.h"

#include <assert.h>

_Static_assert(sizeof(struct counts) % sizeof(uint64_t) == 0, "counts are whole words");

const uint32_t counts_held_steps[HELD_STEPS] = {10000, 20000, 50000, 100000, 200000, 300000, 500000};

static const struct {
    const char *name, *words;
    bool nouns; /* the words are a plural */
} fates[] = {
    [PAGE_KEPT] = {"kept", "kept", false},
    [PAGE_REDIRECT] = {"redirect", "redirects", true},
    [PAGE_NAMESPACE] = {"namespace", "other namespaces", true},
    [PAGE_MODEL] = {"model", "not wikitext", false},
    [PAGE_DISAMBIGUATION] = {"disambiguation", "disambiguation", false},
    [PAGE_LIST] = {"list", "lists", true},
    [PAGE_STUB] = {"stub", "stubs", true},
    [PAGE_EMPTY] = {"empty", "without text", false},
    [PAGE_DUPLICATE] = {"duplicate", "duplicates", true},
    [PAGE_NEAR_DUPLICATE] = {"near-duplicate", "near duplicates", true},
    [PAGE_SHORT] = {"too-short", "with too few words", false},
    [PAGE_LONG] = {"too-long", "with too many words", false},
    [PAGE_LANGUAGE] = {"language", "in other languages", false},
    [PAGE_GOPHER_FEW_WORDS] = {"gopher-few-words", "by gopher's few words", false},
    [PAGE_GOPHER_MANY_WORDS] = {"gopher-many-words", "by gopher's many words", false},
    [PAGE_GOPHER_WORD_LENGTH] = {"gopher-word-length", "by gopher's length of words", false},
    [PAGE_GOPHER_SYMBOLS] = {"gopher-symbols", "by gopher's symbols", false},
    [PAGE_GOPHER_BULLETS] = {"gopher-bullets", "by gopher's bullets", false},
    [PAGE_GOPHER_ELLIPSES] = {"gopher-ellipses", "by gopher's ellipses", false},
    [PAGE_GOPHER_ALPHABETIC] = {"gopher-alphabetic", "by gopher's words without letters", false},
    [PAGE_GOPHER_STOP_WORDS] = {"gopher-stop-words", "by gopher's stop words", false},
    [PAGE_EXCLUDED] = {"excluded", "with words of --exclude", false},
    [PAGE_KEYLESS] = {"no-text-key", "without a text under the key", false},
    [PAGE_MALFORMED] = {"malformed", "malformed", false},
    [PAGE_OVERSIZE] = {"oversize", "over 16 MiB", false},
    [PAGE_DAMAGED] = {"damaged", "broken off by damage", false},
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

void page_fate_add(const char *name, uint64_t count, struct buf *out)
{
    const char *words = page_fate_words_of(name);
    char number[32];
    size_t size = strlen(words);
    for (int fate = 0; fate < PAGE_FATES; fate++)
        size -= count == 1 && fates[fate].nouns && words == fates[fate].words;
    buf_addf(out, "%s %.*s", format_count(count, number), (int)size, words);
}

bool page_fate_is_asked_for(enum page_fate fate)
{
    return fate >= PAGE_CLEANED_FIRST && fate <= PAGE_CLEANED_LAST;
}

static const struct {
    const char *name, *words;
} repairs_of[] = {
    [REPAIR_ENCODING] = {"encoding", "with bytes that are not UTF-8"},
    [REPAIR_SURROGATE] = {"surrogate", "with half a surrogate pair"},
    [REPAIR_NUL] = {"nul", "with NUL bytes"},
    [REPAIR_CHARACTER] = {"character", "with characters that are not allowed"},
    [REPAIR_REFERENCE] = {"reference", "with an & that is no reference of XML"},
    [REPAIR_TAG] = {"tag", "with tags that do not match"},
    [REPAIR_ID] = {"id", "with an id that is no number"},
    [REPAIR_NUMBER] = {"number", "with NaN or Infinity"},
    [REPAIR_KEY] = {"key", "with a key twice"},
    [REPAIR_MARK] = {"byte-order-mark", "with a byte order mark inside the file"},
    [REPAIR_FRAME] = {"gutenberg", "without Project Gutenberg's header and licence"},
};
_Static_assert(sizeof repairs_of / sizeof *repairs_of == REPAIRS, "a row for every repair");

const char *repair_name(enum repair repair)
{
    assert(repair < REPAIRS);
    return repairs_of[repair].name;
}

const char *repair_words(enum repair repair)
{
    assert(repair < REPAIRS);
    return repairs_of[repair].words;
}

const char *page_fate_words_of(const char *name)
{
    for (int fate = 0; fate < PAGE_FATES; fate++)
        if (strcmp(fates[fate].name, name) == 0)
            return fates[fate].words;
    return name;
}

const char *repair_words_of(const char *name)
{
    for (int repair = 0; repair < REPAIRS; repair++)
        if (strcmp(repairs_of[repair].name, name) == 0)
            return repairs_of[repair].words;
    return name;
}

void counts_repairs(struct counts *counts, uint32_t repairs)
{
    counts->repaired_documents += repairs != 0;
    for (int repair = 0; repair < REPAIRS; repair++)
        counts->repaired[repair] += repairs >> repair & 1;
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
}

void counts_dropped(const struct counts *counts, struct buf *out)
{
    const size_t from = out->size;
    for (int fate = PAGE_KEPT + 1; fate < PAGE_FATES; fate++) {
        if (counts->pages[fate] == 0)
            continue;
        buf_add_text(out, out->size > from ? ", " : "");
        page_fate_add(page_fate_name((enum page_fate)fate), counts->pages[fate], out);
    }
}

void counts_repaired(const struct counts *counts, struct buf *out)
{
    char count[32];
    bool first = true;
    if (counts->repaired_documents > 0)
        buf_addf(out, "%s: ", format_count(counts->repaired_documents, count));
    for (int repair = 0; repair < REPAIRS; repair++)
        if (counts->repaired[repair] > 0) {
            buf_addf(out, "%s%s %s", first ? "" : ", ", format_count(counts->repaired[repair], count),
                     repair_words((enum repair)repair));
            first = false;
        }
}

static const struct {
    const char *name, *words;
} text_fates[] = {
    [FATE_KEPT] = {"kept", "it is in the text"},
    [FATE_MARKUP] = {"markup", "brackets, quotes and tags around text, targets of links, line ends"},
    [FATE_TEMPLATE] = {"template", "templates without a rendering, and arguments that do not show"},
    [FATE_TABLE] = {"table", "tables"},
    [FATE_REFERENCE] = {"reference", "footnotes"},
    [FATE_COMMENT] = {"comment", "comments"},
    [FATE_FILE] = {"file", "pictures and other files"},
    [FATE_CATEGORY] = {"category", "categories"},
    [FATE_INTERWIKI] = {"interwiki", "links to other languages"},
    [FATE_MATH] = {"math", "formulas"},
    [FATE_CODE] = {"code", "program code"},
    [FATE_GALLERY] = {"gallery", "galleries, image maps, timelines"},
    [FATE_EXTENSION] = {"extension", "tags of other extensions"},
    [FATE_DELETED] = {"deleted", "struck out"},
    [FATE_INCLUDE] = {"include", "for pages that include this one"},
    [FATE_URL] = {"url", "addresses"},
    [FATE_MAGIC] = {"magic", "magic words, signatures"},
    [FATE_HEADING] = {"heading", "headings"},
    [FATE_SECTION] = {"section", "sections that hold no text"},
    [FATE_LIST] = {"list", "list items that are not kept"},
    [FATE_PRE] = {"pre", "preformatted text"},
    [FATE_VARIANT] = {"variant", "spellings that do not show"},
    [FATE_CONTROL] = {"control", "control characters"},
    [FATE_LEAK] = {"leak", "tags that are none: of unknown names, or without their counterpart"},
    [FATE_MENDED] = {"mended", "blanks, commas and empty brackets around a gap"},
};
_Static_assert(sizeof text_fates / sizeof *text_fates == FATES, "a row for every fate");

const char *fate_name(enum fate fate)
{
    assert(fate < FATES);
    return text_fates[fate].name;
}

const char *fate_words(enum fate fate)
{
    assert(fate < FATES);
    return text_fates[fate].words;
}
