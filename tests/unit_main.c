/* In a file of its own: the linker takes it only for programs without a main. An argument names the tests to run, with
 * * and ? as in file names. */
#include "tests/unit.h"

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return unit_run();
}
