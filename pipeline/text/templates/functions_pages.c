/* Parser functions that compute with titles and addresses. Argument "0" is the one after the colon; the others are
 * numbered from 1. Source: the help pages of MediaWiki and of its extension ParserFunctions. */
#include "pipeline/parts/page_parts.h"
#include "pipeline/text/templates/call.h"

#include <limits.h>
#include <stdlib.h>

#define TITLE_PARTS_MAX 25 /* MediaWiki cuts a title at 24 slashes at most */

/* A whole number with a sign; `otherwise` where the argument is missing or none. */
static long whole_number(struct call *call, const char *name, long otherwise)
{
    char copy[8] = {0}, *end;
    const struct str value = call_value(call, name);
    if (value.size == 0 || value.size >= sizeof copy)
        return otherwise;
    memcpy(copy, value.data, value.size);
    const long number = strtol(copy, &end, 10);
    return *end == 0 ? number : otherwise;
}

/* Shows a title, or a part of one, in MediaWiki's form: its first letter as a capital, '_' as a blank. */
static void show_title(struct call *call, struct str title, bool has_first)
{
    struct buf shown = {0};
    if (has_first)
        case_add(STR("ucfirst"), title, &shown);
    else
        buf_add_str(&shown, title);
    for (size_t at = 0; at < shown.size; at++)
        if (shown.data[at] == '_')
            shown.data[at] = ' ';
    show(call, buf_str(&shown));
    buf_release(&shown);
}

/* {{#titleparts: title | number of parts | first part }}: the parts between slashes; negative numbers count from the
 * end. */
bool render_title_parts(struct call *call)
{
    const struct str title = call_value(call, "0");
    const long wanted = whole_number(call, "1", 0), start = whole_number(call, "2", 0);
    size_t begins[TITLE_PARTS_MAX + 1];
    long count = 1;
    begins[0] = 0;
    for (size_t at = 0; at < title.size && count < TITLE_PARTS_MAX; at++)
        if (title.data[at] == '/')
            begins[count++] = at + 1;
    begins[count] = title.size + 1;
    if (call->is_opaque)
        return false;
    const long first = start > 0 ? start - 1 : start < -count ? 0 : start < 0 ? count + start : 0;
    const long end = wanted > 0 && wanted < count - first ? first + wanted : wanted < 0 ? count + wanted : count;
    if (first < end && first < count)
        show_title(call, str_range(title.data + begins[first], title.data + begins[end] - 1), first == 0);
    else
        show(call, STR(""));
    return true;
}

static bool is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != 0 && strchr("-_.", byte));
}

/* {{urlencode:text|QUERY}}, also WIKI and PATH. */
bool render_url(struct call *call)
{
    const struct str text = call_value(call, "0");
    const bool is_path = call_says(call, "1", "PATH"), is_wiki = call_says(call, "1", "WIKI");
    struct buf shown = {0};
    if (call->is_opaque)
        return false;
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if (is_unreserved(byte) || (is_wiki && byte != 0 && strchr("!$()*,/:;@~", byte)))
            buf_add_byte(&shown, byte);
        else if (byte == ' ' && !is_path)
            buf_add_byte(&shown, is_wiki ? '_' : '+');
        else
            buf_addf(&shown, "%%%02X", (unsigned)(unsigned char)byte);
    }
    show(call, buf_str(&shown));
    buf_release(&shown);
    return true;
}

/* {{anchorencode:text}}: the name of a heading in an address. */
bool render_anchor(struct call *call)
{
    const struct str text = call_value(call, "0");
    if (call->is_opaque)
        return false;
    for (size_t at = 0; at < text.size; at++)
        show(call, text.data[at] == ' ' ? STR("_") : (struct str){text.data + at, 1});
    show(call, STR(""));
    return true;
}

/* {{#ifexist: title | then | else }}: a title that is named is taken to exist, because articles seldom ask for pages
 * that do not, and a dump's later pages are not known. */
bool render_if_exists(struct call *call)
{
    const struct argument *chosen = call_argument(call, call_argument(call, "0") ? "1" : "2");
    if (chosen)
        show_argument(call, chosen);
    else
        show(call, STR(""));
    return true;
}

static const struct {
    int32_t key;
    const char *name;
} english[] = {{-2, "Media"},         {-1, "Special"},     {0, ""},
               {1, "Talk"},           {2, "User"},         {3, "User talk"},
               {4, "Project"},        {5, "Project talk"}, {6, "File"},
               {6, "Image"},          {7, "File talk"},    {8, "MediaWiki"},
               {9, "MediaWiki talk"}, {10, "Template"},    {11, "Template talk"},
               {12, "Help"},          {13, "Help talk"},   {14, "Category"},
               {15, "Category talk"}};

/* {{ns:6}}, {{ns:File}}: the wiki's name of a namespace, by its number or its English name; as the dump's head has it,
 * else the English one. */
bool render_namespace(struct call *call)
{
    const struct str value = call_value(call, "0");
    const struct siteinfo *siteinfo = call->page->siteinfo;
    long key = whole_number(call, "0", LONG_MIN);
    const char *otherwise = NULL;
    char folded[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    const struct str wanted = name_fold(value, folded);
    for (size_t i = 0; i < sizeof english / sizeof *english && !otherwise; i++)
        if (english[i].key == key || str_equal(wanted, name_fold(str_of(english[i].name), name))) {
            key = english[i].key;
            otherwise = english[i].name;
        }
    if (call->is_opaque || value.size == 0)
        return false;
    for (size_t i = 0; siteinfo && i < siteinfo->namespace_count; i++)
        if (siteinfo->namespaces[i].key == key) {
            show(call, siteinfo->namespaces[i].name);
            return true;
        }
    if (otherwise)
        show_text(call, otherwise);
    return otherwise;
}

/* The size of the namespace before the colon of a title, or 0: it has none. */
static size_t namespace_size(const struct call *call, struct str title)
{
    const struct siteinfo *siteinfo = call->page->siteinfo;
    const char *colon = memchr(title.data, ':', title.size < NAME_BYTES_MAX ? title.size : NAME_BYTES_MAX);
    char folded[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    if (!colon || colon == title.data)
        return 0;
    const struct str wanted = name_fold(str_range(title.data, colon), folded);
    for (size_t i = 0; siteinfo && i < siteinfo->namespace_count; i++)
        if (str_equal(wanted, name_fold(siteinfo->namespaces[i].name, name)))
            return (size_t)(colon - title.data);
    for (size_t i = 0; i < sizeof english / sizeof *english; i++)
        if (str_equal(wanted, name_fold(str_of(english[i].name), name)))
            return (size_t)(colon - title.data);
    return 0;
}

/* {{PAGENAME:Talk:A/b}} → A/b; the parameter says which part: page, namespace, full, sub, base, root. */
bool render_title_part(struct call *call)
{
    struct str title = call_value(call, "0");
    const size_t prefix = namespace_size(call, title);
    const char wanted = call->parameter.data[0];
    if (call->is_opaque || title.size == 0)
        return false;
    if (wanted == 'n')
        title.size = prefix;
    else if (wanted != 'f' && prefix > 0)
        title = str_trim((struct str){title.data + prefix + 1, title.size - prefix - 1});
    const char *const slash =
        wanted == 'r' ? memchr(title.data, '/', title.size) : memrchr(title.data, '/', title.size);
    if (slash && wanted == 's')
        title = str_range(slash + 1, title.data + title.size);
    else if (slash && (wanted == 'b' || wanted == 'r'))
        title = str_range(title.data, slash);
    show_title(call, title, wanted != 's' || !slash);
    return true;
}
