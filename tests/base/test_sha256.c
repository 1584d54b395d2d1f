/* SHA-256 of what FIPS 180-4's examples (csrc.nist.gov, "SHA256") and their like give, however the bytes come. */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void the_examples_of_the_standard(void **state)
{
    (void)state;
    expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void a_million_letters(void **state)
{
    (void)state;
    char *letters = malloc(1000000), out[65];
    memset(letters, 'a', 1000000);
    struct sha256 sha = sha256_begin();
    sha256_add(&sha, letters, 1000000);
    assert_string_equal(sha256_text(&sha, out), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}

/* Every length around the ends of blocks; the sum of sums as Python's hashlib has it. */
static void every_length(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard),
        cmocka_unit_test(a_million_letters),
        cmocka_unit_test(every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
