/* A permutation for every n, and no visible pattern for any key. */
#include "tests/base/help.h"

#include "base/random.h"

TEST(every_small_n_is_a_permutation)
{
    static unsigned char seen[4200];
    static const uint64_t large[] = {127, 1000, 1023, 1024, 1025, 4096, 4097};
    for (uint64_t round = 1; round < 70 + COUNT(large); round++) {
        const uint64_t n = round < 70 ? round : large[round - 70];
        for (uint64_t key = 0; key < 3; key++) {
            memset(seen, 0, sizeof(seen));
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t to = permute(i, n, key);
                assert_true(to < n);
                assert_false(seen[to]);
                seen[to] = 1;
            }
        }
    }
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

TEST(images_in_large_n_are_distinct)
{
    static const uint64_t sizes[] = {1ull << 32, (1ull << 32) + 1, (1ull << 62) + 1, 1ull << 63, UINT64_MAX};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint64_t images[200];
        for (uint64_t i = 0; i < COUNT(images); i++)
            images[i] = permute(i < 100 ? i : sizes[s] - 1 - i, sizes[s], 99);
        qsort(images, COUNT(images), sizeof *images, by_value);
        for (size_t i = 1; i < COUNT(images); i++)
            assert_true(images[i - 1] < images[i] && images[i] < sizes[s]);
    }
}

/* Over many keys, position 0 maps to every value equally often, and position 1 to each of the remaining values. */
TEST(small_permutations_are_uniform_over_keys)
{
    enum { KEYS = 20000 };
    for (uint64_t n = 2; n <= 9; n++) {
        double counts[81] = {0}, chi2 = 0;
        for (uint64_t key = 0; key < KEYS; key++)
            counts[permute(0, n, key) * n + permute(1, n, key)]++;
        const double cells = (double)(n * (n - 1)), mean = KEYS / cells;
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t j = 0; j < n; j++)
                if (i != j)
                    chi2 += (counts[i * n + j] - mean) * (counts[i * n + j] - mean) / mean;
                else
                    assert_true(counts[i * n + j] < 1);
        if (fabs(chi2 - (cells - 1)) > 5 * sqrt(2 * (cells - 1)))
            fail_msg("n %d: chi2 %g for %g cells", (int)n, chi2, cells);
    }
}

TEST(neighbours_part)
{
    /* In a random order, the images of neighbours are n / 3 apart on average. */
    const uint64_t n = 10007;
    double sum = 0;
    uint64_t stayed = 0;
    for (uint64_t i = 0; i + 1 < n; i++) {
        sum += fabs((double)permute(i, n, 5) - (double)permute(i + 1, n, 5));
        stayed += permute(i, n, 5) == i;
    }
    assert_true(fabs(sum / (double)(n - 1) / (double)n - 1.0 / 3) < 0.01);
    assert_true(stayed < 10); /* one is expected */
}

TEST(the_order_never_changes)
{
    /* Part of the format: a run that resumes under a newer program reads the same samples. */
    static const uint64_t expected[] = {325, 75, 106, 112, 912, 854, 892, 151, 867, 702, 627, 443};
    for (uint64_t i = 0; i < COUNT(expected); i++)
        assert_int_equal(permute(i, 1000, 12345), expected[i]);
}
