/* The second pass: -{…}-, which offers the spellings of several scripts and countries. */
#include "pipeline/text/variants.h"

#include "pipeline/text/walk.h"

#include <limits.h>

#define CODE_BYTES_MAX  12u /* of a spelling */
#define SPELLINGS_STEPS 12u /* the rank of a spelling is below about this */

/* In the wiki's order of preference, grouped by script; scripts are separated by '|'. */
struct variant_wiki {
    const char *code, *spellings;
};

static const struct variant_wiki wikis[] = {
    {"ban", "ban|ban-bali|ban-x-dharma|ban-x-palmleaf|ban-x-pku"},
    {"crh", "crh-latn|crh-cyrl"},
    {"gan", "gan-hans|gan-hant|gan"},
    {"iu", "ike-cans|ike-latn|iu"},
    {"kk", "kk-cyrl kk-kz|kk-latn kk-tr|kk-arab kk-cn|kk"},
    {"ku", "ku-latn|ku-arab|ku"},
    {"mni", "mni|mni-beng"},
    {"sh", "sh-latn|sh-cyrl|sh"},
    {"shi", "shi-tfng|shi-latn|shi"},
    {"sr", "sr-ec sr-cyrl|sr-el sr-latn|sr"},
    {"tg", "tg|tg-latn"},
    {"tly", "tly|tly-cyrl"},
    {"uz", "uz-latn|uz-cyrl|uz"},
    {"wuu", "wuu-hans|wuu-hant|wuu"},
    {"zgh", "zgh|zgh-latn"},
    {"zh", "zh-hans zh-cn zh-sg zh-my|zh-hant zh-tw zh-hk zh-mo|zh"},
};
#define WIKIS (sizeof wikis / sizeof wikis[0])

const struct variant_wiki *variant_wiki_find(struct str code)
{
    for (size_t i = 0; i < WIKIS; i++)
        if (str_equal(code, str_of(wikis[i].code)))
            return &wikis[i];
    return NULL;
}

unsigned variant_rank(const struct variant_wiki *wiki, struct str spelling, struct str wanted)
{
    unsigned place = 0, script = 0, own = UINT_MAX, own_script = UINT_MAX, wanted_script = UINT_MAX;
    for (const char *at = wiki->spellings; *at; place++) {
        const size_t size = strcspn(at, " |");
        const struct str each = {at, size};
        if (str_equal(each, spelling)) {
            own = place;
            own_script = script;
        }
        if (str_equal(each, wanted))
            wanted_script = script;
        script += at[size] == '|';
        at += size + (at[size] != 0);
    }
    if (own == UINT_MAX || wanted_script == UINT_MAX)
        return own;
    return str_equal(spelling, wanted) ? 0 : 1 + own + (own_script == wanted_script ? 0 : place);
}

bool variant_is_code(struct str code)
{
    for (size_t i = 0; i < WIKIS; i++)
        if (variant_rank(&wikis[i], code, STR("")) != UINT_MAX)
            return true;
    return false;
}

void variant_add_codes(struct buf *out)
{
    for (size_t i = 0; i < WIKIS; i++) {
        buf_add_text(out, i > 0 ? " " : "");
        for (const char *at = wikis[i].spellings; *at; at++)
            buf_add_byte(out, *at == '|' ? ' ' : *at);
    }
}

/* The rank (lower is better) of the spelling in "zh-tw:" at `at`; *after: where its text begins. */
static unsigned read_spelling(const struct wikitext *w, uint32_t at, uint32_t end, uint32_t *after)
{
    while (at < end && (w->text.data[at] == ' ' || w->text.data[at] == '\n'))
        at++;
    *after = at;
    char code[CODE_BYTES_MAX];
    size_t size = 0;
    for (char byte; size < sizeof code && at + size < end && (byte = w->text.data[at + size]) != ':'; size++) {
        code[size] = ascii_lower(byte);
        if (!ascii_is_letter(byte) && byte != '-')
            return UINT_MAX;
    }
    if (size == sizeof code || at + size == end)
        return UINT_MAX;
    const unsigned rank = variant_rank(w->variants, (struct str){code, size}, str_of(w->variant));
    if (rank != UINT_MAX)
        *after = at + (uint32_t)size + 1;
    return rank;
}

/* Narrows [*from, *end), "zh-hans:…; zh-hant:…", to the text of the best spelling; leaves it if no spelling is
 * named. */
static void find_spelling(struct wikitext *w, uint32_t *from, uint32_t *end)
{
    const uint32_t limit = *end;
    uint32_t child = w->span + 1, at = *from;
    unsigned best = UINT_MAX;
    bool is_best = false; /* the current spelling */
    for (uint32_t semicolon = at;;) {
        uint32_t after;
        const unsigned rank = read_spelling(w, at, limit, &after);
        if (is_best && (rank != UINT_MAX || after == limit))
            *end = semicolon;
        if (rank != UINT_MAX)
            is_best = rank < best;
        if (rank < best) {
            best = rank;
            *from = after;
            *end = limit;
        }
        for (at = after; at < limit && w->text.data[at] != ';'; w->facts->steps++) {
            const struct span *span = spans_at(&w->spans, &child, at);
            at = span ? span->end : at + 1;
        }
        w->facts->steps += SPELLINGS_STEPS;
        if (at >= limit)
            return;
        semicolon = at++;
    }
}

/* The same, without the blanks around a named spelling. */
static void choose_spelling(struct wikitext *w, uint32_t *from, uint32_t *end)
{
    const uint32_t before = *from;
    find_spelling(w, from, end);
    if (*from == before)
        return;
    while (*from < *end && w->text.data[*from] == ' ')
        ++*from;
    while (*from < *end && (w->text.data[*end - 1] == ' ' || w->text.data[*end - 1] == '\n'))
        --*end;
}

/* True for flags, as before the bar of -{A|…}-. */
static bool are_flags(struct str flags)
{
    for (size_t i = 0; i < flags.size; i++)
        if (!strchr("-; ", flags.data[i]) && !ascii_is_letter(flags.data[i]))
            return false;
    return true;
}

/* -{…}-: a choice of spellings. H, T and - show nothing; other flags affect other places of the page. */
void construct_read_variant(struct wikitext *w, const struct span *span)
{
    struct span_walk walk = span_walk(w->text, &w->spans, w->span);
    uint32_t equals, from = span->inner_start, end = span->inner_end;
    const bool has_bar = span_walk_to_bar(&walk, &equals);
    const struct str flags = str_part(w->text, from, walk.at);
    w->facts->steps += 2 * walk.steps;
    if (has_bar && are_flags(flags)) {
        from = walk.at + 1;
        for (size_t i = 0; i < flags.size; i++) {
            if (!strchr("HT-", flags.data[i]) || (flags.data[i] == '-' && flags.size > 1))
                continue;
            walk_skip(w, span->end, FATE_VARIANT);
            walk_gap(w, GAP_SILENT);
            return;
        }
    }
    choose_spelling(w, &from, &end);
    walk_open_paragraph(w);
    walk_skip(w, from, FATE_VARIANT);
    walk_push(w, FRAME_INLINE, end, span->end, FATE_VARIANT);
}
