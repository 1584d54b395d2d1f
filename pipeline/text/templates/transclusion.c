#include "pipeline/text/templates/transclusion.h"

#include "pipeline/text/markup/tags.h"

/* As MediaWiki compares them: exactly. */
#define ONLY     STR("<onlyinclude>")
#define ONLY_END STR("</onlyinclude>")

struct taker {
    struct str page;
    struct buf *out;
    size_t at;
    size_t tags_end;       /* after the last '>' */
    bool has_only;         /* <onlyinclude> is in use */
    bool closes[TAGS_MAX]; /* an end tag may still follow */
    bool noinclude_closes;
    size_t comment_end; /* of the last comment; SIZE_MAX: there was none, or text before it on its line */
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* The size of the tag <name …> (or </name …>) at the start of `text`, which ends with a '>'; 0 if there is none. */
static size_t tag_named(struct str text, const char *name)
{
    const size_t size = strlen(name);
    if (text.size <= size || !str_equal_ascii_nocase((struct str){text.data, size}, str_of(name)))
        return 0;
    const char after = text.data[size];
    if (after != '>' && after != '\n' && !is_blank(after) && !str_starts(str_from(text, size), STR("/>")))
        return 0;
    const char *end = memchr(text.data + size, '>', text.size - size);
    return end ? (size_t)(end - text.data) + 1 : 0;
}

static struct str rest_of(const struct taker *t)
{
    return str_from(t->page, t->at);
}

/* The tag <name …> at t->at. */
static size_t tag_here(const struct taker *t, const char *name)
{
    return t->at < t->tags_end ? tag_named((struct str){t->page.data + t->at, t->tags_end - t->at}, name) : 0;
}

/* The position after the next tag of that name; SIZE_MAX if none follows. */
static size_t find_tag(const struct taker *t, size_t from, const char *name)
{
    for (size_t at = from; at < t->tags_end; at++) {
        const char *bracket = memchr(t->page.data + at, '<', t->tags_end - at);
        if (!bracket)
            break;
        at = (size_t)(bracket - t->page.data);
        const size_t size = tag_named((struct str){bracket, t->tags_end - at}, name);
        if (size > 0)
            return at + size;
    }
    return SIZE_MAX;
}

/* Skips a comment, and its line if nothing else is on it. */
static void skip_comment(struct taker *t)
{
    const char *text = t->page.data;
    const size_t end = str_find(rest_of(t), STR("-->"));
    size_t before = t->at, after = end == SIZE_MAX ? t->page.size : t->at + end + 3;
    while (before > 0 && is_blank(text[before - 1]))
        before--;
    const bool begins_line = before > 0 && (text[before - 1] == '\n' || before == t->comment_end);
    t->at = after;
    t->comment_end = begins_line ? after : SIZE_MAX;
    while (after < t->page.size && is_blank(text[after]))
        after++;
    if (!begins_line || after >= t->page.size || text[after] != '\n')
        return;
    while (t->out->size > 0 && is_blank(t->out->data[t->out->size - 1]))
        t->out->size--;
    t->at = after + 1;
}

static void skip_noinclude(struct taker *t, size_t size)
{
    const bool is_empty = t->page.data[t->at + size - 2] == '/';
    t->at += size;
    if (is_empty)
        return;
    const size_t end = t->noinclude_closes ? find_tag(t, t->at, "</noinclude") : SIZE_MAX;
    t->noinclude_closes = end != SIZE_MAX;
    t->at = end == SIZE_MAX ? t->page.size : end;
}

/* Copies an element whose content is not read; false if there is none here. */
static bool copy_element(struct taker *t)
{
    struct tag_found found;
    size_t looked;
    char name[TAG_NAME_BYTES + 3] = "</";
    if (!tag_read(rest_of(t), &found, &looked) || tags[found.index].kind < TAG_DROP || found.closing ||
        found.self_closing || !t->closes[found.index])
        return false;
    memcpy(name + 2, tags[found.index].name, TAG_NAME_BYTES);
    const size_t end = find_tag(t, t->at + found.size, name);
    t->closes[found.index] = end != SIZE_MAX;
    if (end == SIZE_MAX)
        return false;
    buf_add(t->out, t->page.data + t->at, end - t->at);
    t->at = end;
    return true;
}

/* Reads what begins with '<'. */
static void take_tag(struct taker *t)
{
    static const char *const gone[] = {"<includeonly", "</includeonly", "<onlyinclude", "</onlyinclude", "</noinclude"};
    const struct str rest = rest_of(t);
    if (t->has_only && str_starts(rest, ONLY_END)) {
        t->at += ONLY_END.size;
        const size_t next = str_find(rest_of(t), ONLY);
        t->at = next == SIZE_MAX ? t->page.size : t->at + next + ONLY.size;
        return;
    }
    if (str_starts(rest, STR("<!--"))) {
        skip_comment(t);
        return;
    }
    const size_t size = tag_here(t, "<noinclude");
    if (size > 0) {
        skip_noinclude(t, size);
        return;
    }
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        const size_t gone_size = tag_here(t, gone[i]);
        t->at += gone_size;
        if (gone_size > 0)
            return;
    }
    if (!copy_element(t)) {
        buf_add_byte(t->out, '<');
        t->at++;
    }
}

void transclusion_take(struct str page, struct buf *out)
{
    struct taker t = {.page = page, .out = out, .noinclude_closes = true, .comment_end = SIZE_MAX};
    const size_t only = str_find(page, ONLY);
    t.has_only = only != SIZE_MAX && str_find(page, ONLY_END) != SIZE_MAX;
    t.at = t.has_only ? only + ONLY.size : 0;
    const char *last = page.size > 0 ? memrchr(page.data, '>', page.size) : NULL;
    t.tags_end = last ? (size_t)(last - page.data) + 1 : 0;
    for (unsigned i = 0; i < tag_count; i++)
        t.closes[i] = true;
    buf_reset(out);
    buf_reserve(out, 1); /* so that an empty text has an address */
    while (t.at < page.size) {
        const char *next = memchr(page.data + t.at, '<', page.size - t.at);
        const size_t size = next ? (size_t)(next - page.data) - t.at : page.size - t.at;
        buf_add(out, page.data + t.at, size);
        t.at += size;
        if (next)
            take_tag(&t);
    }
}
