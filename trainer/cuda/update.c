/* Updates between the host, which works out a few numbers per tensor, and the kernels, which work on flat memory. The
 * table of chunks is brought when it is not the one that is there. squares and moments wait: their sums are the
 * host's. */
#include "trainer/cuda/device.h"

#include <string.h>

#include "base/mem.h"

static void *take(size_t count, size_t size)
{
    void *memory;
    CHECK(cudaMalloc(&memory, (count > 0 ? count : 1) * size));
    return memory;
}

void tables_release(struct tables *tables)
{
    CHECK(cudaFree(tables->chunks));
    CHECK(cudaFree(tables->factors));
    CHECK(cudaFree(tables->sums));
    CHECK(cudaFree(tables->shares));
    mem_free(tables->seen);
    *tables = (struct tables){0};
}

/* Pageable memory: these copies return when the source has been read. */
static void to_device(struct device *device, void *to, const void *from, size_t bytes)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream));
}

static void to_host(struct device *device, void *to, const void *from, size_t bytes)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device->stream));
    CHECK(cudaStreamSynchronize(device->stream));
}

static struct tables *tables_of(struct device *device, const struct param_chunk *chunks, size_t count)
{
    struct tables *tables = &device->tables;
    const size_t bytes = count * sizeof *chunks;
    if (tables->seen && tables->chunk_count == count && memcmp(tables->seen, chunks, bytes) == 0)
        return tables;
    CHECK(cudaStreamSynchronize(device->stream));
    tables_release(tables);
    tables->chunk_count = count;
    for (size_t i = 0; i < count; i++)
        if ((size_t)chunks[i].tensor >= tables->tensors)
            tables->tensors = (size_t)chunks[i].tensor + 1;
    tables->seen = mem_array(count, sizeof *chunks);
    memcpy(tables->seen, chunks, bytes);
    tables->chunks = take(count, sizeof *chunks);
    tables->factors = take(tables->tensors, sizeof(double));
    tables->sums = take(3 * count, sizeof(double));
    tables->shares = take(2 * tables->tensors, sizeof(double));
    to_device(device, tables->chunks, chunks, bytes);
    return tables;
}

/* The step with the device's factors. */
static struct update_step step_there(struct device *device, const struct tables *tables, const struct update_step *step)
{
    struct update_step there = *step;
    to_device(device, tables->factors, step->factors, tables->tensors * sizeof(double));
    there.factors = tables->factors;
    return there;
}

void squares(struct device *device, double *sums, const void *values, const struct param_chunk *chunks,
             size_t chunk_count)
{
    const struct tables *tables = tables_of(device, chunks, chunk_count);
    kernel_squares(device->stream, tables->sums, values, tables->chunks, chunk_count);
    CHECK(cudaGetLastError());
    to_host(device, sums, tables->sums, chunk_count * sizeof(double));
}

void adam(struct device *device, const struct update_memory *memory, const struct param_chunk *chunks,
          size_t chunk_count, const struct update_step *step)
{
    const struct tables *tables = tables_of(device, chunks, chunk_count);
    const struct update_step there = step_there(device, tables, step);
    kernel_adam(device->stream, memory, tables->chunks, chunk_count, &there);
    CHECK(cudaGetLastError());
}

void moments(struct device *device, double *sums, const struct update_memory *memory, const struct param_chunk *chunks,
             size_t chunk_count, const struct update_step *step)
{
    const struct tables *tables = tables_of(device, chunks, chunk_count);
    const struct update_step there = step_there(device, tables, step);
    kernel_moments(device->stream, tables->sums, memory, tables->chunks, chunk_count, &there);
    CHECK(cudaGetLastError());
    to_host(device, sums, tables->sums, 3 * chunk_count * sizeof(double));
}

void apply(struct device *device, const struct update_memory *memory, const struct param_chunk *chunks,
           size_t chunk_count, const struct update_step *step, const double *shares)
{
    const struct tables *tables = tables_of(device, chunks, chunk_count);
    const struct update_step there = step_there(device, tables, step);
    to_device(device, tables->shares, shares, 2 * tables->tensors * sizeof(double));
    kernel_apply(device->stream, memory, tables->chunks, chunk_count, &there, tables->shares);
    CHECK(cudaGetLastError());
}
