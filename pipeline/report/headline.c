/* The head of the page: a summary of the dataset. */
#include "pipeline/report/corpus_sections.h"

#include "base/hash.h"
#include "pipeline/build/facts.h"

#include <inttypes.h>
#include <string.h>

#define SOURCES_SHOWN 50u

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void put_tiles(struct buf *page, const struct corpus_report *report)
{
    const struct manifest *m = &report->manifest;
    uint64_t samples = 0, tokens = 0, places = 0, bytes = 0, source_bytes = 0;
    char figure[32], number[32];
    struct buf small = {0};
    for (size_t i = 0; i < m->length_count; i++) {
        const struct manifest_length *length = &m->lengths[i];
        samples += length->samples;
        tokens += length->tokens;
        places += length->samples * length->seq;
        bytes += manifest_length_bytes(m, length);
        if (length->split == SPLIT_TRAIN && i < FIGURES_LENGTHS)
            buf_addf(&small, "%s%u", i ? ", " : "of length ", length->seq);
    }
    for (size_t i = 0; i < m->source_count; i++)
        source_bytes += m->sources[i].bytes;
    buf_add_text(page, "<dl class=\"tiles\">\n");
    html_tile(page, "Documents", format_count(m->documents, figure),
              manifest_of_pages(m) ? "kept pages, both splits" : "both splits");
    html_tile(page, "Samples", format_count(samples, figure), buf_text(&small));
    buf_reset(&small);
    buf_addf(&small, "in %s of shards", format_bytes(bytes, number));
    html_tile(page, "Tokens", format_count(tokens, figure), buf_text(&small));
    html_tile(page, "Filled", html_share(tokens, places, figure), "of the samples’ places");
    buf_reset(&small);
    buf_addf(&small, "pieces, %s, accents %s", m->cased ? "cased" : "uncased", m->accents_kept ? "kept" : "stripped");
    html_tile(page, "Vocabulary", format_count(m->vocab_size, figure), buf_text(&small));
    buf_reset(&small);
    buf_addf(&small, "%zu source%s", m->source_count, m->source_count == 1 ? "" : "s");
    html_tile(page, "Read", format_bytes(source_bytes, figure), buf_text(&small));
    buf_add_text(page, "</dl>\n");
    buf_release(&small);
}

static void put_sources(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Name", "#Bytes", "Hash", NULL};
    const struct manifest *m = &report->manifest;
    char hash[17];
    html_table(page, "Sources, as they were named when the dataset was built", columns);
    for (size_t i = 0; i < m->source_count && i < SOURCES_SHOWN; i++) {
        const char *name = build_source_name(report->build, i);
        section_row(page, name ? base_name(name) : "(name not known)");
        html_cell_count(page, m->sources[i].bytes);
        buf_addf(page, "<td><code>%s</code></td></tr>\n", hash_text(m->sources[i].hash, hash));
    }
    html_table_end(page);
    if (m->source_count > SOURCES_SHOWN)
        buf_addf(page, "<p class=\"soft\">and %zu more.</p>\n", m->source_count - SOURCES_SHOWN);
}

static void put_settings(struct buf *page, const struct manifest *m)
{
    static const char *const columns[] = {"Setting", "Value", NULL};
    enum { SHOWN = 64 };
    html_table(page, "Settings, as the manifest spells them", columns);
    for (size_t i = 0; i < m->option_count && i < SHOWN; i++) {
        section_row(page, m->options[i].name);
        buf_add_text(page, "<td>");
        html_name(page, m->options[i].value);
        buf_add_text(page, "</td></tr>\n");
    }
    html_table_end(page);
}

void section_corpus_headline(struct buf *page, const struct corpus_report *report)
{
    static const char *const pairs[] = {[PAIRS_NSP] = "next-sentence pairs",
                                        [PAIRS_SOP] = "sentence-order pairs",
                                        [PAIRS_NONE] = "one segment a sample"};
    _Static_assert(sizeof pairs / sizeof *pairs == PAIR_KINDS, "words for every kind of pairs");
    const struct manifest *m = &report->manifest;
    const char *name = base_name(build_source_name(report->build, 0));
    char hash[17];
    buf_add_text(page, "<header>\n<h1>");
    html_name(page, name ? name : "A dataset of masked-LM samples");
    if (name && m->source_count > 1)
        buf_addf(page, " and %zu more", m->source_count - 1);
    buf_addf(page,
             "</h1>\n<p class=\"soft\">A dataset for masked language models: %s, %g %% of tokens masked by %s, seed "
             "%" PRIu64 ". Root hash <code>%s</code></p>\n",
             pairs[m->pairs], m->mask_millionths / 1e4, m->masking == MASKS_TOKEN ? "piece" : "whole word", m->seed,
             hash_text(m->root_hash, hash));
    put_tiles(page, report);
    buf_addf(page, "<nav aria-label=\"Sections\"><a href=\"#funnel\">From sources to samples</a>%s",
             m->language_count > 0 ? "<a href=\"#templates\">Templates</a>" : "");
    buf_add_text(page, "<a href=\"#lengths\">Lengths</a>"
                       "<a href=\"#pieces\">Words and pieces</a><a href=\"#masks\">Masks and pairs</a>"
                       "<a href=\"#samples\">Samples</a></nav>\n"
                       "<details><summary>Sources and settings</summary>\n");
    put_sources(page, report);
    put_settings(page, m);
    buf_add_text(page, "</details>\n</header>\n");
}
