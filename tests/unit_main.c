/* In a file of its own: the linker takes it only for programs without a main. */
#include "tests/unit.h"

int main(void)
{
    return unit_run();
}
