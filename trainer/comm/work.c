/* Turns counts of elements into calls of the library with bytes. Reduce-scatter is an all-to-all and our own addition
 * in rank order, so its bits do not depend on the library. */
#include "trainer/comm/work.h"

#include <assert.h>

#include "base/mem.h"
#include "trainer/backend/bf16.h"

size_t comm_type_bytes(enum comm_type type)
{
    static const size_t bytes[] = {
        [COMM_BYTE] = 1, [COMM_BF16] = 2, [COMM_FLOAT] = 4, [COMM_DOUBLE] = 8, [COMM_INT64] = 8};
    return bytes[type];
}

const char *work_name(enum comm_operation operation)
{
    static const char *const names[] = {
        [COMM_BARRIER] = "a barrier",
        [COMM_SUM] = "a sum",
        [COMM_MAX] = "a maximum",
        [COMM_BROADCAST] = "a broadcast",
        [COMM_ALL_GATHER] = "an all-gather",
        [COMM_ALL_TO_ALL] = "an all-to-all",
        [COMM_REDUCE_SCATTER] = "a reduce-scatter",
    };
    return names[operation];
}

static uint64_t total(const size_t *counts, uint32_t size)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; counts && i < size; i++)
        sum += counts[i];
    return sum;
}

uint64_t work_bytes(const struct comm_work *work, uint32_t size)
{
    const uint64_t in = total(work->in_counts, size), out = total(work->out_counts, size);
    const uint64_t parts = in > out ? in : out;
    return (parts > work->count ? parts : work->count) * comm_type_bytes(work->type);
}

void work_check(const struct comm_work *work, uint32_t rank, uint32_t size)
{
    const enum comm_type type = work->type;
    assert(!work->on_device || (work->operation == COMM_SUM && type != COMM_BF16));
    switch (work->operation) {
    case COMM_BARRIER:
        return;
    case COMM_SUM:
    case COMM_MAX:
    case COMM_BROADCAST:
        assert(work->operation != COMM_SUM || type != COMM_BYTE);
        assert(work->operation != COMM_MAX || type == COMM_INT64);
        assert(work->root < size);
        assert(work->out || work->count == 0);
        return;
    case COMM_ALL_GATHER:
        assert(work->out_counts);
        assert(work->out || total(work->out_counts, size) == 0);
        return;
    case COMM_ALL_TO_ALL:
        assert(work->in_counts && work->out_counts);
        assert(work->in_counts[rank] == work->out_counts[rank]);
        assert(work->in || total(work->in_counts, size) == 0);
        assert(work->out || total(work->out_counts, size) == 0);
        return;
    case COMM_REDUCE_SCATTER:
        assert(type == COMM_BF16 || type == COMM_FLOAT || type == COMM_INT64);
        assert(work->in_counts);
        assert(work->in || total(work->in_counts, size) == 0);
        assert(work->out || work->in_counts[rank] == 0);
        return;
    }
}

void work_scratch_init(struct work_scratch *scratch, uint32_t size)
{
    *scratch = (struct work_scratch){
        .in_sizes = mem_clear(size, sizeof(size_t)),
        .out_sizes = mem_clear(size, sizeof(size_t)),
        .counts = mem_clear(size, sizeof(size_t)),
    };
}

void work_scratch_release(struct work_scratch *scratch)
{
    mem_free(scratch->memory);
    mem_free(scratch->in_sizes);
    mem_free(scratch->out_sizes);
    mem_free(scratch->counts);
}

static void *scratch_memory(struct work_scratch *scratch, size_t bytes)
{
    if (bytes > scratch->bytes) {
        mem_free(scratch->memory);
        scratch->memory = mem_aligned(bytes);
        scratch->bytes = bytes;
    }
    return scratch->memory;
}

static const size_t *in_bytes(size_t *sizes, const size_t *counts, uint32_t size, enum comm_type type)
{
    for (uint32_t i = 0; i < size; i++)
        sizes[i] = counts[i] * comm_type_bytes(type);
    return sizes;
}

static void add_floats(const float *parts, uint32_t size, float *out, size_t count)
{
    memcpy(out, parts, count * sizeof *out);
    for (uint32_t r = 1; r < size; r++)
        for (size_t i = 0; i < count; i++)
            out[i] += parts[r * count + i];
}

/* Unsigned: the sum of all the integers is known to fit, but partial sums may overflow. */
static void add_integers(const uint64_t *parts, uint32_t size, uint64_t *out, size_t count)
{
    memcpy(out, parts, count * sizeof *out);
    for (uint32_t r = 1; r < size; r++)
        for (size_t i = 0; i < count; i++)
            out[i] += parts[r * count + i];
}

/* Adds in fp32 and rounds once. */
static void add_bf16(const uint16_t *parts, uint32_t size, uint16_t *out, size_t count)
{
    enum { BLOCK = 1024 };
    float sums[BLOCK];
    for (size_t from = 0; from < count; from += BLOCK) {
        const size_t n = count - from < BLOCK ? count - from : BLOCK;
        for (size_t i = 0; i < n; i++)
            sums[i] = bf16_to_float(parts[from + i]);
        for (uint32_t r = 1; r < size; r++)
            for (size_t i = 0; i < n; i++)
                sums[i] += bf16_to_float(parts[r * count + from + i]);
        for (size_t i = 0; i < n; i++)
            out[from + i] = bf16_from_float(sums[i]);
    }
}

static void add_parts(enum comm_type type, const void *parts, uint32_t size, void *out, size_t count)
{
    if (count == 0)
        return;
    if (type == COMM_FLOAT)
        add_floats(parts, size, out, count);
    else if (type == COMM_INT64)
        add_integers(parts, size, out, count);
    else
        add_bf16(parts, size, out, count);
}

static int all_gather(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
                      uint32_t size, struct work_scratch *scratch, struct error *err)
{
    const size_t *sizes = in_bytes(scratch->out_sizes, work->out_counts, size, work->type);
    if (total(sizes, size) == 0)
        return 0;
    char *own = (char *)work->out + total(sizes, rank);
    if (work->in && sizes[rank] > 0)
        memmove(own, work->in, sizes[rank]);
    return library->gather(opened, work->out, sizes, err);
}

static int reduce_scatter(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
                          uint32_t size, struct work_scratch *scratch, struct error *err)
{
    const size_t *in_sizes = in_bytes(scratch->in_sizes, work->in_counts, size, work->type);
    if (total(in_sizes, size) == 0)
        return 0;
    for (uint32_t i = 0; i < size; i++)
        scratch->out_sizes[i] = in_sizes[rank];
    void *parts = scratch_memory(scratch, size * in_sizes[rank]);
    TRY(library->exchange(opened, work->in, in_sizes, parts, scratch->out_sizes, err));
    add_parts(work->type, parts, size, work->out, work->in_counts[rank]);
    return 0;
}

/* Each process sums the part that it owns; then all gather the sums. */
static int sum_bf16(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
                    uint32_t size, struct work_scratch *scratch, struct error *err)
{
    size_t *counts = scratch->counts;
    for (uint32_t r = 0; r < size; r++)
        counts[r] = comm_part(work->count, r, size);
    assert(total(counts, size) == work->count);
    uint16_t *own = (uint16_t *)work->out + total(counts, rank);
    struct comm_work half = {.type = COMM_BF16, .in = work->out, .out = own, .in_counts = counts};
    TRY(reduce_scatter(&half, library, opened, rank, size, scratch, err));
    half = (struct comm_work){.type = COMM_BF16, .out = work->out, .out_counts = counts};
    return all_gather(&half, library, opened, rank, size, scratch, err);
}

/* A run of one process: what it would send to itself is copied, and a sum is the array itself. */
static void work_alone(const struct comm_work *work)
{
    if (work->operation < COMM_ALL_GATHER || !work->in)
        return;
    const size_t *counts = work->operation == COMM_ALL_GATHER ? work->out_counts : work->in_counts;
    if (counts[0] > 0)
        memmove(work->out, work->in, counts[0] * comm_type_bytes(work->type));
}

int work_do(const struct comm_work *work, const struct comm_library *library, void *opened, uint32_t rank,
            uint32_t size, struct work_scratch *scratch, struct error *err)
{
    if (!library->waits) {
        work_alone(work);
        return 0;
    }
    switch (work->operation) {
    case COMM_BARRIER:
        return library->barrier(opened, err);
    case COMM_SUM:
    case COMM_MAX:
        if (work->count > 0 && work->on_device)
            return library->reduce_device(opened, work->type, work->out, work->count, work->ready, err);
        if (work->type == COMM_BF16)
            return sum_bf16(work, library, opened, rank, size, scratch, err);
        return work->count == 0 ? 0 : library->reduce(opened, work->operation, work->type, work->out, work->count, err);
    case COMM_BROADCAST:
        return work->count == 0
                   ? 0
                   : library->broadcast(opened, work->root, work->out, work->count * comm_type_bytes(work->type), err);
    case COMM_ALL_GATHER:
        return all_gather(work, library, opened, rank, size, scratch, err);
    case COMM_ALL_TO_ALL:
        return library->exchange(opened, work->in, in_bytes(scratch->in_sizes, work->in_counts, size, work->type),
                                 work->out, in_bytes(scratch->out_sizes, work->out_counts, size, work->type), err);
    case COMM_REDUCE_SCATTER:
        return reduce_scatter(work, library, opened, rank, size, scratch, err);
    }
    return 0;
}
