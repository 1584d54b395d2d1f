/* Bitmaps of signs: every CPU level of this machine gives the same as the base level, and that agrees with the set. */
#include "pipeline/text/markup/signs.h"

#include "base/cpu.h"
#include "base/random.h"
#include "tests/unit.h"

#define TEXT_BYTES 1024u

static void fill(char *text, uint32_t turn)
{
    const struct random_stream stream = random_stream(3, RANDOM_PAIR, turn, 0, 0, 0, 0);
    for (uint32_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (char)(random_at(&stream, i, 0) & 0xFF);
}

static bool has(const struct sign_set *set, unsigned char byte)
{
    return byte < 0x80 && set->rows[byte % 16] >> byte / 16 & 1;
}

TEST(every_byte_is_a_sign_only_of_its_set)
{
    struct signs signs = {0};
    char text[256];
    for (unsigned byte = 0; byte < 256; byte++)
        text[byte] = (char)byte;
    for (unsigned sign = 0; sign < 0x80; sign++) {
        struct sign_set set = {{0}};
        sign_set_add(&set, (unsigned char)sign);
        signs_find(&signs, &set, (struct str){text, sizeof text});
        assert_int_equal(signs_next(&signs, 0, sizeof text), sign);
        assert_int_equal(signs_next(&signs, sign + 1, sizeof text), sizeof text);
    }
    signs_release(&signs);
}

TEST(all_levels_find_the_same)
{
    char text[TEXT_BYTES];
    uint64_t base[TEXT_BYTES / 64];
    for (uint32_t turn = 0; turn < 100; turn++) {
        struct sign_set set = {{0}};
        fill(text, turn);
        for (uint32_t i = 0; i < turn; i++)
            sign_set_add(&set, (unsigned char)(text[i] & 0x7F));
        signs_base(&set, text, TEXT_BYTES / 64, base);
        for (uint32_t i = 0; i < TEXT_BYTES; i++)
            assert_int_equal(base[i / 64] >> i % 64 & 1, has(&set, (unsigned char)text[i]));
#if defined(__x86_64__)
        if (vector_level() >= VECTOR_AVX2) {
            uint64_t other[TEXT_BYTES / 64];
            signs_avx2(&set, text, TEXT_BYTES / 64, other);
            assert_memory_equal(base, other, sizeof base);
        }
#endif
    }
}

/* For texts of every size, in separate allocations so that a sanitizer finds reads past the end. */
TEST(the_next_sign_is_that_of_a_loop)
{
    struct signs signs = {0};
    struct sign_set set = {{0}};
    char all[TEXT_BYTES];
    fill(all, 1);
    for (const char *sign = "ab{"; *sign; sign++)
        sign_set_add(&set, (unsigned char)*sign);
    for (uint32_t size = 0; size < 200; size++) {
        SCOPED(mem_free_at) char *text = mem_alloc(size);
        memcpy(text, all, size);
        signs_find(&signs, &set, (struct str){text, size});
        for (uint32_t at = 0; at <= size; at++)
            for (uint32_t end = at; end <= size; end += 13) {
                uint32_t next = at;
                while (next < end && !has(&set, (unsigned char)text[next]))
                    next++;
                assert_int_equal(signs_next(&signs, at, end), next);
            }
    }
    signs_release(&signs);
}
