/* The sections of the page in their order, each from its own file. They only add to the page. */
#ifndef PIPELINE_REPORT_CORPUS_SECTIONS_H
#define PIPELINE_REPORT_CORPUS_SECTIONS_H

#include "base/error.h"
#include "base/html.h"
#include "pipeline/report/figures.h"

#include <jansson.h>

/* What there is to tell of. */
struct corpus_report {
    const char *directory;
    struct manifest manifest;
    json_t *build;       /* build.json, or NULL: names of sources */
    struct vocab *vocab; /* of manifest.vocab_size pieces */
    struct figures figures;
};

extern const char corpus_report_style[]; /* CSS */

void section_corpus_headline(struct buf *page, const struct corpus_report *report);
void section_funnel(struct buf *page, const struct corpus_report *report);
void section_templates(struct buf *page, const struct corpus_report *report);
void section_lengths(struct buf *page, const struct corpus_report *report);
void section_pieces(struct buf *page, const struct corpus_report *report);
void section_masks(struct buf *page, const struct corpus_report *report);
int section_samples(struct buf *page, const struct corpus_report *report, struct error *err);

/* Begins a row of a table with its name: "128 train". */
void section_row_length(struct buf *page, const struct manifest_length *length);
/* Says what the figures rest on: all samples, or which. */
void section_basis(struct buf *page, const struct figures *figures);

#endif
