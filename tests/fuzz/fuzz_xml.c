// room: pipeline
/* In: a page of a dump; after a zero byte, the head of one. Held: what comes out is well-formed UTF-8; a parser that
 * has read other pages reads the same as a new one that asks expat alone. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/dump/siteinfo.h"
#include "pipeline/text/xml/xml.h"

static void check_head(struct str head)
{
    struct siteinfo info = {0};
    struct arena arena = {0};
    struct error err;
    if (siteinfo_read("head", head, &info, &arena, &err) == 0) {
        size_t size = info.sitename.size + info.dbname.size;
        assert(utf8_valid(info.sitename) && utf8_valid(info.dbname) && utf8_valid(info.language));
        for (size_t i = 0; i < info.namespace_count; i++) {
            assert(utf8_valid(info.namespaces[i].name));
            size += info.namespaces[i].name.size;
        }
        assert(size <= head.size);
    }
    arena_release(&arena);
}

static void check_fields(const struct page *page, size_t size)
{
    const struct str fields[] = {page->title, page->model, page->timestamp, page->text};
    size_t sum = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        assert(utf8_valid(fields[i]));
        sum += fields[i].size;
    }
    assert(sum <= 3 * size); /* U+FFFD for a byte */
}

static void check_page(struct str text)
{
    static struct page_parser *used;
    if (!used)
        used = page_parser_open();
    struct page_parser *expat = page_parser_open();
    struct arena arena = {0};
    struct page page, other;
    page_parser_use_expat(expat);
    const int result = page_parse(used, text, &arena, &page), judged = page_parse(expat, text, &arena, &other);
    assert(result == judged);
    if (result == 0) {
        check_fields(&page, text.size);
        assert(str_equal(page.title, other.title) && str_equal(page.text, other.text));
        assert(str_equal(page.model, other.model) && str_equal(page.timestamp, other.timestamp));
        assert(page.id == other.id && page.revision_id == other.revision_id && page.ns == other.ns);
        assert(page.has_ns == other.has_ns && page.is_redirect == other.is_redirect);
        assert(page.repairs == other.repairs && page.repairs >> REPAIRS == 0);
    }
    arena_release(&arena);
    page_parser_close(expat);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(mem_free_at) char *text = mem_alloc(size);
    if (size)
        memcpy(text, data, size);
    const char *mark = size ? memchr(text, 0, size) : NULL;
    const size_t page = mark ? (size_t)(mark - text) : size;
    check_page((struct str){text, page});
    if (mark)
        check_head((struct str){mark + 1, size - page - 1});
    return 0;
}
