/* Against golden files of Hugging Face `tokenizers` (scripts/golden_tokenizer.py) and of a reimplementation of Google's
 * program (scripts/golden_google.py): ids of a list of texts, and checksums of the words of texts made of every code
 * point. */
#include "tests/tokenizer/golden.h"

static const struct tokenizer_options modes[4] = {
    {.cased = false, .strip_accents = true},
    {.cased = false, .strip_accents = false},
    {.cased = true, .strip_accents = false},
    {.cased = true, .strip_accents = true},
};

static struct tokenizer_options mode_of(size_t mode, enum profile profile)
{
    struct tokenizer_options options = modes[mode];
    options.profile = profile;
    return options;
}

static void ids_by(void *states, size_t mode, struct str text, struct buf *out)
{
    SCOPED(ids_release) struct ids ids = {0};
    tokenizer_ids(((struct tokenizer_state **)states)[mode], text, &ids);
    add_ids(&ids, out);
}

static void check_cases(const char *name, enum profile profile)
{
    char path[1024];
    SCOPED(vocab_close_at) struct vocab *vocab = NULL;
    struct error err;
    snprintf(path, sizeof path, "%s/tests/golden/tokenizer-vocab.txt", SOURCE_DIR);
    assert_int_equal(vocab_read(&vocab, path, (enum vocab_rules)profile, &err), 0);
    struct tokenizer *tokenizers[4];
    struct tokenizer_state *states[4];
    for (size_t mode = 0; mode < 4; mode++) {
        const struct tokenizer_options options = mode_of(mode, profile);
        tokenizers[mode] = tokenizer_open(vocab, &options);
        states[mode] = tokenizer_state_open(tokenizers[mode]);
    }
    check_columns(name, 4, ids_by, states);
    for (size_t mode = 0; mode < 4; mode++) {
        tokenizer_state_close(states[mode]);
        tokenizer_close(tokenizers[mode]);
    }
}

TEST(cases_have_these_ids)
{
    check_cases("tokenizer-cases.txt", PROFILE_HF);
}

TEST(cases_have_these_ids_by_google)
{
    check_cases("google-cases.txt", PROFILE_GOOGLE);
}

static const char *const between_google[] = {"",         " a", "b ",       "\u0327\u0301",  " E\u0301", " a\u03A3",
                                             " a\u03A3", "a ", "\u03A3 a", "\u03A3 \u03A3", NULL};

static void check_points(const char *name, enum profile profile)
{
    const bool google = profile == PROFILE_GOOGLE;
    make_crc_table();
    SCOPED(buf_release) struct buf file = golden(name);
    char *at = (char *)buf_text(&file), *line;
    size_t blocks = 0;
    next_line(&at);
    next_line(&at);
    for (; (line = next_line(&at)); blocks++) {
        unsigned first, expected[4];
        assert_int_equal(sscanf(line, "%x %x %x %x %x", &first, expected, expected + 1, expected + 2, expected + 3), 5);
        for (size_t mode = 0; mode < 4; mode++) {
            const struct tokenizer_options options = mode_of(mode, profile);
            SCOPED(tokenizer_close_at) struct tokenizer *tokenizer = tokenizer_open(NULL, &options);
            SCOPED(tokenizer_state_close_at) struct tokenizer_state *words = tokenizer_state_open(tokenizer);
            uint32_t crc = ~0u;
            for (uint32_t point = first; point < first + BLOCK; point++) {
                char text[128];
                if (point >= 0xD800 && point < 0xE000)
                    continue;
                const size_t size = google ? point_text(point, between_google, "\u03A3", text)
                                           : point_text(point, between_hf, "", text);
                tokenizer_words(words, (struct str){text, size}, add_word, &crc);
                add_bytes(&crc, "\n", 1);
            }
            if (~crc != expected[mode])
                fail_msg("U+%04X to U+%04X differ in mode %zu", first, first + BLOCK - 1, mode);
        }
    }
    assert_true(blocks > 50);
}

TEST(every_code_point_is_taken_for_the_same)
{
    check_points("tokenizer-points.txt", PROFILE_HF);
}

TEST(every_code_point_is_taken_for_the_same_by_google)
{
    check_points("google-points.txt", PROFILE_GOOGLE);
}
