/* Text to ids. Most runs of a text were seen before, so each thread remembers the ids of runs (memory.h), keyed by
 * their raw bytes before any normalisation. The work goes in two steps, so that the cache lines of many runs are
 * prefetched at once:
 *
 *     text ─► find: runs, keys, prefetch ─► up to FOUND_MAX runs ─► recall: their entries' ids
 *                                                                     │ not remembered: normalise, WordPiece
 *
 * ASCII is cut into words and punctuation 64 bytes at a time (ascii.h); all else run by run (words.h). */
#include "tokenizer/tokenizer.h"

#include "base/mem.h"
#include "tokenizer/ascii.h"
#include "tokenizer/memory.h"
#include "tokenizer/normalize.h"
#include "tokenizer/wordpiece.h"
#include "tokenizer/words.h"

#include <assert.h>

/* A word of more code points is [UNK]. */
static const size_t word_letters_max[] = {[PROFILE_HF] = 100, [PROFILE_GOOGLE] = 200};

struct tokenizer {
    struct tokenizer_options options;
    struct wordpiece *wordpiece; /* NULL without a vocabulary */
};

#define FOUND_MAX (2 * ASCII_BLOCK)

/* A run that was found, with its key and prefetched cache line. */
struct found {
    struct memory_key key; /* of its first bytes, where it is longer than MEMORY_BYTES */
    struct str run;
    uint32_t hash;
    enum text_run_kind kind;
};

struct tokenizer_state {
    const struct tokenizer *tokenizer;
    union memory *memory; /* [1 << MEMORY_BITS] */
    char fold;            /* for keys: 0x20 where case does not matter, else 0 */
    struct found found[FOUND_MAX];
    struct normalizer normalizer;
    struct buf word;       /* scratch */
    struct buf small_text; /* the text without capital sigmas */
};

struct tokenizer *tokenizer_open(const struct vocab *vocab, const struct tokenizer_options *options)
{
    struct tokenizer *tokenizer = mem_clear(1, sizeof *tokenizer);
    tokenizer->options = *options;
    if (!vocab)
        return tokenizer;
    tokenizer->wordpiece = wordpiece_open(vocab, word_letters_max[options->profile]);
    return tokenizer;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    wordpiece_close(tokenizer->wordpiece);
    mem_free(tokenizer);
}

struct tokenizer_state *tokenizer_state_open(const struct tokenizer *tokenizer)
{
    struct tokenizer_state *state = mem_clear(1, sizeof *state);
    state->tokenizer = tokenizer;
    state->normalizer.unicode = unicode_of(tokenizer->options.profile);
    state->normalizer.lower = !tokenizer->options.cased;
    state->normalizer.strip = tokenizer->options.strip_accents;
    if (tokenizer->wordpiece) {
        state->memory = mem_aligned(sizeof(union memory) << MEMORY_BITS);
        state->fold = tokenizer->options.cased ? 0 : 0x20;
    }
    return state;
}

void tokenizer_state_close(struct tokenizer_state *state)
{
    if (!state)
        return;
    normalizer_release(&state->normalizer);
    buf_release(&state->word);
    buf_release(&state->small_text);
    mem_free(state->memory);
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
static void cut_run(struct tokenizer_state *state, enum text_run_kind kind, struct str run, struct ids *out)
{
    const struct wordpiece *wordpiece = state->tokenizer->wordpiece;
    if (kind != RUN_OTHER) {
        lower_ascii(run, &state->word);
        wordpiece_word(wordpiece, state->tokenizer->options.cased ? run : buf_str(&state->word), out);
        return;
    }
    run_words(&state->normalizer, &state->word, run, add_pieces, &(struct pieces){wordpiece, out});
}

/* The text to cut into runs. Capital sigmas are lowered first: their lowercase depends on more than their run, and runs
 * are remembered. */
static struct str prepare(struct tokenizer_state *state, struct str text)
{
    const struct tokenizer_options *options = &state->tokenizer->options;
    if (options->profile != PROFILE_GOOGLE || options->cased)
        return text;
    return sigma_lower(state->normalizer.unicode, text, &state->small_text);
}

/* The ids of a run that is not in the cache. */
static __attribute__((noinline)) void forgotten_ids(struct tokenizer_state *state, const struct found *found,
                                                    struct ids *out)
{
    const size_t before = out->count;
    cut_run(state, found->kind, found->run, out);
    memory_keep(&state->memory[found->hash], &found->key, found->run.size, out->data + before, out->count - before);
}

/* Appends the ids of the runs found. */
static void recall(struct tokenizer_state *state, const struct found *end, struct ids *out)
{
    assert(end <= state->found + FOUND_MAX);
    const size_t room = FOUND_MAX * MEMORY_IDS;
    ids_reserve(out, room);
    uint32_t *to = out->data + out->count;
    for (const struct found *found = state->found; found < end; found++) {
        const union memory *known = &state->memory[found->hash];
        const struct short_memory *one = &known->pair[!memory_same_half(known->pair[0].key, found->key.words)];
        if (found->run.size <= SHORT_BYTES && !memory_is_long(known) && memory_same_half(one->key, found->key.words)) {
            memcpy(to, one->ids, sizeof one->ids);
            to += one->count;
            continue;
        }
        if (memory_is_long(known) && memory_same(&known->one, &found->key) && found->run.size <= MEMORY_BYTES) {
            memcpy(to, known->one.ids, sizeof known->one.ids);
            to += known->one.count & ~MEMORY_LONG;
            continue;
        }
        out->count = (size_t)(to - out->data);
        forgotten_ids(state, found, out);
        ids_reserve(out, room);
        to = out->data + out->count;
    }
    out->count = (size_t)(to - out->data);
}

/* Records a run and prefetches its cache line; MEMORY_BYTES must be readable at `bytes`, a copy of the run's or the run
 * itself. */
static inline void find(union memory *memory, char fold, struct found *found, enum text_run_kind kind, struct str run,
                        const char *bytes)
{
    found->run = run;
    found->kind = kind;
    found->hash = memory_key(bytes, run.size < MEMORY_BYTES ? run.size : MEMORY_BYTES, fold, &found->key);
    __builtin_prefetch(&memory[found->hash]);
}

/* Records the next run of any kind. */
static struct found *find_next(const struct tokenizer_state *state, struct str *text, struct found *found)
{
    struct str run;
    const enum text_run_kind kind = run_next(state->normalizer.unicode, state->tokenizer->options.joined, text, &run);
    if (kind == RUN_END)
        return found;
    char padded[MEMORY_BYTES] = {0};
    const char *bytes = run.data;
    if (text->data + text->size - run.data < (ptrdiff_t)MEMORY_BYTES)
        bytes = memcpy(padded, run.data, run.size);
    find(state->memory, state->fold, found, kind, run, bytes);
    return found + 1;
}

/* Records the ASCII words and punctuation in the first block of a text, up to a word that the block's end cuts; or
 * up to and including the first run of another kind. Records at most ASCII_BLOCK runs, and at least one if there is
 * any. */
static struct found *find_ascii(const struct tokenizer_state *state, struct str *text, struct found *found)
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
        union memory *const memory = state->memory;
        const char fold = state->fold;
        uint64_t starts = (firsts | ascii.marks) & ~(uint64_t)0 >> (64 - used);
        uint64_t ends = (lasts | ascii.marks) & ~(uint64_t)0 >> (64 - used);
        for (; starts; starts &= starts - 1, ends &= ends - 1) {
            const unsigned start = (unsigned)__builtin_ctzll(starts), end = (unsigned)__builtin_ctzll(ends) + 1;
            find(memory, fold, found++, RUN_ASCII, (struct str){text->data + start, end - start}, block + start);
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

void tokenizer_ids(struct tokenizer_state *state, struct str text, struct ids *out)
{
    assert(state->tokenizer->wordpiece);
    text = prepare(state, text);
    struct found *found = state->found;
    while (text.size) {
        found = is_foreign(text) ? find_next(state, &text, found) : find_ascii(state, &text, found);
        if (found > state->found + FOUND_MAX - ASCII_BLOCK) {
            recall(state, found, out);
            found = state->found;
        }
    }
    recall(state, found, out);
}

void tokenizer_words(struct tokenizer_state *state, struct str text, void (*word)(void *context, struct str word),
                     void *context)
{
    const struct unicode *unicode = state->normalizer.unicode;
    const bool joined = state->tokenizer->options.joined;
    text = prepare(state, text);
    struct str run;
    enum text_run_kind kind;
    while ((kind = run_next(unicode, joined, &text, &run)) != RUN_END) {
        if (kind == RUN_OTHER) {
            run_words(&state->normalizer, &state->word, run, word, context);
        } else if (kind == RUN_PUNCTUATION || state->tokenizer->options.cased) {
            word(context, run);
        } else {
            lower_ascii(run, &state->word);
            word(context, buf_str(&state->word));
        }
    }
}
