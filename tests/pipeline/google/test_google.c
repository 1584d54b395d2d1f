/* pipeline/google: Python's random numbers and its strip. flow/google.sh compares the instances. */
#include "pipeline/google/google.h"
#include "pipeline/google/instances.h"
#include "tests/unit.h"

/* ------------------------------------------------------------------------------------------ random numbers */

static struct twister seeded(uint64_t seed)
{
    struct twister twister;
    twister_seed(&twister, seed);
    return twister;
}

/* Python 3.11: r = random.Random(12345); r.getrandbits(32), r.random(), r.randint(0, 9), r.shuffle(list(range(10))). */
TEST(draws_as_python)
{
    static const uint32_t words[] = {1789368711u, 3146859322u, 43676229u, 3522623596u};
    static const double reals[] = {.41661987254534116, .010169169457068361, .8252065092537432, .2986398551995928,
                                   .3684116894884757};
    static const uint32_t numbers[] = {6, 0, 4, 5, 3, 4, 9, 6, 2, 5}, order[] = {8, 7, 3, 5, 1, 2, 9, 4, 0, 6};
    struct twister twister = seeded(12345);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(twister_word(&twister), words[i]);
    twister = seeded(12345);
    for (size_t i = 0; i < 5; i++)
        assert_true(twister_real(&twister) == reals[i]);
    twister = seeded(12345);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(twister_between(&twister, 0, 9), numbers[i]);
    twister = seeded(12345);
    uint32_t items[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    twister_shuffle(&twister, items, 10);
    assert_memory_equal(items, order, sizeof order);
}

/* The same for seeds of one and two words: the first word, and the 2,000th, after the state was renewed three times. */
TEST(seeds_of_any_size)
{
    static const struct {
        uint64_t seed;
        uint32_t first, late;
    } cases[] = {{0ull, 3626764237u, 3908016617u},
                 {1ull, 577090037u, 1058062369u},
                 {4294967295ull, 2728839433u, 2640887251u},
                 {4294967296ull, 485306839u, 4134838374u},
                 {18446744073709551615ull, 93740670u, 4117718281u},
                 {1311768467463790320ull, 3646699384u, 1513430740u}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct twister twister = seeded(cases[i].seed);
        assert_int_equal(twister_word(&twister), cases[i].first);
        for (int word = 0; word < 1998; word++)
            twister_word(&twister);
        assert_int_equal(twister_word(&twister), cases[i].late);
    }
}

TEST(one_choice_draws_too)
{
    struct twister twister = seeded(12345), other = seeded(12345);
    assert_int_equal(twister_between(&twister, 3, 3), 3);
    /* A choice from one value draws single bits until one is 0. The first words begin with 0x6a and 0xbb. */
    assert_true(twister_word(&other) >> 31 == 0);
    assert_int_equal(twister_word(&twister), twister_word(&other));
    assert_true(twister_word(&twister) >> 31 == 0);
    twister = seeded(12345);
    twister_word(&twister);
    twister_between(&twister, 3, 3); /* a word whose first bit is 1 is skipped */
    assert_int_equal(twister_word(&twister), 3522623596u);
    uint32_t item = 7;
    struct twister same = twister;
    twister_shuffle(&twister, &item, 1);
    twister_shuffle(&twister, &item, 0);
    assert_memory_equal(&twister, &same, sizeof same);
}

/* ------------------------------------------------------------------------------------------ lines */

TEST(strips_as_python)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" a b ", "a b"},
        {"\r\n\t\v\f a", "a"},
        {"\x1c\x1d\x1e\x1f\xc2\x85\xc2\xa0\xe1\x9a\x80", ""},
        {"\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80", ""},
        {"\xe3\x80\x80\xe4\xb8\xad\xe3\x80\x80", "\xe4\xb8\xad"},
        {"\xe2\x80\x8b", "\xe2\x80\x8b"},     /* U+200B */
        {"\xef\xbb\xbf x", "\xef\xbb\xbf x"}, /* U+FEFF */
        {"\xc3\xa9\xc2\xa0", "\xc3\xa9"},
        {"\x01", "\x01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct str got = python_strip(str_of(cases[i][0]));
        assert_true(str_equal(got, str_of(cases[i][1])));
    }
}
