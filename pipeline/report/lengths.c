/* How many samples there are, how long they are, and how full. */
#include "pipeline/report/corpus_sections.h"

#include <math.h>

static void put_masks(struct buf *page, const struct figures *figures)
{
    static const char *const columns[] = {"Length",
                                          "#Of tokens",
                                          "#<span class=\"key\"></span>[MASK]",
                                          "#<span class=\"key third\"></span>Random",
                                          "#<span class=\"key second\"></span>Kept",
                                          "",
                                          NULL};
    html_table(page, "What became of the tokens to predict", columns);
    for (size_t i = 0; i < figures->count; i++) {
        const struct length_figures *f = &figures->lengths[i];
        if (f->samples == 0)
            continue;
        section_row_length(page, f->length);
        html_cell_share(page, f->masked, f->tokens);
        html_cell_share(page, f->hidden, f->masked);
        html_cell_share(page, f->random, f->masked);
        html_cell_share(page, f->kept, f->masked);
        buf_addf(page,
                 "<td class=\"b\" aria-hidden=\"true\"><span class=\"stack\"><i style=\"width:%.2f%%\"></i>"
                 "<i class=\"third\" style=\"width:%.2f%%\"></i><i class=\"second\" style=\"width:%.2f%%\"></i></span>"
                 "</td></tr>\n",
                 html_percent(f->hidden, f->masked), html_percent(f->random, f->masked),
                 html_percent(f->kept, f->masked));
    }
    html_table_end(page);
}

static void put_pairs(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Length", "#Samples with two segments", "#Share", "", NULL};
    const struct figures *figures = &report->figures;
    html_table(page,
               report->manifest.pairs == PAIRS_SOP ? "Samples whose segments changed places: A follows B"
                                                   : "Samples whose segment B is not what follows A",
               columns);
    for (size_t i = 0; i < figures->count; i++) {
        const struct length_figures *f = &figures->lengths[i];
        if (f->second == 0)
            continue;
        section_row_length(page, f->length);
        html_cell_count(page, f->second);
        html_cell_share(page, f->elsewhere, f->second);
        html_cell_bar(page, f->elsewhere, f->second);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

void section_masks(struct buf *page, const struct corpus_report *report)
{
    html_section(page, "masks", "Masks and pairs");
    buf_addf(page,
             "<p>The rule: %g\u00A0%% of tokens are to be predicted; 80\u00A0%% of these become <code>[MASK]</code>, "
             "10\u00A0%% another "
             "piece at random, 10\u00A0%% stay as they are.</p>\n",
             report->manifest.mask_millionths / 1e4);
    put_masks(page, &report->figures);
    if (report->manifest.pairs != PAIRS_NONE)
        put_pairs(page, report);
    section_basis(page, &report->figures);
    html_section_end(page);
}

void section_row(struct buf *page, const char *name)
{
    buf_add_text(page, "<tr><th scope=\"row\">");
    html_name(page, name);
    buf_add_text(page, "</th>");
}

void section_row_length(struct buf *page, const struct manifest_length *length)
{
    buf_addf(page, "<tr><th scope=\"row\">%u %s</th>", length->seq, split_names[length->split]);
}

static void put_table(struct buf *page, const struct corpus_report *report)
{
    static const char *const columns[] = {"Length", "#Samples", "#Tokens", "#Filled", "", "#Shards", "#Bytes", NULL};
    const struct manifest *m = &report->manifest;
    html_table(page, "Samples by length and split", columns);
    for (size_t i = 0; i < report->figures.count; i++) {
        const struct manifest_length *length = &m->lengths[i];
        const uint64_t places = length->samples * length->seq;
        section_row_length(page, length);
        html_cell_count(page, length->samples);
        html_cell_count(page, length->tokens);
        html_cell_share(page, length->tokens, places);
        html_cell_bar(page, length->tokens, places);
        html_cell_count(page, length->shards);
        html_cell_bytes(page, manifest_length_bytes(m, length));
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
}

/* Bar heights grow with the square root, so that the few short samples are visible beside the many full ones. */
static void put_bars(struct buf *page, const struct length_figures *figures)
{
    const double width = 100.0 / figures->bins;
    uint64_t most = 1;
    char share[32];
    for (uint32_t bin = 0; bin < figures->bins; bin++)
        most = figures->histogram[bin] > most ? figures->histogram[bin] : most;
    buf_addf(page,
             "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Histogram of the "
             "samples of length %u, split %s, by tokens; the table below has its figures\">\n",
             figures->length->seq, split_names[figures->length->split]);
    for (uint32_t bin = 0; bin < figures->bins; bin++) {
        const double height = 100.0 * sqrt((double)figures->histogram[bin] / (double)most);
        if (figures->histogram[bin])
            buf_addf(page,
                     "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%u to %u tokens: %s"
                     "</title></rect>\n",
                     bin * width, 100.0 - height, width * 0.86, height, figures_bin_first(figures, bin),
                     figures_bin_first(figures, bin + 1) - 1,
                     html_share(figures->histogram[bin], figures->samples, share));
    }
    buf_add_text(page, "</svg>\n");
}

static void put_bins(struct buf *page, const struct length_figures *figures)
{
    static const char *const columns[] = {"Tokens", "#Samples", "#Share", NULL};
    buf_add_text(page, "<details><summary>The figures as a table</summary>\n");
    html_table(page, "Samples by their number of tokens", columns);
    for (uint32_t bin = 0; bin < figures->bins; bin++) {
        buf_addf(page, "<tr><th scope=\"row\">%u–%u</th>", figures_bin_first(figures, bin),
                 figures_bin_first(figures, bin + 1) - 1);
        html_cell_count(page, figures->histogram[bin]);
        html_cell_share(page, figures->histogram[bin], figures->samples);
        buf_add_text(page, "</tr>\n");
    }
    html_table_end(page);
    buf_add_text(page, "</details>\n");
}

static void put_histogram(struct buf *page, const struct length_figures *figures)
{
    const struct manifest_length *length = figures->length;
    char count[32];
    buf_addf(page, "<figure>\n<figcaption><b>%u %s</b> · %.1f tokens on average", length->seq,
             split_names[length->split], (double)figures->tokens / (double)figures->samples);
    if (figures->samples < length->samples)
        buf_addf(page, ", in %s samples read", format_count(figures->samples, count));
    buf_add_text(page, "</figcaption>\n");
    put_bars(page, figures);
    buf_addf(page,
             "<div class=\"axis\" aria-hidden=\"true\"><span>1</span><span>%u tokens</span><span>%u</span></div>\n",
             length->seq / 2, length->seq);
    put_bins(page, figures);
    buf_add_text(page, "</figure>\n");
}

void section_lengths(struct buf *page, const struct corpus_report *report)
{
    html_section(page, "lengths", "Lengths");
    put_table(page, report);
    buf_add_text(page, "<h3>How long the samples are</h3>\n<p class=\"soft\">Heights grow with the square root of the "
                       "number of samples, so that rare lengths can be seen beside the full ones.</p>\n"
                       "<div class=\"figures\">\n");
    for (size_t i = 0; i < report->figures.count; i++)
        if (report->figures.lengths[i].samples)
            put_histogram(page, &report->figures.lengths[i]);
    buf_add_text(page, "</div>\n");
    html_section_end(page);
}
