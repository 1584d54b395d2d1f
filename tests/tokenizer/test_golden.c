/* Against golden files of Hugging Face `tokenizers` (scripts/golden_tokenizer.py) and of a reimplementation of Google's
 * program (scripts/golden_google.py): ids of a list of texts, and checksums of the words of texts made of every code
 * point. */
#include "tests/tokenizer/help.h"

#define BLOCK 0x1000u

static const struct tokenizer_options modes[4] = {
    {.cased = false, .strip_accents = true},
    {.cased = false, .strip_accents = false},
    {.cased = true, .strip_accents = false},
    {.cased = true, .strip_accents = true},
};

static struct buf golden(const char *name)
{
    char path[1024];
    struct buf text = {0};
    struct error err;
    snprintf(path, sizeof path, "%s/tests/golden/%s", SOURCE_DIR, name);
    assert_int_equal(file_read_all(path, 16 << 20, &text, &err), 0);
    return text;
}

/* The next line after *at, with its LF replaced by a NUL; NULL at the end. */
static char *next_line(char **at)
{
    char *line = *at, *newline = line ? strchr(line, '\n') : NULL;
    if (!newline)
        return NULL;
    *newline = 0;
    *at = newline + 1;
    return line;
}

/* Replaces \\ and \xHH, in place. */
static struct str unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at;) {
        unsigned byte = (unsigned char)*at++;
        if (byte == '\\' && *at == 'x') {
            assert_int_equal(sscanf(at + 1, "%2x", &byte), 1);
            at += 3;
        } else if (byte == '\\') {
            at++;
        }
        *to++ = (char)byte;
    }
    return str_range(text, to);
}

static struct tokenizer_options mode_of(size_t mode, enum profile profile)
{
    struct tokenizer_options options = modes[mode];
    options.profile = profile;
    return options;
}

static void check_cases(const char *name, enum profile profile)
{
    char path[1024];
    struct vocab *vocab;
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
    struct buf file = golden(name);
    char *at = (char *)buf_text(&file), *line;
    size_t cases = 0, different = 0;
    next_line(&at);
    next_line(&at);
    for (; (line = next_line(&at)); cases++) {
        char *const start = strsep(&line, "\t");
        const struct str text = unescape(start);
        const char *expected = "";
        for (size_t mode = 0; mode < 4; mode++) {
            const char *column = strsep(&line, "\t");
            assert_non_null(column);
            expected = strcmp(column, "=") ? column : expected;
            struct ids ids = {0};
            struct buf got = {0};
            tokenizer_ids(states[mode], text, &ids);
            for (size_t i = 0; i < ids.count; i++)
                buf_addf(&got, i ? " %u" : "%u", ids.data[i]);
            if (strcmp(buf_text(&got), expected)) {
                print_error("case %zu, mode %zu: expected %s, got %s\n", cases, mode, expected, buf_text(&got));
                different++;
            }
            buf_release(&got);
            ids_release(&ids);
        }
    }
    assert_true(cases > 1500);
    assert_int_equal(different, 0);
    for (size_t mode = 0; mode < 4; mode++) {
        tokenizer_state_close(states[mode]);
        tokenizer_close(tokenizers[mode]);
    }
    buf_release(&file);
    vocab_close(vocab);
}

static void cases_have_these_ids(void **state)
{
    (void)state;
    check_cases("tokenizer-cases.txt", PROFILE_HF);
}

static void cases_have_these_ids_by_google(void **state)
{
    (void)state;
    check_cases("google-cases.txt", PROFILE_GOOGLE);
}

/* CRC-32 as in zlib. */
static uint32_t crc_table[256];

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        crc_table[i] = crc;
    }
}

static void add_bytes(uint32_t *crc, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *crc = *crc >> 8 ^ crc_table[(*crc ^ (unsigned char)data[i]) & 255];
}

static void add_word(void *crc, struct str word)
{
    add_bytes(crc, word.data, word.size);
    add_bytes(crc, "\n", 1);
}

/* As point_text() in the scripts: the code point is put between these. */
static const char *const between_hf[] = {"", " a", "b ", "\u0327\u0301", " E\u0301", NULL};
static const char *const between_google[] = {"",         " a", "b ",       "\u0327\u0301",  " E\u0301", " a\u03A3",
                                             " a\u03A3", "a ", "\u03A3 a", "\u03A3 \u03A3", NULL};

static size_t point_text(uint32_t point, const char *const *between, const char *end, char *text)
{
    char letter[5] = {0};
    utf8_write(point, letter);
    const unsigned size = point ? (unsigned)strlen(letter) : 1;
    char *at = text;
    for (; *between; between++) {
        at = stpcpy(at, *between);
        memcpy(at, letter, size);
        at += size;
    }
    return (size_t)(stpcpy(at, end) - text);
}

static void check_points(const char *name, enum profile profile)
{
    const bool google = profile == PROFILE_GOOGLE;
    make_crc_table();
    struct buf file = golden(name);
    char *at = (char *)buf_text(&file), *line;
    size_t blocks = 0;
    next_line(&at);
    next_line(&at);
    for (; (line = next_line(&at)); blocks++) {
        unsigned first, expected[4];
        assert_int_equal(sscanf(line, "%x %x %x %x %x", &first, expected, expected + 1, expected + 2, expected + 3), 5);
        for (size_t mode = 0; mode < 4; mode++) {
            const struct tokenizer_options options = mode_of(mode, profile);
            struct tokenizer *tokenizer = tokenizer_open(NULL, &options);
            struct tokenizer_state *words = tokenizer_state_open(tokenizer);
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
            tokenizer_state_close(words);
            tokenizer_close(tokenizer);
        }
    }
    assert_true(blocks > 50);
    buf_release(&file);
}

static void every_code_point_is_taken_for_the_same(void **state)
{
    (void)state;
    check_points("tokenizer-points.txt", PROFILE_HF);
}

static void every_code_point_is_taken_for_the_same_by_google(void **state)
{
    (void)state;
    check_points("google-points.txt", PROFILE_GOOGLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_have_these_ids),
        cmocka_unit_test(every_code_point_is_taken_for_the_same),
        cmocka_unit_test(cases_have_these_ids_by_google),
        cmocka_unit_test(every_code_point_is_taken_for_the_same_by_google),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
