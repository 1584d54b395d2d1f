/* A growing list of piece ids. A zeroed one is ready to use; the holder releases it. */
#pragma once

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct ids {
    uint32_t *data;
    size_t count, capacity;
};

static inline void ids_reserve(struct ids *ids, size_t more)
{
    ids->data = (uint32_t *)mem_room(ids->data, ids->count + more, &ids->capacity, sizeof *ids->data);
}

static inline void ids_add(struct ids *ids, uint32_t id)
{
    ids_reserve(ids, 1);
    ids->data[ids->count++] = id;
}

static inline void ids_release(struct ids *ids)
{
    mem_free(ids->data);
    *ids = (struct ids){0};
}
