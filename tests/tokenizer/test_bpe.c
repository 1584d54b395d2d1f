/* Byte-level BPE: ids as in the golden files of Hugging Face `tokenizers` (scripts/golden_bpe.py), words of each
 * pattern, long words, zeros, added tokens, and files that are refused. */
#include "tests/tokenizer/golden.h"

#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/word_starts.h"

#include <sys/stat.h>

#define MODES  3
#define FOLDER "test_bpe.d"

static const char *const modes[MODES] = {"nfc", "cl100k", "prefix"};

/* A tokenizer, opened. */
struct opened {
    struct vocab *vocab;
    struct tokenizer *tokenizer;
    struct tokenizer_state *state;
};

static struct opened open_path(const char *path, bool special)
{
    struct opened opened;
    struct tokenizer_facts facts;
    struct error err = {0};
    if (tokenizer_read(&facts, path, PROFILE_HF, &err) < 0)
        fail_msg("%s", err.text);
    facts.words.special_in_text = special;
    opened.vocab = facts.vocab;
    opened.tokenizer = tokenizer_open(facts.vocab, &facts.words);
    opened.state = tokenizer_state_open(opened.tokenizer);
    return opened;
}

static struct opened open_mode(const char *mode, bool special)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/bpe-%s.json", SOURCE_DIR, mode);
    return open_path(path, special);
}

static void close_opened(struct opened *opened)
{
    tokenizer_state_close(opened->state);
    tokenizer_close(opened->tokenizer);
    vocab_close(opened->vocab);
}

/* The ids of a text with what surrounds it, as decimals, by one of several tokenizers. */
static void framed_ids(void *several, size_t mode, struct str text, struct buf *out)
{
    const struct opened *opened = (const struct opened *)several + mode;
    SCOPED(ids_release) struct ids ids = {0};
    for (size_t i = 0; i < opened->vocab->before.count; i++)
        ids_add(&ids, opened->vocab->before.ids[i]);
    tokenizer_ids(opened->state, text, &ids);
    for (size_t i = 0; i < opened->vocab->after.count; i++)
        ids_add(&ids, opened->vocab->after.ids[i]);
    add_ids(&ids, out);
}

TEST(cases_have_these_ids)
{
    struct opened opened[MODES];
    for (size_t mode = 0; mode < MODES; mode++)
        opened[mode] = open_mode(modes[mode], true);
    check_columns("bpe-cases.txt", MODES, framed_ids, opened);
    for (size_t mode = 0; mode < MODES; mode++)
        close_opened(&opened[mode]);
}

TEST(every_code_point_is_taken_for_the_same)
{
    struct opened opened[MODES];
    make_crc_table();
    for (size_t mode = 0; mode < MODES; mode++)
        opened[mode] = open_mode(modes[mode], true);
    struct buf file = golden("bpe-points.txt");
    char *at = (char *)buf_text(&file), *line;
    struct ids ids = {0};
    size_t blocks = 0;
    next_line(&at);
    next_line(&at);
    for (; (line = next_line(&at)); blocks++) {
        unsigned first, expected[MODES];
        assert_int_equal(sscanf(line, "%x %x %x %x", &first, expected, expected + 1, expected + 2), 4);
        for (size_t mode = 0; mode < MODES; mode++) {
            uint32_t crc = ~0u;
            for (uint32_t point = first; point < first + BLOCK; point++) {
                char text[128], number[16];
                if (point >= 0xD800 && point < 0xE000)
                    continue;
                ids.count = 0;
                tokenizer_ids(opened[mode].state, (struct str){text, point_text(point, between_hf, "", text)}, &ids);
                for (size_t i = 0; i < ids.count; i++)
                    add_bytes(&crc, number, (size_t)snprintf(number, sizeof number, "%u\n", ids.data[i]));
                add_bytes(&crc, "\n", 1);
            }
            if (~crc != expected[mode])
                fail_msg("U+%04X to U+%04X differ in mode %s", first, first + BLOCK - 1, modes[mode]);
        }
    }
    assert_true(blocks > 50);
    ids_release(&ids);
    buf_release(&file);
    for (size_t mode = 0; mode < MODES; mode++)
        close_opened(&opened[mode]);
}

/* The words of a text, "|" between them. */
static void assert_words(const struct opened *opened, const char *text, const char *expected)
{
    SCOPED(buf_release) struct buf out = {0};
    tokenizer_words(opened->state, str_of(text), collect_word, &out);
    assert_string_equal(buf_text(&out), expected);
}

TEST(words_by_each_pattern)
{
    static const struct {
        const char *text, *gpt2, *cl100k;
    } cases[] = {
        {"It's  done.", "It|'s| | done|.", "It|'s| | done|."},
        {"IT'S 'tis", "IT|'|S| '|tis", "IT|'S| '|tis"},
        {"1234567 x", "1234567| x", "123|456|7| x"},
        {"a\tb (c", "a|\t|b| (|c", "a|\tb| (|c"},
        {"?!\r\n\r\n  x", "?!|\r\n\r\n | x", "?!\r\n\r\n| | x"},
        {" \n \n x", " \n \n| x", " \n \n| x"},
        {"x  ", "x|  ", "x|  "},
        {"\xC3\xA9\xE6\xBC\xA2\xD9\xA3", "\xC3\xA9\xE6\xBC\xA2|\xD9\xA3", "\xC3\xA9\xE6\xBC\xA2|\xD9\xA3"},
        {"'\xC5\xBF", "'|\xC5\xBF", "'\xC5\xBF"}, /* a long s */
    };
    struct opened gpt2 = open_mode("nfc", false), cl100k = open_mode("cl100k", false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strstr(cases[i].text, "  ")) /* two blanks are an added token there */
            assert_words(&gpt2, cases[i].text, cases[i].gpt2);
        assert_words(&cl100k, cases[i].text, cases[i].cl100k);
    }
    close_opened(&gpt2);
    close_opened(&cl100k);
}

/* Qwen's spelling of cl100k's pattern, whose numbers have one digit, and tiktoken's. */
TEST(other_patterns_like_cl100k)
{
    static const char text[] = "IT'S 1234567?!\r\n\r\n  x \n ";
    static const struct {
        const char *regex, *words;
    } cases[] = {
        {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
         "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
         "IT|'S| |1|2|3|4|5|6|7|?!\r\n\r\n| | x| \n| "},
        {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
         "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
         "IT|'S| |123|456|7|?!\r\n\r\n| | x| \n| "},
    };
    SCOPED(mem_free_at) uint8_t *facts = split_facts_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct split_pattern *pattern = split_pattern_find(cases[i].regex);
        const char *const end = text + sizeof text - 1;
        SCOPED(buf_release) struct buf words = {0};
        assert_non_null(pattern);
        for (const char *at = text, *next; at < end; at = next) {
            next = split_word(pattern, facts, at, end);
            collect_word(&words, str_range(at, next));
        }
        assert_string_equal(buf_text(&words), cases[i].words);
    }
    assert_null(split_pattern_find("\\p{L}+"));
}

static void assert_ids(const struct opened *opened, struct str text, size_t count, const uint32_t *expected)
{
    SCOPED(ids_release) struct ids ids = {0};
    for (int again = 0; again < 2; again++) {
        ids.count = 0;
        tokenizer_ids(opened->state, text, &ids);
        assert_int_equal(ids.count, count);
        assert_memory_equal(ids.data, expected, count * sizeof *expected);
    }
}

/* Words that differ only in zeros at their end are not taken for each other when they are remembered. */
TEST(zeros_count)
{
    struct opened opened = open_mode("cl100k", false);
    const uint32_t zero = opened.vocab->bpe->of_byte[0];
    const uint32_t mark = opened.vocab->bpe->of_byte['!'];
    const uint32_t expected[] = {mark, zero, zero, zero};
    for (size_t zeros = 0; zeros < 4; zeros++) {
        assert_ids(&opened, (struct str){"!\0\0\0", 1 + zeros}, 1 + zeros, expected);
        if (zeros > 0)
            assert_ids(&opened, (struct str){"\0\0\0", zeros}, zeros, expected + 1);
    }
    close_opened(&opened);
}

/* A long word is merged by a heap, a short one by an array: both are cut as if by the definition. */
TEST(long_words_are_cut_like_short_ones)
{
    struct opened opened = open_mode("nfc", false);
    const struct bpe_rules *rules = opened.vocab->bpe;
    char text[256];
    uint32_t random = 1;
    for (size_t size = 1; size < sizeof text; size++) {
        uint32_t expected[256];
        size_t count = size;
        for (size_t i = 0; i < size; i++) {
            random = random * 1664525u + 1013904223u;
            text[i] = "aeinrstfff"[(random >> 24) % 10]; /* "ff" is a piece: of "fff" the first two */
            expected[i] = rules->of_byte[(unsigned char)text[i]];
        }
        for (size_t rank = 0; rank < rules->merge_count;) {
            size_t i = 0;
            while (i + 1 < count &&
                   (expected[i] != rules->merges[rank].left || expected[i + 1] != rules->merges[rank].right))
                i++;
            if (i + 1 >= count) {
                rank++;
                continue;
            }
            expected[i] = rules->merges[rank].both;
            count--;
            memmove(expected + i + 1, expected + i + 2, (count - i - 1) * sizeof *expected);
            rank = 0;
        }
        assert_ids(&opened, (struct str){text, size}, count, expected);
    }
    close_opened(&opened);
}

TEST(special_tokens_are_text_unless_asked_for)
{
    struct opened text = open_mode("nfc", false), tokens = open_mode("nfc", true);
    const struct vocab *vocab = text.vocab;
    struct ids ids = {0};
    tokenizer_ids(tokens.state, STR("  [MASK]"), &ids); /* it takes the blanks before it */
    assert_int_equal(ids.count, 1);
    assert_int_equal(ids.data[0], vocab->mask);
    ids.count = 0;
    tokenizer_ids(text.state, STR("[MASK]|||X|||"), &ids);
    assert_true(ids.count > 2);
    for (size_t i = 0; i + 1 < ids.count; i++)
        assert_true(ids.data[i] != vocab->mask);
    assert_true(str_equal(vocab->pieces[ids.data[ids.count - 1]], STR("|||X|||"))); /* that one is not special */
    ids_release(&ids);
    assert_words(&tokens, "a[MASK]b", "a|b");
    close_opened(&text);
    close_opened(&tokens);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % below;
}

/* A text of words, blanks, marks, tokens and what NFC composes, or changes nothing in. */
static struct str random_text(uint32_t *random, struct buf *text)
{
    static const char *const parts[] = {
        " ",     " ",      "\n",      "  ",           "e\xCC\x81",         "it's", "don't",  "42",          ".\n",
        "12345", "[MASK]", "|||X|||", "\xE6\x9D\xB1", "\xC3\xA9t\xC3\xA9", "?!",   "\t(the", "e\xCC\x82 e", "running",
        "...",   "'S"};
    buf_reset(text);
    for (uint32_t left = draw(random, draw(random, 8) == 0 ? 200 : 24); left > 0; left--) /* some are of blocks */
        buf_add_text(text, parts[draw(random, sizeof parts / sizeof *parts)]);
    return buf_str(text);
}

/* The ids of a text do not depend on its sentences, and each is in the sentence in which it begins. */
TEST(sentences_divide_the_ids_of_a_text)
{
    struct buf text = {0};
    struct ids ids = {0}, whole = {0}, places = {0};
    uint32_t random = 1, several = 0;
    for (size_t mode = 0; mode < MODES; mode++) {
        struct opened opened = open_mode(modes[mode], true);
        for (int round = 0; round < 3000; round++) {
            const struct str all = random_text(&random, &text);
            struct str sentences[256];
            size_t ends[256], cuts[256], count = 0;
            for (size_t i = 0; i < all.size; i++)
                if (!strchr(" \n\t", all.data[i]) &&
                    (count == 0 || (strchr(" \n\t", all.data[i - 1]) && draw(&random, 3) == 0))) {
                    cuts[count] = i - (i > 0 && all.data[i - 1] == ' ');
                    sentences[count++] = (struct str){all.data + i, 1};
                }
            ids.count = whole.count = places.count = 0;
            tokenizer_ids(opened.state, all, &whole);
            tokenizer_sentences(opened.state, all, sentences, count, &ids, ends);
            if (count == 0 && all.size > 0)
                continue;
            assert_int_equal(ids.count, whole.count);
            assert_memory_equal(ids.data, whole.data, ids.count * sizeof *ids.data);
            whole.count = 0;
            tokenizer_places(opened.state, all, &whole, &places);
            for (size_t i = 0, sentence = 0; i < ids.count; i++) {
                while (sentence + 1 < count && places.data[2 * i] >= cuts[sentence + 1])
                    sentence++;
                const struct str piece = {all.data + places.data[2 * i], places.data[2 * i + 1] - places.data[2 * i]};
                if (str_is_blank(piece)) /* perhaps the rest of a word of white space that begins before */
                    continue;
                if (i >= ends[sentence] || (sentence > 0 && i < ends[sentence - 1]))
                    fail_msg("mode %s: id %zu of \"%.*s\" is not in sentence %zu", modes[mode], i, (int)all.size,
                             all.data, sentence);
            }
            several += count > 1;
        }
        close_opened(&opened);
    }
    assert_true(several > 4000);
    ids_release(&ids);
    ids_release(&whole);
    ids_release(&places);
    buf_release(&text);
}

struct lengths {
    size_t ends[2048], count;
};

static void note_end(void *context, struct str word)
{
    struct lengths *lengths = context;
    lengths->ends[lengths->count] = (lengths->count > 0 ? lengths->ends[lengths->count - 1] : 0) + word.size;
    lengths->count++;
}

/* Where words begin is found again from the ids. */
TEST(ids_tell_where_words_begin)
{
    struct buf text = {0}, bytes = {0};
    struct ids ids = {0};
    uint32_t random = 7, inside = 0;
    for (size_t mode = 0; mode < MODES; mode++) {
        struct opened opened = open_mode(modes[mode], false);
        struct word_starts *words = word_starts_open(opened.vocab);
        for (int round = 0; round < 3000; round++) {
            struct lengths lengths = {.count = 0};
            bool starts[4096];
            const struct str all = random_text(&random, &text);
            ids.count = 0;
            tokenizer_ids(opened.state, all, &ids);
            tokenizer_words(opened.state, all, note_end, &lengths);
            word_starts_mark(words, ids.data, ids.count, starts);
            size_t at = 0, word = 0, known = 0;
            buf_reset(&bytes);
            for (size_t i = 0; i < ids.count; i++)
                known += bpe_bytes(opened.vocab->pieces[ids.data[i]], &bytes);
            if (known < ids.count || bytes.size != (lengths.count > 0 ? lengths.ends[lengths.count - 1] : 0))
                continue; /* added tokens, which are no words of tokenizer_words; bytes without a piece */
            for (size_t i = 0; i < ids.count; i++) {
                const bool begins = at == (word > 0 ? lengths.ends[word - 1] : 0);
                if (starts[i] != begins)
                    fail_msg("mode %s: id %zu of \"%.*s\" begins a word: %d", modes[mode], i, (int)all.size, all.data,
                             begins);
                word += begins;
                inside += !begins;
                buf_reset(&bytes);
                bpe_bytes(opened.vocab->pieces[ids.data[i]], &bytes);
                at += bytes.size;
            }
            assert_int_equal(word, lengths.count);
        }
        word_starts_close(words);
        close_opened(&opened);
    }
    assert_true(inside > 1000);
    buf_release(&text);
    buf_release(&bytes);
    ids_release(&ids);
}

/* A row that begins or ends inside a character, and pieces that stand for no bytes. */
TEST(parts_of_characters_and_tokens_are_words)
{
    struct opened opened = open_mode("nfc", true);
    const uint32_t *const byte = opened.vocab->bpe->of_byte;
    struct word_starts *words = word_starts_open(opened.vocab);
    const uint32_t ids[] = {byte[0xA9], byte['a'],  opened.vocab->cls,  byte['b'],
                            byte[0xC3], byte[0xA9], opened.vocab->mask, opened.vocab->mask,
                            byte['!'],  byte['b'],  byte[0xE6]};
    static const bool expected[] = {true, false, true, true, false, false, true, true, true, true, false};
    bool starts[sizeof ids / sizeof *ids];
    word_starts_mark(words, ids, sizeof ids / sizeof *ids, starts);
    assert_memory_equal(starts, expected, sizeof expected);
    word_starts_close(words);
    close_opened(&opened);
}

TEST(roles_have_their_pieces)
{
    static const char *const expected[MODES][ROLES] = {{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
                                                       {NULL, NULL, NULL, "</s>", NULL},
                                                       {"<pad>", "<unk>", "<s>", "</s>", "<mask>"}};
    for (size_t mode = 0; mode < MODES; mode++) {
        struct opened opened = open_mode(modes[mode], false);
        struct error err = {0};
        for (size_t role = 0; role < ROLES; role++) {
            const uint32_t id = opened.vocab->roles[role];
            if (!expected[mode][role])
                assert_int_equal(id, VOCAB_NONE);
            else
                assert_true(str_equal(opened.vocab->pieces[id], str_of(expected[mode][role])));
        }
        assert_int_equal(vocab_need_roles(opened.vocab, "x", &err), mode == 1 ? -1 : 0);
        close_opened(&opened);
    }
}

/* ---- files ---- */

static void put(const char *name, const char *text)
{
    char path[64];
    struct error err;
    mkdir(FOLDER, 0777);
    snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(file_write_all(path, text, strlen(text), &err), 0);
}

static int clear(void **state)
{
    static const char *const names[] = {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer_config.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, FOLDER "/%s", names[i]);
        unlink(path);
    }
    rmdir(FOLDER);
    return 0;
}

static void assert_refused(enum error_kind kind, const char *says)
{
    struct tokenizer_facts facts;
    struct error err = {0};
    assert_int_equal(tokenizer_read(&facts, FOLDER, PROFILE_HF, &err), -1);
    if (err.kind != kind || !strstr(err.text, says))
        fail_msg("%s, not %s", err.text, says);
    assert_null(facts.vocab);
}

#define PIECES "\"a\": 0, \"b\": 1, \"ab\": 2"
#define MERGES "[\"a b\"]"
#define BYTES  "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}"

static void put_json(const char *model, const char *pieces, const char *merges, const char *pre, const char *more)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"model\": {\"type\": \"BPE\", %s\"vocab\": {%s}, \"merges\": %s}, \"pre_tokenizer\": %s%s}", model,
             pieces, merges, pre, more);
    put("tokenizer.json", text);
}

TEST_WITH(what_is_not_supported_is_quoted, NULL, clear)
{
    static const struct {
        const char *model, *pre, *more, *says;
    } cases[] = {
        {"", "{\"type\": \"Metaspace\"}", "", "the pre_tokenizer Metaspace"},
        {"", "null", "", "a BPE without a pre_tokenizer"},
        {"", "{\"type\": \"ByteLevel\", \"use_regex\": false}", "", "ByteLevel without a pattern"},
        {"",
         "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\w+x\"}, "
         "\"behavior\": \"Isolated\"}, {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}]}",
         "", "the pattern \\w+x"},
        {"", "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\"}, " BYTES "]}", "",
         "the pre_tokenizer Digits"},
        {"", BYTES, ", \"normalizer\": {\"type\": \"Lowercase\"}", "the normalizer Lowercase"},
        {"", BYTES, ", \"post_processor\": {\"type\": \"BertProcessing\"}", "the post_processor BertProcessing"},
        {"\"byte_fallback\": true, ", BYTES, "", "byte_fallback"},
        {"\"dropout\": 0.1, ", BYTES, "", "dropout"},
        {"\"end_of_word_suffix\": \"</w>\", ", BYTES, "", "end_of_word_suffix"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_json(cases[i].model, PIECES, MERGES, cases[i].pre, cases[i].more);
        assert_refused(ERR_UNSAFE, cases[i].says);
    }
    put("tokenizer.json", "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0.5]]}}");
    assert_refused(ERR_UNSAFE, "a model of type Unigram");
}

TEST_WITH(damaged_files_are_refused, NULL, clear)
{
    static const struct {
        const char *pieces, *merges, *more, *says;
    } cases[] = {
        {PIECES, "[\"a c\"]", "", "merge 1 names \"c\", which is no piece"},
        {PIECES, "[\"a b\", \"b a\"]", "", "merge 2 names \"ba\""},
        {PIECES, "[\"a b b\"]", "", "merge 1 is not two pieces"},
        {PIECES, "[[\"a\"]]", "", "merge 1 is not two pieces"},
        {PIECES, "[7]", "", "merge 1 is not two pieces"},
        {"\"a\": 0, \"b\": 0", "[]", "", "two pieces have the id 0"},
        {"\"a\": 0, \"b\": 2", "[]", "", "ids must follow each other"},
        {"\"a\": 0, \"a\": 1", "[]", "", "duplicate"},
        {"\"a\": -1", "[]", "", "ids must follow each other"},
        {"\"a\": 4294967296", "[]", "", "ids must follow each other"},
        {"", "[]", "", "no vocabulary"},
        {PIECES, "[]", ", \"added_tokens\": [{\"id\": 7, \"content\": \"a\"}]", "has not the id of its piece"},
        {PIECES, "[]", ", \"added_tokens\": [{\"id\": 4, \"content\": \"x\"}]", "ids must follow each other"},
        {PIECES, "[]", ", \"added_tokens\": [{\"id\": 3, \"content\": \"x\"}, {\"id\": 4, \"content\": \"x\"}]",
         "two added tokens are \"x\""},
        {PIECES, "[]",
         ", \"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"x\", 3], \"sep\": [\"a\", 0]}",
         "\"x\" is no piece"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_json("", cases[i].pieces, cases[i].merges, BYTES, cases[i].more);
        assert_refused(ERR_INPUT, cases[i].says);
    }
}

/* A search costs the length of a token at every place, so long ones are refused; there may be many. */
TEST_WITH(added_tokens_are_bounded, NULL, clear)
{
    char list[600];
    struct opened opened;
    for (int size = 257; size >= 256; size--) {
        snprintf(list, sizeof list, ", \"added_tokens\": [{\"id\": 3, \"content\": \"%0*d\"}]", size, 0);
        put_json("", PIECES, MERGES, BYTES, list);
        if (size > 256)
            assert_refused(ERR_UNSAFE, "an added token has more than 256 bytes");
    }
    opened = open_path(FOLDER, true);
    close_opened(&opened);
    struct buf text = {0};
    buf_add_text(&text,
                 "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}, \"pre_tokenizer\": " BYTES
                 ", \"added_tokens\": [{\"id\": 1, \"content\": \"x1\"}");
    for (int id = 2; id <= 60000; id++)
        buf_addf(&text, ", {\"id\": %d, \"content\": \"x%d\"}", id, id);
    buf_add_text(&text, "]}");
    put("tokenizer.json", buf_text(&text));
    buf_release(&text);
    opened = open_path(FOLDER, true);
    assert_ids(&opened, STR("ax59999x6y"), 3, (const uint32_t[]){0, 59999, 6}); /* y has no piece */
    close_opened(&opened);
}

/* Line ends in pieces are found in texts, and spelled by letters where pieces stand on lines. */
TEST_WITH(pieces_may_hold_line_ends, NULL, clear)
{
    put_json("", PIECES ", \"b\\r\": 3", MERGES, BYTES,
             ", \"added_tokens\": [{\"id\": 4, \"content\": \"\\n\\n\"}, {\"id\": 3, \"content\": \"b\\r\"}]");
    struct opened opened = open_path(FOLDER, false);
    assert_ids(&opened, STR("a\n\nbb\ra"), 5, (const uint32_t[]){0, 4, 1, 3, 0});
    assert_true(str_equal(opened.vocab->pieces[4], STR("\xC4\x8A\xC4\x8A")));
    assert_true(str_equal(opened.vocab->pieces[3], STR("b\xC4\x8D")));
    size_t lines = 0;
    for (size_t i = 0; i < opened.vocab->text_bytes; i++)
        lines += opened.vocab->text[i] == '\n';
    assert_int_equal(lines, opened.vocab->count);
    close_opened(&opened);
}

/* More merges than ids, and brackets without an end, end before they take memory. */
TEST_WITH(hostile_sizes_are_refused, NULL, clear)
{
    struct buf text = {0};
    buf_add_text(&text, "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"aa\": 1}, \"merges\": [\"a a\"");
    for (int i = 1; i < 2000000; i++)
        buf_add_text(&text, ",\"a a\"");
    buf_add_text(&text, "]}, \"pre_tokenizer\": " BYTES "}");
    put("tokenizer.json", buf_text(&text));
    assert_refused(ERR_UNSAFE, "2000000 merges, more than 1048576");
    buf_reset(&text);
    for (int i = 0; i < 1000000; i++)
        buf_add_text(&text, i % 2 ? "{\"a\":" : "[");
    put("tokenizer.json", buf_text(&text));
    assert_refused(ERR_INPUT, "");
    buf_release(&text);
}

/* The same pieces as vocab.json and merges.txt, whose class says how text is cut. */
TEST_WITH(older_files_are_read, NULL, clear)
{
    put("vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<s>\": 3, \"</s>\": 4, \"\xC4\xA0\": 5}");
    put("merges.txt", "#version: 0.2\na b\n");
    put("tokenizer_config.json", "{\"tokenizer_class\": \"RobertaTokenizer\", \"add_prefix_space\": true}");
    struct opened opened = open_path(FOLDER, true);
    struct buf out = {0};
    framed_ids(&opened, 0, STR("ab</s>b"), &out);
    assert_string_equal(buf_text(&out), "3 5 2 4 5 1 4");
    buf_release(&out);
    close_opened(&opened);
    put("tokenizer_config.json", "{}");
    opened = open_path(FOLDER "/vocab.json", true);
    framed_ids(&opened, 0, STR("ab b"), &out);
    assert_string_equal(buf_text(&out), "2 5 1");
    buf_release(&out);
    close_opened(&opened);
    put("merges.txt", "a b\nab\n");
    assert_refused(ERR_INPUT, "merge 2 is not two pieces: \"ab\"");
    put("merges.txt", "a b\n");
    put("tokenizer_config.json", "{\"mask_token\": \"<m>\"}");
    assert_refused(ERR_UNSAFE, "has no piece \"<m>\"");
}
