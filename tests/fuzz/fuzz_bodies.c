// room: pipeline
/* In: pages of templates, a name, a zero byte and a wikitext each, zero bytes between. Held: what they become is a file
 * of renderings that is read without a mistake, the same twice, and no longer than the bounds on a pattern allow. */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "pipeline/text/templates/dictionary.h"
#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/templates/templates.h"

static size_t read_all(struct dictionary *dictionary, const uint8_t *data, size_t size)
{
    struct body_reader reader = {0};
    struct buf text = {0}, page = {0};
    size_t count = 0;
    while (size > 0 && count < 64) {
        char canonical[NAME_BYTES_MAX];
        const struct str typed = take_until(0, &data, &size), body = take_until(0, &data, &size);
        buf_reset(&text);
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
        count++;
    }
    body_reader_release(&reader);
    buf_release(&text);
    buf_release(&page);
    return count;
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct buf first = {0}, second = {0};
    struct templates *templates;
    struct error err = {0};
    char hash[17];
    struct dictionary *dictionary = dictionary_open();
    const size_t count = read_all(dictionary, data, size);
    dictionary_print(dictionary, STR("fr"), &first);
    dictionary_close(dictionary);
    dictionary = dictionary_open();
    read_all(dictionary, data, size);
    dictionary_print(dictionary, STR("fr"), &second);
    dictionary_close(dictionary);
    assert(str_equal(buf_str(&first), buf_str(&second)));
    assert(first.size <= 200 + count * (PATTERN_BYTES_MAX + 3 * NAME_BYTES_MAX));
    const int result = templates_parse(&templates, buf_str(&first), "made", hash, &err);
    if (result < 0)
        error_print(&err, "fuzz", 0);
    assert(result == 0);
    templates_free(templates);
    buf_release(&first);
    buf_release(&second);
    return 0;
}
