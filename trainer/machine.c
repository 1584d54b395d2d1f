/* In: nothing, or a backend. Out: bytes, operations a second. */
#include "trainer/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/progress.h"

/* The number in a small file, or UINT64_MAX where there is none ("max"). */
static uint64_t number_in(const char *path)
{
    char line[64] = "", *end;
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    const char *read = fgets(line, sizeof line, file);
    fclose(file);
    const uint64_t value = read ? strtoull(line, &end, 10) : 0;
    return read && end > line && value > 0 ? value : UINT64_MAX;
}

uint64_t machine_memory_bytes(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (number_in(limits[i]) < bytes)
            bytes = number_in(limits[i]);
    return bytes;
}

double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds)
{
    void *x = ops->allocate(ops->device, (size_t)rows * (size_t)in * ops->storage_size);
    void *w = ops->allocate(ops->device, (size_t)out * (size_t)in * ops->storage_size);
    void *y = ops->allocate(ops->device, (size_t)rows * (size_t)out * ops->storage_size);
    const struct rows all = {rows, rows};
    ops->linear(ops->device, y, x, w, NULL, all, out, in); /* makes what is made once */
    const double from = clock_now();
    double done = 0, took = 0;
    for (int round = 0; round < 1000 && took < seconds; round++) {
        ops->linear(ops->device, y, x, w, NULL, all, out, in);
        done += 2.0 * rows * out * in;
        took = clock_now() - from;
    }
    ops->release(ops->device, x);
    ops->release(ops->device, w);
    ops->release(ops->device, y);
    return done / took;
}
