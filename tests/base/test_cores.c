/* Threads that can run at once. */
#include "tests/base/help.h"

#include "base/cores.h"

#include <sched.h>

static void affinity_bounds_them(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinity_bounds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
