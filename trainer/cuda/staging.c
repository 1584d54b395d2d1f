/* Copies between device memory and pageable host memory, in either direction. A GPU copies at full speed only from and
 * to pinned memory, so two pinned blocks take turns: while the GPU works on one, the host works on the other. They are
 * pinned at the start; nothing is pinned while a model trains. */
#include "trainer/cuda/device.h"

#include "base/mem.h"

#define BLOCK_BYTES ((size_t)16 << 20)

struct staging {
    struct block {
        char *pinned;
        cudaEvent_t done; /* its last copy is complete */
    } blocks[2];
};

struct staging *staging_open(void)
{
    struct staging *staging = mem_clear(1, sizeof *staging);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMallocHost((void **)&staging->blocks[i].pinned, BLOCK_BYTES));
        CHECK(cudaEventCreateWithFlags(&staging->blocks[i].done, cudaEventDisableTiming));
    }
    return staging;
}

void staging_close(struct staging *staging)
{
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventDestroy(staging->blocks[i].done));
        CHECK(cudaFreeHost(staging->blocks[i].pinned));
    }
    mem_free(staging);
}

static size_t bytes_at(size_t at, size_t bytes)
{
    return bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
}

void staging_out(struct staging *staging, cudaStream_t stream, char *host, const char *memory, size_t bytes)
{
    const size_t count = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    for (size_t i = 0; i <= count; i++) {
        if (i < count) { /* the host emptied this block in the previous round */
            const size_t at = i * BLOCK_BYTES;
            const struct block *next = &staging->blocks[i % 2];
            CHECK(cudaMemcpyAsync(next->pinned, memory + at, bytes_at(at, bytes), cudaMemcpyDeviceToHost, stream));
            CHECK(cudaEventRecord(next->done, stream));
        }
        if (i > 0) {
            const size_t at = (i - 1) * BLOCK_BYTES;
            const struct block *last = &staging->blocks[(i - 1) % 2];
            CHECK(cudaEventSynchronize(last->done));
            memcpy(host + at, last->pinned, bytes_at(at, bytes));
        }
    }
}

void staging_in(struct staging *staging, cudaStream_t stream, char *memory, const char *host, size_t bytes)
{
    for (size_t at = 0, i = 0; at < bytes; at += BLOCK_BYTES, i++) {
        const struct block *block = &staging->blocks[i % 2];
        if (i >= 2)
            CHECK(cudaEventSynchronize(block->done));
        memcpy(block->pinned, host + at, bytes_at(at, bytes));
        CHECK(cudaMemcpyAsync(memory + at, block->pinned, bytes_at(at, bytes), cudaMemcpyHostToDevice, stream));
        CHECK(cudaEventRecord(block->done, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
}
