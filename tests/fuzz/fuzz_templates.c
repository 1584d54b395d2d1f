// room: pipeline
/* In: a file of renderings, up to the first zero byte, and a page of wikitext. Held: the file is refused with its
 * line, or the page reads with it as any page does: well-formed text, every byte one fate, linear work, no more text
 * than the bound on a pattern's arguments allows. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/text/templates/pattern.h"
#include "pipeline/text/templates/templates.h"
#include "pipeline/text/wikitext.h"

#define STEPS_FREE 1024u

static void check_page(const struct templates *templates, struct str text)
{
    struct wikitext *wikitext = wikitext_open(&(struct wikitext_options){
        .language = language_find(STR("en")), .keep = KEEP_LISTS | KEEP_HEADINGS, .templates = templates});
    const struct page page = {.title = STR("Main Page"), .text = text};
    struct wikitext_facts facts;
    SCOPED(buf_release) struct buf out = {0};
    uint64_t sum = 0;
    wikitext_read(wikitext, &page, &out, &facts);
    assert(utf8_valid(buf_str(&out)));
    for (int fate = 0; fate < FATES; fate++)
        sum += facts.bytes[fate];
    assert(sum == text.size);
    assert(out.size <= (PATTERN_BYTES_MAX + 4 * PATTERN_PARTS_MAX) * (text.size + 1));
    wikitext_close(wikitext);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    const struct str file = take_until(0, &data, &size);
    struct templates *templates;
    struct error err = {0};
    char hash[17], *text = mem_alloc(size);
    if (size)
        memcpy(text, data, size);
    if (templates_read(&templates, fuzz_file(file), hash, &err) == 0) {
        check_page(templates, (struct str){text, utf8_repair(text, size, NULL)});
        templates_free(templates);
    } else {
        assert(err.kind == ERR_USAGE && strstr(err.text, "line"));
    }
    mem_free(text);
    return 0;
}
