// room: pipeline
// bytes: 4096
/* In: a file of --exclude up to a byte 255, then a document. Held: what a document shares with the file, a longer one
 * that begins with it shares, too; and a file of a document alone drops it, if it is long enough to drop anything. */
#include "tests/fuzz/fuzz.h"

#include "pipeline/clean/filter.h"

static enum page_fate judge(struct str file, struct str document, bool *opens)
{
    static const char *paths[1];
    paths[0] = fuzz_file(file);
    const struct dsdata_settings settings = {.exclude = {paths, 1}};
    struct filter_scratch scratch = {0};
    struct filters *filters = NULL;
    struct error err = {0};
    const int result = filters_open(&filters, &settings, &err);
    assert(result == 0 || err.text[0]);
    *opens = result == 0;
    const enum page_fate fate = result == 0 ? filters_judge(filters, &scratch, document, "") : PAGE_KEPT;
    filter_scratch_release(&scratch);
    filters_close(filters);
    return fate;
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct str file = take_until(255, &data, &size);
    const struct str document = as_str(data, size);
    SCOPED(buf_release) struct buf longer = {0};
    bool opens;
    file.size -= file.size > 0 && (unsigned char)file.data[file.size - 1] == 255;
    if (!utf8_valid(document) || str_is_blank(document))
        return judge(file, STR("x"), &opens) == PAGE_EXCLUDED;
    const enum page_fate fate = judge(file, document, &opens);
    buf_add_str(&longer, document);
    buf_add_text(&longer, "\nand more");
    assert(fate == PAGE_KEPT || judge(file, buf_str(&longer), &opens) == PAGE_EXCLUDED);
    const bool plain = str_find(document, STR("{")) == SIZE_MAX && !str_starts(document, STR("\xef\xbb\xbf"));
    const enum page_fate own = judge(document, document, &opens);
    assert(!opens || !plain || own == PAGE_EXCLUDED);
    return 0;
}
