/* A template's own page → what its calls show in a page (bodies.cases). */
#include "pipeline/text/templates/dictionary.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/wikitext.h"
#include "tests/cases.h"
#include "tests/unit.h"

#define CASES SOURCE_DIR "/tests/pipeline/text/bodies.cases"
#define CALLS SOURCE_DIR "/tests/pipeline/text/modules.calls"

/* Takes the lines up to the next one that begins with "@@"; *name: what follows it there. */
static struct str take_part(struct str *rest, struct str *name)
{
    const char *stop = memchr(rest->data, '\n', rest->size);
    const size_t line = stop ? (size_t)(stop - rest->data) : rest->size;
    *name = str_trim((struct str){rest->data + 2, line - 2});
    const size_t from = line + (stop != NULL);
    const size_t next = str_find((struct str){rest->data + line, rest->size - line}, STR("\n@@"));
    const size_t end = next == SIZE_MAX ? rest->size : line + next;
    const struct str part = {rest->data + from, end > from ? end - from : 0};
    *rest = (struct str){rest->data + end, rest->size - end};
    if (next != SIZE_MAX)
        *rest = (struct str){rest->data + 1, rest->size - 1};
    return part;
}

static void add_template(struct body_reader *reader, struct dictionary *dictionary, const struct language *language,
                         struct str name, struct str body)
{
    char canonical[NAME_BYTES_MAX];
    SCOPED(buf_release) struct buf text = {0};
    const enum body_kind kind = body_read(reader, language, body, false, &text);
    dictionary_add(dictionary, name_canonical(name, canonical), kind, buf_str(&text));
}

static void show_page(const struct language *language, const struct templates *templates, struct str text,
                      struct buf *out)
{
    struct wikitext *wikitext = wikitext_open(
        &(struct wikitext_options){.language = language, .keep = KEEP_HEADINGS | KEEP_LISTS, .templates = templates});
    const struct page page = {.title = STR("Main Page"), .timestamp = STR("2026-02-03T04:05:06Z"), .text = text};
    struct wikitext_facts facts;
    wikitext_read(wikitext, &page, out, &facts);
    wikitext_close(wikitext);
}

static void run_case(const struct test_case *each, struct buf *out)
{
    const struct str lang = cases_setting(each, "lang");
    const struct language *language = language_find(lang.size > 0 ? lang : STR("en"));
    struct dictionary *dictionary = dictionary_open(TEMPLATES_BYTES_MAX);
    struct body_reader reader = {0};
    struct templates *templates;
    SCOPED(buf_release) struct buf file = {0};
    struct str rest = cases_trim(each->input), text = STR("");
    struct error err;
    char hash[17];
    while (rest.size > 1) {
        struct str name;
        const struct str part = take_part(&rest, &name);
        if (name.size > 0)
            add_template(&reader, dictionary, language, name, part);
        else
            text = part;
    }
    dictionary_print(dictionary, lang.size > 0 ? lang : STR("en"), &file);
    assert_int_equal(templates_parse(&templates, buf_str(&file), "made", hash, &err), 0);
    show_page(language, templates, text, out);
    templates_free(templates);
    dictionary_close(dictionary);
    body_reader_release(&reader);
}

TEST(cases_show_what_mediawiki_shows)
{
    assert_int_equal(cases_run(CASES, run_case), 0);
}

static void run_call(struct str page, struct buf *out)
{
    struct templates *templates;
    struct error err;
    char hash[17];
    assert_int_equal(templates_parse(&templates, STR(""), "made", hash, &err), 0);
    show_page(language_find(STR("ltg")), templates, page, out);
    templates_free(templates);
}

TEST(modules_show_what_they_show_in_mediawiki)
{
    assert_int_equal(calls_run(CALLS, run_call), 0);
}
