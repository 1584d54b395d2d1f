/* What planted.h declares. Compiled for the emulator, as the kernels of trainer/cuda are. */
#include "tests/cuda/planted.h"

#include <stdio.h>
#include <stdlib.h>

#include "trainer/cuda/launch.cuh"
#include "trainer/cuda/tensor.cuh"

#define THREADS 64

/* A device array that its destructor frees. */
struct memory {
    float *at;
    explicit memory(size_t count) : at((float *)device_take(count * sizeof(float)))
    {
    }
    ~memory()
    {
        device_give(at);
    }
};

static void check(const float *numbers, size_t count, float expected)
{
    device_enter();
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != expected) {
            fprintf(stderr, "other numbers than it should be: %g\n", numbers[i]);
            abort();
        }
    device_leave();
}

/* ---- memory ---- */

static __global__ void fill(float *to, int count)
{
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
        to[i] = (float)i;
}

void planted_host_reads(bool wrong)
{
    memory numbers(THREADS);
    launch(fill, 1, THREADS, 0, NULL, numbers.at, THREADS);
    if (!wrong)
        device_enter();
    if (*(volatile float *)&numbers.at[5] != 5)
        exit(1);
    if (!wrong)
        device_leave();
}

void planted_kernel_leaves(bool wrong)
{
    memory numbers(THREADS);
    launch(fill, 1, THREADS, 0, NULL, numbers.at, THREADS + wrong);
}

/* ---- launches ---- */

static __global__ void __launch_bounds__(THREADS) bounded(float *to)
{
    to[threadIdx.x] = 1;
}

void planted_too_many_threads(bool wrong)
{
    memory numbers(2 * THREADS);
    launch(bounded, 1, wrong ? 2 * THREADS : THREADS, 0, NULL, numbers.at);
}

void planted_beyond_1024_threads(bool wrong)
{
    memory numbers(2048);
    launch(fill, 1, wrong ? 1024 + 32 : 1024, 0, NULL, numbers.at, 2048);
}

static __global__ void fill_shared(size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        shared_memory()[i] = 0;
}

void planted_shared_not_permitted(bool wrong)
{
    const size_t bytes = SHARED_PLAIN + 16;
    if (wrong)
        start(fill_shared, 1, THREADS, bytes, NULL, bytes);
    else
        launch(fill_shared, 1, THREADS, bytes, NULL, bytes);
}

void planted_shared_too_large(bool wrong)
{
    const size_t bytes = (227 << 10) + (wrong ? 16 : 0);
    launch(fill_shared, 1, THREADS, bytes, NULL, bytes);
}

/* ---- threads of a block ---- */

static __global__ void wait_for_block(bool all)
{
    if (all || threadIdx.x != 40)
        __syncthreads();
    if (threadIdx.x == 40)
        __syncwarp();
    else if (threadIdx.x / WARP == 40 / WARP)
        __syncwarp();
}

void planted_barrier_not_reached(bool wrong)
{
    launch(wait_for_block, 1, THREADS, 0, NULL, !wrong);
}

static __global__ void part(bool together)
{
    if (together || threadIdx.x % 2)
        __syncwarp();
    else
        (void)__shfl_sync(FULL_WARP, 0, 0);
}

void planted_lanes_part(bool wrong)
{
    launch(part, 1, THREADS, 0, NULL, !wrong);
}

/* Unless every_block, the second block reads what the first one left in shared memory. */
static __global__ void keep(float *to, bool every_block)
{
    __shared__ float room[THREADS];
    if (every_block || blockIdx.x == 0)
        room[threadIdx.x] = 7;
    to[blockIdx.x * THREADS + threadIdx.x] = room[threadIdx.x];
}

void planted_shared_left_over(bool wrong)
{
    memory numbers(2 * THREADS);
    launch(keep, 2, THREADS, 0, NULL, numbers.at, !wrong);
    check(numbers.at, 2 * THREADS, 7);
}

/* ---- races in a block ---- */

/* All threads write the same number, so that no order of threads gives another result. */
static __global__ void write_one(float *to, bool everybody)
{
    __shared__ float room;
    if (everybody || threadIdx.x == 0)
        room = 7;
    __syncthreads();
    to[threadIdx.x] = room;
}

void planted_two_write(bool wrong)
{
    memory numbers(THREADS);
    launch(write_one, 1, THREADS, 0, NULL, numbers.at, wrong);
}

/* Twice, each thread reads what a thread of another warp wrote. */
static __global__ void rotate(float *to, bool before, bool between)
{
    __shared__ float room[THREADS];
    const int other = ((int)threadIdx.x + WARP) % THREADS;
    float sum = 0;
    room[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        room[threadIdx.x] = 3.5f;
        if (before)
            __syncthreads();
        sum += room[other];
        if (between)
            __syncthreads();
    }
    to[threadIdx.x] = sum;
}

void planted_read_before_barrier(bool wrong)
{
    memory numbers(THREADS);
    launch(rotate, 1, THREADS, 0, NULL, numbers.at, !wrong, true);
}

void planted_write_before_barrier(bool wrong)
{
    memory numbers(THREADS);
    launch(rotate, 1, THREADS, 0, NULL, numbers.at, true, !wrong);
}

/* Lanes of a warp need __syncwarp between them, although the emulator runs them one after the other. */
static __global__ void neighbours(float *to, bool together)
{
    __shared__ float room[THREADS];
    room[threadIdx.x] = 0;
    __syncwarp();
    room[threadIdx.x] = 7;
    if (together)
        __syncwarp();
    to[threadIdx.x] = room[threadIdx.x ^ 1];
}

void planted_warp_not_in_step(bool wrong)
{
    memory numbers(THREADS);
    launch(neighbours, 1, THREADS, 0, NULL, numbers.at, !wrong);
}

static __global__ void copy_and_use(float *to, const float *from, bool waits, int offset)
{
    char *room = shared_memory() + 16 * threadIdx.x + offset;
    copy_later(room, from + 4 * threadIdx.x, true);
    if (waits)
        copies_landed();
    to[threadIdx.x] = *(const float *)room;
}

void planted_copy_not_landed(bool wrong)
{
    memory numbers(4 * THREADS), result(THREADS);
    launch(copy_and_use, 1, THREADS, 16 * THREADS, NULL, result.at, numbers.at, !wrong, 0);
}

void planted_copy_misaligned(bool wrong)
{
    memory numbers(4 * THREADS), result(THREADS);
    launch(copy_and_use, 1, THREADS, 16 * THREADS + 16, NULL, result.at, numbers.at, true, wrong ? 8 : 0);
}

static __global__ void use_vectors(float *to, const float *from)
{
    const float4 four = *(const float4 *)(from + 4 * threadIdx.x);
    to[threadIdx.x] = four.x + four.w;
}

void planted_vector_misaligned(bool wrong)
{
    memory numbers(4 * THREADS + 4), result(THREADS);
    launch(use_vectors, 1, THREADS, 0, NULL, result.at, numbers.at + (wrong ? 2 : 0));
}

/* ---- streams ---- */

/* Two streams, an event, and pinned host memory. */
struct card {
    cudaStream_t first, second;
    cudaEvent_t done;
    float *pinned;
    card()
    {
        cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
        cudaMallocHost((void **)&pinned, THREADS * sizeof(float));
        set(7);
    }
    void set(float value)
    {
        std::fill(pinned, pinned + THREADS, value);
    }
    ~card()
    {
        cudaStreamSynchronize(first);
        cudaStreamSynchronize(second);
    }
};

static __global__ void copy_numbers(float *to, const float *from)
{
    to[threadIdx.x] = from[threadIdx.x];
}

void planted_source_reused(bool wrong)
{
    card card;
    memory numbers(THREADS);
    cudaMemcpyAsync(numbers.at, card.pinned, THREADS * sizeof(float), cudaMemcpyHostToDevice, card.first);
    cudaEventRecord(card.done, card.first);
    if (!wrong)
        cudaEventSynchronize(card.done);
    card.set(8);
    cudaStreamSynchronize(card.first);
    check(numbers.at, THREADS, 7);
}

void planted_result_too_early(bool wrong)
{
    card card;
    memory numbers(THREADS);
    cudaMemcpyAsync(numbers.at, card.pinned, THREADS * sizeof(float), cudaMemcpyHostToDevice, card.first);
    cudaStreamSynchronize(card.first);
    card.set(8);
    cudaMemcpyAsync(card.pinned, numbers.at, THREADS * sizeof(float), cudaMemcpyDeviceToHost, card.first);
    if (!wrong)
        cudaStreamSynchronize(card.first);
    check(card.pinned, THREADS, 7);
}

/* One stream reads what another writes. */
void planted_write_not_awaited(bool wrong)
{
    card card;
    memory numbers(THREADS), result(THREADS);
    cudaMemcpyAsync(numbers.at, card.pinned, THREADS * sizeof(float), cudaMemcpyHostToDevice, card.first);
    cudaEventRecord(card.done, card.first);
    if (!wrong)
        cudaStreamWaitEvent(card.second, card.done, 0);
    launch(copy_numbers, 1, THREADS, 0, card.second, result.at, numbers.at);
    cudaStreamSynchronize(card.second);
    check(result.at, THREADS, 7);
}

/* One stream writes what another has yet to read. */
void planted_read_not_awaited(bool wrong)
{
    card card;
    memory numbers(THREADS), result(THREADS);
    cudaMemcpyAsync(numbers.at, card.pinned, THREADS * sizeof(float), cudaMemcpyHostToDevice, card.first);
    launch(copy_numbers, 1, THREADS, 0, card.first, result.at, numbers.at);
    cudaEventRecord(card.done, card.first);
    if (!wrong)
        cudaStreamWaitEvent(card.second, card.done, 0);
    cudaMemsetAsync(numbers.at, 0, THREADS * sizeof(float), card.second);
    cudaStreamSynchronize(card.second);
    cudaStreamSynchronize(card.first);
    check(result.at, THREADS, 7);
}
