/* A directory for tests that sync many files: in memory, where the system has a place for that. */
#ifndef TESTS_PIPELINE_DIRECTORY_H
#define TESTS_PIPELINE_DIRECTORY_H

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

#endif
