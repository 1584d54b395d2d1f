/* Bounds of the readers of wikitext and of templates' pages, met exactly: what a page repeats n times is read one way
 * up to a bound and another way from there on, and changes at no other n. */
#include "pipeline/text/templates/dictionary.h"
#include "pipeline/text/wikitext.h"
#include "tests/unit.h"

/* A text is head, n times open, middle, n times close, tail; @ in it is n. */
struct limit {
    const char *what, *head, *open, *middle, *close, *tail;
    const char *shown; /* the result has this on one side of the bound only */
    unsigned from, to; /* all n between are read */
    unsigned first;    /* n on the other side of the bound */
};

static void add_repeated(struct buf *out, const char *text, unsigned times, unsigned n)
{
    for (unsigned i = 0; i < times; i++)
        for (const char *at = text; *at; at++) {
            if (*at == '@')
                buf_addf(out, "%u", n);
            else
                buf_add_byte(out, *at);
        }
}

static void build(const struct limit *limit, unsigned n, struct buf *out)
{
    buf_reset(out);
    add_repeated(out, limit->head, 1, n);
    add_repeated(out, limit->open, n, n);
    add_repeated(out, limit->middle, 1, n);
    add_repeated(out, limit->close, n, n);
    add_repeated(out, limit->tail, 1, n);
}

static void read_page(struct str text, struct buf *out)
{
    struct wikitext *wikitext = wikitext_open(&(struct wikitext_options){
        .language = language_find(STR("en")), .keep = KEEP_HEADINGS | KEEP_PROSE_LISTS | KEEP_PRE | KEEP_CAPTIONS});
    struct wikitext_facts facts;
    wikitext_read(wikitext, &(struct page){.title = STR("X"), .text = text}, out, &facts);
    wikitext_close(wikitext);
}

static void read_body(struct str text, struct buf *out)
{
    struct body_reader reader = {0};
    buf_addf(out, "kind %d ", body_read(&reader, language_find(STR("en")), text, false, out));
    body_reader_release(&reader);
}

static void check(const struct limit *limit, void (*read)(struct str text, struct buf *out))
{
    SCOPED(buf_release) struct buf text = {0}, out = {0};
    bool before = false;
    unsigned changes = 0, changed = 0;
    for (unsigned n = limit->from; n <= limit->to; n++) {
        build(limit, n, &text);
        buf_reset(&out);
        read(buf_str(&text), &out);
        const bool shown = strstr(buf_text(&out), limit->shown);
        if (n > limit->from && shown != before) {
            changes++;
            changed = n;
        }
        before = shown;
    }
    if (changes != 1 || changed != limit->first)
        fail_msg("%s: %u changes, the last at %u, not %u: %.300s", limit->what, changes, changed, limit->first,
                 buf_text(&out));
}

TEST(bounds_of_pages)
{
    static const struct limit limits[] = {
        {"bytes of a formula", "A <math>", "1", "", "", "</math> b", "1 b", 250, 260, 257},
        {"groups of a formula", "A <math>", "{", "x", "}", "</math> b", "x b", 1, 12, 9},
        {"digits of a character reference", "A &#", "0", "65;", "", " b", "A A b", 0, 40, 33},
        {"bytes before the gap of an empty bracket", "A (", ",", "{{x}}", "", ") b", "A b", 50, 70, 65},
        {"bytes after the gap of an empty bracket", "A (", "", "{{x}}", ",", ") b", "A b", 50, 70, 64},
        {"words of an item", "* ", "word ", "", "", "end.", "word", 0, 12, 7},
        {"words of a sentence in a template", "He {{odd|", "word ", "", "", "end}} there.", "word", 0, 12, 7},
        {"bytes of a title", "A [[", "t", "", "", "|c]] b", "A c b", 250, 260, 256},
        {"arguments of a call", "A {{hlist", "|x", "|y", "", "}} b", "y", 40, 55, 48},
        {"bytes of a name", "A {{#expr:7 +", " ", "0", "", "}} b", "7 b", 80, 100, 87},
        {"characters of a padding", "A {{padleft:7|@|0}} b", "", "", "", "", "7 b", 10, 30, 21},
        {"parts of a title", "A {{#titleparts:", "a/", "z|1|-1}} b", "", "", "A z b", 15, 30, 25},
        {"outputs of a conversion", "A {{convert|1|m|", "km ", "}} b", "", "", "(", 1, 6, 4},
        {"digits of a number alone in a template", "A {{odd|", "7", "}} b", "", "", "7", 1, 8, 5},
        {"digits to group", "A {{formatnum:", "1", "}} b", "", "", ",111 b", 4, 50, 41},
        {"bytes of a tab's label", "<tabber>\n", "l", "=Text here.\n</tabber>", "", "", "l\n", 240, 265, 256},
        {"brackets open at once", "A ", "{{nowrap|", "y", "}}", " b", "{{", 4092, 4099, 4097},
        {"preformatted text in a link", "A ", "[[File:a.jpg|thumb|c ", "<pre>x</pre>", "]]", " b", "x", 0, 3, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check(&limits[i], read_page);
}

TEST(bounds_of_bodies)
{
    static const struct limit limits[] = {
        {"bytes of a page", "b", "a", "", "", "", "kind 0", BODY_BYTES_MAX - 8, BODY_BYTES_MAX + 8, BODY_BYTES_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check(&limits[i], read_body);
}
