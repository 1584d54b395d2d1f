#include "pipeline/report/corpus_report.h"

#include "base/file.h"
#include "base/hash.h"
#include "pipeline/build/facts.h"
#include "pipeline/report/corpus_sections.h"
#include "shards/dataset.h"

#include <assert.h>

static const char corpus_report_style[] =
    /* A step of the funnel is a line, a bar and what was dropped there. */
    ".funnel{list-style:none;margin:1rem 0 0;padding:0}"
    ".funnel>li{padding:0 0 1.1rem 1.1rem;border-left:2px solid var(--line);position:relative}"
    ".funnel>li:last-child{padding-bottom:0}"
    ".funnel>li::before{content:\"\";position:absolute;left:-.4rem;top:.42rem;width:.62rem;height:.62rem;"
    "border-radius:50%;background:var(--bar)}"
    ".step{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}"
    ".step b{font-weight:600}"
    ".stack{display:flex;gap:1px;height:.8rem;margin:.25rem 0;background:var(--rest);border-radius:3px;overflow:hidden}"
    ".stack i{height:100%;border-radius:0;min-width:0}"
    ".stack .second{background:var(--bar2)}.stack .third{background:var(--bar3)}.stack .drop{background:var(--drop)}"
    ".b .stack{height:.62rem;margin:0;border-radius:2px}"
    ".key{display:inline-block;width:.75em;height:.75em;border-radius:2px;background:var(--bar);margin-right:.35em}"
    ".key.second{background:var(--bar2)}.key.third{background:var(--bar3)}.key.drop{background:var(--drop)}\n";

static int gather(struct corpus_report *report, struct error *err)
{
    const struct manifest *manifest = &report->manifest;
    TRY(dataset_vocab(&report->vocab, report->directory, manifest, err));
    return figures_read(&report->figures, report->directory, manifest, report->vocab, err);
}

static void page_begin(struct buf *page, const struct corpus_report *report)
{
    char hash[17], title[64];
    snprintf(title, sizeof title, "Dataset %s", hash_text(report->manifest.root_hash, hash));
    html_page(page, title, corpus_report_style);
}

static void page_end(struct buf *page, const struct corpus_report *report)
{
    const struct manifest *m = &report->manifest;
    buf_addf(
        page,
        "<footer>\n<p>Written by <code>dsdata report</code> from the dataset's manifest and its samples; "
        "format_version %u, text_version %u. The page is no part of the dataset and may be sent alone: it holds no "
        "script and fetches nothing.</p>\n</footer>\n",
        m->format_version, m->text_version);
    html_page_end(page);
}

int corpus_report_make(struct buf *page, const char *directory, struct error *err)
{
    struct corpus_report report = {.directory = directory};
    TRY(manifest_read(&report.manifest, directory, err));
    report.build = build_memory(directory);
    int result = gather(&report, err);
    if (result == 0) {
        page_begin(page, &report);
        section_corpus_headline(page, &report);
        buf_add_text(page, "<main>\n");
        section_funnel(page, &report);
        section_templates(page, &report);
        section_lengths(page, &report);
        section_pieces(page, &report);
        section_masks(page, &report);
        result = section_samples(page, &report, err);
        buf_add_text(page, "</main>\n");
        page_end(page, &report);
        assert(result < 0 || page->size <= REPORT_BYTES_MAX);
    }
    figures_release(&report.figures);
    vocab_close(report.vocab);
    json_decref(report.build);
    manifest_release(&report.manifest);
    return result;
}
