// room: pipeline
/* In: pages of templates, a name, a zero byte and a wikitext each, zero bytes between; the first wikitext is also a
 * page that calls them. Held: what they become is a file of renderings that is read without a mistake, the same
 * twice; the page is read within the bounds of expand.h. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/templates/dictionary.h"
#include "pipeline/text/templates/expand.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/wikitext.h"

static size_t read_all(struct dictionary *dictionary, const uint8_t *data, size_t size, struct buf *first)
{
    struct body_reader reader = {0};
    SCOPED(buf_release) struct buf text = {0}, page = {0};
    size_t count = 0;
    while (size > 0 && count < 64) {
        char canonical[NAME_BYTES_MAX];
        const struct str typed = take_until(0, &data, &size), body = take_until(0, &data, &size);
        buf_reset(&page);
        buf_add_str(&page, typed);
        buf_add_str(&page, body);
        buf_add_byte(&page, '\0'); /* so that it has memory when both are empty */
        const size_t name_size = utf8_repair(page.data, typed.size, NULL);
        struct str name = {page.data, name_size};
        char *wikitext = page.data + typed.size;
        const size_t wikitext_size = utf8_repair(wikitext, body.size, NULL);
        name = name_canonical(name, canonical);
        const enum body_kind kind =
            body_read(&reader, language_find(STR("fr")), (struct str){wikitext, wikitext_size}, false, &text);
        if (name.size > 0)
            dictionary_add(dictionary, name, kind, buf_str(&text));
        if (count == 0)
            buf_add(first, wikitext, wikitext_size);
        count++;
    }
    body_reader_release(&reader);
    return count;
}

static void read_page(const struct templates *templates, struct str text)
{
    struct wikitext *wikitext =
        wikitext_open(&(struct wikitext_options){.language = language_find(STR("fr")), .templates = templates});
    const struct page page = {.title = STR("Page"), .timestamp = STR("2026-02-03T04:05:06Z"), .text = text};
    const uint64_t most = EXPAND_BYTES_MAX(text.size);
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    wikitext_read(wikitext, &page, &out, &facts);
    assert(out.size <= 2 * most);
    assert(facts.steps <= 40 * most);
    wikitext_close(wikitext);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(buf_release) struct buf first = {0}, second = {0}, page = {0}, again = {0};
    struct templates *templates;
    struct error err = {0};
    char hash[17];
    struct dictionary *dictionary = dictionary_open(TEMPLATES_BYTES_MAX);
    const size_t count = read_all(dictionary, data, size, &page);
    dictionary_print(dictionary, STR("fr"), &first);
    dictionary_close(dictionary);
    dictionary = dictionary_open(TEMPLATES_BYTES_MAX);
    read_all(dictionary, data, size, &again);
    dictionary_print(dictionary, STR("fr"), &second);
    dictionary_close(dictionary);
    assert(str_equal(buf_str(&first), buf_str(&second)));
    assert(first.size <= 200 + 2 * size + count * 3 * NAME_BYTES_MAX);
    const int result = templates_parse(&templates, buf_str(&first), "made", hash, &err);
    if (result < 0)
        error_print(&err, "fuzz", 0);
    assert(result == 0);
    if (page.size > 0)
        read_page(templates, buf_str(&page));
    templates_free(templates);
    return 0;
}
