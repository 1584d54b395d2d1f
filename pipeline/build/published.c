#include "pipeline/build/published.h"

#include "base/file.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/vocab_check.h"

/* A typed option must agree with the files. */
static int settle(struct dsdata_settings *settings, const struct tokenizer_options *said, struct error *err)
{
    if (settings->cased && !said->cased) {
        fail_at(err, ERR_MISMATCH, settings->vocab, ERROR_NO_OFFSET,
                "--cased contradicts this tokenizer, which lowers its text");
        return hint(err, "leave --cased out, or give its vocab.txt alone");
    }
    const enum accents accents = said->strip_accents ? ACCENTS_STRIP : ACCENTS_KEEP;
    if (settings_given(settings, "accents") && settings->accents != ACCENTS_AUTO && settings->accents != (int)accents) {
        fail_at(err, ERR_MISMATCH, settings->vocab, ERROR_NO_OFFSET,
                "--accents %s contradicts this tokenizer, which %s accents", said->strip_accents ? "keep" : "strip",
                said->strip_accents ? "strips" : "keeps");
        return hint(err, "leave --accents out, or give its vocab.txt alone");
    }
    settings->cased = said->cased;
    settings->accents = (int)accents;
    settings->joined = said->joined;
    return 0;
}

int published_vocab(struct dsdata_settings *settings, struct vocab **vocab, struct error *err)
{
    struct tokenizer_facts facts;
    *vocab = NULL;
    if (tokenizer_read(&facts, settings->vocab, (enum profile)settings->profile, err) < 0)
        return path_hint_download(settings->vocab, true, err);
    const int result = facts.said ? settle(settings, &facts.words, err) : 0;
    if (result < 0)
        vocab_close(facts.vocab);
    else
        *vocab = facts.vocab;
    return result;
}

struct tokenizer_options published_words(const struct dsdata_settings *settings)
{
    const bool strip = settings->accents == ACCENTS_AUTO ? !settings->cased : settings->accents == ACCENTS_STRIP;
    return (struct tokenizer_options){.cased = settings->cased,
                                      .strip_accents = strip,
                                      .profile = (enum profile)settings->profile,
                                      .joined = settings->joined};
}

static bool fits(const struct vocab *vocab, const struct tokenizer_options *options, struct vocab_unreachable *found)
{
    vocab_unreachable(vocab, options, NULL, found);
    return (uint64_t)found->unreachable * 100 <= found->pieces;
}

int published_fits(const char *path, const struct vocab *vocab, const struct tokenizer_options *options,
                   struct error *err)
{
    static const char whole_words[] = "give its tokenizer.json, with handle_chinese_chars false, to --vocab";
    const struct {
        bool cased, strip, joined;
        const char *change;
    } choices[] = {{false, true, options->joined, "leave --cased and --accents out"},
                   {false, false, options->joined, "--accents keep"},
                   {true, false, options->joined, "--cased"},
                   {options->cased, options->strip_accents, options->profile == PROFILE_HF, whole_words}};
    struct vocab_unreachable found, other;
    if (vocab->kind != VOCAB_WORDPIECE || fits(vocab, options, &found))
        return 0;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct tokenizer_options choice = {.cased = choices[i].cased,
                                                 .strip_accents = choices[i].strip,
                                                 .profile = options->profile,
                                                 .joined = choices[i].joined};
        if (!fits(vocab, &choice, &other)) /* then it gives pieces that these options do not */
            continue;
        vocab_unreachable(vocab, options, &choice, &found);
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
                "%u of %u pieces can never come out of text that is %s with accents %s, as %.*s", found.unreachable,
                found.pieces, options->cased ? "cased" : "lowered", options->strip_accents ? "stripped" : "kept",
                (int)vocab->pieces[found.first].size, vocab->pieces[found.first].data);
        return hint(err, "this vocabulary was made with other settings: %s", choices[i].change);
    }
    return 0; /* no options would help: the pieces themselves are unusual */
}
