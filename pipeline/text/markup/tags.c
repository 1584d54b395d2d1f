#include "pipeline/text/markup/tags.h"

#include <endian.h>

#define COMMENT_BYTES_MAX 64u /* of one inside a tag */

/* The HTML that MediaWiki allows, and the tags of extensions: those of Wikipedia, and those that wikis elsewhere have
 * (Fandom, Miraheze, Wikisource). Those that show pictures, forms, statistics or other pages
 * are dropped; spoilers and the like show their content. */
const struct tag tags[TAG_COUNT] = {
    {"abbr", TAG_INLINE, FATE_MARKUP, false},
    {"abc", TAG_DROP, FATE_EXTENSION, true},
    {"accesscontrol", TAG_INLINE, FATE_MARKUP, false},
    {"activityfeed", TAG_DROP, FATE_EXTENSION, true},
    {"activitymonitor", TAG_DROP, FATE_EXTENSION, true},
    {"addthis", TAG_DROP, FATE_EXTENSION, false},
    {"adsense", TAG_DROP, FATE_EXTENSION, false},
    {"amsmath", TAG_DROP, FATE_MATH, false},
    {"aoaudio", TAG_DROP, FATE_EXTENSION, false},
    {"aovideo", TAG_DROP, FATE_EXTENSION, false},
    {"asciimath", TAG_DROP, FATE_MATH, false},
    {"audio", TAG_DROP, FATE_EXTENSION, false},
    {"b", TAG_INLINE, FATE_MARKUP, false},
    {"bdi", TAG_INLINE, FATE_MARKUP, false},
    {"bdo", TAG_INLINE, FATE_MARKUP, false},
    {"bibtex", TAG_DROP, FATE_EXTENSION, true},
    {"big", TAG_INLINE, FATE_MARKUP, false},
    {"bilibili", TAG_DROP, FATE_EXTENSION, false},
    {"blockquote", TAG_BLOCK, FATE_MARKUP, true},
    {"bloglist", TAG_DROP, FATE_EXTENSION, true},
    {"br", TAG_BREAK, FATE_MARKUP, false},
    {"calendar", TAG_DROP, FATE_EXTENSION, true},
    {"caption", TAG_BLOCK, FATE_MARKUP, true},
    {"categorybrowser", TAG_DROP, FATE_EXTENSION, true},
    {"categorytree", TAG_DROP, FATE_EXTENSION, true},
    {"ce", TAG_DROP, FATE_MATH, false},
    {"center", TAG_BLOCK, FATE_MARKUP, true},
    {"charinsert", TAG_INLINE, FATE_MARKUP, false},
    {"chart", TAG_DROP, FATE_EXTENSION, true},
    {"chem", TAG_DROP, FATE_MATH, false},
    {"chemform", TAG_INLINE, FATE_MARKUP, false},
    {"chess", TAG_DROP, FATE_EXTENSION, false},
    {"choose", TAG_DROP, FATE_EXTENSION, false},
    {"cite", TAG_INLINE, FATE_MARKUP, false},
    {"code", TAG_INLINE, FATE_MARKUP, false},
    {"col", TAG_BLOCK, FATE_MARKUP, true},
    {"colgroup", TAG_BLOCK, FATE_MARKUP, true},
    {"comment-streams", TAG_DROP, FATE_EXTENSION, true},
    {"comments", TAG_DROP, FATE_EXTENSION, true},
    {"countdown", TAG_DROP, FATE_EXTENSION, false},
    {"createbox", TAG_DROP, FATE_EXTENSION, true},
    {"css", TAG_DROP, FATE_EXTENSION, false},
    {"data", TAG_INLINE, FATE_MARKUP, false},
    {"dd", TAG_BLOCK, FATE_MARKUP, true},
    {"del", TAG_DROP, FATE_DELETED, false},
    {"dfn", TAG_INLINE, FATE_MARKUP, false},
    {"discord", TAG_DROP, FATE_EXTENSION, false},
    {"discussions", TAG_DROP, FATE_EXTENSION, true},
    {"display_map", TAG_DROP, FATE_EXTENSION, false},
    {"display_points", TAG_DROP, FATE_EXTENSION, false},
    {"disqus", TAG_DROP, FATE_EXTENSION, false},
    {"div", TAG_BLOCK, FATE_MARKUP, true},
    {"dl", TAG_BLOCK, FATE_MARKUP, true},
    {"dot", TAG_DROP, FATE_EXTENSION, true},
    {"dpl", TAG_DROP, FATE_EXTENSION, true},
    {"drawio", TAG_DROP, FATE_EXTENSION, true},
    {"dt", TAG_BLOCK, FATE_MARKUP, true},
    {"dynamicpagelist", TAG_DROP, FATE_EXTENSION, true},
    {"em", TAG_INLINE, FATE_MARKUP, false},
    {"embedvideo", TAG_DROP, FATE_EXTENSION, false},
    {"events", TAG_DROP, FATE_EXTENSION, true},
    {"evlplayer", TAG_DROP, FATE_EXTENSION, false},
    {"evplayer", TAG_DROP, FATE_EXTENSION, false},
    {"feyn", TAG_DROP, FATE_EXTENSION, true},
    {"flashmp3", TAG_DROP, FATE_EXTENSION, false},
    {"font", TAG_INLINE, FATE_MARKUP, false},
    {"forum", TAG_DROP, FATE_EXTENSION, true},
    {"furigana", TAG_INLINE, FATE_MARKUP, false},
    {"gallery", TAG_DROP, FATE_GALLERY, true},
    {"googlemap", TAG_DROP, FATE_EXTENSION, false},
    {"googlespreadsheet", TAG_DROP, FATE_EXTENSION, true},
    {"graph", TAG_DROP, FATE_EXTENSION, true},
    {"graphviz", TAG_DROP, FATE_EXTENSION, true},
    {"gvideo", TAG_DROP, FATE_EXTENSION, false},
    {"h1", TAG_BLOCK, FATE_MARKUP, true},
    {"h2", TAG_BLOCK, FATE_MARKUP, true},
    {"h3", TAG_BLOCK, FATE_MARKUP, true},
    {"h4", TAG_BLOCK, FATE_MARKUP, true},
    {"h5", TAG_BLOCK, FATE_MARKUP, true},
    {"h6", TAG_BLOCK, FATE_MARKUP, true},
    {"headertabs", TAG_DROP, FATE_EXTENSION, true},
    {"hiero", TAG_DROP, FATE_EXTENSION, false},
    {"hover", TAG_INLINE, FATE_MARKUP, false},
    {"hr", TAG_BLOCK, FATE_MARKUP, true},
    {"html", TAG_DROP, FATE_EXTENSION, false},
    {"i", TAG_INLINE, FATE_MARKUP, false},
    {"imagelink", TAG_DROP, FATE_EXTENSION, false},
    {"imagemap", TAG_DROP, FATE_GALLERY, true},
    {"includeonly", TAG_DROP, FATE_INCLUDE, false},
    {"indicator", TAG_DROP, FATE_EXTENSION, false},
    {"infobox", TAG_DROP, FATE_EXTENSION, true},
    {"inputbox", TAG_DROP, FATE_EXTENSION, true},
    {"ins", TAG_INLINE, FATE_MARKUP, false},
    {"kbd", TAG_INLINE, FATE_MARKUP, false},
    {"kroki", TAG_DROP, FATE_EXTENSION, true},
    {"languages", TAG_DROP, FATE_EXTENSION, true},
    {"langvar", TAG_INLINE, FATE_MARKUP, false},
    {"latex", TAG_DROP, FATE_MATH, false},
    {"li", TAG_BLOCK, FATE_MARKUP, true},
    {"likes", TAG_DROP, FATE_EXTENSION, false},
    {"lilypond", TAG_DROP, FATE_EXTENSION, true},
    {"link", TAG_INLINE, FATE_MARKUP, false},
    {"linkfilter", TAG_DROP, FATE_EXTENSION, true},
    {"listusers", TAG_DROP, FATE_EXTENSION, true},
    {"loginform", TAG_DROP, FATE_EXTENSION, true},
    {"mainpage-endcolumn", TAG_BLOCK, FATE_MARKUP, true},
    {"mainpage-leftcolumn-start", TAG_BLOCK, FATE_MARKUP, true},
    {"mainpage-rightcolumn-start", TAG_BLOCK, FATE_MARKUP, true},
    {"mapframe", TAG_DROP, FATE_EXTENSION, true},
    {"maplink", TAG_DROP, FATE_EXTENSION, false},
    {"mark", TAG_INLINE, FATE_MARKUP, false},
    {"math", TAG_DROP, FATE_MATH, false},
    {"mermaid", TAG_DROP, FATE_EXTENSION, true},
    {"meta", TAG_INLINE, FATE_MARKUP, false},
    {"metadesc", TAG_DROP, FATE_EXTENSION, false},
    {"mobileonly", TAG_INLINE, FATE_MARKUP, false},
    {"mp3", TAG_DROP, FATE_EXTENSION, false},
    {"mscgen", TAG_DROP, FATE_EXTENSION, true},
    {"music", TAG_DROP, FATE_EXTENSION, false},
    {"newarticles", TAG_DROP, FATE_EXTENSION, true},
    {"newusers", TAG_DROP, FATE_EXTENSION, true},
    {"nodesktop", TAG_INLINE, FATE_MARKUP, false},
    {"noexternallanglinks", TAG_INLINE, FATE_MARKUP, false},
    {"noinclude", TAG_INLINE, FATE_MARKUP, false},
    {"nomobile", TAG_INLINE, FATE_MARKUP, false},
    {"nomobileview", TAG_INLINE, FATE_MARKUP, false},
    {"nowiki", TAG_LITERAL, FATE_MARKUP, false},
    {"ol", TAG_BLOCK, FATE_MARKUP, true},
    {"onlyinclude", TAG_INLINE, FATE_MARKUP, false},
    {"p", TAG_BLOCK, FATE_MARKUP, true},
    {"pageby", TAG_DROP, FATE_EXTENSION, false},
    {"pagelist", TAG_DROP, FATE_EXTENSION, true},
    {"pagequality", TAG_DROP, FATE_EXTENSION, false},
    {"pages", TAG_DROP, FATE_EXTENSION, true},
    {"pgn", TAG_DROP, FATE_EXTENSION, true},
    {"phonos", TAG_DROP, FATE_EXTENSION, false},
    {"plantuml", TAG_DROP, FATE_EXTENSION, true},
    {"player", TAG_DROP, FATE_EXTENSION, false},
    {"plot", TAG_DROP, FATE_EXTENSION, true},
    {"poem", TAG_POEM, FATE_MARKUP, true},
    {"poll", TAG_DROP, FATE_EXTENSION, true},
    {"popup", TAG_INLINE, FATE_MARKUP, false},
    {"pre", TAG_PRE, FATE_PRE, true},
    {"q", TAG_QUOTE, FATE_MARKUP, false},
    {"quiz", TAG_DROP, FATE_EXTENSION, true},
    {"randomimage", TAG_DROP, FATE_EXTENSION, false},
    {"rating", TAG_DROP, FATE_EXTENSION, false},
    {"rb", TAG_INLINE, FATE_MARKUP, false},
    {"ref", TAG_DROP, FATE_REFERENCE, false},
    {"references", TAG_DROP, FATE_REFERENCE, true},
    {"rp", TAG_INLINE, FATE_MARKUP, false},
    {"rss", TAG_DROP, FATE_EXTENSION, false},
    {"rt", TAG_INLINE, FATE_MARKUP, false},
    {"rtc", TAG_INLINE, FATE_MARKUP, false},
    {"ruby", TAG_INLINE, FATE_MARKUP, false},
    {"s", TAG_DROP, FATE_DELETED, false},
    {"samp", TAG_INLINE, FATE_MARKUP, false},
    {"score", TAG_DROP, FATE_EXTENSION, false},
    {"section", TAG_INLINE, FATE_MARKUP, false},
    {"seo", TAG_DROP, FATE_EXTENSION, false},
    {"sitemap", TAG_DROP, FATE_EXTENSION, true},
    {"slider", TAG_DROP, FATE_EXTENSION, true},
    {"slideshow", TAG_DROP, FATE_EXTENSION, true},
    {"small", TAG_INLINE, FATE_MARKUP, false},
    {"soundcloud", TAG_DROP, FATE_EXTENSION, false},
    {"source", TAG_CODE, FATE_CODE, true},
    {"span", TAG_INLINE, FATE_MARKUP, false},
    {"spoiler", TAG_INLINE, FATE_MARKUP, false},
    {"spotify", TAG_DROP, FATE_EXTENSION, false},
    {"staff", TAG_DROP, FATE_EXTENSION, false},
    {"strike", TAG_DROP, FATE_DELETED, false},
    {"strong", TAG_INLINE, FATE_MARKUP, false},
    {"sub", TAG_INLINE, FATE_MARKUP, false},
    {"sup", TAG_INLINE, FATE_MARKUP, false},
    {"syntaxhighlight", TAG_CODE, FATE_CODE, true},
    {"tab", TAG_TAB, FATE_MARKUP, true},
    {"tabber", TAG_TABS, FATE_MARKUP, true},
    {"tabbertransclude", TAG_DROP, FATE_EXTENSION, true},
    {"table", TAG_TABLE, FATE_TABLE, true},
    {"tabs", TAG_BLOCK, FATE_MARKUP, true},
    {"tagcloud", TAG_DROP, FATE_EXTENSION, true},
    {"tangler", TAG_DROP, FATE_EXTENSION, false},
    {"tbody", TAG_BLOCK, FATE_MARKUP, true},
    {"td", TAG_BLOCK, FATE_MARKUP, true},
    {"templatebox", TAG_DROP, FATE_EXTENSION, true},
    {"templatedata", TAG_DROP, FATE_EXTENSION, true},
    {"templatestyles", TAG_DROP, FATE_EXTENSION, false},
    {"tex", TAG_DROP, FATE_MATH, false},
    {"tfoot", TAG_BLOCK, FATE_MARKUP, true},
    {"th", TAG_BLOCK, FATE_MARKUP, true},
    {"thead", TAG_BLOCK, FATE_MARKUP, true},
    {"time", TAG_INLINE, FATE_MARKUP, false},
    {"timeline", TAG_DROP, FATE_GALLERY, true},
    {"tr", TAG_BLOCK, FATE_MARKUP, true},
    {"translate", TAG_INLINE, FATE_MARKUP, false},
    {"tt", TAG_INLINE, FATE_MARKUP, false},
    {"tvar", TAG_INLINE, FATE_MARKUP, false},
    {"twitter", TAG_DROP, FATE_EXTENSION, false},
    {"u", TAG_INLINE, FATE_MARKUP, false},
    {"ul", TAG_BLOCK, FATE_MARKUP, true},
    {"uml", TAG_DROP, FATE_EXTENSION, true},
    {"var", TAG_INLINE, FATE_MARKUP, false},
    {"verbatim", TAG_DROP, FATE_EXTENSION, false},
    {"verse", TAG_BLOCK, FATE_MARKUP, true},
    {"video", TAG_DROP, FATE_EXTENSION, false},
    {"vimeo", TAG_DROP, FATE_EXTENSION, false},
    {"vote", TAG_DROP, FATE_EXTENSION, false},
    {"votes", TAG_DROP, FATE_EXTENSION, false},
    {"wbr", TAG_INLINE, FATE_MARKUP, false},
    {"wegame", TAG_DROP, FATE_EXTENSION, false},
    {"widget", TAG_DROP, FATE_EXTENSION, false},
    {"wikiforum", TAG_DROP, FATE_EXTENSION, true},
    {"youku", TAG_DROP, FATE_EXTENSION, false},
    {"youtube", TAG_DROP, FATE_EXTENSION, false},
};

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

/* The index in tags, or TAG_COUNT. */
static unsigned find_tag(struct str name)
{
    char lower[TAG_NAME_BYTES] = {0};
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)(name.data[i] | (name.data[i] >= 'A' && name.data[i] <= 'Z' ? 0x20 : 0));
    const uint64_t first = number_of(lower);
    unsigned low = 0, high = TAG_COUNT;
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
    while (at < text.size && at - name < TAG_NAME_BYTES && is_name_byte(text.data[at]))
        at++;
    if (at == name || at == text.size)
        return false;
    const char after = text.data[at];
    if (after != '>' && after != '/' && after != ' ' && after != '\n' && after != '\t' && after != '|')
        return false;
    found->index = find_tag(str_range(text.data + name, text.data + at));
    if (found->index == TAG_COUNT || (after == '|' && strcmp(tags[found->index].name, "tvar") != 0))
        return false; /* <tvar|name>…</> is the old form of <tvar name=…> */
    const size_t end = find_tag_end(text, at, looked);
    if (end == text.size)
        return false;
    found->self_closing = text.data[end - 1] == '/';
    found->attributes = str_range(text.data + at, text.data + end);
    found->size = end + 1;
    return true;
}
