#include "tests/unit.h"

#include <assert.h>

#define TESTS_MAX 64

static struct CMUnitTest tests[TESTS_MAX];
static size_t count;
static CMFixtureFunction group_before, group_after;

void unit_add(const struct CMUnitTest *test)
{
    assert(count < TESTS_MAX);
    tests[count++] = *test;
}

void unit_group(CMFixtureFunction before, CMFixtureFunction after)
{
    group_before = before;
    group_after = after;
}

int unit_run(void)
{
    return _cmocka_run_group_tests("tests", tests, count, group_before, group_after);
}
