#include "pipeline/text/markup/tags.h"

#include "pipeline/text/words/word_lists.h"

#include <endian.h>

#define COMMENT_BYTES_MAX 64u /* of one inside a tag */

static bool is_name_byte(char byte)
{
    return ascii_is_letter(byte) || ascii_is_digit(byte) || byte == '-' || byte == '_';
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
        lower[i] = ascii_lower(name.data[i]);
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
    LOCAL_WORDS(names, "includeonly>", "noinclude>", "onlyinclude>");
    const size_t from = text.size > 1 && text.data[1] == '/' ? 2 : 1;
    const size_t size = text.size > from && text.data[0] == '<' ? words_starting(names, str_from(text, from)) : 0;
    return size > 0 ? from + size : 0;
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
            const size_t include = includes++ < 4 ? gone_at(str_from(text, at)) : 0;
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
    found->index = find_tag(str_part(text, name, at));
    if (found->index == tag_count || (after == '|' && strcmp(tags[found->index].name, "tvar") != 0))
        return false; /* <tvar|name>…</> is the old form of <tvar name=…> */
    const size_t end = find_tag_end(text, at, looked);
    if (end == text.size)
        return false;
    found->self_closing = text.data[end - 1] == '/';
    found->attributes = str_part(text, at, end);
    found->size = end + 1;
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t';
}

struct str tag_attribute(struct str attributes, const char *name)
{
    const char *text = attributes.data;
    for (size_t at = 0; at < attributes.size;) {
        while (at < attributes.size && (is_blank(text[at]) || text[at] == '/'))
            at++;
        const size_t from = at;
        while (at < attributes.size && !is_blank(text[at]) && text[at] != '=')
            at++;
        const struct str key = str_range(text + from, text + at);
        while (at < attributes.size && is_blank(text[at]))
            at++;
        struct str value = STR("");
        if (at < attributes.size && text[at] == '=') {
            for (at++; at < attributes.size && is_blank(text[at]);)
                at++;
            const char quote = at < attributes.size && (text[at] == '"' || text[at] == '\'') ? text[at] : 0;
            const size_t start = at += quote != 0;
            while (at < attributes.size && (quote ? text[at] != quote : !is_blank(text[at])))
                at++;
            value = str_range(text + start, text + at);
            at += quote && at < attributes.size;
        }
        if (str_equal_ascii_nocase(key, str_of(name)))
            return value;
    }
    return STR("");
}

/* True if one of the value's words is an error or a note's number, or begins like the classes of boxes. */
static bool is_box_class(struct str classes, bool is_sup)
{
    char folded[NAME_BYTES_MAX];
    while (classes.size > 0) {
        size_t size = 0;
        while (size < classes.size && !is_blank(classes.data[size]))
            size++;
        const struct str word = name_fold((struct str){classes.data, size}, folded);
        if (str_equal(word, STR("error")) || (is_sup && str_equal(word, STR("reference"))))
            return true;
        if (words_starting(box_classes, word) > 0)
            return true;
        size += size < classes.size;
        classes = str_from(classes, size);
    }
    return false;
}

/* True if a declaration, such as "float: left", puts the element beside the text or hides it. */
static bool is_box_style(struct str style)
{
    LOCAL_WORDS(styles, "display:none", "float:left", "float:right", "position:absolute", "position:fixed",
                "visibility:hidden");
    while (style.size > 0) {
        char packed[32]; /* longer than any of them */
        size_t size = 0, at = 0;
        for (; at < style.size && style.data[at] != ';'; at++) {
            const char byte = style.data[at];
            if (!is_blank(byte) && size < sizeof packed)
                packed[size++] = ascii_lower(byte);
        }
        if (words_starting(styles, (struct str){packed, size}) > 0)
            return true;
        at += at < style.size;
        style = str_from(style, at);
    }
    return false;
}

bool tag_is_box(unsigned index, struct str attributes)
{
    static const char *const roles[] = {"complementary", "navigation", "note"};
    const struct str role = str_trim(tag_attribute(attributes, "role"));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (str_equal_ascii_nocase(role, str_of(roles[i])))
            return true;
    return is_box_class(tag_attribute(attributes, "class"), strcmp(tags[index].name, "sup") == 0) ||
           is_box_style(tag_attribute(attributes, "style"));
}
