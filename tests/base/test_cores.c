/* The number of cores that threads may use, and binding threads to them. */
#include "tests/base/help.h"

#include "base/cores.h"

#include <sched.h>

TEST(affinity_bounds_them)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_true(cores_allowed() >= 1 && cores_allowed() <= 65536);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cores_allowed(), 1);
}

/* cores_keep binds the thread to one core; cores_are_ours is false for a thread that is bound already. */
TEST(a_thread_keeps_a_core)
{
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const unsigned last = (unsigned)CPU_COUNT(&before) - 1;
    cores_keep(last + 1); /* no such core: nothing changes */
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    cores_keep(last);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_int_equal(CPU_COUNT(&after), 1);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before) && !CPU_ISSET(i, &after))
            assert_true(last > 0);
    assert_false(cores_are_ours(1));
    assert_false(cores_are_ours(1u << 20));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
