#include "pipeline/advice.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/random.h"

#include <string.h>

#define DOCUMENTS_MIN 20u /* with fewer documents, the beginnings of inputs prove nothing */
#define PAIRS_MIN     50u

#define UNKNOWN_PERCENT_MAX 5.0 /* of pieces; a vocabulary of the same language and case gives below 1 */

#define WORDS_MAX 24 /* of a command that is printed whole */

/* The command of this build with further options. Freed with mem_free. */
static char *command_with(const struct dsdata_settings *settings, const char *const *options)
{
    struct buf command = {0};
    const bool whole = settings->argc <= WORDS_MAX;
    if (whole)
        command_add(&command, "dsdata");
    else
        buf_add_text(&command, "the same command with");
    for (int i = 1; whole && i < settings->argc; i++)
        command_add(&command, settings->argv[i]);
    for (; *options; options++)
        command_add(&command, *options);
    buf_text(&command);
    return command.data;
}

char *advice_command(const struct dsdata_settings *settings, const char *option, const char *value, bool fresh)
{
    struct buf command = {0};
    const size_t size = strlen(option);
    const bool whole = settings->argc <= WORDS_MAX;
    buf_add_text(&command, whole ? "" : "the same command with");
    if (whole)
        command_add(&command, "dsdata");
    for (int i = 1; whole && i < settings->argc; i++) {
        const char *word = settings->argv[i];
        const bool same = strncmp(word, "--", 2) == 0 && strncmp(word + 2, option, size) == 0;
        if (same && word[2 + size] == '\0')
            i++; /* its value */
        else if (!same || word[2 + size] != '=')
            command_add(&command, word);
    }
    buf_addf(&command, " --%s %s", option, value);
    if (fresh && strcmp(settings->result->verb->name, "build") == 0 && !settings->fresh)
        buf_add_text(&command, " --fresh");
    buf_text(&command);
    return command.data;
}

static bool pairs_have_labels(const struct dataset_recipe *recipe)
{
    return recipe->pairs == PAIRS_NSP && recipe->compat != COMPAT_GOOGLE;
}

void advice_before(const struct dsdata_settings *settings, const struct inputs *inputs,
                   const struct dataset_recipe *recipe)
{
    static const char *const options[] = {"--pairs", "none", "--pack", NULL};
    uint64_t documents = 0, sentences = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        documents += inputs->looks[i].documents;
        sentences += inputs->looks[i].sentences;
    }
    if (!pairs_have_labels(recipe) || documents < DOCUMENTS_MIN || 10 * sentences >= 11 * documents)
        return;
    char *command = command_with(settings, options);
    log_warn("the documents seem to have one sentence each: no sentence has a next one to predict; better: %s",
             command);
    mem_free(command);
}

/* Warns about lengths whose samples are less than half full, which are mostly padding; packing or a shorter --seq
 * helps. */
static void advise_packing(const struct dsdata_settings *settings, const struct dataset_recipe *recipe,
                           const struct manifest *manifest)
{
    static const char *const options[] = {"--pairs", "none", "--pack", "--fresh", NULL};
    struct buf lengths = {0};
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        if (length->split == SPLIT_TRAIN && length->samples >= PAIRS_MIN && manifest_filled(length) < MILLION / 2)
            buf_addf(&lengths, "%sseq%u %.0f %%", lengths.size ? ", " : "", length->seq, manifest_filled(length) / 1e4);
    }
    if (lengths.size > 0 && !recipe->packed && recipe->compat != COMPAT_GOOGLE) {
        char *command = command_with(settings, options);
        log_warn(
            "the documents are so short that most of a sample is padding (filled: %s); better a shorter --seq, or: %s",
            buf_text(&lengths), command);
        mem_free(command);
    }
    buf_release(&lengths);
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
    static const char *const options[] = {"--pairs", "none", "--pack", "--fresh", NULL};
    uint64_t pairs = 0;
    for (size_t set = 0; set < SETS_MAX; set++)
        pairs += counts->samples[set];
    const uint64_t random = counts->pairs_random;
    if (!pairs_have_labels(recipe) || pairs < PAIRS_MIN || (10 * random <= 9 * pairs && 20 * random >= pairs)) {
        advise_packing(settings, recipe, manifest);
        return;
    }
    char *command = command_with(settings, options);
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
    mem_free(command);
}
