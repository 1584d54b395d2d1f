/* Which environments announce several processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/launcher.h"

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "MV2_COMM_WORLD_SIZE",
                                    "WORLD_SIZE",           "SLURM_NTASKS", "SLURM_STEP_ID"};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    return 0;
}

static void one_process_is_welcome(void **state)
{
    struct error err = {0};
    assert_int_equal(launcher_refuse("prog", &err), 0);
    for (size_t i = 0; i < 5; i++)
        setenv(names[i], "1", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    clear(state);
}

static void several_are_refused(void **state)
{
    for (size_t i = 0; i < 4; i++) {
        struct error err = {0};
        const char *variable;
        setenv(names[i], "2", 1);
        assert_int_equal(launcher_processes(&variable), 2);
        assert_string_equal(variable, names[i]);
        assert_int_equal(launcher_refuse("prog", &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        clear(state);
    }
}

static void slurm_counts_inside_a_step_only(void **state)
{
    struct error err = {0};
    setenv("SLURM_NTASKS", "4", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    setenv("SLURM_STEP_ID", "extern", 1);
    assert_int_equal(launcher_refuse("prog", &err), 0);
    setenv("SLURM_STEP_ID", "0", 1);
    assert_int_equal(launcher_refuse("prog", &err), -1);
    clear(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_is_welcome),
        cmocka_unit_test(several_are_refused),
        cmocka_unit_test(slurm_counts_inside_a_step_only),
    };
    return cmocka_run_group_tests(tests, clear, NULL);
}
