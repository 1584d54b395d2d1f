/* Fast paths against simple implementations, on hostile texts: blocks of ASCII against single bytes, cached ids against
 * words that are normalised and cut one by one, the trie against a list. */
#include "tests/tokenizer/help.h"

#include "tokenizer/memory.h"
#include "tokenizer/wordpiece.h"

#include <ctype.h>

static uint32_t drawn = 1;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)drawn * below >> 32);
}

static void check_block(const char *block)
{
    const struct ascii fast = ascii_look(block), plain = ascii_look_plain(block);
    assert_int_equal(fast.letters, plain.letters);
    assert_int_equal(fast.marks, plain.marks);
    assert_int_equal(fast.others, plain.others);
}

TEST(a_block_is_what_its_bytes_are)
{
    char block[ASCII_BLOCK];
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned i = 0; i < ASCII_BLOCK; i++)
            block[i] = (char)(first + i);
        check_block(block);
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        memset(block, ' ', sizeof block);
        block[byte % ASCII_BLOCK] = (char)byte;
        const struct ascii sets = ascii_look_plain(block);
        const bool letter = (byte < 0x80 && isalnum((int)byte)), mark = byte < 0x80 && ispunct((int)byte);
        assert_int_equal(sets.letters, (uint64_t)letter << byte % ASCII_BLOCK);
        assert_int_equal(sets.marks, (uint64_t)mark << byte % ASCII_BLOCK);
        assert_int_equal(sets.others, (uint64_t)(!letter && !mark && byte != ' ') << byte % ASCII_BLOCK);
    }
}

/* Parts of the texts: letters that end a run, join two, are deleted, decompose, or are ill-formed. */
static const char *const parts[] = {
    " ",          " ",       "  ",       "\t",        "\n",           "\r\n",       ".",          ",",
    "[MASK]",     "\x01",    "\x7F",     "\x0B",      "\u00A0",       "\u3000",     "\u2028",     "\u00AD",
    "\u200D",     "\uFEFF",  "\uE000",   "\u00E9",    "e\u0301",      "\u0301",     "\u0327",     "\u1E69",
    "\uAC01",     "\u0130",  "\u03A3",   "\u03C2",    "\u00DF",       "\u2260",     "\u037E",     "\u1FEF",
    "\u4E2D",     "\uF900",  "\u304C",   "\u30AB",    "\u0645",       "\u0416",     "\u0E01",     "\u302E",
    "\xFF",       "\xC3",    "\xE4\xB8", "\xED\xA0",  "\xF0\x9F\x98", "\U0001F600", "\U0002B820", "\U0002B81F",
    "\U0001D165", "\u20AC",  "\u0D4D",   "\u0660",    "\u2019",       "\u2014",     "the",        "The",
    "unwanted",   "RUNNING", "moon",     "caf\u00E9", "\u00C9cole",   "1984",       "x",
};

/* Sizes around the limits in the code: half a key, a key, a block, the longest words. */
static const size_t sizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99, 100, 101, 199, 200, 201};

static void add_part(struct buf *text)
{
    const uint32_t kind = draw(8);
    const size_t size = sizes[draw(sizeof sizes / sizeof *sizes)];
    if (kind == 0) {
        const char *const letters[] = {"a", "Z", "un", "\xFF", "\u00E9", "\u4E2D", "\u1161", "\u0301"};
        const char *const letter = letters[draw(8)];
        for (size_t i = 0; i < size; i++)
            buf_add_text(text, letter);
    } else if (kind == 1) {
        for (size_t i = 0; i < size; i++)
            buf_add_byte(text, (char)draw(256));
    } else if (kind == 2) {
        for (size_t i = 0; i < 1 + size % 16; i++)
            buf_add_byte(text, (char)('A' + draw(58)));
    } else if (kind == 3) {
        buf_add(text, "\0\0\0\0\0\0\0\0", draw(9));
    } else {
        buf_add_text(text, parts[draw(sizeof parts / sizeof *parts)]);
    }
}

struct slow {
    struct wordpiece *wordpiece;
    struct ids ids;
};

static void cut_word(void *context, struct str word)
{
    struct slow *slow = context;
    wordpiece_word(slow->wordpiece, word, &slow->ids);
}

static void check_options(const struct vocab *vocab, const struct tokenizer_options *options, int rounds)
{
    struct slow slow = {wordpiece_open(vocab, options->profile == PROFILE_GOOGLE ? 200 : 100), {0}};
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, options);
    SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
    SCOPED(ids_release) struct ids ids = {0};
    for (int round = 0; round < rounds; round++) {
        SCOPED(buf_release) struct buf text = {0};
        for (uint32_t i = draw(40); i > 0; i--)
            add_part(&text);
        SCOPED(mem_free_at)
        char *exact = mem_alloc(text.size); /* so that a sanitizer finds a read past the end */
        if (text.size)
            memcpy(exact, text.data, text.size);
        ids.count = slow.ids.count = 0;
        tokenizer_ids(words, (struct str){exact, text.size}, &ids);
        tokenizer_words(words, (struct str){exact, text.size}, cut_word, &slow);
        assert_int_equal(ids.count, slow.ids.count);
        if (ids.count)
            assert_memory_equal(ids.data, slow.ids.data, ids.count * sizeof *ids.data);
    }
    wordpiece_close(slow.wordpiece);
    ids_release(&slow.ids);
}

TEST(ids_are_those_of_the_words)
{
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    struct error err;
    assert_int_equal(vocab_read(&vocab, SOURCE_DIR "/tests/golden/tokenizer-vocab.txt", VOCAB_HF, &err), 0);
    for (unsigned i = 0; i < 16; i++) {
        const struct tokenizer_options options = {.cased = i & 1,
                                                  .strip_accents = i & 2,
                                                  .profile = i & 4 ? PROFILE_GOOGLE : PROFILE_HF,
                                                  .joined = (i & 12) == 8};
        if ((i & 12) != 12)
            check_options(vocab, &options, 1500);
    }
}

/* A run of 16 bytes and a longer one that begins with it, in the same slot of the cache: neither is taken for the
 * other, whichever was there before. */
TEST(runs_that_begin_alike_are_kept_apart)
{
    char longer[MEMORY_BYTES + 1] = "abcabcabcabcabca", shorter[MEMORY_BYTES] = "abcabcabcabcabca";
    struct memory_key key;
    const uint32_t hash = memory_key(shorter, 16, 0x20, &key);
    uint32_t number = 0;
    do {
        number++;
        for (unsigned i = 0; i < 12; i++)
            longer[16 + i] = "abac"[number >> 2 * i & 3];
    } while (memory_key(longer, 28, 0x20, &key) != hash && number < 1u << 24);
    assert_true(number < 1u << 24);

    SCOPED(vocab_close_at)
    struct vocab *vocab =
        vocab_of("a abcabcabcabcabca ##a ##b ##c ##aaa ##aaaa ##bb ##cc ##ab ##ac ##ba ##bc ##ca ##cb");
    SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(vocab, &(struct tokenizer_options){0});
    for (int first = 0; first < 2; first++) {
        SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
        struct ids ids[4] = {0};
        for (int i = 0; i < 4; i++)
            tokenizer_ids(words, str_of((i + first) % 2 ? longer : shorter), &ids[i]);
        const struct ids *const of_shorter = &ids[first], *const of_longer = &ids[1 - first];
        assert_int_equal(of_shorter->count, 1);
        assert_true(of_longer->count > 1);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(ids[i].count, ids[i + 2].count);
            assert_memory_equal(ids[i].data, ids[i + 2].data, ids[i].count * sizeof *ids[i].data);
        }
        for (int i = 0; i < 4; i++)
            ids_release(&ids[i]);
    }
}

static bool naive_pieces(const struct vocab *vocab, struct str word, struct ids *ids)
{
    for (size_t at = 0, size; at < word.size; at += size) {
        char piece[64] = "##";
        const size_t prefix = at > 0 ? 2 : 0;
        uint32_t id;
        for (size = word.size - at; size > 0; size--) {
            memcpy(piece + prefix, word.data + at, size);
            if (vocab_find(vocab, (struct str){piece, prefix + size}, &id))
                break;
        }
        if (!size)
            return false;
        ids_add(ids, id);
    }
    return true;
}

/* Against a search through the list. The pieces use few bytes, so that nodes of the trie have many children and are
 * packed densely. */
TEST(pieces_are_the_longest)
{
    enum { PIECES = 2000, WORDS = 1000 };
    static const char bytes[] = "aehnost0189AZ#.\xC3\xA9\xE4\xB8\xAD";
    static char texts[PIECES][16];
    struct str pieces[PIECES + 5] = {STR("[PAD]"), STR("[UNK]"), STR("[CLS]"), STR("[SEP]"), STR("[MASK]")};
    for (size_t i = 0; i < PIECES; i++) {
        const size_t prefix = draw(2) ? 2 : 0, size = prefix + 1 + draw(i < 100 ? 1 : 6);
        memcpy(texts[i], "##", 2);
        for (size_t k = prefix; k < size; k++)
            texts[i][k] = bytes[draw(sizeof bytes - 1)];
        pieces[5 + i] = (struct str){texts[i], size};
    }
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    struct error err;
    assert_int_equal(vocab_from_pieces(&vocab, pieces, PIECES + 5, &err), 0);
    struct wordpiece *wordpiece = wordpiece_open(vocab, 100);
    SCOPED(ids_release) struct ids ids = {0}, expected = {0};
    size_t whole = 0;
    for (size_t i = 0; i < WORDS; i++) {
        char word[16];
        const size_t size = 1 + draw(sizeof word);
        for (size_t k = 0; k < size; k++)
            word[k] = bytes[draw(sizeof bytes - 1)];
        ids.count = expected.count = 0;
        wordpiece_word(wordpiece, (struct str){word, size}, &ids);
        if (naive_pieces(vocab, (struct str){word, size}, &expected)) {
            whole++;
        } else {
            expected.count = 0;
            ids_add(&expected, vocab->unk);
        }
        assert_int_equal(ids.count, expected.count);
        assert_memory_equal(ids.data, expected.data, ids.count * sizeof *ids.data);
    }
    assert_true(whole > WORDS / 2);
    wordpiece_close(wordpiece);
}
