/* Copies between the memory of the host and that of the device. They wait for the device. */
#pragma once

#include <string.h>

#include "trainer/backend/ops.h"

static inline void ops_read(const struct ops *ops, const void *memory, void *out, size_t bytes)
{
    void *mapped = ops->map(ops->device, (void *)memory, bytes, MAP_READ);
    memcpy(out, mapped, bytes);
    ops->unmap(ops->device, (void *)memory, mapped, bytes, MAP_READ);
}

static inline void ops_write(const struct ops *ops, void *memory, const void *in, size_t bytes)
{
    void *mapped = ops->map(ops->device, memory, bytes, MAP_FILL);
    memcpy(mapped, in, bytes);
    ops->unmap(ops->device, memory, mapped, bytes, MAP_FILL);
}
