// room: pipeline
/* In: strings between zero bytes, which become names and pieces of a dataset: of options, reasons, fates and
 * templates, of vocabulary and sources. Held: the page of `dsdata report` is well-formed XML of UTF-8, has no element
 * or attribute but its own, links nowhere but into itself, and is not too long. */
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/html.h"
#include "base/mem.h"
#include "pipeline/report/corpus_report.h"
#include "shards/manifest.h"
#include "shards/sample.h"
#include "shards/writer.h"

#include <expat.h>
#include <jansson.h>

#define SEQ     16u
#define SAMPLES 3u
#define PIECES  40u /* in the vocabulary, at most */

static const char *directory;

static void must(int result, const struct error *err)
{
    if (result < 0)
        error_print(err, "fuzz_report", 0);
    assert(result >= 0);
}

/* ------------------------------------------------------------------------------------------------ the dataset */

static void write_file(const char *name, struct str bytes)
{
    struct error err;
    char *path = path_join(directory, name);
    must(file_write_all(path, bytes.data ? bytes.data : "", bytes.size, &err), &err);
    mem_free(path);
}

static void make_directory(void)
{
    struct error err;
    directory = fuzz_directory();
    char *seq = path_join(directory, "seq16");
    must(path_make_directory(seq, &err), &err);
    mem_free(seq);
}

/* Samples of whatever pieces there are. */
static void write_shard(const struct manifest *manifest, struct manifest_length *length)
{
    struct shard_header header;
    struct shard_writer writer;
    struct error err;
    char name[SHARD_NAME_BYTES];
    manifest_shard_header(manifest, length, 0, &header);
    const struct shard_layout layout = shard_layout_make(header.seq, header.predictions, header.vocab_size);
    struct sample sample = sample_make(&layout);
    uint8_t *record = mem_alloc(layout.record_bytes);
    char *path = path_join(directory, manifest_shard_name(length, 0, name));
    must(writer_open(&writer, path, &header, &err), &err);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sample.length = SEQ - i;
        sample.a_length = 6;
        sample.masked = 2;
        for (uint32_t at = 0; at < SEQ; at++)
            sample.ids[at] = (i * SEQ + at) % manifest->vocab_size;
        for (uint32_t at = 0; at < sample.masked; at++) {
            sample.positions[at] = 3 + at;
            sample.labels[at] = (7 + at) % manifest->vocab_size;
        }
        record_encode(&layout, &sample, record);
        must(writer_add(&writer, record, layout.record_bytes, &err), &err);
    }
    must(writer_commit(&writer, &length->hashes[0], NULL, &err), &err);
    mem_free(path);
    mem_free(record);
    sample_release(&sample);
}

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
    manifest_add_source(m, 5, 6);
    json_array_append_new(sources, json_pack("{s:s}", "name", name));
    if (m->vocab_size < PIECES && !strchr(name, '\n') && *name) {
        buf_addf(vocab, "%s\n", name);
        m->vocab_size++;
    }
}

static void write_dataset(struct str strings)
{
    struct manifest m = {
        .text_version = 1, .special = {0, 1, 2, 3, 4}, .vocab_size = 5, .mask_millionths = 150000, .documents = 3};
    struct buf vocab = {0};
    struct error err;
    json_t *build = json_object(), *sources = json_array(), *templates = json_array();
    buf_add_text(&vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
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
    struct manifest_length *length = manifest_add_length(&m, SEQ, 4, SPLIT_TRAIN, SAMPLES, 45, 1);
    m.vocab_bytes = vocab.size;
    m.vocab_hash = hash64(vocab.data, vocab.size);
    write_shard(&m, length);
    manifest_add_length(&m, SEQ, 4, SPLIT_VALID, 0, 0, 0);
    must(manifest_write(&m, directory, &err), &err);
    write_file(VOCAB_NAME, buf_str(&vocab));
    json_object_set_new(build, "sources", sources);
    json_object_set_new(build, "templates", json_pack("{so si}", "rows", templates, "missed", 3));
    char *text = json_dumps(build, 0);
    write_file(BUILD_NAME, str_of(text));
    free(text);
    json_decref(build);
    buf_release(&vocab);
    manifest_release(&m);
}

/* --------------------------------------------------------------------------------------------------- the page */

/* What a page may consist of: whatever else appears was put there by a string. */
static const char elements[] = " html head meta title style body header h1 h2 h3 p bdi dl dt dd div nav a details "
                               "summary table caption thead tbody tr th td code main section ol li b i span figure "
                               "figcaption svg rect ul ruby rt footer ";
static const char attributes[] = " xmlns lang xml:lang charset http-equiv content name class id href scope title style "
                                 "viewBox preserveAspectRatio role aria-label aria-labelledby aria-hidden x y width "
                                 "height dir ";

static void check_known(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    assert(strstr(list, word));
}

static void on_element(void *context, const char *name, const char **attribute)
{
    (void)context;
    check_known(elements, name);
    for (; *attribute; attribute += 2) {
        check_known(attributes, attribute[0]);
        assert(strcmp(attribute[0], "href") != 0 || attribute[1][0] == '#');
        assert(strcmp(attribute[0], "style") != 0 || strncmp(attribute[1], "width:", 6) == 0);
    }
}

static void check_page(struct str page)
{
    XML_Parser parser = XML_ParserCreate("UTF-8");
    XML_SetStartElementHandler(parser, on_element);
    const enum XML_Status status = XML_Parse(parser, page.data, (int)page.size, 1);
    assert(status == XML_STATUS_OK);
    XML_ParserFree(parser);
    assert(page.size <= REPORT_BYTES_MAX && utf8_valid(page));
}

static void check_escaping(struct str text)
{
    struct buf page = {0};
    buf_add_text(&page, "<p title=\"");
    html_text(&page, text, 100);
    buf_add_text(&page, "\">");
    html_text(&page, text, 100);
    buf_add_text(&page, "</p>");
    check_page(buf_str(&page));
    buf_release(&page);
}

int fuzz_input(const uint8_t *data, size_t size)
{
    struct buf page = {0};
    struct error err;
    check_escaping(as_str(data, size));
    if (!directory)
        make_directory();
    write_dataset(as_str(data, size));
    must(corpus_report_make(&page, directory, &err), &err);
    check_page(buf_str(&page));
    buf_release(&page);
    return 0;
}
