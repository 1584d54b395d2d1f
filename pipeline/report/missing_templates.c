/* The templates that had no rendering: the lists to work from with --templates. Those inside sentences come first; most
 * of the others are boxes. */
#include "pipeline/report/corpus_sections.h"
#include "pipeline/build/facts.h"

#define LANGUAGES_SHOWN 40

/* A table of the names under a key of build.json. */
static void put_names(struct buf *page, const struct corpus_report *report, const char *key, const char *caption,
                      const char *const *columns, uint64_t all)
{
    struct build_template row, first;
    if (!build_name(report->build, key, 0, &first))
        return;
    html_table(page, caption, columns);
    for (size_t i = 0; build_name(report->build, key, i, &row); i++) {
        section_row(page, row.name);
        html_cell_count(page, row.count);
        html_cell_share(page, row.count, all);
        html_cell_bar(page, row.count, first.count);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

static void add_holes(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Template", "#Holes", "#Share", "", NULL};
    const struct manifest_language all = manifest_holes(&report->manifest);
    char count[32];
    buf_addf(page, "<p>%s of them stood in a sentence, with words before and after them: %.0f holes per MB of text",
             format_count(all.holes, count), manifest_holes_per_mb(&all));
    for (size_t i = 0; i < report->manifest.language_count && i < LANGUAGES_SHOWN; i++) {
        const struct manifest_language *language = &report->manifest.languages[i];
        buf_add_text(page, i ? ", " : " (");
        html_name(page, language->name[0] ? language->name : "no language");
        buf_addf(page, " %.0f", manifest_holes_per_mb(language));
    }
    buf_addf(page, "%s.</p>\n", report->manifest.language_count > 0 ? ")" : "");
    put_names(page, report, "holes", "Templates by the holes that they left", columns, all.holes);
}

/* What was kept of templates without a rendering: the list in which to look for notes. */
static void add_sentences(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Template", "#Sentences", "#Share", "", NULL};
    const uint64_t sentences = report->manifest.unknown.sentences;
    char count[32];
    if (sentences == 0)
        return;
    buf_addf(
        page,
        "<p>%s others have one argument that is a sentence, which was kept: a line <code>name&#160;=</code> in that "
        "file drops it.</p>\n",
        format_count(sentences, count));
    put_names(page, report, "sentences", "Templates by the sentences that were kept", columns, sentences);
}

static void add_leaks(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Template or page", "#Leaks", "#Share", "", NULL};
    const uint64_t leaks = report->manifest.leaks;
    char count[32];
    if (leaks == 0)
        return;
    buf_addf(page,
             "<p>%s leaks: strings with the form of markup that nothing accounts for. They are not in the text, except "
             "&lt;name&gt; alone.</p>\n",
             format_count(leaks, count));
    put_names(page, report, "leaks", "Where the leaks were", columns, leaks);
}

void section_templates(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Template", "#Times", "#Bytes", "#Share", "", NULL};
    const struct manifest *m = &report->manifest;
    char count[32], bytes[32];
    if (m->language_count == 0 && m->unknown.count == 0 && m->leaks == 0) /* no wiki is among the sources */
        return;
    html_section(page, "templates", "Templates without a rendering");
    if (m->unknown.count == 0 && m->unknown.sentences == 0) {
        buf_add_text(page, "<p>None: every template in a kept page has a rendering.</p>\n");
        add_leaks(page, report);
        html_section_end(page);
        return;
    }
    buf_addf(page,
             "<p>%s templates in kept pages, %s of wikitext, have no rendering and were left out of the text. A file "
             "for <code>dsdata build --templates</code> can render them: "
             "<code>name&#160;=&#160;$1&#160;($2)</code> a "
             "line.</p>\n",
             format_count(m->unknown.count, count), format_bytes(m->unknown.bytes, bytes));
    add_holes(page, report);
    add_sentences(page, report);
    add_leaks(page, report);
    html_table(page, "Templates by the bytes left out for them", columns);
    struct build_template row, first = {0};
    build_template(report->build, 0, &first);
    for (size_t i = 0; build_template(report->build, i, &row); i++) {
        section_row(page, row.name);
        html_cell_count(page, row.count);
        html_cell_bytes(page, row.bytes);
        html_cell_share(page, row.bytes, m->unknown.bytes);
        html_cell_bar(page, row.bytes, first.bytes);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
    if (build_templates_missed(report->build) > 0)
        buf_addf(page, "<p class=\"soft\">The bytes of a row are at most %s too small.</p>\n",
                 format_bytes(build_templates_missed(report->build), bytes));
    html_section_end(page);
}
