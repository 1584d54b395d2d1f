// room: pipeline
/* In: strings between zero bytes, which become names and pieces of a dataset: of options, reasons, fates and
 * templates, of vocabulary and sources. Held: the page of `dsdata report` is well-formed XML of UTF-8, has no element
 * or attribute but its own, links nowhere but into itself, and is not too long. */
#include "tests/fuzz/dataset.h"
#include "tests/fuzz/page.h"

#include "base/html.h"
#include "pipeline/report/corpus_report.h"

#include <jansson.h>

#define PIECES 40u /* in the vocabulary, at most */

/* A name that the manifest has not. */
static bool is_new(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->option_count; i++)
        if (strcmp(m->options[i].name, name) == 0)
            return false;
    return strcmp(name, "bytes") != 0 && strcmp(name, "dropped") != 0;
}

/* The same string in every place that takes it. */
static void add_everywhere(struct manifest *m, const char *name, struct buf *vocab, json_t *sources, json_t *templates)
{
    if (!is_new(m, name) || m->option_count >= 30)
        return;
    manifest_add_option(m, name, name);
    manifest_add_dropped(m, name, 1, 2);
    manifest_add_fate(m, name, 3);
    json_array_append_new(templates, json_pack("{ss si si}", "name", name, "count", 1, "bytes", 100));
    manifest_add_source(m, (struct manifest_source){.bytes = 5, .hash = 6});
    json_array_append_new(sources, json_pack("{s:s}", "name", name));
    if (m->vocab_size < PIECES && !strchr(name, '\n') && *name) {
        buf_addf(vocab, "%s\n", name);
        m->vocab_size++;
    }
}

static void write_dataset(struct str strings)
{
    SCOPED(manifest_release) struct manifest m = MANIFEST_PLAIN;
    SCOPED(buf_release) struct buf vocab = {0};
    json_t *build = json_object(), *sources = json_array(), *templates = json_array();
    buf_add_text(&vocab, SPECIAL_PIECES);
    for (size_t at = 0; at < strings.size; at++) {
        const char *from = strings.data + at;
        const size_t size = strnlen(from, strings.size - at);
        struct buf name = {0};
        buf_add(&name, from, size);
        name.size = name.data ? utf8_repair(name.data, name.size, NULL) : 0;
        add_everywhere(&m, buf_text(&name), &vocab, sources, templates);
        buf_release(&name);
        at += size;
    }
    m.unknown = (struct manifest_unknown){.count = 100, .bytes = 10000, .characters = 9000};
    dataset_write(&m, buf_str(&vocab));
    json_object_set_new(build, "sources", sources);
    json_object_set_new(build, "templates", json_pack("{so si}", "rows", templates, "missed", 3));
    char *text = json_dumps(build, 0);
    fuzz_write(BUILD_NAME, str_of(text));
    free(text);
    json_decref(build);
}

static void check_escaping(struct str text)
{
    SCOPED(buf_release) struct buf page = {0};
    buf_add_text(&page, "<p title=\"");
    html_text(&page, text, 100);
    buf_add_text(&page, "\">");
    html_text(&page, text, 100);
    buf_add_text(&page, "</p>");
    check_page(buf_str(&page));
}

int fuzz_input(const uint8_t *data, size_t size)
{
    SCOPED(buf_release) struct buf page = {0};
    struct error err;
    check_escaping(as_str(data, size));
    write_dataset(as_str(data, size));
    must(corpus_report_make(&page, fuzz_directory(), &err), &err);
    check_page(buf_str(&page));
    return 0;
}
