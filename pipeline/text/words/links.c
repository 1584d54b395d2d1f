#include "pipeline/text/words/links.h"

#include "base/mem.h"

#include <assert.h>

#define NAMESPACE_FILE     6
#define NAMESPACE_TEMPLATE 10
#define NAMESPACE_CATEGORY 14
#define SCHEME_BYTES_MAX   12u /* including its colon */

struct namespace_name {
    int32_t key;
    struct str name; /* folded */
};

static const struct {
    int32_t key;
    const char *name;
} english[] = {
    {4, "project"}, {4, "wikipedia"}, {5, "project talk"}, {10, "t"},
    {10, "tm"},     {100, "portal"},  {118, "draft"},      {828, "module"},
};

static void add(struct namespaces *namespaces, int32_t key, struct str folded)
{
    struct namespace_name *item = &namespaces->items[namespaces->count];
    *item = (struct namespace_name){key, folded};
    if (folded.size > 0)
        name_table_add(&namespaces->names, folded, (uint32_t)namespaces->count++);
}

static void add_words(struct namespaces *namespaces, int32_t key, struct words words)
{
    for (size_t i = 0; i < words.count; i++)
        add(namespaces, key, str_of(words.items[i]));
}

/* Adds MediaWiki's names in a language, if `namespaces` is not NULL, and returns their number; with `media_only`, those
 * of files and categories. */
static size_t add_magic(struct namespaces *namespaces, const struct magic_language *language, bool media_only)
{
    size_t count = 0;
    for (const struct magic_namespace *of = language->namespaces; of && of->name; of++) {
        if (media_only && of->key != NAMESPACE_FILE && of->key != NAMESPACE_CATEGORY)
            continue;
        count++;
        if (namespaces)
            add(namespaces, of->key, str_of(of->name));
    }
    return count;
}

static size_t add_all_magic(struct namespaces *namespaces, const struct magic *magic)
{
    size_t count = 0;
    for (size_t i = 0; i < magic->count; i++)
        count += add_magic(namespaces, magic->of[i], false);
    for (size_t i = 0; i < magic_language_count; i++)
        count += add_magic(namespaces, &magic_languages[i], true);
    return count;
}

/* All languages' names for files and categories are known on every wiki: no article is called "Datei:…", and a dump may
 * list fewer names than its pages use. */
void namespaces_init(struct namespaces *namespaces, const struct siteinfo *siteinfo, const struct magic *magic)
{
    const size_t english_count = sizeof english / sizeof english[0];
    const size_t given = siteinfo ? siteinfo->namespace_count : 0;
    const size_t count =
        given + english_count + file_namespaces.count + category_namespaces.count + add_all_magic(NULL, magic) + 1;
    *namespaces = (struct namespaces){.items = mem_array(count, sizeof namespaces->items[0]),
                                      .bytes = mem_array(given + 1, NAME_BYTES_MAX),
                                      .siteinfo = siteinfo};
    for (size_t i = 0; i < given; i++)
        add(namespaces, siteinfo->namespaces[i].key,
            name_fold(siteinfo->namespaces[i].name, namespaces->bytes + i * NAME_BYTES_MAX));
    for (size_t i = 0; i < english_count; i++)
        add(namespaces, english[i].key, str_of(english[i].name));
    add_all_magic(namespaces, magic);
    add_words(namespaces, NAMESPACE_FILE, file_namespaces);
    add_words(namespaces, NAMESPACE_CATEGORY, category_namespaces);
    assert(namespaces->count < count);
}

void namespaces_release(struct namespaces *namespaces)
{
    name_table_release(&namespaces->names);
    mem_free(namespaces->items);
    mem_free(namespaces->bytes);
    *namespaces = (struct namespaces){0};
}

/* The text before the first colon, folded; empty if it is too long for a name. */
static struct str prefix_of(struct str target, char out[NAME_BYTES_MAX])
{
    const char *colon = memchr(target.data, ':', target.size < NAME_BYTES_MAX ? target.size : NAME_BYTES_MAX);
    return colon ? name_fold(str_range(target.data, colon), out) : STR("");
}

static int32_t find_namespace(const struct namespaces *namespaces, struct str folded)
{
    uint32_t number;
    return name_table_find(&namespaces->names, folded, &number) ? namespaces->items[number].key : 0;
}

int32_t namespaces_of_title(const struct namespaces *namespaces, struct str title)
{
    char folded[NAME_BYTES_MAX];
    const struct str prefix = prefix_of(title, folded);
    return prefix.size > 0 ? find_namespace(namespaces, prefix) : 0;
}

struct str namespaces_page(const struct namespaces *namespaces, struct str title, char out[NAME_BYTES_MAX])
{
    const struct siteinfo *siteinfo = namespaces->siteinfo;
    const int32_t key = namespaces_of_title(namespaces, title);
    const char *colon = key != 0 ? memchr(title.data, ':', title.size) : NULL;
    char canonical[NAME_BYTES_MAX];
    struct str space = colon ? str_range(title.data, colon) : STR("");
    const struct str rest = colon ? str_range(colon + 1, title.data + title.size) : title;
    const struct str page = name_canonical(rest, canonical);
    for (size_t i = 0; siteinfo && i < siteinfo->namespace_count; i++)
        if (siteinfo->namespaces[i].key == key)
            space = siteinfo->namespaces[i].name;
    const size_t before = key == NAMESPACE_TEMPLATE ? 0 : space.size + 1;
    if (page.size == 0 || before + page.size >= NAME_BYTES_MAX)
        return STR("");
    memcpy(out, space.data, before > 0 ? space.size : 0);
    if (before > 0)
        out[space.size] = ':';
    memcpy(out + before, page.data, page.size);
    return (struct str){out, before + page.size};
}

enum link_kind link_kind_of(const struct namespaces *namespaces, struct str target)
{
    target = str_trim(target);
    if (target.size == 0 || target.data[0] == ':')
        return LINK_TEXT;
    char folded[NAME_BYTES_MAX];
    const struct str prefix = prefix_of(target, folded);
    if (prefix.size == 0)
        return link_scheme(target) > 0 ? LINK_URL : LINK_TEXT;
    const int32_t key = find_namespace(namespaces, prefix);
    if (key == NAMESPACE_FILE)
        return LINK_FILE;
    if (key == NAMESPACE_CATEGORY)
        return LINK_CATEGORY;
    if (key != 0)
        return LINK_TEXT;
    if (language_is_code(prefix))
        return LINK_INTERLANGUAGE;
    return link_scheme(target) > 0 ? LINK_URL : LINK_TEXT;
}

bool link_is_title(const struct namespaces *namespaces, struct str target)
{
    target = str_trim(target);
    if (str_starts(target, STR(":")))
        target = str_trim(str_from(target, 1));
    const char *colon = memchr(target.data, ':', target.size);
    if (target.size == 0 || (colon == target.data + target.size - 1 && namespaces_of_title(namespaces, target) != 0))
        return false;
    for (size_t at = 0; at <= target.size;) {
        const char *slash = memchr(target.data + at, '/', target.size - at);
        const size_t end = slash ? (size_t)(slash - target.data) : target.size;
        const struct str part = {target.data + at, end - at};
        if (str_equal(part, STR(".")) || str_equal(part, STR("..")))
            return false;
        at = end + 1;
    }
    return true;
}

struct str link_pipe_trick(const struct namespaces *namespaces, struct str target)
{
    struct str shown = str_trim(target);
    if (shown.size > 0 && shown.data[0] == ':')
        shown = str_from(shown, 1);
    const char *colon = memchr(shown.data, ':', shown.size);
    if (colon && namespaces_of_title(namespaces, shown) != 0)
        shown = str_range(colon + 1, shown.data + shown.size);
    const char *bracket = memchr(shown.data, '(', shown.size);
    const char *comma = memchr(shown.data, ',', shown.size);
    if (bracket && bracket > shown.data && str_ends(shown, STR(")")))
        shown = str_range(shown.data, bracket);
    else if (comma && comma > shown.data)
        shown = str_range(shown.data, comma);
    return str_trim(shown);
}

size_t link_scheme(struct str address)
{
    static const char *const schemes[] = {
        "http://", "https://", "//",        "ftp://",    "ftps://",      "mailto:", "news:",    "irc://",
        "ircs://", "nntp://",  "gopher://", "telnet://", "git://",       "svn://",  "magnet:",  "sftp://",
        "ssh://",  "tel:",     "urn:",      "geo:",      "worldwind://", "xmpp:",   "bitcoin:", "mms://",
        "sip:",    "sips:",    "sms:",      "redis://",  "matrix:"};
    const size_t longest = address.size < SCHEME_BYTES_MAX ? address.size : SCHEME_BYTES_MAX;
    if (!memchr(address.data, ':', longest) && !str_starts(address, STR("//")))
        return 0;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if ((address.data[0] | 0x20) != (schemes[i][0] | 0x20))
            continue;
        const struct str scheme = str_of(schemes[i]);
        if (address.size > scheme.size && str_equal_ascii_nocase((struct str){address.data, scheme.size}, scheme))
            return scheme.size;
    }
    return 0;
}

/* As MediaWiki reads it: ^\s*#WORD\s*:?\s*\[\[title(|…)?\]\], the link on one line. */
bool link_is_redirect(struct str text, const struct magic *magic)
{
    text = str_trim(text);
    const size_t hash = str_starts(text, STR("#")) ? 1 : magic->wide && str_starts(text, STR("＃")) ? strlen("＃") : 0;
    if (hash == 0)
        return false;
    struct str rest = {text.data + hash, text.size - hash};
    const size_t word = magic_redirect(magic, rest);
    if (word == 0)
        return false;
    rest = str_trim(str_from(rest, word));
    if (str_starts(rest, STR(":")))
        rest = str_trim(str_from(rest, 1));
    if (!str_starts(rest, STR("[[")))
        return false;
    size_t size = 2;
    while (size < rest.size && !strchr("|[]{}<>\n", rest.data[size]))
        size++;
    const struct str title = str_trim((struct str){rest.data + 2, size - 2}),
                     after = {rest.data + size, rest.size - size};
    const char *line_end = memchr(after.data, '\n', after.size);
    const struct str line = line_end ? str_range(after.data, line_end) : after;
    return title.size > 0 &&
           (str_starts(line, STR("]]")) || (str_starts(line, STR("|")) && str_find(line, STR("]]")) != SIZE_MAX));
}
