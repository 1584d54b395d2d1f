/* Which failures --restarts mends, which are the same as an earlier one, the waits, and the messages. */
#include <errno.h>
#include <signal.h>

#include "tests/unit.h"
#include "trainer/comm/restarts.h"

TEST(what_chance_may_have_done_is_tried_again)
{
    const struct {
        enum error_kind kind;
        bool mends;
    } cases[] = {
        {ERR_PEER, true},     {ERR_RESOURCE, true}, {ERR_BUG, false},      {ERR_USAGE, false},
        {ERR_INPUT, false},   {ERR_VERIFY, false},  {ERR_MISMATCH, false}, {ERR_UNSAFE, false},
        {ERR_NUMERIC, false}, {ERR_LOCKED, false},  {ERR_STOPPED, false},  {ERR_PIPE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct error err = {.kind = cases[i].kind, .text = "something"};
        if (restarts_mend(&err) != cases[i].mends)
            fail_msg("exit code %d", cases[i].kind);
    }
}

TEST(a_full_disk_stays_full)
{
    const int numbers[] = {ENOSPC, EDQUOT, EFBIG, EIO};
    for (size_t i = 0; i < 4; i++) {
        struct error err;
        errno = numbers[i];
        fail_errno(&err, "run/x", "cannot be written");
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_int_equal(restarts_mend(&err), numbers[i] == EIO);
    }
}

TEST(a_cause_is_the_words_without_places_and_seconds)
{
    const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"rank 2 (node7, pid 123) was lost at step 41", "rank 2 (node8, pid 9) was lost at step 42", true},
        {"rank 2 was lost at step 41", "rank 12 was lost at step 41", false},
        {"rank 12 was lost", "rank 13 was lost", false},
        {"said nothing for 60 s", "said nothing for 61 s", true},
        {"CUDA: an illegal address", "CUDA: out of memory", false},
        {"a (b (c) d) e", "a (x) e", true},
        {"a ) b", "a c", false},
        {"", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if ((restarts_cause(cases[i].a) == restarts_cause(cases[i].b)) != cases[i].same)
            fail_msg("%s | %s", cases[i].a, cases[i].b);
}

TEST(the_rank_of_a_text_is_at_its_beginning)
{
    assert_int_equal(restarts_rank("rank 2 (node7, pid 123) was lost", 9), 2);
    assert_int_equal(restarts_rank("rank 12 says: no", 9), 12);
    assert_int_equal(restarts_rank("the ranks 3", 9), 9);
    assert_int_equal(restarts_rank("rank x", 9), 9);
    assert_int_equal(restarts_rank("", 9), 9);
}

TEST(the_same_failure_is_found_among_all_earlier_ones)
{
    const struct failure earlier[] = {
        {.rank = 1, .step = 5, .signal = SIGKILL, .kind = ERR_PEER, .cause = 7},
        {.rank = 0, .step = 5, .kind = ERR_RESOURCE, .cause = 8},
    };
    struct failure now = earlier[0];
    assert_ptr_equal(restarts_same(earlier, 2, &now), &earlier[0]);
    now.cause = 9; /* other processes may tell of it in other words */
    assert_ptr_equal(restarts_same(earlier, 2, &now), &earlier[0]);
    now.rank = 2;
    assert_null(restarts_same(earlier, 2, &now));
    now = earlier[0];
    now.step = 6;
    assert_null(restarts_same(earlier, 2, &now));
    now = earlier[0];
    now.signal = SIGSEGV;
    assert_null(restarts_same(earlier, 2, &now));
    now = earlier[1];
    assert_null(restarts_same(earlier, 1, &now));
    assert_ptr_equal(restarts_same(earlier, 2, &now), &earlier[1]);
    now.rank = 3; /* all fail for one reason, and another one reports it */
    assert_ptr_equal(restarts_same(earlier, 2, &now), &earlier[1]);
    now.cause = 9;
    assert_null(restarts_same(earlier, 2, &now));
    now = earlier[1];
    now.kind = ERR_PEER;
    assert_null(restarts_same(earlier, 2, &now));

    struct failure begin = {.kind = ERR_PEER}; /* connections before the first step are tried as often as allowed, */
    assert_null(restarts_same(&begin, 1, &begin));
    begin.step = 5;
    assert_ptr_equal(restarts_same(&begin, 1, &begin), &begin);
    begin.step = 0;
    begin.signal = SIGKILL; /* what ends a process there is not */
    assert_ptr_equal(restarts_same(&begin, 1, &begin), &begin);
    begin = (struct failure){.kind = ERR_RESOURCE};
    assert_ptr_equal(restarts_same(&begin, 1, &begin), &begin);
}

TEST(waits_double_up_to_a_minute)
{
    const double waits[] = {1, 2, 4, 8, 16, 32, 60, 60};
    for (uint64_t i = 0; i < sizeof waits / sizeof *waits; i++)
        assert_true(restarts_wait(i + 1, 1) == waits[i]);
    assert_true(restarts_wait(1000, 1) == 60);
    assert_true(restarts_wait(UINT64_MAX, 0.5) == 60);
    assert_true(restarts_wait(3, 0) == 0);
}

TEST(messages_name_step_rank_and_what_is_safe)
{
    SCOPED(buf_release) struct buf what = {0};
    struct failure now = {.rank = 2, .step = 1057, .signal = SIGKILL, .kind = ERR_PEER, .when = 1000};
    struct error err = {.kind = ERR_PEER, .text = "rank 2 was lost", .offset = ERROR_NO_OFFSET};
    restarts_describe(&now, &err, &what);
    assert_string_equal(buf_text(&what), "in step 1,057: rank 2 was killed by signal 9 (Killed)");
    struct failure before = now;
    before.when = 7 * 86400;
    restarts_give_up(&before, &now, 3, 1050, buf_text(&what), &err);
    assert_int_equal(err.kind, ERR_PEER);
    assert_non_null(strstr(err.text, "twice in the same way, at 1970-01-0"));
    assert_non_null(strstr(err.text, "in step 1,057: rank 2 was killed by signal 9"));
    assert_non_null(strstr(err.hint, "step 1,050"));

    buf_reset(&what);
    now = (struct failure){.kind = ERR_RESOURCE};
    err = (struct error){.kind = ERR_RESOURCE, .text = "no memory", .file = "f", .offset = 3};
    restarts_describe(&now, &err, &what);
    assert_string_equal(buf_text(&what), "before the first step: no memory");
    restarts_give_up(NULL, &now, 2, 0, buf_text(&what), &err);
    assert_int_equal(err.kind, ERR_RESOURCE);
    assert_string_equal(err.file, "f");
    assert_int_equal(err.offset, 3);
    assert_non_null(strstr(err.text, "no memory; it has been started again 2 times"));
    assert_non_null(strstr(err.hint, "from the beginning"));
    restarts_give_up(NULL, &now, 2, RESTARTS_UNKNOWN, buf_text(&what), &err);
    assert_non_null(strstr(err.hint, "from the last checkpoint"));
}
