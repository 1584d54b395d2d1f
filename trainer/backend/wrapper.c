#include "trainer/backend/wrapper.h"

#include "base/mem.h"

static void close_both(struct ops *ops)
{
    struct ops *inner = wrapper_end(ops);
    inner->close(inner);
}

static void *allocate(struct device *device, size_t bytes)
{
    const struct ops *inner = wrapper_inner(device);
    return inner->allocate(inner->device, bytes);
}

static void release(struct device *device, void *memory)
{
    const struct ops *inner = wrapper_inner(device);
    inner->release(inner->device, memory);
}

static void *map(struct device *device, void *memory, size_t bytes, enum map_mode mode)
{
    const struct ops *inner = wrapper_inner(device);
    return inner->map(inner->device, memory, bytes, mode);
}

static void unmap(struct device *device, void *memory, void *host, size_t bytes, enum map_mode mode)
{
    const struct ops *inner = wrapper_inner(device);
    inner->unmap(inner->device, memory, host, bytes, mode);
}

static void wait_all(struct device *device)
{
    const struct ops *inner = wrapper_inner(device);
    inner->wait(inner->device);
}

static void begin_step(struct device *device, uint64_t step)
{
    const struct ops *inner = wrapper_inner(device);
    if (inner->begin_step)
        inner->begin_step(inner->device, step);
}

static void send(struct device *device, int slot, const void *memory, size_t bytes)
{
    const struct ops *inner = wrapper_inner(device);
    inner->send(inner->device, slot, memory, bytes);
}

static void receive(struct device *device, int slot, void *host, size_t bytes)
{
    const struct ops *inner = wrapper_inner(device);
    inner->receive(inner->device, slot, host, bytes);
}

static void *mark(struct device *device, size_t n)
{
    const struct ops *inner = wrapper_inner(device);
    return inner->mark(inner->device, n);
}

static const struct batch *upload(struct device *device, const struct batch *batch)
{
    const struct ops *inner = wrapper_inner(device);
    return inner->upload(inner->device, batch);
}

static size_t scratch_bytes(struct device *device, const struct ops_limits *limits)
{
    const struct ops *inner = wrapper_inner(device);
    return inner->scratch_bytes(inner->device, limits);
}

void wrapper_init(struct wrapper *wrapper, struct ops *inner)
{
    wrapper->inner = inner;
    wrapper->ops = (struct ops){
        .device = (struct device *)wrapper,
        .precision = inner->precision,
        .storage_size = inner->storage_size,
        .real_size = inner->real_size,
        .facts = inner->facts,
        .memory = inner->memory,
        .free_bytes = inner->free_bytes,
        .wave_rows = inner->wave_rows,
        .late = inner->late,
        .close = close_both,
        .allocate = allocate,
        .release = release,
        .map = map,
        .unmap = unmap,
        .wait = wait_all,
        .begin_step = begin_step,
        .send = send,
        .receive = receive,
        .mark = inner->mark ? mark : NULL,
        .upload = upload,
        .scratch_bytes = scratch_bytes,
    };
    ops_describe(&wrapper->ops);
}

struct ops *wrapper_end(struct ops *ops)
{
    struct ops *inner = ((struct wrapper *)ops)->inner;
    mem_free(ops);
    return inner;
}
