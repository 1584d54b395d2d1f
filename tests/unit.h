/* cmocka, the headers that most tests need, and a list of tests that needs no second naming of each: TEST(name) before
 * a body defines a test and adds it to the program's list, in the order of the file; main (unit_main.c) runs the list.
 * Inside, `state` is cmocka's. */
#pragma once

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

/* Defines x_close_at, for SCOPED: x_close of the pointer there, unless it is NULL. */
#define CLOSE_AT(x)                                                                                                    \
    __attribute__((unused)) static void x##_close_at(struct x **at)                                                    \
    {                                                                                                                  \
        if (*at)                                                                                                       \
            x##_close(*at);                                                                                            \
    }

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* before and after run around this test, also if it fails; both are defined above it and may be NULL. */
#define TEST_WITH(name, before, after)                                                                                 \
    static void name(void **state);                                                                                    \
    __attribute__((constructor)) static void name##_is_listed(void)                                                    \
    {                                                                                                                  \
        unit_add(&(const struct CMUnitTest){#name, name, before, after, NULL});                                        \
    }                                                                                                                  \
    static void name(__attribute__((unused)) void **state)

/* before and after run around all tests of the program; once, at the end of the file. */
#define GROUP(before, after)                                                                                           \
    __attribute__((constructor)) static void unit_is_grouped(void)                                                     \
    {                                                                                                                  \
        unit_group(before, after);                                                                                     \
    }

void unit_add(const struct CMUnitTest *test);
void unit_group(CMFixtureFunction before, CMFixtureFunction after);

/* Returns the number of tests that failed. For programs with a main of their own, which replaces ours. */
int unit_run(void);
