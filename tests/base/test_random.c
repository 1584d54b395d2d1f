/* Philox against its published vectors; streams differ from each other; draws are within statistical bounds. */
#include "tests/base/help.h"

#include "base/hash.h"
#include "base/random.h"

TEST(published_vectors)
{
    /* Random123, tests/kat_vectors, philox4x32 10. */
    static const uint32_t cases[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
         0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
         0x24126ea1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t out[4];
        philox4x32(cases[i], cases[i] + 4, out);
        assert_memory_equal(out, cases[i] + 6, sizeof(out));
        memcpy(out, cases[i], sizeof(out));
        philox4x32(out, cases[i] + 4, out);
        assert_memory_equal(out, cases[i] + 6, sizeof(out));
    }
}

TEST(a_stream_is_its_name)
{
    /* The 48 bytes of the stream's name, written out. */
    static const unsigned char bytes[48] = {2, [8] = 3, [16] = 0xFE, 0xCA, [24] = 1, [33] = 2, [40] = 5};
    const uint64_t name = hash64(bytes, sizeof(bytes));
    const struct random_stream a = random_stream(0x123456789, RANDOM_MASK, 3, 0xCAFE, 1, 512, 5);
    assert_int_equal(a.key[0], 0x23456789);
    assert_int_equal(a.key[1], 1);
    assert_int_equal(a.name[0], (uint32_t)name);
    assert_int_equal(a.name[1], (uint32_t)(name >> 32));
    const uint32_t counter[4] = {a.name[0], a.name[1], 7, 8};
    uint32_t direct[4], out[4];
    philox4x32(counter, a.key, direct);
    random_at4(&a, 7, 8, out);
    assert_memory_equal(out, direct, sizeof(out));
    assert_int_equal(random_at(&a, 7, 8), direct[0]);
}

TEST(every_part_of_the_name_counts)
{
    const struct random_stream streams[] = {
        random_stream(0, RANDOM_PAIR, 0, 0, 0, 0, 0),          random_stream(1, RANDOM_PAIR, 0, 0, 0, 0, 0),
        random_stream(1ull << 32, RANDOM_PAIR, 0, 0, 0, 0, 0), random_stream(0, RANDOM_MASK, 0, 0, 0, 0, 0),
        random_stream(0, RANDOM_PAIR, 1, 0, 0, 0, 0),          random_stream(0, RANDOM_PAIR, 0, 1, 0, 0, 0),
        random_stream(0, RANDOM_PAIR, 0, 0, 1, 0, 0),          random_stream(0, RANDOM_PAIR, 0, 0, 0, 1, 0),
        random_stream(0, RANDOM_PAIR, 0, 0, 0, 0, 1),          random_stream(0, RANDOM_PAIR, 0, 0, 0, 0, 1ull << 63),
    };
    for (size_t i = 0; i < COUNT(streams); i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(random_at(&streams[i], 0, 0), random_at(&streams[j], 0, 0));
    assert_int_not_equal(random_at(&streams[0], 0, 1), random_at(&streams[0], 1, 0));
}

TEST(chance_is_exact_at_its_borders)
{
    assert_false(random_chance(0, 0));
    assert_true(random_chance(UINT32_MAX, MILLION));
    assert_true(random_chance(0, 1));
    /* floor(r * 10^6 / 2^32) reaches 150000 at r = ceil(0.15 * 2^32) = 644245095. */
    assert_true(random_chance(644245094, 150000));
    assert_false(random_chance(644245095, 150000));
    assert_int_equal(random_below(UINT32_MAX, 1), 0);
    assert_int_equal(random_below(UINT32_MAX, 10), 9);
    assert_int_equal(random_below(0, 10), 0);
    assert_int_equal(random_below(UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
}

/* The draws are fixed, so these bounds of five standard deviations always hold or never do. */
TEST(draws_are_uniform)
{
    enum { DRAWS = 200000, CELLS = 97 };
    const struct random_stream stream = random_stream(12345, RANDOM_MASK, 1, 2, 3, 128, 0);
    double hits = 0, cells[CELLS] = {0}, bits[32] = {0}, chi2 = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const uint32_t r = random_at(&stream, i % 1000, i / 1000);
        hits += random_chance(r, 150000);
        cells[random_below(r, CELLS)]++;
        for (int bit = 0; bit < 32; bit++)
            bits[bit] += r >> bit & 1;
    }
    assert_true(fabs(hits - DRAWS * 0.15) < 5 * sqrt(DRAWS * 0.15 * 0.85));
    for (int cell = 0; cell < CELLS; cell++)
        chi2 += pow(cells[cell] - (double)DRAWS / CELLS, 2) / ((double)DRAWS / CELLS);
    assert_true(fabs(chi2 - (CELLS - 1)) < 5 * sqrt(2.0 * (CELLS - 1)));
    for (int bit = 0; bit < 32; bit++)
        assert_true(fabs(bits[bit] - DRAWS * 0.5) < 5 * sqrt(DRAWS * 0.25));
}

/* In a child process, because the CPU level is chosen only once per process. */
static void compare_row(void *level)
{
    enum { MOST = 45 };
    const struct random_stream stream = random_stream(77, RANDOM_MASK, 1, 2, 3, 4, 5);
    uint32_t rows[4][MOST + 1], one[4];
    uint32_t *const out[4] = {rows[0], rows[1], rows[2], rows[3]};
    setenv("DSDATA_CPU", level, 1);
    for (uint32_t count = 0; count <= MOST; count++) {
        const uint32_t first = count % 3 ? UINT32_MAX - 5 : 7; /* draws wrap around */
        for (int word = 0; word < 4; word++)
            rows[word][count] = 12345;
        random_row(&stream, count, first, count, out);
        for (uint32_t i = 0; i < count; i++) {
            random_at4(&stream, count, first + i, one);
            for (int word = 0; word < 4; word++)
                if (rows[word][i] != one[word] || rows[word][count] != 12345)
                    _exit(1);
        }
    }
}

TEST(a_row_is_its_draws_at_every_level)
{
    static const char *const levels[] = {"base", "avx2", "avx512"};
    for (size_t i = 0; i < COUNT(levels); i++) {
        struct outcome seen;
        in_child(compare_row, (void *)(uintptr_t)levels[i], &seen);
        assert_int_equal(seen.code, 0);
    }
}
