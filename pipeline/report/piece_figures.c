/* How the vocabulary cuts the words of the samples. */
#include "pipeline/report/corpus_sections.h"

void section_basis(struct buf *page, const struct figures *figures)
{
    uint64_t samples = 0, of = 0;
    char read[32], all[32];
    for (size_t i = 0; i < figures->count; i++) {
        samples += figures->lengths[i].samples;
        of += figures->lengths[i].length->samples;
    }
    if (samples == of)
        buf_add_text(page, "<p class=\"soft\">Counted over all samples.</p>\n");
    else
        buf_addf(page,
                 "<p class=\"soft\">Estimated from %s of the %s samples: of each length and split with more than %u, "
                 "%u evenly spaced runs of %u.</p>\n",
                 format_count(samples, read), format_count(of, all), FIGURES_SAMPLES, FIGURES_RUNS, FIGURES_RUN);
}

void section_pieces(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Length", "#Words", "#Pieces", "#Pieces per word", "#[UNK] of words", NULL};
    char seen[32], all[32], unknown[32];
    html_section(page, "pieces", "Words and pieces");
    buf_add_text(page,
                 "<p>A word is a piece that does not begin with <code>##</code>; masked places count as what stood "
                 "there, <code>[CLS]</code> and <code>[SEP]</code> do not count.</p>\n");
    html_table(page, "Words of the samples", columns);
    for (size_t i = 0; i < report->figures.count; i++) {
        const struct length_figures *f = &report->figures.lengths[i];
        if (f->words == 0)
            continue;
        section_row_length(page, f->length);
        html_cell_count(page, f->words);
        html_cell_count(page, f->pieces);
        buf_addf(page, "<td class=\"n\">%.3f</td><td class=\"n\">%s</td></tr>\n", (double)f->pieces / (double)f->words,
                 html_share(f->unknown, f->words, unknown));
    }
    html_table_end(page);
    buf_addf(page, "<p>%s of the vocabulary’s %s pieces occur.</p>\n", format_count(report->figures.pieces_seen, seen),
             format_count(report->manifest.vocab_size, all));
    section_basis(page, &report->figures);
    html_section_end(page);
}
