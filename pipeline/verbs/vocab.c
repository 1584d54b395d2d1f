/* dsdata vocab: inputs → a vocabulary on standard output or in a file. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "pipeline/settings.h"
#include "pipeline/verbs/vocab_check.h"
#include "pipeline/vocabulary.h"

#include <stdio.h>
#include <string.h>

static int write_vocab(const struct settings *settings, const struct vocab *vocab, struct error *err)
{
    if (settings->out && strcmp(settings->out, "-") != 0)
        return vocab_write(vocab, settings->out, err);
    if (fwrite(vocab->text, 1, vocab->text_bytes, stdout) != vocab->text_bytes || fflush(stdout) != 0)
        return fail_errno(err, "standard output", "cannot write");
    return 0;
}

static void tell(const struct settings *settings, const struct vocab *vocab, const struct vocabulary_facts *facts)
{
    char pages[32], words[32];
    log_say("learned %u pieces from %s words of %s pages in %llu windows", vocab->count,
            format_count(facts->words, words), format_count(facts->pages, pages), (unsigned long long)facts->windows);
    if (facts->forgotten > 0)
        log_say("%s of these words, the rarest, found no room and were left out",
                format_count(facts->forgotten, words));
    if (vocab->count < settings->vocab_size)
        log_warn("the text gives %u pieces only, %llu were asked for", vocab->count,
                 (unsigned long long)settings->vocab_size);
}

int verb_vocab(void *argument, struct opt_paths bare, struct error *err)
{
    struct settings *settings = argument;
    if (settings->check) {
        if (bare.count || settings->wiki.count || settings->text.count || settings->jsonl.count || settings->out)
            return fail(err, ERR_USAGE, "--check reads a vocabulary: it takes no inputs and no --out");
        return vocab_check(settings, err);
    }
    const bool to_file = settings->out && strcmp(settings->out, "-") != 0;
    if (settings->json && !to_file)
        return fail(err, ERR_USAGE,
                    "--json and the vocabulary would both go to standard output: name a file with --out");
    if (to_file && path_exists(settings->out) && !settings->force) {
        fail_at(err, ERR_USAGE, settings->out, ERROR_NO_OFFSET, "exists already");
        return hint(err, "choose another --out, or replace it with --force");
    }
    stop_on_signals();
    struct inputs inputs = {0};
    struct recipe recipe;
    struct plan plan;
    struct vocab *vocab = NULL;
    struct vocabulary_facts facts;
    int result = 0;
    if (inputs_ask_for_pipe(settings, bare))
        result =
            fail(err, ERR_USAGE, "standard input cannot be used here: windows of the input are read by their place");
    if (result == 0)
        result = inputs_open(&inputs, settings, bare, err);
    if (result == 0) {
        recipe_make_words(settings, inputs_english(&inputs, settings), &recipe);
        result = plan_threads(settings, &plan, err);
    }
    if (result == 0)
        result = vocabulary_learn(&inputs, &recipe, &plan, &vocab, &facts, err);
    if (result == 0)
        result = write_vocab(settings, vocab, err);
    if (result == 0)
        tell(settings, vocab, &facts);
    if (result == 0 && settings->json)
        printf("{\"pieces\": %u, \"windows\": %llu, \"pages\": %llu, \"words\": %llu}\n", vocab->count,
               (unsigned long long)facts.windows, (unsigned long long)facts.pages, (unsigned long long)facts.words);
    vocab_close(vocab);
    inputs_close(&inputs);
    return result;
}
