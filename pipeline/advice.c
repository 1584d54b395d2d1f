#include "pipeline/advice.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"

#define DOCUMENTS_MIN 20u /* fewer at the beginning say nothing of the rest */
#define PAIRS_MIN     50u

/* The command of this build, with more options after it. Freed with mem_free. */
static char *command_with(const struct settings *settings, const char *const *options)
{
    struct buf command = {0};
    command_add(&command, "dsdata");
    for (int i = 1; i < settings->argc; i++)
        command_add(&command, settings->argv[i]);
    for (; *options; options++)
        command_add(&command, *options);
    buf_text(&command);
    return command.data;
}

static bool pairs_have_labels(const struct recipe *recipe)
{
    return recipe->pairs == PAIRS_NSP && recipe->compat != COMPAT_GOOGLE;
}

void advice_before(const struct settings *settings, const struct inputs *inputs, const struct recipe *recipe)
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

void advice_after(const struct settings *settings, const struct recipe *recipe, const struct counts *counts)
{
    static const char *const options[] = {"--pairs", "none", "--pack", "--fresh", NULL};
    uint64_t pairs = 0;
    for (size_t set = 0; set < SETS_MAX; set++)
        pairs += counts->samples[set];
    const uint64_t random = counts->pairs_random;
    if (!pairs_have_labels(recipe) || pairs < PAIRS_MIN || (10 * random <= 9 * pairs && 20 * random >= pairs))
        return;
    char *command = command_with(settings, options);
    if (random > pairs / 2)
        log_warn(
            "%.0f %% of the pairs have a random second segment, because documents are so short: predicting the next "
            "sentence teaches nothing here; better: %s",
            100.0 * (double)random / (double)pairs, command);
    else
        log_warn(
            "%.0f %% of the pairs have a random second segment, because there are so few documents: predicting the "
            "next sentence teaches nothing here; better: %s",
            100.0 * (double)random / (double)pairs, command);
    mem_free(command);
}
