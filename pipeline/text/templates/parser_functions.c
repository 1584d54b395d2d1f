/* The parser functions and variables of MediaWiki, as far as they can be known without expanding templates. Argument
 * "0" is the one after the colon; the others are numbered from 1 and have no names. Source: the help pages of MediaWiki
 * and of its extension ParserFunctions. */
#include "pipeline/parts/page_parts.h"
#include "base/mem.h"
#include "pipeline/text/markup/entities.h"
#include "pipeline/text/markup/formula.h"
#include "pipeline/text/markup/tags.h"
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/expr.h"
#include "pipeline/text/words/codes.h"

#include <limits.h>
#include <stdlib.h>
#include <utf8proc.h>

/* ---- Conditions and numbers ---- */

/* Shows an argument of a function; an empty one is not a gap. */
static bool show_choice(struct call *call, const struct argument *argument)
{
    if (argument)
        show_argument(call, argument);
    else
        show(call, STR(""));
    return true;
}

/* {{#if: text | then | else }} */
bool render_if(struct call *call)
{
    const struct str condition = call_value(call, "0");
    if (call->is_opaque)
        return false;
    return show_choice(call, call_argument(call, condition.size > 0 ? "1" : "2"));
}

/* A decimal number as PHP reads one: 1, -1.50, .5, 1e3. */
static bool is_numeric(struct str text, double *number)
{
    char copy[VALUE_BYTES_MAX + 1], *end;
    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    *number = strtod(copy, &end);
    return end == copy + text.size && strspn(copy, "0123456789+-.eE") == text.size;
}

/* Compares like the parser functions: numbers by value. */
bool values_equal(struct str left, struct str right)
{
    double a, b;
    return str_equal(left, right) || (is_numeric(left, &a) && is_numeric(right, &b) && a == b);
}

/* {{#iferror: text | error | text otherwise }}: what we can show is never an error. */
bool render_iferror(struct call *call)
{
    return show_choice(call, call->count > 2 ? call_argument(call, "2") : call_argument(call, "0"));
}

/* {{#ifeq: a | b | then | else }} */
bool render_ifeq(struct call *call)
{
    const struct str left = call_value(call, "0"), right = call_value(call, "1");
    if (call->is_opaque)
        return false;
    return show_choice(call, call_argument(call, values_equal(left, right) ? "2" : "3"));
}

/* {{#expr: 2 * 3 round 1 }} */
bool render_expr(struct call *call)
{
    const struct str text = call_value(call, "0");
    const struct expr expr = expr_read(text);
    call->steps += text.size;
    if (call->is_opaque || expr.error)
        return false;
    show_text(call, expr.text);
    return true;
}

/* {{#ifexpr: 2 > 1 | then | else }} */
bool render_ifexpr(struct call *call)
{
    const struct str text = call_value(call, "0");
    const struct expr expr = expr_read(text);
    call->steps += text.size;
    if (call->is_opaque || expr.error)
        return false;
    return show_choice(call, call_argument(call, expr_holds(&expr) ? "1" : "2"));
}

/* {{#switch: value | a | b = shown | #default = shown }}: cases without '=' fall through; a last one is the default. */
bool render_switch(struct call *call)
{
    const struct str wanted = call_value(call, "0");
    if (call->is_opaque)
        return false;
    const struct str page = call->page->text;
    struct argument chosen = {0}; /* the default until a case is found */
    bool found = false, falls = false;
    for (size_t i = 1; i < call->count && !found; i++) {
        const struct argument *argument = &call->arguments[i];
        const struct str text = str_part(page, argument->from, argument->to);
        const char *equals = memchr(text.data, '=', text.size);
        if (equals && argument->child < call->page->spans->count &&
            call->page->spans->items[argument->child].start < (uint32_t)(equals - page.data))
            return false;
        const struct str key = str_trim(equals ? str_range(text.data, equals) : text);
        falls |= values_equal(key, wanted);
        struct argument value = *argument;
        if (equals) {
            value.from = (uint32_t)(equals - page.data) + 1;
            while (value.from < value.to && strchr(" \t\n", page.data[value.from]))
                value.from++;
        }
        found = equals && falls;
        if (found || str_equal(key, STR("#default")) || (!equals && i + 1 == call->count))
            chosen = value;
    }
    return show_choice(call, chosen.from < chosen.to ? &chosen : NULL);
}

void case_add(struct str name, struct str text, struct buf *out)
{
    const bool upper = str_starts(name, STR("u")), first_only = str_ends(name, STR("first"));
    for (size_t at = 0; at < text.size;) {
        uint32_t code_point;
        unsigned skip;
        const unsigned size = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        char encoded[4];
        if (size > 0 && (at == 0 || !first_only))
            code_point = (uint32_t)(upper ? utf8proc_toupper((utf8proc_int32_t)code_point)
                                          : utf8proc_tolower((utf8proc_int32_t)code_point));
        if (upper && code_point == 0x1E9E && size == strlen("ß"))
            buf_add_text(out, "SS"); /* the capital of ß */
        else if (size > 0)
            buf_add(out, encoded, utf8_write(code_point, encoded));
        at += size ? size : skip;
    }
}

/* What cannot be read is shown as it is: its words are what matters. */
bool render_case(struct call *call)
{
    const struct str text = call_value(call, "0");
    SCOPED(buf_release) struct buf shown = {0};
    if (call->is_opaque || text.size == 0)
        return show_choice(call, call_argument(call, "0"));
    case_add(call->parameter, text, &shown);
    show(call, buf_str(&shown));
    return true;
}

#define PAD_MAX 20 /* characters; anything longer is not a number, and text must not grow */

/* {{padleft:7|3|0}} → 007; the parameter names the side. */
bool render_pad(struct call *call)
{
    const struct str text = call_value(call, "0");
    struct str with = call_value(call, "2");
    long width;
    if (call->is_opaque || !call_number(call, "1", &width) || width > PAD_MAX)
        return false;
    if (with.size == 0 && call->count > 2) /* nothing to pad with */
        width = 0;
    if (with.size == 0)
        with = STR("0");
    const bool left = str_equal(call->parameter, STR("left"));
    if (!left)
        show(call, text);
    size_t at = 0;
    for (long count = (long)utf8_characters(text); count < width; count++) {
        uint32_t code_point;
        unsigned skip;
        const unsigned size = utf8_decode(with.data + at, with.size - at, &code_point, &skip);
        show(call, (struct str){with.data + at, size});
        at = at + size + (size ? 0 : skip) < with.size ? at + size + (size ? 0 : skip) : 0;
    }
    if (left)
        show(call, text);
    return true;
}

/* ---- Titles, namespaces and addresses ---- */

static bool is_unreserved(char byte)
{
    return ascii_is_letter(byte) || ascii_is_digit(byte) || (byte != 0 && strchr("-_.", byte));
}

static void add_encoded(struct str text, bool is_path, bool is_wiki, struct buf *shown)
{
    for (size_t at = 0; at < text.size; at++) {
        const char byte = text.data[at];
        if (is_unreserved(byte) || (is_wiki && byte != 0 && strchr("!$()*,/:;@~", byte)))
            buf_add_byte(shown, byte);
        else if (byte == ' ' && !is_path)
            buf_add_byte(shown, is_wiki ? '_' : '+');
        else
            buf_addf(shown, "%%%02X", (unsigned)(unsigned char)byte);
    }
}

/* {{PAGENAMEE}}: as it stands in an address. */
bool render_encoded_title(struct call *call)
{
    SCOPED(buf_release) struct buf shown = {0};
    add_encoded(call->page->title, false, true, &shown);
    show(call, buf_str(&shown));
    return true;
}

/* The parameter says which part: "" the title, "page" without its namespace, "namespace" that alone. */
bool render_title(struct call *call)
{
    struct str title = call->page->title;
    const size_t size = call->parameter.size > 0 ? title_namespace_size(call->page->siteinfo, title) : 0;
    if (str_equal(call->parameter, STR("namespace")))
        title.size = size;
    else if (size > 0)
        title = str_trim(str_from(title, size + 1));
    show(call, title);
    return true;
}

bool render_site(struct call *call)
{
    const struct siteinfo *siteinfo = call->page->siteinfo;
    if (siteinfo)
        show(call, siteinfo->sitename);
    return siteinfo && siteinfo->sitename.size > 0;
}

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
    SCOPED(buf_release) struct buf shown = {0};
    if (has_first)
        case_add(STR("ucfirst"), title, &shown);
    else
        buf_add_str(&shown, title);
    for (size_t at = 0; at < shown.size; at++)
        if (shown.data[at] == '_')
            shown.data[at] = ' ';
    show(call, buf_str(&shown));
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
        show_title(call, str_part(title, begins[first], begins[end] - 1), first == 0);
    else
        show(call, STR(""));
    return true;
}

/* {{urlencode:text|QUERY}}, also WIKI and PATH. */
bool render_url(struct call *call)
{
    const struct str text = call_value(call, "0");
    const bool is_path = call_says(call, "1", "PATH"), is_wiki = call_says(call, "1", "WIKI");
    SCOPED(buf_release) struct buf shown = {0};
    if (call->is_opaque)
        return false;
    add_encoded(text, is_path, is_wiki, &shown);
    show(call, buf_str(&shown));
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
    return show_choice(call, call_argument(call, call_argument(call, "0") ? "1" : "2"));
}

/* {{#rel2abs: path | base }}: a path with "." and ".." from a page, by default from this one. */
bool render_absolute(struct call *call)
{
    struct str path = call_value(call, "0");
    const struct str base = call_argument(call, "1") ? call_value(call, "1") : call->page->title;
    SCOPED(buf_release) struct buf joined = {0}, shown = {0};
    const bool is_relative = str_equal(path, STR(".")) || str_equal(path, STR("..")) || str_starts(path, STR("/")) ||
                             str_starts(path, STR("./")) || str_starts(path, STR("../"));
    bool fits = !call->is_opaque;
    if (is_relative || path.size == 0)
        buf_addf(&joined, "%.*s/", (int)base.size, base.data);
    buf_add_str(&joined, path);
    for (struct str rest = buf_str(&joined); rest.size > 0 && fits;) {
        const char *slash = memchr(rest.data, '/', rest.size);
        const struct str part = {rest.data, slash ? (size_t)(slash - rest.data) : rest.size};
        rest = (struct str){part.data + part.size + (slash != NULL), rest.size - part.size - (slash != NULL)};
        if (str_equal(part, STR(".."))) {
            const char *last = shown.size > 0 ? memrchr(shown.data, '/', shown.size) : NULL;
            fits = shown.size > 0; /* above the first part is nothing */
            shown.size = last ? (size_t)(last - shown.data) : 0;
        } else if (part.size > 0 && !str_equal(part, STR("."))) {
            buf_addf(&shown, "%s%.*s", shown.size > 0 ? "/" : "", (int)part.size, part.data);
        }
    }
    if (fits)
        show(call, buf_str(&shown));
    return fits;
}

static const struct {
    int32_t key;
    const char *name;
} namespaces[] = {{-2, "Media"},         {-1, "Special"},     {0, ""},
                  {1, "Talk"},           {2, "User"},         {3, "User talk"},
                  {4, "Project"},        {5, "Project talk"}, {6, "File"},
                  {6, "Image"},          {7, "File talk"},    {8, "MediaWiki"},
                  {9, "MediaWiki talk"}, {10, "Template"},    {11, "Template talk"},
                  {12, "Help"},          {13, "Help talk"},   {14, "Category"},
                  {15, "Category talk"}};

/* {{ns:6}}, {{ns:File}}: the wiki's name of a namespace, by its number or a name; as the dump's head has it,
 * else the English one. */
bool render_namespace(struct call *call)
{
    const struct str value = call_value(call, "0");
    const struct siteinfo *siteinfo = call->page->siteinfo;
    long key = whole_number(call, "0", LONG_MIN);
    const char *otherwise = NULL;
    char folded[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    const struct str wanted = name_fold(value, folded);
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces && !otherwise; i++)
        if (namespaces[i].key == key || str_equal(wanted, name_fold(str_of(namespaces[i].name), name))) {
            key = namespaces[i].key;
            otherwise = namespaces[i].name;
        }
    for (size_t i = 0; siteinfo && i < siteinfo->namespace_count && !otherwise; i++)
        if (wanted.size > 0 && str_equal(wanted, name_fold(siteinfo->namespaces[i].name, name)))
            key = siteinfo->namespaces[i].key;
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

size_t title_namespace_size(const struct siteinfo *siteinfo, struct str title)
{
    const char *colon = memchr(title.data, ':', title.size < NAME_BYTES_MAX ? title.size : NAME_BYTES_MAX);
    char folded[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    if (!colon || colon == title.data)
        return 0;
    const struct str wanted = name_fold(str_range(title.data, colon), folded);
    for (size_t i = 0; siteinfo && i < siteinfo->namespace_count; i++)
        if (str_equal(wanted, name_fold(siteinfo->namespaces[i].name, name)))
            return (size_t)(colon - title.data);
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (str_equal(wanted, name_fold(str_of(namespaces[i].name), name)))
            return (size_t)(colon - title.data);
    return 0;
}

/* {{PAGENAME:Talk:A/b}} → A/b; the parameter says which part: page, namespace, full, sub, base, root. */
bool render_title_part(struct call *call)
{
    struct str title = call_value(call, "0");
    const size_t prefix = title_namespace_size(call->page->siteinfo, title);
    const char wanted = call->parameter.data[0];
    if (call->is_opaque || title.size == 0)
        return false;
    if (wanted == 'n')
        title.size = prefix;
    else if (wanted != 'f' && prefix > 0)
        title = str_trim(str_from(title, prefix + 1));
    const char *const slash =
        wanted == 'r' ? memchr(title.data, '/', title.size) : memrchr(title.data, '/', title.size);
    if (slash && wanted == 's')
        title = str_range(slash + 1, title.data + title.size);
    else if (slash && (wanted == 'b' || wanted == 'r'))
        title = str_range(title.data, slash);
    show_title(call, title, wanted != 's' || !slash);
    return true;
}

/* ---- Tags ---- */

/* Shows text that is not wikitext: line ends are blanks, entities are decoded except in code. */
static void show_literal(struct call *call, struct str text, bool is_code)
{
    for (size_t at = 0; at < text.size;) {
        struct entity_shown shown;
        size_t size = text.data[at] == '&' && !is_code ? entity_decode(str_from(text, at), &shown) : 0;
        if (size > 0)
            show(call, (struct str){shown.bytes, shown.size});
        else if ((unsigned char)text.data[at] >= ' ')
            show(call, (struct str){text.data + at, 1});
        else
            show(call, STR(" "));
        at += size > 0 ? size : 1;
    }
}

static bool show_formula(struct call *call, struct str tex)
{
    SCOPED(buf_release) struct buf shown = {0};
    call->steps += tex.size;
    const bool is_text = formula_add(tex, &shown);
    if (is_text)
        show(call, buf_str(&shown));
    return is_text;
}

static bool has_attribute(const struct call *call, struct str name)
{
    const char *page = call->page->text.data;
    for (size_t i = 2; i < call->count; i++)
        if (str_starts(str_range(page + call->arguments[i].from, page + call->arguments[i].to), name))
            return true;
    return false;
}

/* False, without a hole, for what the tag would leave out: notes, pictures, code. */
bool render_tag(struct call *call)
{
    const struct str name = call_value(call, "0");
    const struct tag *tag = name.size > 0 && !call->is_opaque ? tag_find(name) : NULL;
    const struct argument *content = call_argument(call, "1");
    if (!tag)
        return false;
    call->has_pattern = true;
    if (!content || tag->kind == TAG_BREAK)
        return false;
    const struct str text = str_part(call->page->text, content->from, content->to);
    if (tag->fate == FATE_MATH)
        return text.size <= FORMULA_BYTES_MAX && show_formula(call, text);
    if (tag->kind == TAG_LITERAL || (tag->kind == TAG_CODE && has_attribute(call, STR("inline")))) {
        call->steps += text.size;
        show_literal(call, text, tag->kind == TAG_CODE);
        return true;
    }
    if (tag->kind == TAG_TABLE || tag->kind >= TAG_DROP)
        return false;
    call->is_block = tag->ends_paragraph;
    call->is_poem = tag->kind == TAG_POEM;
    const char *mark = tag->kind == TAG_QUOTE ? "\"" : "";
    show_if(call, mark, content, mark);
    return true;
}

/* ---- Languages ---- */

bool render_content_language(struct call *call)
{
    show(call, call->page->code);
    return true;
}

/* {{#language:fr}} → français, {{#language:fr|en}} → French: a language's name in itself, as MediaWiki has it, or in
 * English. Its names in other languages are left out. */
bool render_language(struct call *call)
{
    const struct str code = call_value(call, "0"), in = call_value(call, "1");
    if (call->is_opaque)
        return false;
    if (str_equal(in, STR("en")) && code_name(code)) {
        show_text(call, code_name(code));
        return true;
    }
    if (in.size > 0 && !str_equal(in, code))
        return false;
    const char *name = names_find(languages_own, code);
    if (name)
        show_text(call, name);
    return name;
}
