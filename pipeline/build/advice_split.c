/* Warns if the held-out part is not what --valid asks for. */
#include "pipeline/build/advice.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"
#include "pipeline/parts/changed_command.h"

#include <math.h>
#include <stdio.h>

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
    char *command = changed_command(settings, &better, 1, true);
    log_warn(
        "%s of %s documents are held out, %.3g %%, and --valid asks for %.3g %%: many have the same %s; better: %s",
        format_count(counts->documents_valid, held), format_count(counts->documents, all),
        100 * (double)counts->documents_valid / (double)counts->documents, 100 * share, by_text ? "text" : "id",
        command);
    mem_free(command);
}

/* The value of --valid nearest to the one in force that leaves documents on both sides; 0: none. */
static double better_share(const struct counts *counts, bool more)
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

static bool is_empty(const struct manifest *manifest, enum split split)
{
    for (size_t i = 0; i < manifest->length_count; i++)
        if (manifest->lengths[i].split == split && manifest->lengths[i].samples == 0)
            return true;
    return false;
}

static void warn_empty(const struct dsdata_settings *settings, const struct counts *counts, enum split empty,
                       double share)
{
    char held[32], all[32], value[32];
    const double better = better_share(counts, empty == SPLIT_VALID);
    struct buf line = {0};
    buf_addf(&line, "the %s split is empty: ", split_names[empty]);
    if (counts->documents_valid == 0 || counts->documents_valid == counts->documents)
        buf_addf(&line, "with --valid %g %s of %s documents %s held out", share,
                 counts->documents_valid ? "all" : "none", format_count(counts->documents, all),
                 counts->documents_valid ? "are" : "is");
    else
        buf_addf(&line, "%s of %s documents are held out, and the %s are too few for a sample",
                 format_count(counts->documents_valid, held), format_count(counts->documents, all),
                 empty == SPLIT_VALID ? "held-out ones" : "others");
    buf_add_text(&line, empty == SPLIT_VALID ? ", so training cannot evaluate" : ", so there is nothing to train on");
    if (better > 0) {
        snprintf(value, sizeof value, "%g", better);
        char *command = changed_command(settings, &(struct option_change){"valid", value}, 1, true);
        buf_addf(&line, "; better: %s", command);
        mem_free(command);
    }
    log_warn("%s", buf_text(&line));
    buf_release(&line);
}

void advice_split(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                  const struct counts *counts, const struct manifest *manifest)
{
    const double share = (double)recipe->valid / MILLION;
    if (recipe->compat == COMPAT_GOOGLE || counts->documents == 0) /* Google's program holds nothing out */
        return;
    if (is_far(counts, share))
        warn_far(settings, counts, manifest, share);
    else if (is_empty(manifest, SPLIT_TRAIN))
        warn_empty(settings, counts, SPLIT_TRAIN, share);
    else if (is_empty(manifest, SPLIT_VALID) && recipe->valid > 0)
        warn_empty(settings, counts, SPLIT_VALID, share);
}
