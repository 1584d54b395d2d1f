/* An allocation succeeds, or the program ends with exit code 7. */
#include "tests/base/help.h"
#include "tests/needs_faults.h"

TEST(memory_is_as_promised)
{
    SCOPED(mem_free_at) char *nothing = mem_alloc(0);
    assert_non_null(nothing);
    SCOPED(mem_free_at) uint64_t *cleared = mem_clear(1000, sizeof(*cleared));
    SCOPED(mem_free_at) unsigned char *line = mem_aligned(100);
    assert_int_equal((uintptr_t)line % 64, 0);
    for (size_t i = 0; i < 1000; i++)
        assert_true(cleared[i] == 0);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(line[i], 0);
    const size_t large = ((size_t)2 << 20) + 5; /* large enough for huge pages */
    for (unsigned turn = 0; turn < 3; turn++) { /* later turns may get memory that was used before */
        SCOPED(mem_free_at) unsigned char *bytes = mem_aligned(large);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        for (size_t i = 0; i < large; i++)
            assert_true(bytes[i] == 0);
        memset(bytes, 1, large);
    }
    char *text = mem_copy_text("abc");
    text = mem_grow(text, 1000, 1);
    assert_string_equal(text, "abc");
    SCOPED(mem_free_at) char *none = mem_grow(NULL, 0, 8);
    assert_non_null(none);
    SCOPED(mem_free_at) char *array = mem_array(10, 10);
    memset(array, 1, 100);
    mem_free(text);
    mem_free(NULL);
}

TEST(an_array_grows_as_items_are_added)
{
    SCOPED(mem_free_at) unsigned *items = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < 1000; i++) {
        items = mem_room(items, i + 1, &room, sizeof *items);
        assert_in_range(room, i + 1, i < 64 ? 64 : 2 * i);
        items[i] = i;
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    items = mem_room(items, 5000, &room, sizeof *items);
    assert_int_equal(room, 5000);
}

static void overflow_of_a_product(void *call)
{
    const size_t half = SIZE_MAX / 2 + 2;
    if (*(int *)call == 0)
        mem_clear(half, 2);
    else if (*(int *)call == 1)
        mem_array(2, half);
    else if (*(int *)call == 2)
        mem_grow(NULL, half, 4);
    else
        mem_aligned(SIZE_MAX - 3);
}

TEST(sizes_that_overflow_end_the_program)
{
    for (int call = 0; call < 4; call++) {
        struct outcome seen;
        in_child(overflow_of_a_product, &call, &seen);
        assert_int_equal(seen.code, 7);
        assert_non_null(strstr(seen.err, "out of memory"));
    }
}

static void third_call_fails(void *argument)
{
    (void)argument;
    mem_fail_at(3);
    mem_free(mem_alloc(1));
    mem_free(mem_clear(1, 1));
    fputs("two\n", stderr);
    mem_free(mem_aligned(1));
    fputs("three\n", stderr);
}

TEST(the_nth_allocation_can_be_made_to_fail)
{
    struct outcome seen;
    in_child(third_call_fails, NULL, &seen);
    assert_int_equal(seen.code, 7);
    assert_non_null(strstr(seen.err, "two"));
    assert_null(strstr(seen.err, "three"));
    const uint64_t before = mem_calls();
    mem_free(mem_alloc(1));
    assert_int_equal(mem_calls(), before + 1);
    mem_fail_at(1);
    mem_fail_at(0);
    mem_free(mem_alloc(1));
}

TEST(the_peak_is_in_bytes)
{
    const size_t bytes = 32 << 20;
    SCOPED(mem_free_at) char *block = mem_alloc(bytes);
    memset(block, 1, bytes);
    assert_true(mem_peak_bytes() > bytes);
    assert_true(mem_peak_bytes() < (uint64_t)1 << 40);
}
