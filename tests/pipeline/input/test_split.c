/* split.h: which beginnings of inputs let the text decide what is held out. */
#include "pipeline/input/split.h"
#include "tests/unit.h"

/* Ids first, first + 1, …, each `times` times. */
static struct split_ids made(uint64_t *room, uint64_t first, size_t count, size_t times)
{
    for (size_t i = 0; i < count; i++)
        room[i] = first + i / times;
    return (struct split_ids){room, count};
}

static bool by_text_of(size_t count, size_t times)
{
    uint64_t room[SPLIT_IDS];
    const struct split_ids ids = made(room, 100, count, times);
    const struct split_ids *const list[] = {&ids};
    return split_by_text(list, 1);
}

TEST(repeated_ids_say_little)
{
    assert_true(split_by_text(NULL, 0));
    assert_true(by_text_of(0, 1));
    assert_false(by_text_of(1, 1));
    assert_false(by_text_of(SPLIT_IDS, 1));
    assert_true(by_text_of(SPLIT_IDS, SPLIT_IDS));
    assert_true(by_text_of(2, 2));
    assert_true(by_text_of(100, 2));
}

TEST(the_limit_is_three_in_four)
{
    uint64_t room[4] = {1, 2, 3, 3};
    const struct split_ids ids = {room, 4};
    const struct split_ids *const list[] = {&ids};
    assert_false(split_by_text(list, 1));
    room[2] = 2; /* 1, 2, 2, 3: the same */
    assert_false(split_by_text(list, 1));
    room[3] = 2;
    assert_true(split_by_text(list, 1));
}

TEST(ids_that_begin_anew_in_every_file)
{
    uint64_t a[10], b[10], c[10];
    const struct split_ids first = made(a, 0, 10, 1), again = made(b, 0, 10, 1), other = made(c, 10, 10, 1), none = {0};
    assert_true(split_by_text((const struct split_ids *const[]){&first, &again}, 2));
    assert_false(split_by_text((const struct split_ids *const[]){&first, &other}, 2));
    assert_false(split_by_text((const struct split_ids *const[]){&first, &none}, 2));
    assert_true(split_by_text((const struct split_ids *const[]){&none, &none}, 2));
}
