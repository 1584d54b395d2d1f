/* An arena reuses its memory across jobs, and its allocations do not overlap. */
#include "tests/base/help.h"
#include "tests/needs_faults.h"

#include "base/arena.h"
#include "base/random.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#elif __has_feature(memory_sanitizer)
#define HAVE_MSAN 1
#endif
#endif

static uint32_t draw(uint32_t i)
{
    const struct random_stream stream = random_stream(1, RANDOM_PAIR, 0, 0, 0, 0, 0);
    return random_at(&stream, i, 0);
}

/* Sizes of one job: many small pieces, some large, occasionally one larger than the largest chunk. */
static size_t size_of(uint32_t i)
{
    const uint32_t r = draw(i);
    return i % 400 == 399 ? 3 << 20 : i % 40 == 39 ? r % 200000 : r % 300;
}

TEST(pieces_are_aligned_and_apart)
{
    enum { PIECES = 1000 };
    static unsigned char *pieces[PIECES];
    struct arena arena = {0};
    for (uint32_t round = 0; round < 3; round++, arena_reset(&arena)) { /* chunks are reused for other sizes */
        for (uint32_t i = 0; i < PIECES; i++) {
            const size_t size = size_of((i + 371 * round) % PIECES);
            pieces[i] = arena_alloc(&arena, size);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)(i & 0xFF), size);
        }
        for (uint32_t i = 0; i < PIECES; i++)
            for (size_t k = 0, size = size_of((i + 371 * round) % PIECES); k < size; k++)
                if (pieces[i][k] != (i & 0xFF))
                    fail_msg("piece %u was overwritten", i);
    }
    arena_release(&arena);
    assert_int_equal(arena_bytes(&arena), 0);
}

TEST(a_chunk_has_room_for_what_it_is_made_for)
{
    for (size_t bytes = (64 << 10) - 32; bytes <= (64 << 10) + 64; bytes += 16) {
        struct arena arena = {0};
        arena_alloc(&arena, bytes);
        assert_true(arena_bytes(&arena) >= bytes + 2 * sizeof(void *)); /* the chunk's header: a pointer and a size */
        arena_release(&arena);
    }
    struct arena arena = {0};
    arena_alloc(&arena, 60000);
    arena_alloc(&arena, 60000); /* two chunks of 64 KiB */
    arena_reset(&arena);
    const size_t before = arena_bytes(&arena);
    arena_alloc(&arena, 1);
    arena_alloc(&arena, 100000); /* fits in neither */
    assert_true(before < 200000 && arena_bytes(&arena) >= before + 100000);
    arena_release(&arena);
}

TEST(the_steady_state_allocates_nothing)
{
    struct arena arena = {0};
    uint64_t calls = 0;
    for (uint32_t job = 0; job < 20; job++) {
        if (job == 1)
            calls = mem_calls();
        for (uint32_t i = 0; i < 1000; i++)
            *(char *)arena_alloc(&arena, size_of(i) + 1) = 1;
        arena_reset(&arena);
    }
    assert_int_equal(mem_calls(), calls);
    assert_true(arena_bytes(&arena) > 6 << 20);
    arena_release(&arena);
}

TEST(another_order_of_sizes_reuses_large_chunks)
{
    struct arena arena = {0};
    arena_alloc(&arena, 10);
    arena_alloc(&arena, 5 << 20);
    arena_alloc(&arena, 200000);
    arena_reset(&arena);
    const uint64_t calls = mem_calls();
    arena_alloc(&arena, 5 << 20);
    arena_alloc(&arena, 200000);
    arena_alloc(&arena, 10);
    assert_int_equal(mem_calls(), calls);
    arena_release(&arena);
}

TEST(copies_end_with_nul)
{
    struct arena arena = {0};
    const struct str copy = arena_copy(&arena, STR("abc"));
    assert_int_equal(copy.size, 3);
    assert_string_equal(copy.data, "abc");
    assert_string_equal(arena_copy(&arena, (struct str){0}).data, "");
    assert_non_null(arena_alloc(&arena, 0));
    uint64_t *numbers = arena_array(&arena, 3, sizeof(*numbers));
    numbers[2] = 1;
    arena_release(&arena);
    arena_release(&arena);
}

static void overflows(void *argument)
{
    (void)argument;
    struct arena arena = {0};
    arena_array(&arena, SIZE_MAX / 2, 4);
}

#ifdef HAVE_ASAN
static void touches_after_reset(void *argument)
{
    (void)argument;
    struct arena arena = {0};
    volatile char *piece = arena_alloc(&arena, 100);
    arena_reset(&arena);
    piece[0] = 1;
}

static void runs_over_its_end(void *argument)
{
    struct arena arena = {0};
    volatile char *piece = arena_alloc(&arena, 13);
    arena_alloc(&arena, 100);
    piece[*(int *)argument] = 1;
}
#elif defined(HAVE_MSAN)
static void reads_what_an_earlier_job_wrote(void *argument)
{
    (void)argument;
    struct arena arena = {0};
    memset(arena_alloc(&arena, 100), 1, 100);
    arena_reset(&arena);
    const volatile char *piece = arena_alloc(&arena, 100);
    if (piece[99])
        fprintf(stderr, "unseen\n");
}
#endif

TEST(misuse_is_caught)
{
    struct outcome seen;
    in_child(overflows, NULL, &seen);
    assert_int_equal(seen.code, 7);
#ifdef HAVE_ASAN
    int after = 13, far_after = 16;
    in_child(touches_after_reset, NULL, &seen);
    assert_non_null(strstr(seen.err, "use-after-poison"));
    in_child(runs_over_its_end, &after, &seen);
    assert_non_null(strstr(seen.err, "use-after-poison"));
    in_child(runs_over_its_end, &far_after, &seen);
    assert_non_null(strstr(seen.err, "use-after-poison"));
#elif defined(HAVE_MSAN)
    in_child(reads_what_an_earlier_job_wrote, NULL, &seen);
    assert_non_null(strstr(seen.err, "use-of-uninitialized-value"));
#endif
}
