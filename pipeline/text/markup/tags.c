#include "pipeline/text/markup/tags.h"

#include <endian.h>

#define COMMENT_BYTES_MAX 64u /* of one inside a tag */

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

/* Eight bytes of a name as a number with the same order. */
static uint64_t number_of(const char *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return be64toh(number);
}

/* The index in tags, or tag_count. */
static unsigned find_tag(struct str name)
{
    char lower[TAG_NAME_BYTES] = {0};
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)(name.data[i] | (name.data[i] >= 'A' && name.data[i] <= 'Z' ? 0x20 : 0));
    const uint64_t first = number_of(lower);
    unsigned low = 0, high = tag_count;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const uint64_t middle_first = number_of(tags[middle].name);
        const int order = middle_first != first ? (middle_first < first ? -1 : 1)
                                                : memcmp(tags[middle].name + 8, lower + 8, TAG_NAME_BYTES - 8);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return tag_count;
}

const struct tag *tag_find(struct str name)
{
    const unsigned index = name.size <= TAG_NAME_BYTES ? find_tag(name) : tag_count;
    return index < tag_count ? &tags[index] : NULL;
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
    while (at < text.size && at - name < TAG_NAME_BYTES && is_name_byte(text.data[at]))
        at++;
    if (at == name || at == text.size)
        return false;
    const char after = text.data[at];
    if (after != '>' && after != '/' && after != ' ' && after != '\n' && after != '\t' && after != '|')
        return false;
    found->index = find_tag(str_range(text.data + name, text.data + at));
    if (found->index == tag_count || (after == '|' && strcmp(tags[found->index].name, "tvar") != 0))
        return false; /* <tvar|name>…</> is the old form of <tvar name=…> */
    const size_t end = find_tag_end(text, at, looked);
    if (end == text.size)
        return false;
    found->self_closing = text.data[end - 1] == '/';
    found->attributes = str_range(text.data + at, text.data + end);
    found->size = end + 1;
    return true;
}

/* Finds a value of an attribute that begins with one of `starts`, as a word. */
static bool has_word(struct str attributes, const char *const *starts, size_t count)
{
    for (size_t at = 0; at < attributes.size; at++) {
        if (at > 0 && (is_name_byte(attributes.data[at - 1]) || attributes.data[at - 1] == '_'))
            continue;
        for (size_t i = 0; i < count; i++)
            if (str_starts((struct str){attributes.data + at, attributes.size - at}, str_of(starts[i])))
                return true;
    }
    return false;
}

bool tag_is_box(unsigned index, struct str attributes)
{
    static const char *const classes[] = {"infobox",
                                          "navbox",
                                          "ambox",
                                          "mbox",
                                          "hatnote",
                                          "dablink",
                                          "sidebar",
                                          "metadata",
                                          "wikitable",
                                          "toccolours",
                                          "thumb",
                                          "sistersite",
                                          "bandeau",
                                          "homonymie",
                                          "rellink",
                                          "messagebox",
                                          "taxobox",
                                          "navframe",
                                          "vertical-navbox",
                                          "succession-box",
                                          "portable-infobox",
                                          "noprint",
                                          "inline-template",
                                          "need_ref_tag",
                                          "navigation-not-searchable",
                                          "tright",
                                          "tleft",
                                          "floatright",
                                          "floatleft",
                                          "ombox",
                                          "tmbox",
                                          "cmbox",
                                          "fmbox",
                                          "imbox",
                                          "portalbox",
                                          "mw-editsection",
                                          "mw-collapsible-toggle",
                                          "geo-nondefault"};
    static const char *const roles[] = {"role=\"note", "role=\"navigation", "role=\"complementary"};
    static const char *const styles[] = {"display:none", "visibility:hidden", "float:left",
                                         "float:right",  "position:absolute", "position:fixed"};
    static const char *const errors[] = {"error", "reference"};
    char lower[512];
    size_t size = 0;
    for (size_t i = 0; i < attributes.size && size < sizeof lower; i++) {
        const char byte = attributes.data[i];
        lower[size++] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte == '\'' ? '"' : byte);
    }
    const struct str text = {lower, size};
    if (str_find(text, STR("class")) != SIZE_MAX && (has_word(text, classes, sizeof classes / sizeof *classes)))
        return true;
    if (str_find(text, STR("class=\"error")) != SIZE_MAX ||
        (strcmp(tags[index].name, "sup") == 0 && has_word(text, errors, 2)))
        return true;
    if (str_find(text, STR("role")) != SIZE_MAX && has_word(text, roles, sizeof roles / sizeof *roles))
        return true;
    if (str_find(text, STR("style")) == SIZE_MAX)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < size; i++)
        if (lower[i] != ' ')
            lower[kept++] = lower[i];
    return has_word((struct str){lower, kept}, styles, sizeof styles / sizeof *styles);
}
