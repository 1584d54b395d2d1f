/* The sections of the page in their order, each in its own file. They only append to the page. */
#pragma once

#include "base/error.h"
#include "base/html.h"
#include "pipeline/report/figures.h"

#include <jansson.h>

/* The facts for the sections. */
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

/* Begins a table row with its name: "128 train". */
void section_row_length(struct buf *page, const struct manifest_length *length);
/* Says which samples the figures are based on: all, or a selection. */
void section_basis(struct buf *page, const struct figures *figures);
