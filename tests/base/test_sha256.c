/* SHA-256 of the examples of FIPS 180-4 (csrc.nist.gov, "SHA256") and similar inputs, fed in pieces of any size. */
#include "base/sha256.h"
#include "tests/unit.h"

static void expect(const char *text, size_t bytes, const char *wanted)
{
    char out[65];
    for (size_t step = 1; step <= 200; step += 1 + step / 3) {
        struct sha256 sha = sha256_begin();
        for (size_t at = 0; at < bytes; at += step)
            sha256_add(&sha, text + at, bytes - at < step ? bytes - at : step);
        assert_string_equal(sha256_text(&sha, out), wanted);
    }
}

TEST(the_examples_of_the_standard)
{
    char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31 + i / 256);
    expect(bytes, sizeof bytes, "470d1b89fc75293c6793ec18ae42d29a06e47c26fde262729975d35de66bc5b1");
    expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(a_million_letters)
{
    char *letters = malloc(1000000), out[65];
    memset(letters, 'a', 1000000);
    struct sha256 sha = sha256_begin();
    sha256_add(&sha, letters, 1000000);
    assert_string_equal(sha256_text(&sha, out), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}

/* Every length around the ends of blocks. The expected hash of all hashes was computed with Python's hashlib. */
TEST(every_length)
{
    char bytes[300], out[65];
    struct sha256 sums = sha256_begin();
    for (int i = 0; i < 300; i++)
        bytes[i] = (char)(i * 7);
    for (size_t size = 0; size <= 300; size++) {
        struct sha256 sha = sha256_begin();
        sha256_add(&sha, bytes, size);
        sha256_add(&sums, sha256_text(&sha, out), 64);
    }
    assert_string_equal(sha256_text(&sums, out), "917dfe241fcf4d27cf00582a4b7cbc1f5bb92f4298d46d8d986f7cda814596c6");
}

TEST(a_saved_sum_continues)
{
    char bytes[300], out[65], wanted[65];
    for (int i = 0; i < 300; i++)
        bytes[i] = (char)(i * 7);
    struct sha256 whole = sha256_begin(), loaded;
    sha256_add(&whole, bytes, sizeof bytes);
    sha256_text(&whole, wanted);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        SCOPED(buf_release) struct buf saved = {0};
        struct sha256 sha = sha256_begin();
        sha256_add(&sha, bytes, cut);
        sha256_save(&sha, &saved);
        assert_true(sha256_load(&loaded, cut, buf_str(&saved)));
        sha256_add(&loaded, bytes + cut, sizeof bytes - cut);
        assert_string_equal(sha256_text(&loaded, out), wanted);
        assert_false(sha256_load(&loaded, cut + 1, buf_str(&saved)));
        saved.data[saved.size - 1] = 'x';
        assert_false(sha256_load(&loaded, cut, buf_str(&saved)));
    }
}

#define SUM "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

TEST(lines_of_lists)
{
    static const struct {
        const char *line, *name;
    } lines[] = {
        {SUM "  a.xml.bz2", "a.xml.bz2"},
        {SUM " *a.xml.bz2", "a.xml.bz2"},
        {SUM "  a b\r", "a b"},
        {SUM "  ./xml/a.bz2", "./xml/a.bz2"},
        {SUM "   a", " a"},
        {SUM "  ", NULL},
        {SUM " a", NULL},
        {SUM "\t a", NULL},
        {"", NULL},
        {"\r", NULL},
        {SUM "  \r", NULL},
        {"\\" SUM "  a", NULL},
    };
    char digits[65];
    struct str name;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const bool good = sha256_line(str_of(lines[i].line), digits, &name);
        assert_int_equal(good, lines[i].name != NULL);
        if (good)
            assert_true(str_equal(name, str_of(lines[i].name)));
        if (good)
            assert_string_equal(digits, SUM);
    }
    assert_true(sha256_line(STR("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD  a"), digits, &name));
    assert_string_equal(digits, SUM);
    assert_false(
        sha256_line(STR("ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a"), digits, &name));
}
