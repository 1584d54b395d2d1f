/* WordPiece: text to ids.
 *
 *     text ─► added tokens ─► normalised, where tokens are looked for in that ─► runs ─► remembered? ─► ids
 *             added.c         words.c                                                      └─ no ─► wordpiece.c
 *
 * Most runs of a text were seen before, so each thread remembers the ids of runs, keyed by raw
 * bytes before any normalisation (recall.h). One that is not remembered is normalised, and WordPiece cuts it.
 *
 * ASCII is cut into words and punctuation 64 bytes at a time (ascii.h); all else run by run (words.h). */
#include "tokenizer/kinds.h"

#include "tokenizer/bpe_words.h"
#include "tokenizer/normalize.h"
#include "tokenizer/recall.h"
#include "tokenizer/wordpiece.h"
#include "tokenizer/words.h"

/* A word of more code points is [UNK]. */
static const size_t word_letters_max[] = {[PROFILE_HF] = 100, [PROFILE_GOOGLE] = 200};

struct cutter {
    struct tokenizer_options options;
    struct wordpiece *wordpiece;       /* NULL without a vocabulary */
    struct added_search *raw, *normal; /* tokens that are looked for before and after normalisation */
    uint8_t *facts;                    /* for these, else NULL */
    uint32_t mask;                     /* the only special token that is looked for, or VOCAB_NONE */
};

struct cutter_state {
    const struct cutter *cutter;
    struct recall recall; /* its memory is NULL without a vocabulary */
    struct normalizer normalizer;
    struct buf word;       /* scratch */
    struct buf small_text; /* the text without capital sigmas */
    struct buf repaired, normal;
};

static void set_normalizer(const struct tokenizer_options *options, struct normalizer *normalizer)
{
    normalizer->unicode = unicode_of(options->profile);
    normalizer->lower = !options->cased;
    normalizer->strip = options->strip_accents;
}

struct normal_form {
    const struct cutter *cutter;
    struct normalizer normalizer;
    struct buf text;
};

static struct str normal_form(void *context, struct str content)
{
    struct normal_form *form = context;
    buf_reset(&form->text);
    normalize_text(&form->normalizer, form->cutter->options.joined, content, &form->text);
    return buf_str(&form->text);
}

static void open_searches(struct cutter *cutter, const struct vocab *vocab)
{
    struct normal_form form = {.cutter = cutter};
    set_normalizer(&cutter->options, &form.normalizer);
    cutter->mask = cutter->options.mask_in_text ? vocab->mask : VOCAB_NONE;
    cutter->facts = split_facts_open();
    cutter->raw = added_search_open(&vocab->added, false, cutter->facts, NULL, NULL);
    cutter->normal = added_search_open(&vocab->added, true, cutter->facts, normal_form, &form);
    normalizer_release(&form.normalizer);
    buf_release(&form.text);
}

static void *open_cutter(const struct vocab *vocab, const struct tokenizer_options *options)
{
    struct cutter *cutter = mem_clear(1, sizeof *cutter);
    cutter->options = *options;
    if (vocab)
        cutter->wordpiece = wordpiece_open(vocab, word_letters_max[options->profile]);
    if (vocab && vocab->added.count > 0)
        open_searches(cutter, vocab);
    return cutter;
}

static void close_cutter(void *model)
{
    struct cutter *cutter = model;
    wordpiece_close(cutter->wordpiece);
    added_search_close(cutter->raw);
    added_search_close(cutter->normal);
    mem_free(cutter->facts);
    mem_free(cutter);
}

static void *open_state(const void *model)
{
    const struct cutter *cutter = model;
    struct cutter_state *state = mem_clear(1, sizeof *state);
    state->cutter = cutter;
    set_normalizer(&cutter->options, &state->normalizer);
    if (cutter->wordpiece)
        recall_open(&state->recall, cutter->options.cased ? 0 : 0x20);
    return state;
}

static void close_state(void *own)
{
    struct cutter_state *state = own;
    normalizer_release(&state->normalizer);
    buf_release(&state->word);
    buf_release(&state->small_text);
    buf_release(&state->repaired);
    buf_release(&state->normal);
    recall_close(&state->recall);
    mem_free(state);
}

static void lower_ascii(struct str run, struct buf *out)
{
    buf_reset(out);
    buf_add_str(out, run);
    for (size_t i = 0; i < out->size; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] | 0x20);
}

struct pieces {
    const struct wordpiece *wordpiece;
    struct ids *out;
};

static void add_pieces(void *context, struct str word)
{
    const struct pieces *pieces = context;
    wordpiece_word(pieces->wordpiece, word, pieces->out);
}

/* The ids of a run by normalisation and WordPiece. */
static __attribute__((noinline)) void cut_run(void *context, const struct found *found, struct ids *out)
{
    struct cutter_state *state = context;
    const struct wordpiece *wordpiece = state->cutter->wordpiece;
    if (found->kind != RUN_OTHER) {
        lower_ascii(found->run, &state->word);
        wordpiece_word(wordpiece, state->cutter->options.cased ? found->run : buf_str(&state->word), out);
        return;
    }
    run_words(&state->normalizer, &state->word, found->run, add_pieces, &(struct pieces){wordpiece, out});
}

/* The text to cut into runs. Capital sigmas are lowered first: their lowercase depends on more than their run, and runs
 * are remembered. */
static struct str prepare(struct cutter_state *state, struct str text)
{
    const struct tokenizer_options *options = &state->cutter->options;
    if (options->profile != PROFILE_GOOGLE || options->cased)
        return text;
    return sigma_lower(state->normalizer.unicode, text, &state->small_text);
}

/* Records the next run of any kind. */
static struct found *find_next(const struct cutter_state *state, struct str *text, struct found *found)
{
    struct str run;
    const enum text_run_kind kind = run_next(state->normalizer.unicode, state->cutter->options.joined, text, &run);
    if (kind == RUN_END)
        return found;
    find_run_near(state->recall.memory, state->recall.fold, found, kind, run, text->data + text->size);
    return found + 1;
}

/* Records the ASCII words and punctuation in the first block of a text, up to a word that the block's end cuts; or
 * up to and including the first run of another kind. Records at most ASCII_BLOCK runs, and at least one if there is
 * any. */
static struct found *find_ascii(const struct cutter_state *state, struct str *text, struct found *found)
{
    char padded[ASCII_BLOCK + MEMORY_BYTES];
    const char *block = text->data;
    if (text->size < sizeof padded) {
        memset(padded, ' ', sizeof padded);
        memcpy(padded, text->data, text->size);
        block = padded;
    }
    const struct ascii ascii = ascii_look(block);
    const uint64_t firsts = ascii.letters & ~(ascii.letters << 1), lasts = ascii.letters & ~(ascii.letters >> 1);
    unsigned used = ascii.others ? (unsigned)__builtin_ctzll(ascii.others) : ASCII_BLOCK;
    if (used && ascii.letters >> (used - 1) & 1)
        used = 63 - (unsigned)__builtin_clzll(firsts & ~(uint64_t)0 >> (64 - used));
    if (used) {
        union memory *const memory = state->recall.memory;
        const char fold = state->recall.fold;
        uint64_t starts = (firsts | ascii.marks) & ~(uint64_t)0 >> (64 - used);
        uint64_t ends = (lasts | ascii.marks) & ~(uint64_t)0 >> (64 - used);
        for (; starts; starts &= starts - 1, ends &= ends - 1) {
            const unsigned start = (unsigned)__builtin_ctzll(starts), end = (unsigned)__builtin_ctzll(ends) + 1;
            find_run(memory, fold, found++, RUN_ASCII, (struct str){text->data + start, end - start}, block + start);
        }
    }
    const bool stopped = ascii.others || !used;
    used = used < text->size ? used : (unsigned)text->size;
    *text = (struct str){text->data + used, text->size - used};
    return stopped ? find_next(state, text, found) : found;
}

/* Starts with a non-ASCII character, perhaps after a blank. */
static bool is_foreign(struct str text)
{
    return text.size > 1 && (*text.data & 0x80 || (*text.data == ' ' && text.data[1] & 0x80));
}

/* What becomes of the parts of a text: ids, or words. */
struct task {
    struct cutter_state *state;
    struct ids *ids;
    void (*word)(void *context, struct str word); /* NULL: ids are wanted */
    void *context;
};

static void add_ids(const struct task *task, struct str text)
{
    struct cutter_state *state = task->state;
    assert(state->cutter->wordpiece);
    text = prepare(state, text);
    struct found *found = state->recall.found;
    while (text.size) {
        found = is_foreign(text) ? find_next(state, &text, found) : find_ascii(state, &text, found);
        if (found > state->recall.found + FOUND_MAX - ASCII_BLOCK) {
            recall(&state->recall, found, task->ids, cut_run, state);
            found = state->recall.found;
        }
    }
    recall(&state->recall, found, task->ids, cut_run, state);
}

static void add_words(const struct task *task, struct str text)
{
    struct cutter_state *state = task->state;
    const struct unicode *unicode = state->normalizer.unicode;
    const bool joined = state->cutter->options.joined;
    text = prepare(state, text);
    struct str run;
    enum text_run_kind kind;
    while ((kind = run_next(unicode, joined, &text, &run)) != RUN_END) {
        if (kind == RUN_OTHER) {
            run_words(&state->normalizer, &state->word, run, task->word, task->context);
        } else if (kind == RUN_PUNCTUATION || state->cutter->options.cased) {
            task->word(task->context, run);
        } else {
            lower_ascii(run, &state->word);
            task->word(task->context, buf_str(&state->word));
        }
    }
}

static void cut_stretch(const struct task *task, struct str text)
{
    if (task->word)
        add_words(task, text);
    else
        add_ids(task, text);
}

/* Cuts a text at the tokens of a search; `next` takes what is between them. */
static void cut_at_tokens(const struct task *task, const struct added_search *search, struct str text,
                          void (*next)(const struct task *task, struct str text))
{
    const struct cutter *cutter = task->state->cutter;
    struct added_cursor cursor = {
        .search = search, .text = text, .special = cutter->options.special_in_text, .even = cutter->mask};
    struct str part;
    const struct added_token *token;
    if (!search)
        next(task, text);
    while (search && added_next(&cursor, &part, &token)) {
        if (!token)
            next(task, part);
        else if (!task->word)
            ids_add(task->ids, token->id);
    }
}

/* A normalised text has the same words as the text, because normalising it again changes nothing. */
static void cut_normal(const struct task *task, struct str text)
{
    struct cutter_state *state = task->state;
    if (state->cutter->normal) {
        buf_reset(&state->normal);
        normalize_text(&state->normalizer, state->cutter->options.joined, text, &state->normal);
        text = buf_str(&state->normal);
    }
    cut_at_tokens(task, state->cutter->normal, text, cut_stretch);
}

static void cut_text(const struct task *task, struct str text)
{
    struct cutter_state *state = task->state;
    const bool searched = state->cutter->raw || state->cutter->normal;
    if (searched && !utf8_valid(text)) {
        buf_reset(&state->repaired);
        buf_add_str(&state->repaired, text);
        text = (struct str){state->repaired.data, utf8_repair(state->repaired.data, text.size, NULL)};
    }
    if (searched)
        cut_at_tokens(task, state->cutter->raw, text, cut_normal);
    else
        cut_stretch(task, text);
}

static void ids_of(void *own, struct str text, struct ids *out)
{
    cut_text(&(struct task){.state = own, .ids = out}, text);
}

static void sentences_of(void *own, struct str text, const struct str *sentences, size_t count, struct ids *out,
                         size_t *ends)
{
    (void)text;
    for (size_t i = 0; i < count; i++) {
        ids_of(own, sentences[i], out);
        ends[i] = out->count;
    }
}

static void words_of(void *own, struct str text, void (*word)(void *context, struct str word), void *context)
{
    cut_text(&(struct task){.state = own, .word = word, .context = context}, text);
}

const struct tokenizer_kind kind_wordpiece = {open_cutter, close_cutter, open_state,   close_state,
                                              ids_of,      NULL,         sentences_of, words_of};
