// room: tokenizer
/* In: options, and a text. Held: words and ids are those of a slow reference that takes every rule literally from the
 * table of letters: look left and right for a sigma, decompose, sort marks by insertion, drop, lower, split; then of
 * all pieces the longest that fits. The second time, when runs are remembered, the ids are the same. */
#include "tests/fuzz/fuzz.h"

#include "tokenizer/tokenizer.h"

#define OPTIONS 12u

static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
static const char *const begins[] = {
    "the", "un", "want", "a",   "e",  "é",  "É",  "i̇", "İ",   "ς", "σ",  "Σ",   "ab",
    "abc", "T",  "中",   "東",  "豈", "ᄀ", "가", "ß", "ffi", "1", "12", "123", "aaaaaaaaaaaaaaaa",
    "́",    "𝅗",  "x́y",   "mask"};
static const char *const ends[] = {"ing", "s",  "e",    "é",   "i",  "̇",   "ς",
                                   "σ",   "b",  "bc",   "c",   "京", "ᅡ", "ᆨ",
                                   "1",   "2",  "12",   "́",    "a",  "aa", "aaaaaaaaaaaaaaaa",
                                   "w",   "wa", "want", "ted", "x"};

/* ------------------------------------------------------------------------------------------ the reference */

struct letters {
    uint32_t *items;
    size_t count;
};

static uint8_t kind_of(const struct unicode *unicode, uint32_t letter, bool joined)
{
    const uint8_t kind = unicode_letter(unicode, letter)->kind;
    return joined && kind == LETTER_IDEOGRAPH ? LETTER_WORD : kind;
}

/* The next letter before (step -1) or after (1) place i that matters to a sigma: true if it is cased. */
static bool has_cased(const struct unicode *unicode, const struct letters *text, size_t i, int step)
{
    for (size_t at = i + (size_t)step; at < text->count; at += (size_t)step) {
        const struct letter *letter = unicode_letter(unicode, text->items[at]);
        if (letter->kind == LETTER_SPACE || letter->kind == LETTER_IDEOGRAPH)
            return false;
        if (letter->kind != LETTER_DROP && letter->sigma != SIGMA_IGNORABLE)
            return letter->sigma == SIGMA_CASED;
    }
    return false;
}

static struct letters decode(const struct unicode *unicode, struct str text, bool sigmas)
{
    struct letters all = {mem_array(text.size, sizeof *all.items), 0};
    for (size_t at = 0; at < text.size;) {
        unsigned skip = 0;
        const unsigned size = utf8_decode(text.data + at, text.size - at, &all.items[all.count], &skip);
        all.count += size > 0;
        at += size ? size : skip;
    }
    struct letters lowered = {mem_array(all.count, sizeof *all.items), all.count};
    for (size_t i = 0; i < all.count; i++) {
        const bool final = has_cased(unicode, &all, i, -1) && !has_cased(unicode, &all, i, 1);
        lowered.items[i] = sigmas && all.items[i] == 0x3A3 ? (final ? 0x3C2 : 0x3C3) : all.items[i];
    }
    mem_free(all.items);
    return lowered;
}

static size_t decompose(const struct unicode *unicode, uint32_t letter, uint32_t *out)
{
    const struct letter *facts = unicode_letter(unicode, letter);
    if (letter >= 0xAC00 && letter <= 0xD7A3) {
        const uint32_t index = letter - 0xAC00;
        out[0] = 0x1100 + index / (21 * 28);
        out[1] = 0x1161 + index / 28 % 21;
        out[2] = 0x11A7 + index % 28;
        return index % 28 ? 3 : 2;
    }
    if (facts->decomposition_count == 0) {
        out[0] = letter;
        return 1;
    }
    memcpy(out, &unicode_decompositions[facts->decomposition], facts->decomposition_count * sizeof *out);
    return facts->decomposition_count;
}

/* A run, normalised. A letter decomposes into 4 at most, and each may become two. */
static struct letters normalize(const struct unicode *unicode, const uint32_t *run, size_t count,
                                const struct tokenizer_options *options)
{
    struct letters out = {mem_array(16 * count + 16, sizeof *out.items), 0};
    for (size_t i = 0; i < count; i++) {
        out.items[out.count] = run[i];
        out.count += options->strip_accents ? decompose(unicode, run[i], out.items + out.count) : 1;
    }
    for (size_t i = 1; options->strip_accents && i < out.count; i++)
        for (size_t at = i; at > 0; at--) {
            const uint32_t a = out.items[at - 1], b = out.items[at];
            const uint8_t before = unicode_letter(unicode, a)->combining_class;
            const uint8_t after = unicode_letter(unicode, b)->combining_class;
            if (after == 0 || before <= after)
                break;
            out.items[at - 1] = b;
            out.items[at] = a;
        }
    size_t kept = 0;
    for (size_t i = 0; i < out.count; i++)
        if (!options->strip_accents || !unicode_letter(unicode, out.items[i])->mark)
            out.items[kept++] = out.items[i];
    out.count = kept;
    for (size_t i = 0; !options->cased && i < out.count; i++) {
        if (out.items[i] == 0x130) {
            memmove(out.items + i + 2, out.items + i + 1, (out.count - i - 1) * sizeof *out.items);
            out.items[i] = 'i';
            out.items[++i] = 0x307;
            out.count++;
            continue;
        }
        out.items[i] += (uint32_t)unicode_letter(unicode, out.items[i])->lower;
    }
    return out;
}

/* All words, each ended by a line end. */
static void reference_words(struct str text, const struct tokenizer_options *options, struct buf *words)
{
    const struct unicode *unicode = unicode_of(options->profile);
    struct letters all = decode(unicode, text, options->profile == PROFILE_GOOGLE && !options->cased);
    SCOPED(mem_free_at) uint32_t *run = mem_array(all.count, sizeof *run);
    for (size_t i = 0; i < all.count;) {
        size_t count = 0;
        uint8_t kind = LETTER_SPACE;
        for (; i < all.count; i++) {
            kind = kind_of(unicode, all.items[i], options->joined);
            if (kind == LETTER_WORD)
                run[count++] = all.items[i];
            else if (kind != LETTER_DROP)
                break;
        }
        if (count == 0 && i < all.count) {
            count = kind != LETTER_SPACE;
            run[0] = all.items[i++];
        }
        struct letters normal = normalize(unicode, run, count, options);
        for (size_t k = 0; k < normal.count; k++) {
            char bytes[4];
            const bool alone = unicode_letter(unicode, normal.items[k])->kind == LETTER_PUNCTUATION;
            if (alone && k > 0 && words->data[words->size - 1] != '\n')
                buf_add_byte(words, '\n');
            buf_add(words, bytes, utf8_write(normal.items[k], bytes));
            if (alone || k + 1 == normal.count)
                buf_add_byte(words, '\n');
        }
        mem_free(normal.items);
    }
    mem_free(all.items);
}

static size_t count_letters(struct str word)
{
    size_t count = 0;
    for (size_t i = 0; i < word.size; i++)
        count += ((unsigned char)word.data[i] & 0xC0) != 0x80;
    return count;
}

static void reference_ids(const struct vocab *vocab, struct str words, size_t letters_max, struct ids *ids)
{
    for (size_t at = 0; at < words.size; at++) {
        const size_t end = at + str_find((struct str){words.data + at, words.size - at}, STR("\n")),
                     before = ids->count;
        const struct str word = {words.data + at, end - at};
        bool known = count_letters(word) <= letters_max;
        for (size_t from = at; known && from < end;) {
            size_t longest = 0;
            uint32_t best = 0;
            for (uint32_t id = 0; id < vocab->count; id++) {
                struct str piece = vocab->pieces[id];
                if (from > at && !str_starts(piece, STR("##")))
                    continue;
                if (from > at)
                    piece = (struct str){piece.data + 2, piece.size - 2};
                if (piece.size > longest && str_starts((struct str){words.data + from, end - from}, piece)) {
                    longest = piece.size;
                    best = id;
                }
            }
            known = longest > 0;
            from += longest;
            ids_add(ids, best);
        }
        if (!known) {
            ids->count = before;
            ids_add(ids, vocab->unk);
        }
        at = end;
    }
}

/* ---------------------------------------------------------------------------------------------- the check */

static struct vocab *make_vocab(void)
{
    struct str pieces[128];
    SCOPED(buf_release) struct buf continued = {0};
    size_t count = 0;
    struct vocab *vocab;
    struct error err;
    buf_reserve(&continued, 4096); /* so that it does not move */
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        pieces[count++] = str_of(specials[i]);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        pieces[count++] = str_of(begins[i]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t from = continued.size;
        buf_addf(&continued, "##%s", ends[i]);
        pieces[count++] = (struct str){continued.data + from, continued.size - from};
    }
    const int made = vocab_from_pieces(&vocab, pieces, count, &err);
    assert(made == 0);
    return vocab;
}

static void add_word(void *context, struct str word)
{
    struct buf *words = context;
    assert(word.size > 0 && utf8_valid(word));
    buf_add_str(words, word);
    buf_add_byte(words, '\n');
}

static void check_text(struct tokenizer_state *state, const struct vocab *vocab, struct str text,
                       const struct tokenizer_options *options)
{
    SCOPED(buf_release) struct buf words = {0}, expected = {0};
    SCOPED(ids_release) struct ids ids = {0}, expected_ids = {0};
    reference_words(text, options, &expected);
    tokenizer_words(state, text, add_word, &words);
    assert(str_equal(buf_str(&words), buf_str(&expected)));
    reference_ids(vocab, buf_str(&expected), options->profile == PROFILE_GOOGLE ? 200 : 100, &expected_ids);
    for (int again = 0; again < 2; again++) {
        ids.count = 0;
        tokenizer_ids(state, text, &ids);
        assert(ids.count == expected_ids.count);
        assert(ids.count == 0 || memcmp(ids.data, expected_ids.data, ids.count * sizeof *ids.data) == 0);
    }
}

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct vocab *vocab;
    static struct tokenizer *tokenizers[OPTIONS];
    static struct tokenizer_state *states[OPTIONS]; /* kept from input to input: what they remember must not matter */
    const unsigned choice = take_byte(&data, &size) % OPTIONS;
    const struct tokenizer_options options = {.cased = choice & 1,
                                              .strip_accents = choice & 2,
                                              .profile = choice & 4 ? PROFILE_GOOGLE : PROFILE_HF,
                                              .joined = choice & 8};
    if (!vocab)
        vocab = make_vocab();
    if (!states[choice]) {
        tokenizers[choice] = tokenizer_open(vocab, &options);
        states[choice] = tokenizer_state_open(tokenizers[choice]);
    }
    check_text(states[choice], vocab, as_str(data, size), &options);
    return 0;
}
