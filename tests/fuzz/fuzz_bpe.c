// room: tokenizer
/* In: choices, and a text. Held: ids of a byte-level BPE are those of a slow reference that takes every rule literally:
 * tokens are looked for at every place, the whole text is decomposed and composed, each alternative of the pattern is
 * tried in turn, and of all merges the first that fits anywhere is made. The second time, when words are remembered,
 * the ids are the same. Their places are whole characters, in order and without a gap. */
#include "tests/fuzz/fuzz.h"

#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer.h"

#define TEXT_MAX 400u

/* Pieces are made of these from the left, a byte at a time. */
static const char *const grown[] = {"the", " the", "ing",      " in",          "aaaa",     "\n\n",
                                    "123", "'s",   "\xC3\xA9", "\xE4\xB8\xAD", "\xCC\x81", " \xC3\xA9t",
                                    "!?",  "    ", "\x01\x02", "abcdefgh",     "cdef"};
static const struct added_token tokens[] = {
    {.content = STR("<m>"), .special = true, .lstrip = true},
    {.content = STR("<s>"), .special = true},
    {.content = STR("ab"), .single_word = true},
    {.content = STR("abc")},
    {.content = STR("e\xCC\x81"), .normalized = true},
    {.content = STR("   "), .normalized = true},
    {.content = STR("xy"), .normalized = true, .single_word = true},
};
#define TOKENS (sizeof tokens / sizeof *tokens)

static uint8_t *facts;

/* ------------------------------------------------------------------------------------------ the reference */

struct letters {
    uint32_t items[8 * TEXT_MAX];
    size_t count;
};

static void decode(struct str text, struct letters *all)
{
    all->count = 0;
    for (size_t at = 0; at < text.size;) {
        unsigned skip = 0;
        const unsigned size = utf8_decode(text.data + at, text.size - at, &all->items[all->count], &skip);
        all->count += size > 0;
        at += size ? size : skip;
    }
}

static void encode(const uint32_t *letters, size_t count, struct buf *out)
{
    buf_reset(out);
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        buf_add(out, bytes, utf8_write(letters[i], bytes));
    }
}

static uint8_t class_of(uint32_t letter)
{
    return unicode_letter(&unicode_hf, letter)->combining_class;
}

static void decompose(const struct letters *in, struct letters *out)
{
    out->count = 0;
    for (size_t i = 0; i < in->count; i++) {
        const uint32_t letter = in->items[i], index = letter - 0xAC00;
        const struct letter *row = unicode_letter(&unicode_hf, letter);
        if (letter >= 0xAC00 && letter <= 0xD7A3) {
            out->items[out->count++] = 0x1100 + index / 588;
            out->items[out->count++] = 0x1161 + index / 28 % 21;
            if (index % 28)
                out->items[out->count++] = 0x11A7 + index % 28;
        } else if (row->decomposition_count == 0)
            out->items[out->count++] = letter;
        for (unsigned k = 0; k < row->decomposition_count; k++)
            out->items[out->count++] = unicode_decompositions[row->decomposition + k];
    }
    for (size_t i = 1; i < out->count; i++)
        for (size_t at = i; at > 0; at--) {
            const uint32_t a = out->items[at - 1], b = out->items[at];
            if (class_of(b) == 0 || class_of(a) <= class_of(b))
                break;
            out->items[at - 1] = b;
            out->items[at] = a;
        }
}

static uint32_t both_of(uint32_t first, uint32_t second)
{
    for (uint32_t letter = 0xAC00; first >= 0x1100 && letter <= 0xD7A3; letter++) {
        const uint32_t index = letter - 0xAC00, vowel = 0x1161 + index / 28 % 21, last = 0x11A7 + index % 28;
        if (index % 28 == 0 ? first == 0x1100 + index / 588 && second == vowel
                            : first == letter - index % 28 && second == last)
            return letter;
    }
    for (size_t i = 0; i < nfc_pair_count; i++)
        if (nfc_pairs[i].first == first && nfc_pairs[i].second == second)
            return nfc_pairs[i].both;
    return 0;
}

static void compose(struct letters *all)
{
    for (size_t i = 1; i < all->count; i++) {
        size_t starter = i - 1;
        while (starter > 0 && class_of(all->items[starter]) > 0)
            starter--;
        bool blocked = class_of(all->items[starter]) > 0;
        for (size_t k = starter + 1; k < i; k++)
            blocked |= class_of(all->items[k]) >= class_of(all->items[i]);
        const uint32_t both = blocked ? 0 : both_of(all->items[starter], all->items[i]);
        if (!both)
            continue;
        all->items[starter] = both;
        all->count--;
        memmove(all->items + i, all->items + i + 1, (all->count - i) * sizeof *all->items);
        i--;
    }
}

static bool is(const struct letters *text, size_t at, enum split_class class)
{
    return at < text->count && (facts[text->items[at]] & SPLIT_CLASS) == class;
}

static size_t run(const struct letters *text, size_t at, enum split_class class)
{
    size_t end = at;
    while (is(text, end, class))
        end++;
    return end;
}

static bool is_line_end(const struct letters *text, size_t at)
{
    return at < text->count && (text->items[at] == '\n' || text->items[at] == '\r');
}

/* The end of an ending such as 's, or `at`. */
static size_t ending(const struct letters *text, size_t at, bool any_case)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t k = 0;
        for (; endings[i][k] && at + k < text->count; k++) {
            uint32_t letter = text->items[at + k];
            if (any_case && letter == 0x17F)
                letter = 's';
            if (any_case && letter >= 'A' && letter <= 'Z')
                letter |= 0x20;
            if (letter != (unsigned char)endings[i][k])
                break;
        }
        if (!endings[i][k])
            return at + k;
    }
    return at;
}

static size_t white_end(const struct letters *text, size_t at)
{
    const size_t end = run(text, at, SPLIT_SPACE);
    return end == text->count || end == at + 1 ? end : end - 1;
}

static size_t word_end(const struct split_pattern *pattern, const struct letters *text, size_t at)
{
    size_t end = ending(text, at, pattern->any_case);
    if (end > at)
        return end;
    const size_t after = at + (text->items[at] == ' ');
    if (!pattern->cl100k) {
        for (enum split_class class = SPLIT_OTHER; class < SPLIT_SPACE; class ++)
            if ((end = run(text, after, class)) > after)
                return end;
        return white_end(text, at);
    }
    const size_t sign = at + (!is_line_end(text, at) && !is(text, at, SPLIT_LETTER) && !is(text, at, SPLIT_NUMBER));
    if ((end = run(text, sign, SPLIT_LETTER)) > sign)
        return end;
    if ((end = run(text, at, SPLIT_NUMBER)) > at)
        return end - at > pattern->digits_max ? at + pattern->digits_max : end;
    if ((end = run(text, after, SPLIT_OTHER)) > after) {
        while (is_line_end(text, end))
            end++;
        return end;
    }
    for (end = run(text, at, SPLIT_SPACE); end > at; end--)
        if (is_line_end(text, end - 1))
            return end;
    return white_end(text, at);
}

static void reference_word(const struct bpe_rules *rules, struct str word, struct ids *out)
{
    const size_t before = out->count;
    for (size_t i = 0; i < word.size; i++)
        ids_add(out, rules->of_byte[(unsigned char)word.data[i]]);
    uint32_t *const ids = out->data + before;
    for (size_t rank = 0; rank < rules->merge_count;) {
        const struct bpe_merge *merge = &rules->merges[rank++];
        for (size_t i = 0; before + i + 1 < out->count; i++)
            if (ids[i] == merge->left && ids[i + 1] == merge->right) {
                ids[i] = merge->both;
                memmove(ids + i + 1, ids + i + 2, (out->count - before - i - 2) * sizeof *ids);
                out->count--;
                rank = 0;
                break;
            }
    }
}

static void reference_stretch(const struct bpe_rules *rules, const uint32_t *letters, size_t count, struct ids *out)
{
    static struct letters text;
    struct buf word = {0};
    text.count = 0;
    if (rules->prefix_space && letters[0] != ' ')
        text.items[text.count++] = ' ';
    memcpy(text.items + text.count, letters, count * sizeof *letters);
    text.count += count;
    for (size_t at = 0, end; at < text.count; at = end) {
        end = word_end(rules->pattern, &text, at);
        encode(text.items + at, end - at, &word);
        reference_word(rules, buf_str(&word), out);
    }
    buf_release(&word);
}

static bool is_word(const struct letters *text, size_t at)
{
    return at < text->count && facts[text->items[at]] & SPLIT_WORD;
}

/* The token at a place, and the place after it. */
static const struct added_token *token_at(const struct vocab *vocab, const struct letters *text, size_t at,
                                          bool normalized, size_t *end)
{
    const struct added_token *best = NULL;
    static struct letters in, content;
    for (size_t i = 0; i < vocab->added.count; i++) {
        const struct added_token *token = &vocab->added.items[i];
        if (token->normalized != normalized)
            continue;
        decode(token->content, &in);
        content = in;
        if (normalized && vocab->bpe->nfc) {
            decompose(&in, &content);
            compose(&content);
        }
        if ((!best || at + content.count > *end) && at + content.count <= text->count &&
            memcmp(text->items + at, content.items, content.count * sizeof *content.items) == 0) {
            best = token;
            *end = at + content.count;
        }
    }
    return best;
}

static void reference_text(const struct vocab *vocab, bool special, bool normalized, struct letters *text,
                           struct ids *out);

static void between(const struct vocab *vocab, bool special, bool normalized, const uint32_t *letters, size_t count,
                    struct ids *out)
{
    static struct letters part, normal;
    if (count > 0 && normalized)
        reference_stretch(vocab->bpe, letters, count, out);
    if (count == 0 || normalized)
        return;
    memcpy(part.items, letters, count * sizeof *letters);
    part.count = count;
    normal = part;
    if (vocab->bpe->nfc) {
        decompose(&part, &normal);
        compose(&normal);
    }
    reference_text(vocab, special, true, &normal, out);
}

static void reference_text(const struct vocab *vocab, bool special, bool normalized, struct letters *text,
                           struct ids *out)
{
    size_t from = 0, end = 0;
    for (size_t at = 0; at < text->count;) {
        const struct added_token *token = token_at(vocab, text, at, normalized, &end);
        if (!token) {
            at++;
            continue;
        }
        const size_t start = at;
        at = end;
        if ((token->special && !special) ||
            (token->single_word && ((start > 0 && is_word(text, start - 1)) || is_word(text, end))))
            continue;
        size_t left = start;
        while (token->lstrip && left > from && is(text, left - 1, SPLIT_SPACE))
            left--;
        between(vocab, special, normalized, text->items + from, left - from, out);
        ids_add(out, token->id);
        from = end;
    }
    between(vocab, special, normalized, text->items + from, text->count - from, out);
}

/* ---------------------------------------------------------------------------------------------- the check */

static void add_piece(struct str bytes, struct str *pieces, size_t *count)
{
    struct buf piece = {0};
    for (size_t i = 0; i < bytes.size; i++) {
        char letter[4];
        buf_add(&piece, letter, utf8_write(bpe_letter((unsigned char)bytes.data[i]), letter));
    }
    pieces[(*count)++] = buf_str(&piece); /* kept until the process ends */
}

static uint32_t find_piece(const struct str *bytes, size_t count, struct str wanted)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(bytes[i], wanted))
            return (uint32_t)i;
    return VOCAB_NONE;
}

static struct vocab *make_vocab(void)
{
    static struct str pieces[512], bytes[512];
    static char every[256];
    static const uint32_t roles[ROLES] = {VOCAB_NONE, VOCAB_NONE, VOCAB_NONE, VOCAB_NONE, VOCAB_NONE};
    struct bpe_rules *rules = mem_clear(1, sizeof *rules);
    size_t count = 0;
    rules->merges = mem_array(256, sizeof *rules->merges);
    rules->unknown = VOCAB_NONE;
    for (unsigned byte = 0; byte < 256; byte++) {
        every[byte] = (char)byte;
        bytes[count] = (struct str){every + byte, 1};
        add_piece(bytes[count], pieces, &count);
        rules->of_byte[byte] = byte;
    }
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++)
        for (size_t size = 2; size <= strlen(grown[i]); size++) {
            const struct str whole = {grown[i], size}, left = {grown[i], size - 1};
            if (find_piece(bytes, count, whole) != VOCAB_NONE)
                continue;
            rules->merges[rules->merge_count++] =
                (struct bpe_merge){find_piece(bytes, count, left), (unsigned char)grown[i][size - 1], (uint32_t)count};
            bytes[count] = whole;
            add_piece(whole, pieces, &count);
        }
    for (size_t i = 0; i < TOKENS; i++)
        pieces[count + i] = tokens[i].content;
    struct vocab *vocab = vocab_make(VOCAB_BPE_BYTES, pieces, count + TOKENS, roles);
    vocab->bpe = rules;
    vocab->added = (struct added_tokens){mem_array(TOKENS, sizeof tokens[0]), TOKENS};
    for (size_t i = 0; i < TOKENS; i++) {
        vocab->added.items[i] = tokens[i];
        vocab->added.items[i].id = (uint32_t)(count + i);
        vocab->added.items[i].outside = true;
    }
    return vocab;
}

static bool begins(struct str text, uint32_t at)
{
    return at == text.size || ((unsigned char)text.data[at] & 0xC0) != 0x80;
}

static void check_places(struct tokenizer_state *state, struct str text, const struct ids *expected)
{
    struct ids ids = {0}, places = {0};
    tokenizer_places(state, text, &ids, &places);
    assert(ids.count == expected->count && places.count == 2 * ids.count);
    assert(ids.count == 0 || memcmp(ids.data, expected->data, ids.count * sizeof *ids.data) == 0);
    uint32_t last = 0, done = 0;
    for (size_t i = 0; i < ids.count; i++) {
        const uint32_t from = places.data[2 * i], to = places.data[2 * i + 1];
        assert(last <= from && from <= done && from <= to && to <= text.size && begins(text, from) && begins(text, to));
        last = from;
        done = to > done ? to : done;
    }
    assert(done == text.size);
    ids_release(&ids);
    ids_release(&places);
}

#define CHOICES 16u

int fuzz_input(const uint8_t *data, size_t size)
{
    static struct vocab *vocab;
    static struct tokenizer *tokenizers[CHOICES];
    static struct tokenizer_state *states[CHOICES]; /* kept: what they remember must not matter */
    static struct letters text;
    static const char cl100k[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                                 "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    const unsigned choice = take_byte(&data, &size) % CHOICES;
    const struct str input = as_str(data, size < TEXT_MAX ? size : TEXT_MAX);
    const struct tokenizer_options options = {.cased = true, .special_in_text = choice & 8};
    struct ids ids = {0}, expected = {0};
    if (!vocab) {
        vocab = make_vocab();
        facts = split_facts_open();
    }
    vocab->bpe->pattern = split_pattern_find(choice & 1 ? cl100k : NULL);
    vocab->bpe->nfc = choice & 2;
    vocab->bpe->prefix_space = choice & 4;
    if (!states[choice]) {
        tokenizers[choice] = tokenizer_open(vocab, &options);
        states[choice] = tokenizer_state_open(tokenizers[choice]);
    }
    decode(input, &text);
    reference_text(vocab, options.special_in_text, false, &text, &expected);
    for (int again = 0; again < 2; again++) {
        ids.count = 0;
        tokenizer_ids(states[choice], input, &ids);
        assert(ids.count == expected.count);
        assert(ids.count == 0 || memcmp(ids.data, expected.data, ids.count * sizeof *ids.data) == 0);
    }
    if (utf8_valid(input))
        check_places(states[choice], input, &expected);
    ids_release(&ids);
    ids_release(&expected);
    return 0;
}
