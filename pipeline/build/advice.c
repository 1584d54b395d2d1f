#include "pipeline/build/advice.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/random.h"
#include "base/scoped.h"
#include "pipeline/parts/changed_command.h"

#include <string.h>

#define DOCUMENTS_MIN 20u /* with fewer documents, the beginnings of inputs prove nothing */
#define PAIRS_MIN     50u

#define UNKNOWN_PERCENT_MAX 5.0 /* of pieces; a vocabulary of the same language and case gives below 1 */

/* The command of this one for documents that are too short for pairs. */
static char *packed_command(const struct dsdata_settings *settings)
{
    return changed_command(settings, (struct option_change[]){{"pairs", "none"}, {"pack", NULL}}, 2, true);
}

static bool pairs_have_labels(const struct dataset_recipe *recipe)
{
    return recipe->pairs == PAIRS_NSP && recipe->compat != COMPAT_GOOGLE;
}

void advice_before(const struct dsdata_settings *settings, const struct inputs *inputs,
                   const struct dataset_recipe *recipe)
{
    uint64_t documents = 0, sentences = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        documents += inputs->probes[i].documents;
        sentences += inputs->probes[i].sentences;
    }
    if (!pairs_have_labels(recipe) || documents < DOCUMENTS_MIN || 10 * sentences >= 11 * documents)
        return;
    SCOPED(mem_free_at) char *command = packed_command(settings);
    log_warn("the documents seem to have one sentence each: no sentence has a next one to predict; better: %s",
             command);
}

static bool is_padding(const struct manifest_length *length)
{
    return length->split == SPLIT_TRAIN && length->samples >= PAIRS_MIN && manifest_filled(length) < MILLION / 2;
}

/* The lengths that are not mostly padding; if there is none, the power of two that a sample fits on average. */
static void better_lengths(const struct manifest *manifest, struct buf *out)
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        const uint64_t mean = length->samples ? length->tokens / length->samples : 0;
        if (length->split == SPLIT_TRAIN && !is_padding(length))
            buf_addf(out, "%s%u", out->size ? "," : "", length->seq);
        tokens = length->split == SPLIT_TRAIN && mean > tokens ? mean : tokens;
    }
    uint32_t seq = 16; /* the least that --seq takes */
    while (seq <= tokens)
        seq *= 2;
    if (out->size == 0)
        buf_addf(out, "%u", seq);
}

/* Warns about lengths whose samples are less than half full. */
static void advise_packing(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                           const struct manifest *manifest)
{
    SCOPED(buf_release) struct buf lengths = {0}, better = {0};
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        if (is_padding(length))
            buf_addf(&lengths, "%sseq%u %.0f %%", lengths.size ? ", " : "", length->seq, manifest_filled(length) / 1e4);
    }
    if (lengths.size > 0 && !recipe->packed && recipe->compat != COMPAT_GOOGLE) {
        SCOPED(mem_free_at) char *command = packed_command(settings);
        better_lengths(manifest, &better);
        log_warn("the documents are so short that most of a sample is padding (filled: %s); better lengths of %s "
                 "(--seq), or: %s",
                 buf_text(&lengths), buf_text(&better), command);
    }
}

/* A vocabulary for another language, or of other case, turns words into [UNK]. */
static void advise_vocabulary(const struct dataset_recipe *recipe, const struct counts *counts)
{
    const double percent = counts->pieces ? 100.0 * (double)counts->unknown / (double)counts->pieces : 0;
    if (percent < UNKNOWN_PERCENT_MAX)
        return;
    log_warn("%.0f %% of the pieces are [UNK]: the vocabulary does not fit this text%s", percent,
             recipe->learned ? ""
             : recipe->cased ? "; is it uncased? then leave out --cased"
                             : "; is it of another language, or cased (--cased)?");
}

void advice_after(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest)
{
    advise_vocabulary(recipe, counts);
    uint64_t pairs = 0;
    for (size_t set = 0; set < SETS_MAX; set++)
        pairs += counts->samples[set];
    const uint64_t random = counts->pairs_random;
    if (!pairs_have_labels(recipe) || pairs < PAIRS_MIN || (10 * random <= 9 * pairs && 20 * random >= pairs)) {
        advise_packing(settings, recipe, manifest);
        return;
    }
    SCOPED(mem_free_at) char *command = packed_command(settings);
    if (random > pairs / 2)
        log_warn(
            "%.0f %% of the pairs have a random second segment, because documents are so short: predicting the next "
            "sentence teaches nothing here; better: %s",
            100.0 * (double)random / (double)pairs, command);
    else
        log_warn(
            "%.0f %% of the pairs have a random second segment, because a file has so few documents: predicting the "
            "next sentence teaches nothing here; better: %s",
            100.0 * (double)random / (double)pairs, command);
}
