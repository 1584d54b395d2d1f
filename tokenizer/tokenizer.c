/* Comes in: text. Goes out: ids. Most of a text is runs that were seen before, so each thread remembers what runs gave:
 * a run of up to 32 bytes and its ids are one cache line, found by hashing the raw bytes (ASCII lowered on the way
 * where case does not matter), before any normalising. What is not remembered is normalised and cut by WordPiece. */
#include "tokenizer/tokenizer.h"

#include "base/mem.h"
#include "tokenizer/normalize.h"
#include "tokenizer/sigma.h"
#include "tokenizer/wordpiece.h"
#include "tokenizer/words.h"

#include <assert.h>

#define KEY_BYTES   32u
#define MEMORY_IDS  7u
#define MEMORY_BITS 15u

/* A longer word, in code points, is [UNK]. */
static const size_t word_letters_max[] = {[PROFILE_HF] = 100, [PROFILE_GOOGLE] = 200};

/* One remembered run. */
struct memory {
    uint64_t key[KEY_BYTES / 8]; /* its bytes, zeros behind */
    uint32_t ids[MEMORY_IDS];
    uint8_t key_bytes; /* 0: empty */
    uint8_t count;     /* ids */
};
_Static_assert(sizeof(struct memory) == 64, "a remembered run is one cache line");

struct tokenizer {
    struct tokenizer_options options;
    struct wordpiece *wordpiece; /* NULL without a vocabulary */
    uint32_t punctuation[128];   /* id of a punctuation character of ASCII */
};

struct tokenizer_state {
    const struct tokenizer *tokenizer;
    struct memory *memory; /* [1 << MEMORY_BITS] */
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
    struct ids ids = {0};
    for (int i = '!'; i <= '~'; i++) {
        const char byte = (char)i;
        wordpiece_word(tokenizer->wordpiece, (struct str){&byte, 1}, &ids);
    }
    memcpy(tokenizer->punctuation + '!', ids.data, ids.count * sizeof *ids.data);
    ids_release(&ids);
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
    if (tokenizer->wordpiece)
        state->memory = mem_aligned(sizeof(struct memory) << MEMORY_BITS);
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

/* Lowers the ASCII capitals among eight bytes. */
static inline uint64_t lower_eight(uint64_t bytes)
{
    const uint64_t ones = 0x0101010101010101u, low = bytes & 0x7F * ones;
    const uint64_t from_a = low + (0x80 - 'A') * ones, after_z = low + (0x80 - 'Z' - 1) * ones;
    return bytes | ((from_a & ~after_z & ~bytes & 0x80 * ones) >> 2);
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

/* The ids of a run by the long way. */
static void cut_run(struct tokenizer_state *state, enum run_kind kind, struct str run, struct ids *out)
{
    const struct wordpiece *wordpiece = state->tokenizer->wordpiece;
    if (kind == RUN_ASCII) {
        lower_ascii(run, &state->word);
        wordpiece_word(wordpiece, state->tokenizer->options.cased ? run : buf_str(&state->word), out);
        return;
    }
    run_words(&state->normalizer, &state->word, run, add_pieces, &(struct pieces){wordpiece, out});
}

/* The run's bytes as numbers, zeros behind; `end` is how far memory may be read. */
static inline void key_of(struct str run, const char *end, bool lower, uint64_t key[KEY_BYTES / 8])
{
    if ((size_t)(end - run.data) >= KEY_BYTES) {
        memcpy(key, run.data, KEY_BYTES);
        for (size_t i = 0; i < KEY_BYTES / 8; i++) {
            const size_t used = run.size > 8 * i ? run.size - 8 * i : 0;
            key[i] = used >= 8 ? key[i] : key[i] & (((uint64_t)1 << (8 * used)) - 1);
        }
    } else {
        memset(key, 0, KEY_BYTES);
        memcpy(key, run.data, run.size);
    }
    if (lower)
        for (size_t i = 0; i < KEY_BYTES / 8; i++)
            key[i] = lower_eight(key[i]);
}

static inline size_t slot_of(const uint64_t key[KEY_BYTES / 8], size_t bytes)
{
    uint64_t hash = (key[0] ^ bytes) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ key[1]) * 0xD6E8FEB86659FD93u;
    if (bytes > 16)
        hash = ((hash ^ hash >> 32) + key[2] + (key[3] << 29 | key[3] >> 35)) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash >> (64 - MEMORY_BITS));
}

static inline bool same_key(const uint64_t a[KEY_BYTES / 8], const uint64_t b[KEY_BYTES / 8])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

/* The text to cut into runs. What becomes of a sigma depends on more than its run, and runs are remembered. */
static struct str prepare(struct tokenizer_state *state, struct str text)
{
    const struct tokenizer_options *options = &state->tokenizer->options;
    if (options->profile != PROFILE_GOOGLE || options->cased)
        return text;
    return sigma_lower(state->normalizer.unicode, text, &state->small_text);
}

void tokenizer_ids(struct tokenizer_state *state, struct str text, struct ids *out)
{
    const struct tokenizer *tokenizer = state->tokenizer;
    const struct unicode *unicode = state->normalizer.unicode;
    assert(tokenizer->wordpiece);
    const bool lower = !tokenizer->options.cased;
    text = prepare(state, text);
    const char *const end = text.data + text.size;
    struct str run;
    enum run_kind kind;
    while ((kind = run_next(unicode, &text, &run)) != RUN_END) {
        ids_reserve(out, MEMORY_IDS);
        if (kind == RUN_PUNCTUATION) {
            out->data[out->count++] = tokenizer->punctuation[(unsigned char)run.data[0]];
            continue;
        }
        if (run.size > KEY_BYTES) {
            cut_run(state, kind, run, out);
            continue;
        }
        uint64_t key[KEY_BYTES / 8];
        key_of(run, end, lower, key);
        struct memory *memory = &state->memory[slot_of(key, run.size)];
        if (memory->key_bytes == run.size && same_key(memory->key, key)) {
            memcpy(out->data + out->count, memory->ids, sizeof memory->ids);
            out->count += memory->count;
            continue;
        }
        const size_t before = out->count;
        cut_run(state, kind, run, out);
        const size_t count = out->count - before;
        if (count > MEMORY_IDS)
            continue;
        memcpy(memory->key, key, KEY_BYTES);
        memcpy(memory->ids, out->data + before, count * sizeof *memory->ids);
        memory->key_bytes = (uint8_t)run.size;
        memory->count = (uint8_t)count;
    }
}

void tokenizer_words(struct tokenizer_state *state, struct str text, void (*word)(void *context, struct str word),
                     void *context)
{
    const struct unicode *unicode = state->normalizer.unicode;
    text = prepare(state, text);
    struct str run;
    enum run_kind kind;
    while ((kind = run_next(unicode, &text, &run)) != RUN_END) {
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
