/* The page of `dsdata report`: text from files is escaped, the page stays small and is well-formed XHTML to a generic
 * parser, and its figures are those of the samples. */
#include "tests/shards/tiny.h"

#include "base/html.h"
#include "pipeline/report/corpus_report.h"
#include "pipeline/report/corpus_sections.h"
#include "pipeline/build/facts.h"

#include <expat.h>

/* ------------------------------------------------------------------------------------------------ escaping */

static void check_text(const char *text, size_t letters, const char *expected)
{
    SCOPED(buf_release) struct buf out = {0};
    html_text(&out, str_of(text), letters);
    assert_string_equal(buf_text(&out), expected);
}

TEST(text_is_escaped)
{
    check_text("", 0, "");
    check_text("Ærøskøbing", 10, "Ærøskøbing");
    check_text("Ærøskøbing", 9, "Ærøskøbin…");
    check_text("<b title='x'>\"&amp;]]>", 99, "&lt;b title=&#39;x&#39;&gt;&quot;&amp;amp;]]&gt;");
    check_text("a\tb\nc\x01\x7f", 99, "a⟨U+0009⟩b⟨U+000A⟩c⟨U+0001⟩⟨U+007F⟩");
    check_text("\u202Eevil\u2066\u200B\uFEFF", 99, "⟨U+202E⟩evil⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩");
    check_text("\xC2\x85\xE2\x80\xA8\xEF\xBF\xBF\xF4\x8F\xBF\xBF", 99, "⟨U+0085⟩⟨U+2028⟩⟨U+FFFF⟩⟨U+10FFFF⟩");
    check_text("می‌خواهم", 99, "می‌خواهم"); /* the zero width non-joiner belongs to the word */
    check_text("\xFFx\xC3", 99, "\uFFFDx\uFFFD");
    check_text("\xED\xA0\x80", 99, "\uFFFD\uFFFD\uFFFD"); /* half of a surrogate pair */
}

/* ------------------------------------------------------------------------------------------------ the page */

/* The only elements of a page: any other must come from unescaped text. */
static const char elements[] = " html head meta title style body header h1 h2 h3 p bdi dl dt dd div nav a details "
                               "summary table caption thead tbody tr th td code main section ol li b i span figure "
                               "figcaption svg rect ul ruby rt footer ";
static const char attributes[] = " xmlns lang xml:lang charset http-equiv content name class id href scope title style "
                                 "viewBox preserveAspectRatio role aria-label aria-labelledby aria-hidden x y width "
                                 "height dir ";

static void expect_known(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    if (!strstr(list, word))
        fail_msg("the page has an unexpected <%s> or attribute", name);
}

static void on_element(void *context, const char *name, const char **attribute)
{
    uint64_t *count = context;
    (*count)++;
    expect_known(elements, name);
    for (; *attribute; attribute += 2) {
        expect_known(attributes, attribute[0]);
        if (strcmp(attribute[0], "href") == 0)
            assert_int_equal(attribute[1][0], '#');
        if (strcmp(attribute[0], "style") == 0)
            assert_int_equal(strncmp(attribute[1], "width:", 6), 0);
    }
}

static void check_page(const struct buf *page)
{
    uint64_t count = 0;
    XML_Parser parser = XML_ParserCreate("UTF-8");
    XML_SetUserData(parser, &count);
    XML_SetStartElementHandler(parser, on_element);
    if (XML_Parse(parser, page->data, (int)page->size, 1) != XML_STATUS_OK)
        fail_msg("line %lu: %s", XML_GetCurrentLineNumber(parser), XML_ErrorString(XML_GetErrorCode(parser)));
    XML_ParserFree(parser);
    assert_true(count > 50);
    assert_true(page->size <= REPORT_BYTES_MAX);
    assert_true(utf8_valid(buf_str(page)));
}

/* Writes shards, vocabulary and manifest of a dataset whose lengths are in the manifest already. Its samples are the
 * tiny ones from `first` on. */
static void write_dataset(const char *directory, struct manifest *m, const struct buf *vocab, uint64_t first)
{
    char name[SHARD_NAME_BYTES];
    struct shard_header header;
    m->vocab_bytes = vocab->size;
    m->vocab_hash = hash64(vocab->data, vocab->size);
    tiny_write(directory, VOCAB_NAME, vocab->data, vocab->size);
    for (size_t l = 0; l < m->length_count; l++) {
        const struct manifest_length *length = &m->lengths[l];
        snprintf(name, sizeof name, "seq%u", length->seq);
        SCOPED(mem_free_at) char *folder = path_join(directory, name);
        assert_ok(path_make_directory(folder, &tiny_err));
        for (uint32_t s = 0; s < length->shards; s++) {
            SCOPED(mem_free_at) char *path = path_join(directory, manifest_shard_name(length, s, name));
            manifest_shard_header(m, length, s, &header);
            length->hashes[s] = tiny_shard(path, &header, first + shard_first(length->samples, length->shards, s));
        }
    }
    assert_ok(manifest_write(m, directory, &tiny_err));
}

/* The text repeated `times` times. */
static char *repeated(const char *text, size_t times)
{
    struct buf out = {0};
    for (size_t i = 0; i < times; i++)
        buf_add_text(&out, text);
    buf_text(&out);
    return out.data;
}

/* Hostile names and pieces, in the largest number and length that files can have. */
static void fill_hostile(struct manifest *m, struct buf *vocab, struct buf *build)
{
    static const char *const evil[] = {
        "<script>alert(1)</script>", "\" onmouseover=\"alert(1)",    "' autofocus='", "]]></style><b>",
        "&#x3c;img src=x&#x3e;",     "\u202E\u2066\u200B\U000E0001", "-->",           "##</rt></ruby></p>"};
    enum { EVIL = sizeof evil / sizeof *evil };
    char name[64];
    buf_add_text(vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (m->vocab_size = 5; m->vocab_size < 1000; m->vocab_size++) {
        SCOPED(mem_free_at) char *piece = repeated(evil[m->vocab_size % EVIL], 1 + m->vocab_size % 50);
        buf_addf(vocab, "%s%u\n", piece, m->vocab_size);
    }
    buf_add_text(build, "{\"sources\": [{\"name\": \"<i>in\\\"<b>'&amp;\\u202E\\u0001\"}");
    for (unsigned i = 0; i < 200; i++) {
        SCOPED(mem_free_at) char *value = repeated("\U000E0001", 150);
        snprintf(name, sizeof name, "<b>'\"&%u\u202E", i);
        manifest_add_option(m, name, value);
        manifest_add_dropped(m, name, i, i);
        manifest_add_fate(m, name, i);
        manifest_add_source(m, (struct manifest_source){.bytes = i, .hash = i});
        buf_addf(build, ",{\"name\": \"%s\"}", value);
    }
    json_t *rows = json_array();
    for (unsigned i = 0; i < 2 * BUILD_TEMPLATES_MAX; i++) {
        snprintf(name, sizeof name, "%s%u", evil[i % EVIL], i);
        json_array_append_new(rows, json_pack("{ss si si}", "name", name, "count", 1, "bytes", 1000 - (int)i));
    }
    char *templates = json_dumps(rows, 0);
    buf_addf(build, "], \"templates\": {\"rows\": %s, \"missed\": 7}}", templates);
    free(templates);
    json_decref(rows);
    m->unknown = (struct manifest_unknown){.count = 50, .bytes = 50000, .characters = 50000};
    for (uint32_t seq = 4096; seq > 4096 - 40; seq--) {
        manifest_add_length(m, seq, seq / 4, SPLIT_TRAIN, 8, seq * 8, 1);
        manifest_add_length(m, seq, seq / 4, SPLIT_VALID, 0, 0, 0);
    }
}

TEST(hostile_text_stays_text)
{
    char *directory = tiny_directory();
    struct manifest m = {.text_version = 1, .special = {0, 1, 2, 3, 4}, .mask_millionths = 150000};
    SCOPED(buf_release) struct buf vocab = {0}, build = {0}, page = {0}, again = {0};
    fill_hostile(&m, &vocab, &build);
    write_dataset(directory, &m, &vocab, 4000); /* long samples */
    tiny_write(directory, BUILD_NAME, build.data, build.size);
    assert_ok(corpus_report_make(&page, directory, &tiny_err));
    check_page(&page);
    assert_non_null(strstr(buf_text(&page), "&lt;script&gt;alert(1)"));
    assert_non_null(strstr(page.data, "⟨U+202E⟩"));
    assert_non_null(strstr(page.data, "more tokens"));
    assert_ok(corpus_report_make(&again, directory, &tiny_err));
    assert_true(str_equal(buf_str(&page), buf_str(&again)));
    manifest_release(&m);
    tiny_remove(directory);
}

/* ------------------------------------------------------------------------------------------------- figures */

static void read_figures(struct figures *figures, struct manifest *manifest, const char *directory)
{
    struct vocab *vocab;
    SCOPED(mem_free_at) char *path = path_join(directory, VOCAB_NAME);
    assert_ok(manifest_read(manifest, directory, &tiny_err));
    assert_ok(vocab_read(&vocab, path, VOCAB_OWN, &tiny_err));
    assert_ok(figures_read(figures, directory, manifest, vocab, &tiny_err));
    vocab_close(vocab);
}

/* Counts samples 0 to `samples` - 1 from the rule that made them, and compares. */
static void check_length(const struct length_figures *f, uint64_t samples)
{
    const struct manifest_length *length = f->length;
    const struct shard_layout layout = shard_layout_make(length->seq, length->predictions, TINY_PIECES);
    SCOPED(sample_release) struct sample sample = sample_make(&layout);
    uint64_t tokens = 0, pieces = 0, inside = 0, masked = 0, elsewhere = 0, histogram[SHARD_SEQ_MAX + 1] = {0};
    for (uint64_t n = 0; n < samples; n++) {
        tiny_sample(&layout, n, &sample);
        tokens += sample.length;
        masked += sample.masked;
        elsewhere += sample.is_random_next;
        histogram[sample.length]++;
        for (uint32_t i = 0, next = 0; i < sample.length; i++) {
            const bool is_masked = next < sample.masked && sample.positions[next] == i;
            const uint32_t id = is_masked ? sample.labels[next++] : sample.ids[i];
            pieces += id > 4;
            inside += id == 6; /* ##s */
        }
    }
    assert_int_equal(f->samples, samples);
    assert_int_equal(f->tokens, tokens);
    assert_int_equal(f->pieces, pieces);
    assert_int_equal(f->words, pieces - inside);
    assert_int_equal(f->unknown, 0);
    assert_int_equal(f->masked, masked);
    assert_int_equal(f->hidden, masked);
    assert_int_equal(f->kept + f->random, 0);
    assert_int_equal(f->second, samples); /* tiny samples all have a B */
    assert_int_equal(f->elsewhere, elsewhere);
    for (uint32_t bin = 0; bin < f->bins; bin++) {
        uint64_t in_bin = 0;
        for (uint32_t l = figures_bin_first(f, bin); l < figures_bin_first(f, bin + 1); l++)
            in_bin += histogram[l];
        assert_int_equal(f->histogram[bin], in_bin);
    }
    assert_int_equal(figures_bin_first(f, 0), 1);
    assert_int_equal(figures_bin_first(f, f->bins), length->seq + 1);
}

TEST(figures_are_those_of_the_samples)
{
    char *directory = tiny_directory();
    struct manifest manifest;
    struct figures figures;
    SCOPED(buf_release) struct buf page = {0};
    tiny_dataset(directory);
    read_figures(&figures, &manifest, directory);
    assert_int_equal(figures.count, 4);
    assert_int_equal(figures.pieces_seen, 5);
    for (size_t i = 0; i < figures.count; i++)
        check_length(&figures.lengths[i], figures.lengths[i].length->samples);
    figures_release(&figures);
    manifest_release(&manifest);
    assert_ok(corpus_report_make(&page, directory, &tiny_err));
    check_page(&page);
    assert_non_null(strstr(buf_text(&page), "Counted over all samples."));
    tiny_remove(directory);
}

TEST(a_large_split_is_sampled)
{
    enum { SAMPLES = 200000 };
    char *directory = tiny_directory();
    struct manifest m = {
        .text_version = 1, .vocab_size = TINY_PIECES, .special = {0, 1, 2, 3, 4}, .mask_millionths = 150000};
    struct manifest manifest;
    struct figures figures;
    SCOPED(buf_release) struct buf vocab = {0}, page = {0};
    buf_add_text(&vocab, TINY_VOCAB);
    manifest_add_length(&m, 16, 4, SPLIT_TRAIN, SAMPLES, SAMPLES * 10, 2);
    manifest_add_length(&m, 16, 4, SPLIT_VALID, 0, 0, 0);
    write_dataset(directory, &m, &vocab, 0);
    read_figures(&figures, &manifest, directory);
    const struct length_figures *f = &figures.lengths[0];
    assert_int_equal(f->samples, FIGURES_SAMPLES);
    /* Lengths are 5 to 16, equally often, and a third of the samples has a random next: the estimate must show both. */
    assert_in_range(f->tokens, FIGURES_SAMPLES * 104 / 10, FIGURES_SAMPLES * 106 / 10);
    assert_in_range(f->elsewhere, FIGURES_SAMPLES * 33 / 100, FIGURES_SAMPLES * 34 / 100);
    figures_release(&figures);
    manifest_release(&manifest);
    assert_ok(corpus_report_make(&page, directory, &tiny_err));
    check_page(&page);
    assert_non_null(strstr(buf_text(&page), "Estimated from 131,072 of the 200,000 samples"));
    manifest_release(&m);
    tiny_remove(directory);
}

/* A straight quotation mark is an opening one and a closing one in turn. */
TEST(quotation_marks_touch_what_they_enclose)
{
    char *directory = tiny_directory();
    struct manifest m = {.text_version = 1, .vocab_size = TINY_PIECES, .special = {0, 1, 2, 3, 4}};
    SCOPED(buf_release) struct buf vocab = {0}, page = {0};
    buf_add_text(&vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\"\n##s\nof\nwater\nriver\n");
    manifest_add_length(&m, 32, 4, SPLIT_TRAIN, 40, 400, 1);
    manifest_add_length(&m, 32, 4, SPLIT_VALID, 0, 0, 0);
    write_dataset(directory, &m, &vocab, 0);
    assert_ok(corpus_report_make(&page, directory, &tiny_err));
    assert_non_null(strstr(buf_text(&page), "&quot;</span><span"));
    assert_non_null(strstr(page.data, "&quot;</span> <span"));
    manifest_release(&m);
    tiny_remove(directory);
}

TEST(an_empty_dataset_has_a_page)
{
    char *directory = tiny_directory();
    struct manifest m = {.text_version = 1, .vocab_size = TINY_PIECES, .special = {0, 1, 2, 3, 4}};
    SCOPED(buf_release) struct buf vocab = {0}, page = {0};
    buf_add_text(&vocab, TINY_VOCAB);
    manifest_add_length(&m, 16, 4, SPLIT_TRAIN, 0, 0, 0);
    manifest_add_length(&m, 16, 4, SPLIT_VALID, 0, 0, 0);
    write_dataset(directory, &m, &vocab, 0);
    assert_ok(corpus_report_make(&page, directory, &tiny_err));
    check_page(&page);
    assert_null(strstr(buf_text(&page), "nan"));
    manifest_release(&m);
    tiny_remove(directory);
}
