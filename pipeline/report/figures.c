#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/report/corpus_sections.h"
#include "shards/dataset.h"
#include "shards/masking.h"

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
                 "<p>A word begins where the tokenizer cuts text before it cuts words into pieces; masked places count "
                 "as what stood there, <code>[CLS]</code> and <code>[SEP]</code> do not count.</p>\n");
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

struct pieces {
    struct word_starts *words;
    uint64_t *seen; /* a bit per piece */
    const struct special_ids *special;
};

static void count_masks(struct length_figures *figures, const struct special_ids *special, const struct sample *sample)
{
    for (uint32_t i = 0; i < sample->masked; i++) {
        const uint32_t id = sample->ids[sample->positions[i]];
        figures->hidden += id == special->mask;
        figures->kept += id != special->mask && id == sample->labels[i];
        figures->random += id != special->mask && id != sample->labels[i];
    }
    figures->masked += sample->masked;
}

/* Counts a sample whose masks were removed. */
static void count_pieces(struct length_figures *figures, const struct pieces *pieces, const struct sample *sample)
{
    bool starts[SHARD_SEQ_MAX];
    word_starts_mark(pieces->words, sample->ids, sample->length, starts);
    for (uint32_t i = 0; i < sample->length; i++) {
        const uint32_t id = sample->ids[i];
        if (id == pieces->special->cls || id == pieces->special->sep)
            continue;
        figures->pieces++;
        figures->words += starts[i];
        figures->unknown += id == pieces->special->unk;
        pieces->seen[id / 64] |= (uint64_t)1 << (id % 64);
    }
}

static void count_sample(struct length_figures *figures, const struct pieces *pieces, struct sample *sample)
{
    figures->samples++;
    figures->tokens += sample->length;
    figures->histogram[(sample->length - 1) * figures->bins / figures->length->seq]++;
    if (sample->a_length < sample->length) {
        figures->second++;
        figures->elsewhere += sample->is_random_next;
    }
    count_masks(figures, pieces->special, sample);
    mask_restore(sample);
    count_pieces(figures, pieces, sample);
}

static int read_run(const struct dataset *dataset, uint64_t from, uint64_t count, struct length_figures *figures,
                    const struct pieces *pieces, struct error *err)
{
    SCOPED(sample_release) struct sample sample = sample_make(&dataset->layout);
    if (stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request; no files were left");
    for (uint64_t i = from; i < from + count; i++) {
        TRY(dataset_sample(dataset, i, &sample, err));
        count_sample(figures, pieces, &sample);
    }
    return 0;
}

static int read_length(const char *directory, struct length_figures *figures, const struct pieces *pieces,
                       struct error *err)
{
    SCOPED(dataset_close) struct dataset dataset = {0};
    const uint64_t samples = figures->length->samples;
    const uint64_t runs = samples > FIGURES_SAMPLES ? FIGURES_RUNS : (samples + FIGURES_RUN - 1) / FIGURES_RUN;
    TRY(dataset_open(&dataset, directory, figures->length->seq, figures->length->split, err));
    for (uint64_t run = 0; run < runs; run++) {
        const uint64_t from =
            samples > FIGURES_SAMPLES ? run * ((samples - FIGURES_RUN) / (FIGURES_RUNS - 1)) : run * FIGURES_RUN;
        const uint64_t left = samples - from;
        TRY(read_run(&dataset, from, left < FIGURES_RUN ? left : FIGURES_RUN, figures, pieces, err));
    }
    return 0;
}

int figures_read(struct figures *figures, const char *directory, const struct manifest *manifest,
                 const struct vocab *vocab, struct error *err)
{
    const size_t words = vocab->count / 64 + 1;
    struct pieces pieces = {word_starts_open(vocab), mem_clear(words, sizeof(uint64_t)), &manifest->special};
    int result = 0;
    figures->count = manifest->length_count < FIGURES_LENGTHS ? manifest->length_count : FIGURES_LENGTHS;
    figures->lengths = mem_clear(figures->count, sizeof *figures->lengths);
    figures->pieces_seen = 0;
    for (size_t i = 0; i < figures->count && result == 0; i++) {
        struct length_figures *of = &figures->lengths[i];
        of->length = &manifest->lengths[i];
        of->bins = of->length->seq < FIGURES_BINS_MAX ? of->length->seq : FIGURES_BINS_MAX;
        result = read_length(directory, of, &pieces, err);
    }
    for (size_t i = 0; i < words; i++)
        figures->pieces_seen += (uint64_t)__builtin_popcountll(pieces.seen[i]);
    word_starts_close(pieces.words);
    mem_free(pieces.seen);
    if (result < 0)
        figures_release(figures);
    return result;
}

void figures_release(struct figures *figures)
{
    mem_free(figures->lengths);
    *figures = (struct figures){0};
}
