#include "pipeline/build/vocabulary.h"

#include "base/text_lines.h"
#include "base/log.h"
#include "base/progress.h"
#include "pipeline/build/repeats.h"
#include "pipeline/input/feed.h"
#include "pipeline/pairs/documents.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHOICE_KEY 0x766f636162ull /* names the permutation that picks windows; never change it */

/* Bounds of the tables; a table that reaches its bound forgets its rarest words. They are constants, not shares of
 * --memory, because they change bytes. 256 windows of English hold about 2 million distinct words, 80 MB. */
#define WINDOW_WORDS_BYTES (24u << 20)
#define WORDS_BYTES        (96u << 20)
#define HELD_OUT_BYTES     (8u << 20) /* of held-out pages, of a window or of all */
#define LEARN_BYTES        (96u << 20)

#define HELD_OUT 20000u /* millionths of the pages */

/* Scratch of one thread. */
struct counter {
    struct article_reader *reader;
    struct tokenizer_state *tokenizer;
    struct sentences sentences;
};

struct learning {
    struct feed feed; /* first: see feed.h */
    const struct inputs *inputs;
    enum vocab_kind kind;
    struct place *choices; /* windows to count */
    size_t choice_count;
    struct tokenizer *tokenizer;
    struct word_counts *words, *held_out; /* of all jobs so far, added in job order */
    struct vocabulary_facts *facts;
    unsigned stages; /* of the build that follows, from all windows; 0: none does */
    struct progress progress;
};

struct job {
    struct feed_job feed; /* first */
    struct word_counts *words, *held_out;
    uint64_t pages, pages_held_out, running_words;
};

/* The counting of one page's words. */
struct counting {
    struct word_counts *into;
    uint64_t words;
};

static void count_word(void *context, struct str word)
{
    struct counting *counting = context;
    word_counts_add(counting->into, word, 1);
    counting->words++;
}

/* Words of a byte-level BPE begin with the blank before them, so sentences are not taken out of their lines. */
static void lines_of(struct str text, struct sentences *out)
{
    out->count = 0;
    for (struct str line; str_line(&text, &line);)
        sentences_add(out, line);
}

static void count_article(const struct learning *learning, struct counter *counter,
                          const struct article_options *options, const struct article *article, struct job *job)
{
    const bool held_out = document_is_held_out(article->held_by, HELD_OUT);
    struct counting counting = {.into = held_out ? job->held_out : job->words};
    if (learning->kind == VOCAB_BPE_BYTES)
        lines_of(article->text, &counter->sentences);
    else
        article_sentences(options, article, &counter->sentences);
    for (size_t i = 0; i < counter->sentences.count; i++)
        tokenizer_words(counter->tokenizer, counter->sentences.items[i], count_word, &counting);
    job->running_words += counting.words;
    job->pages++;
    job->pages_held_out += held_out;
}

static void count_window(const void *context, void *worker, void *slot)
{
    const struct learning *learning = context;
    struct counter *counter = worker;
    struct job *job = slot;
    if (!job->words) {
        job->words = word_counts_open(WINDOW_WORDS_BYTES);
        job->held_out = word_counts_open(HELD_OUT_BYTES);
    }
    word_counts_reset(job->words);
    word_counts_reset(job->held_out);
    job->pages = job->pages_held_out = job->running_words = 0;

    struct group *group = &job->feed.group;
    const struct article_options *options = &learning->inputs->articles[job->feed.file];
    for (size_t i = 0; i < group->record_count; i++) {
        struct article article;
        article_read(counter->reader, options, group, i, &article);
        if (article.fate == PAGE_KEPT)
            count_article(learning, counter, options, &article, job);
    }
}

#define BUILD_OVER_LEARNING 0.8 /* time per window, measured */

static void show_progress(struct learning *learning)
{
    const double share = (double)learning->facts->windows / (double)learning->choice_count;
    char stage[16] = "", pages[32];
    if (learning->stages > 0) {
        snprintf(stage, sizeof stage, "1/%u ", learning->stages);
        const double whole = (clock_now() - learning->progress.started) / share;
        const uint64_t windows = inputs_windows(learning->inputs);
        learning->progress.after = BUILD_OVER_LEARNING * whole * (double)windows / (double)learning->choice_count;
    }
    progress_show(&learning->progress, share, "%slearning the vocabulary  %s %s", stage,
                  format_count(learning->facts->pages, pages), learning->facts->of_pages ? "pages" : "documents");
}

static int gather(void *context, void *slot, struct error *err)
{
    struct learning *learning = context;
    struct job *job = slot;
    (void)err;
    word_counts_merge(learning->words, job->words);
    word_counts_merge(learning->held_out, job->held_out);
    learning->facts->windows++;
    assert(learning->facts->windows <= learning->choice_count);
    learning->facts->pages += job->pages;
    learning->facts->pages_held_out += job->pages_held_out;
    learning->facts->words += job->running_words;
    if (progress_due(&learning->progress))
        show_progress(learning);
    return BELT_NEXT;
}

static void release_job(void *slot)
{
    struct job *job = slot;
    feed_job_release(&job->feed);
    word_counts_close(job->words);
    word_counts_close(job->held_out);
}

static void *open_counter(const void *options)
{
    struct counter *counter = mem_clear(1, sizeof *counter);
    counter->reader = article_open();
    counter->tokenizer = tokenizer_state_open(options);
    return counter;
}

static void close_counter(void *worker)
{
    struct counter *counter = worker;
    article_close(counter->reader);
    tokenizer_state_close(counter->tokenizer);
    sentences_release(&counter->sentences);
    mem_free(counter);
}

static int by_place(const void *left, const void *right)
{
    return place_compare(*(const struct place *)left, *(const struct place *)right);
}

/* Chooses up to VOCABULARY_WINDOWS_MAX of all windows, in their order. */
static void choose_windows(struct learning *learning)
{
    const struct inputs *inputs = learning->inputs;
    const uint64_t windows = inputs_windows(inputs);
    learning->choice_count = windows < VOCABULARY_WINDOWS_MAX ? (size_t)windows : VOCABULARY_WINDOWS_MAX;
    learning->choices = mem_array(learning->choice_count, sizeof *learning->choices);
    for (size_t i = 0; i < learning->choice_count; i++)
        learning->choices[i] = inputs_place(inputs, permute(i, windows, CHOICE_KEY));
    qsort(learning->choices, learning->choice_count, sizeof *learning->choices, by_place);
    for (size_t i = 1; i < learning->choice_count; i++) /* each once: it is a permutation's beginning */
        assert(place_compare(learning->choices[i - 1], learning->choices[i]) < 0);
}

static int count_words(struct learning *learning, const struct resource_plan *plan, struct error *err)
{
    const struct feed_work work = {.work_name = "count",
                                   .end_name = "gather",
                                   .work = count_window,
                                   .end = gather,
                                   .job_size = sizeof(struct job),
                                   .job_release = release_job,
                                   .worker_open = open_counter,
                                   .worker_close = close_counter,
                                   .worker_options = learning->tokenizer};
    learning->feed.chosen = learning->choices;
    learning->feed.chosen_count = learning->choice_count;
    feed_open(&learning->feed, &work);
    progress_open(&learning->progress);
    const int result = feed_run(&learning->feed, plan->depth, plan->threads, NULL, err);
    progress_close(&learning->progress);
    feed_close(&learning->feed);
    if (result == 0 && stop_requested())
        return fail(err, ERR_STOPPED, "stopped on request");
    return result;
}

uint32_t vocabulary_size_for(uint64_t words)
{
    const uint64_t hundreds = (uint64_t)(12 * sqrt((double)words) / 100);
    return 100 * (uint32_t)(hundreds < 5 ? 5 : hundreds > 305 ? 305 : hundreds);
}

bool vocabulary_warn_size(const struct dataset_recipe *recipe, const struct vocabulary_facts *facts)
{
    char words[56], size[32];
    const uint32_t wanted = vocabulary_size_for(facts->words);
    if (facts->words == 0 || recipe->vocab_size <= 2 * wanted)
        return false;
    log_warn("a text of %s is small for a vocabulary of %s pieces: better --vocab-size %u, or auto",
             format_counted(facts->words, "word", words), format_count(recipe->vocab_size, size), wanted);
    return true;
}

/* Whether learning needs all pages: all words of so little text fit into the vocabulary, or the held-out pages are a
 * large share of so few. */
static bool is_scarce(const struct learning *learning, uint32_t vocab_size)
{
    const size_t held_out = word_counts_size(learning->held_out), all = word_counts_size(learning->words);
    size_t words = 0;
    for (size_t i = 0; i < all && words < vocab_size; i++) {
        uint64_t n;
        word_counts_word(learning->words, i, &n);
        words += n >= LEARN_COUNT_MIN;
    }
    return words < vocab_size || held_out > all / 2;
}

/* Learns from the words counted, judges on the held-out pages and, if text is scarce, learns again from all pages. */
static int learn(struct learning *learning, const struct dataset_recipe *recipe, bool judge, struct vocab **vocab,
                 struct error *err)
{
    struct vocabulary_facts *facts = learning->facts;
    const struct tokenizer_options words = dataset_recipe_words(recipe);
    const uint32_t vocab_size = recipe->vocab_size ? recipe->vocab_size : vocabulary_size_for(facts->words);
    TRY(learn_check_room(recipe->kind, vocab_size, recipe->unused, err));
    const struct learn_options options = {.kind = recipe->kind,
                                          .names = recipe->names,
                                          .algorithm = recipe->algo,
                                          .vocab_size = vocab_size,
                                          .unused = recipe->unused,
                                          .min_frequency = recipe->min_frequency,
                                          .limit_alphabet = recipe->limit_alphabet,
                                          .profile = recipe->profile,
                                          .bytes_max = LEARN_BYTES};
    facts->scarce = is_scarce(learning, vocab_size);
    facts->forgotten = word_counts_forgotten(learning->words) + word_counts_forgotten(learning->held_out);
    if (!facts->scarce || (judge && word_counts_size(learning->held_out) && word_counts_size(learning->words))) {
        TRY(vocab_learn(learning->words, &options, vocab, &facts->learned, err));
        if (judge)
            coverage_measure(*vocab, &words, learning->held_out, &facts->held_out);
    }
    if (facts->scarce) {
        vocab_close(*vocab);
        *vocab = NULL;
        word_counts_merge(learning->words, learning->held_out);
        TRY(vocab_learn(learning->words, &options, vocab, &facts->learned, err));
    }
    if (judge)
        coverage_measure(*vocab, &words, learning->words, &facts->text);
    return 0;
}

/* `places`: NULL, to choose windows of all inputs. */
static int learn_windows(const struct inputs *inputs, struct place *places, size_t count,
                         const struct dataset_recipe *recipe, const struct resource_plan *plan, bool judge,
                         struct vocab **vocab, struct vocabulary_facts *facts, struct error *err)
{
    *facts = (struct vocabulary_facts){.of_pages = inputs_of_pages(inputs)};
    const struct tokenizer_options words = dataset_recipe_words(recipe);
    struct vocab *bytes = recipe->kind == VOCAB_BPE_BYTES ? vocab_of_bytes(recipe->names) : NULL;
    struct learning learning = {.kind = recipe->kind,
                                .feed = feed_whole(inputs, recipe->limit),
                                .inputs = inputs,
                                .choices = places,
                                .choice_count = count,
                                .facts = facts,
                                .stages = judge ? 0 : 3u + repeats_wanted(recipe),
                                .tokenizer = tokenizer_open(bytes, &words),
                                .words = word_counts_open(WORDS_BYTES),
                                .held_out = word_counts_open(HELD_OUT_BYTES)};
    vocab_close(bytes);
    *vocab = NULL;
    int result = 0;
    if (!places) {
        result = inputs_measure(inputs, err);
        if (result == 0)
            choose_windows(&learning);
    }
    if (result == 0)
        result = count_words(&learning, plan, err);
    if (result == 0)
        result = learn(&learning, recipe, judge, vocab, err);
    word_counts_close(learning.words);
    word_counts_close(learning.held_out);
    if (!places)
        mem_free(learning.choices);
    tokenizer_close(learning.tokenizer);
    return result;
}

int vocabulary_learn_from(const struct inputs *inputs, struct place *places, size_t count,
                          const struct dataset_recipe *recipe, const struct resource_plan *plan, struct vocab **vocab,
                          struct vocabulary_facts *facts, struct error *err)
{
    return learn_windows(inputs, places, count, recipe, plan, false, vocab, facts, err);
}

int vocabulary_learn(const struct inputs *inputs, const struct dataset_recipe *recipe, const struct resource_plan *plan,
                     bool judge, struct vocab **vocab, struct vocabulary_facts *facts, struct error *err)
{
    return learn_windows(inputs, NULL, 0, recipe, plan, judge, vocab, facts, err);
}
