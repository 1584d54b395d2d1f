/* Masks and pairs as they are, compared with what the rules ask for. */
#include "pipeline/report/corpus_sections.h"

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
