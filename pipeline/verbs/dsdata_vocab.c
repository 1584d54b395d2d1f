/* dsdata vocab: learns a vocabulary from inputs and writes it to standard output or a file. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/input/spool.h"
#include "pipeline/build/template_pass.h"
#include "pipeline/verbs/dsdata_vocab_check.h"
#include "pipeline/verbs/output_file.h"
#include "pipeline/build/vocabulary.h"
#include "tokenizer/bpe_write.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char bpe_config[] = "tokenizer_config.json";

static bool is_bpe_file(const char *name)
{
    return strcmp(name, "tokenizer.json") == 0 || strcmp(name, bpe_config) == 0;
}

static const struct target_form bpe_form = {"{\n  \"made_by\": \"dsdata vocab\"", NULL};

static struct target_folder bpe_folder(const struct dsdata_settings *settings)
{
    return (struct target_folder){
        .path = settings->out, .ours = is_bpe_file, .forms = &bpe_form, .form_count = 1, .key = bpe_config};
}

static int write_in(const char *directory, const char *name, const struct buf *content, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    return file_write_all(path, content->data, content->size, err);
}

static int write_bpe(const struct dsdata_settings *settings, const struct vocab *vocab, struct error *err)
{
    struct target_folder folder = bpe_folder(settings);
    SCOPED(buf_release) struct buf tokenizer = {0}, config = {0};
    TRY(target_folder_open(&folder, err));
    bpe_write_json(vocab, settings->special_names == NAMES_ROBERTA, &tokenizer);
    bpe_write_config(vocab, &config);
    if (write_in(settings->out, "tokenizer.json", &tokenizer, err) == 0 &&
        write_in(settings->out, bpe_config, &config, err) == 0 && target_folder_done(&folder, err) == 0)
        return 0;
    target_folder_undo(&folder);
    return -1;
}

static int check_output(const struct dsdata_settings *settings, struct error *err)
{
    if (!settings_out(settings))
        return fail(err, ERR_USAGE, "--kind bpe-bytes writes a directory: name it with --out");
    const struct target_folder folder = bpe_folder(settings);
    return target_folder_check(&folder, err);
}

static int write_vocab(const struct dsdata_settings *settings, const struct vocab *vocab, struct error *err)
{
    if (vocab->kind == VOCAB_BPE_BYTES)
        return write_bpe(settings, vocab, err);
    if (settings_out(settings))
        return vocab_write(vocab, settings->out, err);
    return output_write((struct str){vocab->text, vocab->text_bytes}, err);
}

static const char *algo_name(const struct dsdata_settings *settings)
{
    return settings->kind == VOCAB_BPE_BYTES ? "bpe-bytes" : learn_names[settings->algo];
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Reports the letters that did not fit into the alphabet, naming the most frequent. */
static void tell_alphabet(const struct dsdata_settings *settings, const struct vocabulary_facts *facts)
{
    const struct learn_report *learned = &facts->learned;
    if (settings->kind == VOCAB_BPE_BYTES)
        return;
    if (learned->letters_left_out == 0) {
        log_say("alphabet   %u letters, none left out", learned->letters);
        return;
    }
    SCOPED(buf_release) struct buf names = {0};
    for (size_t i = 0; i < LETTERS_NAMED && i < learned->letters_left_out; i++)
        buf_addf(&names, "%sU+%04X %llu times", i ? ", " : "", learned->left_out[i].code_point,
                 (unsigned long long)learned->left_out[i].count);
    log_say("alphabet   %u letters; left out %llu rarer ones, %.4f %% of the text: %s%s", learned->letters,
            (unsigned long long)learned->letters_left_out, 100 * share(facts->text.foreign, facts->text.letters),
            buf_text(&names), learned->letters_left_out > LETTERS_NAMED ? " …" : "");
}

static void tell_coverage(const char *name, const struct coverage *coverage)
{
    log_say("%s %.4f pieces per word, %.4f %% [UNK], %.2f %% of the words are one piece, %.4f %% of the letters known",
            name, share(coverage->pieces, coverage->words), 100 * share(coverage->unknown, coverage->words),
            100 * share(coverage->whole, coverage->words),
            100 * share(coverage->letters - coverage->foreign, coverage->letters));
}

static void tell(const struct dsdata_settings *settings, const struct dataset_recipe *recipe, const struct vocab *vocab,
                 const struct vocabulary_facts *facts)
{
    char count[32], pages[56], words[56], windows[56];
    const char *record = facts->of_pages ? "page" : "document";
    const bool bytes = vocab->kind == VOCAB_BPE_BYTES;
    log_say("learned    %s pieces (%s, threshold %llu) from %s of %s in %s", format_count(vocab->count, count),
            algo_name(settings), (unsigned long long)facts->learned.threshold,
            format_counted(facts->words, "word", words), format_counted(facts->pages, record, pages),
            format_counted(facts->windows, "window", windows));
    if (facts->forgotten > 0)
        log_say("%s of these words, the rarest, did not fit and were left out", format_count(facts->forgotten, words));
    if (facts->learned.words_left_out > 0)
        log_say("%s distinct words were left out: rarer letters, over 100 letters, or no room",
                format_count(facts->learned.words_left_out, words));
    tell_alphabet(settings, facts);
    tell_coverage("text      ", &facts->text);
    if (facts->held_out.words > 0) {
        tell_coverage("held out  ", &facts->held_out);
        log_say("           (%s of %s that were not learned from%s)",
                format_counted(facts->held_out.words, "word", words),
                format_counted(facts->pages_held_out, record, pages),
                facts->scarce ? "; text is scarce, so they were afterwards" : "");
    } else {
        log_say("held out   nothing: the text is too short, all of it is learned from");
    }
    if (settings_out(settings))
        vocab_say_next(settings, settings->out, !bytes && recipe->cased, bytes || recipe->strip_accents);
    if (!vocabulary_warn_size(recipe, facts) && vocab->count < settings->vocab_size)
        log_warn("the text gives only %s pieces, not %s", format_count(vocab->count, count),
                 format_count(settings->vocab_size, words));
}

static json_t *coverage_json(const struct coverage *c)
{
    return json_pack("{sI sI sI sf sf sf sf}", "words", (json_int_t)c->words, "pieces", (json_int_t)c->pieces,
                     "unknown", (json_int_t)c->unknown, "pieces_per_word", share(c->pieces, c->words), "unk_rate",
                     share(c->unknown, c->words), "whole_words", share(c->whole, c->words), "letters_covered",
                     share(c->letters - c->foreign, c->letters));
}

static void print_json(const struct dsdata_settings *settings, const struct vocab *vocab,
                       const struct vocabulary_facts *facts)
{
    const struct learn_report *learned = &facts->learned;
    json_t *left_out = json_array();
    for (size_t i = 0; i < LETTERS_NAMED && i < learned->letters_left_out; i++)
        json_array_append_new(left_out, json_pack("{si sI}", "code_point", (int)learned->left_out[i].code_point,
                                                  "count", (json_int_t)learned->left_out[i].count));
    json_t *object = json_pack(
        "{si ss sI sI sI sI sb sI sI sI s{si sI so} so so}", "pieces", (int)vocab->count, "algo", algo_name(settings),
        "threshold", (json_int_t)learned->threshold, "windows", (json_int_t)facts->windows, "pages",
        (json_int_t)facts->pages, "pages_held_out", (json_int_t)facts->pages_held_out, "learned_from_held_out",
        facts->scarce, "words", (json_int_t)facts->words, "words_forgotten", (json_int_t)facts->forgotten,
        "distinct_words_left_out", (json_int_t)learned->words_left_out, "alphabet", "letters", (int)learned->letters,
        "left_out", (json_int_t)learned->letters_left_out, "most_frequent_left_out", left_out, "text",
        coverage_json(&facts->text), "held_out", facts->held_out.words ? coverage_json(&facts->held_out) : json_null());
    output_json(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

/* Stores standard input beside the vocabulary, or in the current directory. */
static int take_standard_input(struct dsdata_settings *settings, struct spool *spool, struct error *err)
{
    SCOPED(mem_free_at) char *directory = mem_copy_text(settings_out(settings) ? settings->out : "");
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[1] = '\0';
    TRY(spool_take(spool, slash ? directory : ".", err));
    settings->spool = spool->path;
    return 0;
}

/* Learns and writes the vocabulary, and says what came out. */
static int learn(const struct dsdata_settings *settings, struct inputs *inputs, struct vocab **vocab, struct error *err)
{
    struct dataset_recipe recipe;
    struct resource_plan plan;
    struct vocabulary_facts facts;
    inputs_say_guesses(inputs);
    inputs_warn(settings, inputs);
    TRY(template_pass_run(settings, inputs, err));
    dataset_recipe_make_words(settings, inputs_english(inputs), &recipe);
    TRY(resource_plan_threads(settings, inputs, &plan, err));
    TRY(vocabulary_learn(inputs, &recipe, &plan, settings->json || !settings->quiet, vocab, &facts, err));
    if (facts.pages == 0 && facts.words == 0)
        return inputs_gave_nothing(inputs, NULL, err);
    TRY(write_vocab(settings, *vocab, err));
    tell(settings, &recipe, *vocab, &facts);
    if (settings->json)
        print_json(settings, *vocab, &facts);
    return 0;
}

int dsdata_vocab(void *argument, struct opt_paths bare, struct error *err)
{
    struct dsdata_settings *settings = argument;
    if (settings->check) {
        if (bare.count || settings_named_inputs(settings) || settings->out)
            return fail(err, ERR_USAGE, "--check reads a vocabulary: it takes no inputs and no --out");
        return vocab_check(settings, err);
    }
    TRY(dataset_recipe_check_kind(settings, "kind", err));
    if (settings->kind == VOCAB_BPE_BYTES)
        TRY(check_output(settings, err));
    if (settings->json && !settings_out(settings))
        return fail(err, ERR_USAGE,
                    "--json and the vocabulary would both go to standard output: name a file with --out");
    if (settings->vocab_size)
        TRY(learn_check_room((enum vocab_kind)settings->kind, (uint32_t)settings->vocab_size,
                             (uint32_t)settings->unused, err));
    if (settings->kind == VOCAB_WORDPIECE)
        TRY(output_file_check(settings, bare, settings->out, NULL, err)); /* others begin just like ours */
    stop_on_signals();
    SCOPED(spool_release) struct spool spool = {.lock = {.fd = -1}};
    SCOPED(inputs_close) struct inputs inputs = {0};
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    if (inputs_ask_for_pipe(settings, bare)) /* windows are chosen over all of it */
        TRY(take_standard_input(settings, &spool, err));
    TRY(inputs_open(&inputs, settings, bare, err));
    return learn(settings, &inputs, &vocab, err);
}
