/* The sections of the page in their order. They only append to the page. */
#pragma once

#include "base/error.h"
#include "base/html.h"
#include "shards/manifest.h"
#include "tokenizer/vocab.h"

#include <jansson.h>

/* Facts about a dataset that come from its samples rather than the manifest: how long they are, how words were cut,
 * where masks are. Of a length and split with up to FIGURES_SAMPLES samples, all are read; of more, FIGURES_RUNS evenly
 * spaced runs, so that the time does not grow with the dataset. Samples are in random order, so a run is a fair
 * selection. */
#define FIGURES_RUNS     128u
#define FIGURES_RUN      1024u /* samples */
#define FIGURES_SAMPLES  (FIGURES_RUNS * FIGURES_RUN)
#define FIGURES_BINS_MAX 32u
#define FIGURES_LENGTHS  32u /* entries of a manifest that are read: a build makes no more */

/* For the samples read of one length and split. Words and pieces are the originals, without [CLS] and [SEP]; a word
 * begins as tokenizer/word_starts.h says. */
struct length_figures {
    const struct manifest_length *length;
    uint64_t samples; /* read */
    uint64_t tokens;
    uint64_t pieces, words, unknown;       /* [UNK] is a word */
    uint64_t masked, hidden, kept, random; /* masked tokens: all, now [MASK], unchanged, replaced */
    uint64_t second, elsewhere;            /* samples with a segment B; those where B does not follow A */
    uint32_t bins;
    uint64_t histogram[FIGURES_BINS_MAX]; /* samples by length: figures_bin_first */
};

struct figures {
    struct length_figures *lengths; /* [count] in the manifest's order */
    size_t count;
    uint64_t pieces_seen; /* distinct pieces in the samples read */
};

/* Tokens of the shortest sample of a bin; for the bin after the last, seq + 1. */
static inline uint32_t figures_bin_first(const struct length_figures *figures, uint32_t bin)
{
    return (bin * figures->length->seq + figures->bins - 1) / figures->bins + 1;
}

/* Errors: those of dataset_open and dataset_sample; ERR_STOPPED. On error nothing is held. */
int figures_read(struct figures *figures, const char *directory, const struct manifest *manifest,
                 const struct vocab *vocab, struct error *err);
void figures_release(struct figures *figures);

/* The facts for the sections. */
struct corpus_report {
    const char *directory;
    struct manifest manifest;
    json_t *build;       /* build.json, or NULL: names of sources */
    struct vocab *vocab; /* of manifest.vocab_size pieces */
    struct figures figures;
};

void section_corpus_headline(struct buf *page, const struct corpus_report *report);
void section_funnel(struct buf *page, const struct corpus_report *report);
void section_templates(struct buf *page, const struct corpus_report *report);
void section_lengths(struct buf *page, const struct corpus_report *report);
void section_pieces(struct buf *page, const struct corpus_report *report);
void section_masks(struct buf *page, const struct corpus_report *report);
int section_samples(struct buf *page, const struct corpus_report *report, struct error *err);

/* Begin a table row with its name, which may be from a file; or "128 train". */
void section_row(struct buf *page, const char *name);
void section_row_length(struct buf *page, const struct manifest_length *length);
/* Says which samples the figures are based on: all, or a selection. */
void section_basis(struct buf *page, const struct figures *figures);
