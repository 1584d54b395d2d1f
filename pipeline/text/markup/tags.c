#include "pipeline/text/markup/tags.h"

#include <endian.h>

#define COMMENT_BYTES_MAX 64u /* of one inside a tag */

/* The extension tags of Wikipedia, and the HTML that MediaWiki allows. */
const struct tag tags[TAG_COUNT] = {{"abbr", TAG_INLINE, FATE_MARKUP, false},
                                    {"b", TAG_INLINE, FATE_MARKUP, false},
                                    {"bdi", TAG_INLINE, FATE_MARKUP, false},
                                    {"bdo", TAG_INLINE, FATE_MARKUP, false},
                                    {"big", TAG_INLINE, FATE_MARKUP, false},
                                    {"blockquote", TAG_BLOCK, FATE_MARKUP, true},
                                    {"br", TAG_BREAK, FATE_MARKUP, false},
                                    {"caption", TAG_BLOCK, FATE_MARKUP, true},
                                    {"categorytree", TAG_DROP, FATE_EXTENSION, true},
                                    {"ce", TAG_DROP, FATE_MATH, false},
                                    {"center", TAG_BLOCK, FATE_MARKUP, true},
                                    {"charinsert", TAG_INLINE, FATE_MARKUP, false},
                                    {"chart", TAG_DROP, FATE_EXTENSION, true},
                                    {"chem", TAG_DROP, FATE_MATH, false},
                                    {"cite", TAG_INLINE, FATE_MARKUP, false},
                                    {"code", TAG_INLINE, FATE_MARKUP, false},
                                    {"col", TAG_BLOCK, FATE_MARKUP, true},
                                    {"colgroup", TAG_BLOCK, FATE_MARKUP, true},
                                    {"data", TAG_INLINE, FATE_MARKUP, false},
                                    {"dd", TAG_BLOCK, FATE_MARKUP, true},
                                    {"del", TAG_DROP, FATE_DELETED, false},
                                    {"dfn", TAG_INLINE, FATE_MARKUP, false},
                                    {"div", TAG_BLOCK, FATE_MARKUP, true},
                                    {"dl", TAG_BLOCK, FATE_MARKUP, true},
                                    {"dt", TAG_BLOCK, FATE_MARKUP, true},
                                    {"em", TAG_INLINE, FATE_MARKUP, false},
                                    {"font", TAG_INLINE, FATE_MARKUP, false},
                                    {"gallery", TAG_DROP, FATE_GALLERY, true},
                                    {"graph", TAG_DROP, FATE_EXTENSION, true},
                                    {"h1", TAG_BLOCK, FATE_MARKUP, true},
                                    {"h2", TAG_BLOCK, FATE_MARKUP, true},
                                    {"h3", TAG_BLOCK, FATE_MARKUP, true},
                                    {"h4", TAG_BLOCK, FATE_MARKUP, true},
                                    {"h5", TAG_BLOCK, FATE_MARKUP, true},
                                    {"h6", TAG_BLOCK, FATE_MARKUP, true},
                                    {"hiero", TAG_DROP, FATE_EXTENSION, false},
                                    {"hr", TAG_BLOCK, FATE_MARKUP, true},
                                    {"i", TAG_INLINE, FATE_MARKUP, false},
                                    {"imagemap", TAG_DROP, FATE_GALLERY, true},
                                    {"includeonly", TAG_DROP, FATE_INCLUDE, false},
                                    {"indicator", TAG_DROP, FATE_EXTENSION, false},
                                    {"inputbox", TAG_DROP, FATE_EXTENSION, true},
                                    {"ins", TAG_INLINE, FATE_MARKUP, false},
                                    {"kbd", TAG_INLINE, FATE_MARKUP, false},
                                    {"langvar", TAG_INLINE, FATE_MARKUP, false},
                                    {"li", TAG_BLOCK, FATE_MARKUP, true},
                                    {"mapframe", TAG_DROP, FATE_EXTENSION, true},
                                    {"maplink", TAG_DROP, FATE_EXTENSION, false},
                                    {"mark", TAG_INLINE, FATE_MARKUP, false},
                                    {"math", TAG_DROP, FATE_MATH, false},
                                    {"noinclude", TAG_INLINE, FATE_MARKUP, false},
                                    {"nowiki", TAG_LITERAL, FATE_MARKUP, false},
                                    {"ol", TAG_BLOCK, FATE_MARKUP, true},
                                    {"onlyinclude", TAG_INLINE, FATE_MARKUP, false},
                                    {"p", TAG_BLOCK, FATE_MARKUP, true},
                                    {"phonos", TAG_DROP, FATE_EXTENSION, false},
                                    {"poem", TAG_POEM, FATE_MARKUP, true},
                                    {"pre", TAG_PRE, FATE_PRE, true},
                                    {"q", TAG_QUOTE, FATE_MARKUP, false},
                                    {"rb", TAG_INLINE, FATE_MARKUP, false},
                                    {"ref", TAG_DROP, FATE_REFERENCE, false},
                                    {"references", TAG_DROP, FATE_REFERENCE, true},
                                    {"rp", TAG_INLINE, FATE_MARKUP, false},
                                    {"rt", TAG_INLINE, FATE_MARKUP, false},
                                    {"rtc", TAG_INLINE, FATE_MARKUP, false},
                                    {"ruby", TAG_INLINE, FATE_MARKUP, false},
                                    {"s", TAG_DROP, FATE_DELETED, false},
                                    {"samp", TAG_INLINE, FATE_MARKUP, false},
                                    {"score", TAG_DROP, FATE_EXTENSION, false},
                                    {"section", TAG_INLINE, FATE_MARKUP, false},
                                    {"small", TAG_INLINE, FATE_MARKUP, false},
                                    {"source", TAG_CODE, FATE_CODE, true},
                                    {"span", TAG_INLINE, FATE_MARKUP, false},
                                    {"strike", TAG_DROP, FATE_DELETED, false},
                                    {"strong", TAG_INLINE, FATE_MARKUP, false},
                                    {"sub", TAG_INLINE, FATE_MARKUP, false},
                                    {"sup", TAG_INLINE, FATE_MARKUP, false},
                                    {"syntaxhighlight", TAG_CODE, FATE_CODE, true},
                                    {"table", TAG_TABLE, FATE_TABLE, true},
                                    {"tbody", TAG_BLOCK, FATE_MARKUP, true},
                                    {"td", TAG_BLOCK, FATE_MARKUP, true},
                                    {"templatedata", TAG_DROP, FATE_EXTENSION, true},
                                    {"templatestyles", TAG_DROP, FATE_EXTENSION, false},
                                    {"tfoot", TAG_BLOCK, FATE_MARKUP, true},
                                    {"th", TAG_BLOCK, FATE_MARKUP, true},
                                    {"thead", TAG_BLOCK, FATE_MARKUP, true},
                                    {"time", TAG_INLINE, FATE_MARKUP, false},
                                    {"timeline", TAG_DROP, FATE_GALLERY, true},
                                    {"tr", TAG_BLOCK, FATE_MARKUP, true},
                                    {"translate", TAG_INLINE, FATE_MARKUP, false},
                                    {"tt", TAG_INLINE, FATE_MARKUP, false},
                                    {"tvar", TAG_INLINE, FATE_MARKUP, false},
                                    {"u", TAG_INLINE, FATE_MARKUP, false},
                                    {"ul", TAG_BLOCK, FATE_MARKUP, true},
                                    {"var", TAG_INLINE, FATE_MARKUP, false},
                                    {"wbr", TAG_INLINE, FATE_MARKUP, false}};

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

/* Eight bytes of a name as a number with the same order. */
static uint64_t number_of(const char *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return be64toh(number);
}

/* The index in tags, or TAG_COUNT. */
static unsigned find_tag(struct str name)
{
    char lower[TAG_NAME_BYTES] = {0};
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)(name.data[i] | 0x20); /* digits keep their value */
    const uint64_t first = number_of(lower), second = number_of(lower + 8);
    unsigned low = 0, high = TAG_COUNT;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const uint64_t middle_first = number_of(tags[middle].name), middle_second = number_of(tags[middle].name + 8);
        if (middle_first == first && middle_second == second)
            return middle;
        if (middle_first < first || (middle_first == first && middle_second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return TAG_COUNT;
}

const struct tag *tag_find(struct str name)
{
    const unsigned index = name.size <= TAG_NAME_BYTES ? find_tag(name) : TAG_COUNT;
    return index < TAG_COUNT ? &tags[index] : NULL;
}

size_t tag_include(struct str text)
{
    static const char *const names[] = {"includeonly>", "noinclude>", "onlyinclude>"};
    const size_t from = text.size > 1 && text.data[1] == '/' ? 2 : 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text.size > from && text.data[0] == '<' &&
            str_starts((struct str){text.data + from, text.size - from}, str_of(names[i])))
            return from + strlen(names[i]);
    return 0;
}

/* The size of a tag of transclusion or a short comment inside a tag; else 0. */
static size_t gone_at(struct str text)
{
    const struct str start = {text.data, text.size < COMMENT_BYTES_MAX ? text.size : COMMENT_BYTES_MAX};
    const size_t end = str_starts(start, STR("<!--")) ? str_find(start, STR("-->")) : SIZE_MAX;
    return end == SIZE_MAX ? tag_include(text) : end + 3;
}

/* The position of the '>' of the tag whose attributes begin at `from`; text.size if there is none. */
static size_t find_tag_end(struct str text, size_t from, size_t *looked)
{
    size_t in_quotes = text.size; /* the first '>' in a quoted value: the end, if the quote never closes */
    char quote = 0;
    unsigned includes = 0; /* bounded, so that no byte is examined for many tags */
    for (size_t at = from; at < text.size; at++) {
        const char byte = text.data[at];
        *looked = at;
        if (byte == '<') {
            const size_t include = includes++ < 4 ? gone_at((struct str){text.data + at, text.size - at}) : 0;
            if (include == 0)
                break;
            at += include - 1;
            continue;
        }
        if (byte == '>' && !quote)
            return at;
        if (byte == '>' && in_quotes == text.size)
            in_quotes = at;
        if (byte == quote) {
            quote = 0;
            in_quotes = text.size;
        } else if (!quote && (byte == '"' || byte == '\'') && text.data[at - 1] == '=') {
            quote = byte;
        }
    }
    return in_quotes;
}

bool tag_read(struct str text, struct tag_found *found, size_t *looked)
{
    size_t at = 1;
    *looked = 1;
    found->closing = text.size > 1 && text.data[1] == '/';
    at += found->closing;
    const size_t name = at;
    while (at < text.size && at - name < TAG_NAME_BYTES && is_letter(text.data[at]))
        at++;
    if (at == name || at == text.size)
        return false;
    const char after = text.data[at];
    if (after != '>' && after != '/' && after != ' ' && after != '\n' && after != '\t')
        return false;
    found->index = find_tag(str_range(text.data + name, text.data + at));
    if (found->index == TAG_COUNT)
        return false;
    const size_t end = find_tag_end(text, at, looked);
    if (end == text.size)
        return false;
    found->self_closing = text.data[end - 1] == '/';
    found->attributes = str_range(text.data + at, text.data + end);
    found->size = end + 1;
    return true;
}
