#include "pipeline/build/advice.h"

#include "base/log.h"

#include <math.h>
#include <stdio.h>

/* Fewer held-out samples say little: 100 of 128 tokens have 1,900 masked ones, so an accuracy of 50 % is known to
 * within 2.3 points (two standard deviations). */
#define SAMPLES_ENOUGH 100u

#define CHANCE_DEVIATIONS 4.0 /* further from the expected number than chance gets: one time in 15,000 */

/* True for fewer than a third, or more than three times as many as asked for, if that is no chance. */
static bool is_far(const struct counts *counts, double share)
{
    const double all = (double)counts->documents, held = (double)counts->documents_valid, expected = all * share;
    const double deviation = sqrt(expected * (1 - share));
    return (3 * held < expected || held > 3 * expected || 3 * (all - held) < all - expected) &&
           fabs(held - expected) > CHANCE_DEVIATIONS * deviation;
}

/* Any document may be decided by an id that others have too; or all go by their texts, many of which are equal. */
static void warn_far(const struct dsdata_settings *settings, const struct counts *counts,
                     const struct manifest *manifest, double share)
{
    char held[32], all[32];
    const bool by_text = strcmp(manifest_valid_by(manifest), "text") == 0;
    const struct option_change better = {by_text ? "duplicates" : "valid-by", by_text ? "drop" : "text"};
    SCOPED(mem_free_at) char *command = changed_command(settings, &better, 1, true);
    log_warn(
        "%s of %s documents are held out, %.3g %%, and --valid asks for %.3g %%: many have the same %s; better: %s",
        format_count(counts->documents_valid, held), format_count(counts->documents, all),
        100 * (double)counts->documents_valid / (double)counts->documents, 100 * share, by_text ? "text" : "id",
        command);
}

static uint64_t fewest_samples(const struct manifest *manifest, enum split split)
{
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < manifest->length_count; i++)
        if (manifest->lengths[i].split == split && manifest->lengths[i].samples < fewest)
            fewest = manifest->lengths[i].samples;
    return fewest;
}

/* The least --valid, of at most a fifth, that holds out enough samples; if there is none, the largest; 0: all hold out
 * less than twice as many documents as are held out. */
static double useful_share(const struct dsdata_settings *settings, const struct counts *counts,
                           const struct manifest *manifest)
{
    const uint64_t samples =
        fewest_samples(manifest, SPLIT_TRAIN) / settings->copies + fewest_samples(manifest, SPLIT_VALID);
    double best = 0;
    for (size_t i = 0; i < HELD_STEPS && counts_held_steps[i] <= MILLION / 5; i++) {
        const bool both = counts->held[i] > 0 && counts->held[i] < counts->documents;
        if (both && counts->held[i] >= 2 * counts->documents_valid)
            best = (double)counts_held_steps[i] / MILLION;
        if (counts->held[i] * samples >= SAMPLES_ENOUGH * counts->documents)
            break;
    }
    return best;
}

/* The value of --valid nearest to the one in force that leaves documents on both sides; 0: none. */
static double nearest_share(const struct counts *counts, bool more)
{
    double best = 0;
    for (size_t i = 0; i < HELD_STEPS; i++) {
        const size_t step = more ? i : HELD_STEPS - 1 - i;
        const bool changes =
            more ? counts->held[step] > counts->documents_valid : counts->held[step] < counts->documents_valid;
        if (best == 0 && changes && counts->held[step] > 0 && counts->held[step] < counts->documents)
            best = (double)counts_held_steps[step] / MILLION;
    }
    return best;
}

static void warn_empty(const struct dsdata_settings *settings, const struct counts *counts,
                       const struct manifest *manifest, enum split empty, double share)
{
    char held[32], all[56], value[32];
    const double useful = empty == SPLIT_VALID ? useful_share(settings, counts, manifest) : 0;
    const double better = useful > 0 ? useful : nearest_share(counts, empty == SPLIT_VALID);
    SCOPED(buf_release) struct buf line = {0};
    buf_addf(&line, "the %s split is empty: ", split_names[empty]);
    if (counts->documents_valid == 0 || counts->documents_valid == counts->documents)
        buf_addf(&line, "with --valid %g %s of %s %s held out", share, counts->documents_valid ? "all" : "none",
                 format_counted(counts->documents, "document", all), counts->documents_valid ? "are" : "is");
    else
        buf_addf(&line, "%s of %s are held out, and the %s are too few for a sample",
                 format_count(counts->documents_valid, held), format_counted(counts->documents, "document", all),
                 empty == SPLIT_VALID ? "held-out ones" : "others");
    buf_add_text(&line, empty == SPLIT_VALID ? ", so training cannot evaluate" : ", so there is nothing to train on");
    if (better > 0) {
        snprintf(value, sizeof value, "%g", better);
        SCOPED(mem_free_at) char *command = changed_command(settings, &(struct option_change){"valid", value}, 1, true);
        buf_addf(&line, "; better: %s", command);
    }
    log_warn("%s", buf_text(&line));
}

static void warn_few(const struct dsdata_settings *settings, const struct counts *counts,
                     const struct manifest *manifest)
{
    char value[32], samples[56];
    const double better = useful_share(settings, counts, manifest);
    snprintf(value, sizeof value, "%g", better);
    if (better == 0)
        return;
    SCOPED(mem_free_at) char *command = changed_command(settings, &(struct option_change){"valid", value}, 1, true);
    log_warn("the valid split has %s, too few to judge a model by; better: %s",
             format_counted(fewest_samples(manifest, SPLIT_VALID), "sample", samples), command);
}

void advice_split(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest)
{
    const double share = (double)recipe->valid / MILLION;
    if (recipe->compat == COMPAT_GOOGLE || counts->documents == 0) /* Google's program holds nothing out */
        return;
    if (is_far(counts, share))
        warn_far(settings, counts, manifest, share);
    else if (fewest_samples(manifest, SPLIT_TRAIN) == 0)
        warn_empty(settings, counts, manifest, SPLIT_TRAIN, share);
    else if (recipe->valid > 0 && fewest_samples(manifest, SPLIT_VALID) == 0)
        warn_empty(settings, counts, manifest, SPLIT_VALID, share);
    else if (recipe->valid > 0 && fewest_samples(manifest, SPLIT_VALID) < SAMPLES_ENOUGH)
        warn_few(settings, counts, manifest);
}

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
    log_warn("%.0f %% of the pairs have a random second segment, because %s: predicting the next sentence teaches "
             "nothing here; better: %s",
             100.0 * (double)random / (double)pairs,
             random > pairs / 2 ? "documents are so short" : "a file has so few documents", command);
}
