/* Included by the unit tests that need the faults of base/faults.h: where these are not compiled, the whole program
 * counts as skipped. */
#pragma once

#include "base/faults.h"

#ifndef DS_FAULTS
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void skip_without_faults(void)
{
    puts("this build has no faults for tests (-DDS_FAULTS=ON): skipped");
    exit(77);
}
#endif
