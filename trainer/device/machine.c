#include "trainer/device/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cores.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"
#include "trainer/optim/optimizer.h"

uint64_t machine_memory_for(const struct ops *ops)
{
    return ops->memory > 0 ? ops->memory : memory_allowed();
}

#define ALIGN 64 /* bytes */

/* The next bytes of a room, or memory of their own; give_back takes that. */
static void *take(const struct ops *ops, struct machine_room *room, size_t bytes)
{
    const size_t size = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *taken = room->memory;
    if (!taken || room->bytes < size)
        return ops->allocate(ops->device, bytes);
    *room = (struct machine_room){(char *)taken + size, room->bytes - size};
    return taken;
}

static void give_back(const struct ops *ops, const struct machine_room *whole, void *taken)
{
    const uintptr_t at = (uintptr_t)taken - (uintptr_t)whole->memory;
    if (!whole->memory || at >= whole->bytes)
        ops->release(ops->device, taken);
}

/* Makes `count` random numbers in storage, similar to activations: a GPU runs at a higher clock on zeros. */
static void *made_up(const struct ops *ops, struct machine_room *room, size_t count)
{
    const size_t bytes = count * ops->real_size;
    const struct machine_room whole = *room;
    void *storage = take(ops, room, count * ops->storage_size);
    struct machine_room rest = *room;
    void *real = take(ops, &rest, bytes);
    float *values = ops->map(ops->device, real, bytes, MAP_FILL);
    uint32_t state = 1;
    for (size_t i = 0; i < count && ops->real_size == sizeof *values; i++)
        values[i] = random_quick(&state);
    ops->unmap(ops->device, real, values, bytes, MAP_FILL);
    CALL(ops, convert, .y = storage, .x = real, .count = count);
    give_back(ops, &whole, real);
    return storage;
}

double machine_product_rate(const struct ops *ops, int32_t rows, int32_t out, int32_t in, double seconds,
                            struct machine_room room)
{
    const struct machine_room whole = room;
    void *x = made_up(ops, &room, (size_t)rows * (size_t)in);
    void *w = made_up(ops, &room, (size_t)out * (size_t)in);
    void *y = take(ops, &room, (size_t)rows * (size_t)out * ops->storage_size);
    const struct rows all = {rows, rows};
    CALL(ops, linear, .y = y, .x = x, .w = w, .rows = all, .out = out, .in = in); /* does one-time work */
    ops->wait(ops->device);
    const double from = clock_now();
    double shortest = HUGE_VAL, before = from;
    for (int round = 0; round < 1000 && before - from < seconds; round++) {
        CALL(ops, linear, .y = y, .x = x, .w = w, .rows = all, .out = out, .in = in);
        ops->wait(ops->device);
        const double now = clock_now();
        shortest = fmin(shortest, now - before);
        before = now;
    }
    give_back(ops, &whole, x);
    give_back(ops, &whole, w);
    give_back(ops, &whole, y);
    return 2.0 * rows * out * in / shortest;
}

#define BANDWIDTH_NUMBERS ((size_t)1 << 28)
#define BANDWIDTH_ROUNDS  8

double machine_bandwidth(const struct ops *ops)
{
    const size_t count = ops->memory > 0 ? BANDWIDTH_NUMBERS : BANDWIDTH_NUMBERS / 16;
    void *real = ops->allocate(ops->device, count * ops->real_size);
    void *storage = ops->allocate(ops->device, count * ops->storage_size);
    CALL(ops, convert, .y = storage, .x = real, .count = count);
    ops->wait(ops->device);
    const double from = clock_now();
    for (int i = 0; i < BANDWIDTH_ROUNDS; i++)
        CALL(ops, convert, .y = storage, .x = real, .count = count);
    ops->wait(ops->device);
    const double took = clock_now() - from;
    ops->release(ops->device, real);
    ops->release(ops->device, storage);
    return (double)count * (double)(ops->real_size + ops->storage_size) * BANDWIDTH_ROUNDS / took;
}

static uint64_t waited_by(long thread)
{
    char path[64];
    uint64_t ran = 0, waited = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
        waited = 0;
    fclose(file);
    return waited;
}

void machine_waits_begin(struct machine_waits *waits)
{
    struct error ignored = {0};
    struct path_list list = {0};
    *waits = (struct machine_waits){.from = clock_now()};
    if (path_list(&list, "/proc/self/task", &ignored) < 0)
        return;
    for (size_t i = 0; i < list.count && waits->count < MACHINE_THREADS; i++) {
        const long thread = strtol(list.names[i], NULL, 10);
        waits->threads[waits->count].thread = thread;
        waits->threads[waits->count++].waited = waited_by(thread);
    }
    path_list_release(&list);
}

double machine_waits_share(const struct machine_waits *waits)
{
    uint64_t longest = 0;
    const double seconds = clock_now() - waits->from;
    for (size_t i = 0; i < waits->count; i++) {
        const uint64_t before = waits->threads[i].waited, now = waited_by(waits->threads[i].thread);
        longest = now > before && now - before > longest ? now - before : longest;
    }
    return seconds > 0 ? fmin((double)longest * 1e-9 / seconds, 1) : 0;
}

#define UPDATE_MAX ((size_t)1 << 24) /* more parameters take no longer each, and would need much memory */

double machine_update_rate(const struct ops *ops, size_t count, struct machine_room room)
{
    const struct machine_room whole = room;
    const size_t most = ops->memory > 0 ? UPDATE_MAX : UPDATE_MAX / 8, part = room.bytes / 4 / ALIGN * ALIGN;
    const size_t fits = part > 0 && part / ops->real_size < most ? part / ops->real_size : most;
    const size_t taken = count < fits ? count : fits;
    const size_t chunks = (taken + PARAM_CHUNK - 1) / PARAM_CHUNK;
    const struct update_step step = {.beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .weight1 = 0.1,
                                     .correction1 = 1,
                                     .correction2 = 1,
                                     .epsilon = 1e-8,
                                     .decoupled = true};
    SCOPED(mem_free_at) struct param_chunk *table = mem_clear(chunks, sizeof *table);
    void *flat[4];
    for (size_t i = 0; i < chunks; i++) {
        const size_t left = taken - i * PARAM_CHUNK;
        table[i] =
            (struct param_chunk){.offset = i * PARAM_CHUNK, .count = left < PARAM_CHUNK ? (int32_t)left : PARAM_CHUNK};
    }
    for (size_t i = 0; i < 4; i++)
        flat[i] = take(ops, &room, taken * ops->real_size);
    for (size_t i = 0; i < 4; i++) /* what a room holds may have no root, and NaN takes longer */
        CALL(ops, clear, .memory = flat[i], .bytes = taken * ops->real_size);
    const struct update_memory memory = {.params = flat[0], .first = flat[1], .second = flat[2], .gradients = flat[3]};
    struct update_work work;
    optimizer_work_init(&work, OPTIMIZER_ADAM, ops,
                        &(struct params){.count = 1, .total = taken, .chunks = table, .chunk_count = chunks});
    CALL(ops, adam, &memory, &work, &step, all_chunks(&work)); /* the first use maps the memory */
    ops->wait(ops->device);
    const double from = clock_now();
    CALL(ops, adam, &memory, &work, &step, all_chunks(&work));
    ops->wait(ops->device);
    const double took = clock_now() - from;
    optimizer_work_release(&work, ops);
    for (size_t i = 0; i < 4; i++)
        give_back(ops, &whole, flat[i]);
    return (double)taken / took;
}
