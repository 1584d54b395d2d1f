/* Variables that are released when their scope ends, on every way out of it:
 *
 *     SCOPED(buf_release) struct buf text = {0};
 *     SCOPED(mem_free_at) char *path = path_join(directory, name);
 *
 * A value that is returned is computed before. jansson's json_auto_t is the same for its objects. */
#pragma once

#include "base/mem.h"

#include <string.h>

#define SCOPED(release) __attribute__((cleanup(release)))

/* Frees the memory that the pointer variable at `variable` points to. */
static inline void mem_free_at(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    mem_free(memory);
}
