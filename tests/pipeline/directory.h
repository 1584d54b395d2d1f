/* A directory for tests that sync many files: in memory, where the system has a place for that. */
#pragma once

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, path_is_directory("/dev/shm") ? "/dev/shm/dsdata-XXXXXX" : "/tmp/dsdata-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}
