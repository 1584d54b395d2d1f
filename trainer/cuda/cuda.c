/* Opens the backend: finds a GPU, manages its memory, and builds the table of ops. */
#include "trainer/cuda/cuda.h"

#include <stdio.h>

#include "base/mem.h"
#include "trainer/cuda/product.h"

static int probe(struct cuda_facts *facts, struct error *err)
{
    struct cudaDeviceProp prop;
    int count = 0, driver = 0;
    *facts = (struct cuda_facts){.products = cublasLtGetVersion()};
    cudaRuntimeGetVersion(&facts->runtime);
    if (cudaDriverGetVersion(&driver) == cudaSuccess)
        facts->driver = driver;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (facts->driver == 0) {
        fail(err, ERR_RESOURCE, "there is no NVIDIA driver on this machine (%s)", cudaGetErrorString(status));
        return hint(err, "--device cpu needs none");
    }
    if (status != cudaSuccess || count == 0) {
        fail(err, ERR_RESOURCE, "the NVIDIA driver (for CUDA %d.%d) shows no GPU: %s", facts->driver / 1000,
             facts->driver % 1000 / 10, status == cudaSuccess ? "none is there" : cudaGetErrorString(status));
        return hint(err, "--device cpu needs none; CUDA_VISIBLE_DEVICES says which GPUs a program sees");
    }
    if (cudaGetDeviceProperties(&prop, 0) != cudaSuccess)
        return fail(err, ERR_RESOURCE, "the GPU does not answer: %s", cudaGetErrorString(cudaGetLastError()));
    facts->count = count;
    snprintf(facts->name, sizeof facts->name, "%.63s", prop.name);
    memcpy(facts->uuid, prop.uuid.bytes, sizeof facts->uuid);
    facts->major = prop.major;
    facts->minor = prop.minor;
    facts->processors = prop.multiProcessorCount;
    facts->memory = prop.totalGlobalMem;
    if (prop.major < 8)
        return fail(err, ERR_RESOURCE, "%s has compute capability %d.%d; 8.0 is the minimum", facts->name, prop.major,
                    prop.minor);
    return 0;
}

/* Memory needed besides what is allocated: for batches, and for the library's kernels, which are loaded at their first
 * use. An estimate. */
#define MEMORY_RESERVE ((size_t)256 << 20)

static uint64_t free_memory(void)
{
    size_t free_bytes = 0, all = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &all));
    return free_bytes > MEMORY_RESERVE ? free_bytes - MEMORY_RESERVE : 0;
}

static void *allocate(struct device *device, size_t bytes)
{
    void *memory;
    const cudaError_t status = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, all = 0;
        CHECK(cudaMemGetInfo(&free_bytes, &all));
        die(ERR_RESOURCE, "the GPU does not have %.1f GB left, only %.1f of %.1f; a smaller --micro-batch needs less",
            (double)bytes * 1e-9, (double)free_bytes * 1e-9, (double)all * 1e-9);
    }
    CHECK(status);
    CHECK(cudaMemsetAsync(memory, 0, bytes, device->stream));
    return memory;
}

static void release(struct device *device, void *memory)
{
    for (int i = 0; i < CONVERSIONS; i++)
        if (device->conversions[i].real == memory || device->conversions[i].stored == memory)
            device->conversions[i] = (struct conversion){0};
    CHECK(cudaStreamSynchronize(device->stream));
    CHECK(cudaFree(memory));
}

static void *map(struct device *device, void *memory, size_t bytes, enum map_mode mode)
{
    char *host = mem_aligned(bytes);
    if (mode != MAP_FILL)
        staging_out(device->staging, device->stream, host, memory, bytes);
    CHECK(cudaStreamSynchronize(device->stream));
    return host;
}

static void unmap(struct device *device, void *memory, void *host, size_t bytes, enum map_mode mode)
{
    if (mode != MAP_READ)
        staging_in(device->staging, device->stream, memory, host, bytes);
    mem_free(host);
}

static void wait_all(struct device *device)
{
    CHECK(cudaStreamSynchronize(device->stream));
}

static void begin_step(struct device *device, uint64_t step)
{
    (void)device;
    op_trace_step(step);
}

static void send_bytes(struct device *device, int slot, const void *memory, size_t bytes)
{
    struct sent *sent = &device->sent[slot];
    assert(bytes <= SENT_BYTES_MAX);
    CHECK(cudaMemcpyAsync(sent->host, memory, bytes, cudaMemcpyDeviceToHost, device->stream));
    CHECK(cudaEventRecord(sent->there, device->stream));
}

static void receive_bytes(struct device *device, int slot, void *host, size_t bytes)
{
    CHECK(cudaEventSynchronize(device->sent[slot].there));
    memcpy(host, device->sent[slot].host, bytes);
}

static void *mark(struct device *device, size_t n)
{
    if (n >= device->mark_count)
        device->marks = mem_grow(device->marks, n + 1, sizeof *device->marks);
    while (n >= device->mark_count)
        CHECK(cudaEventCreateWithFlags(&device->marks[device->mark_count++], cudaEventDisableTiming));
    CHECK(cudaEventRecord(device->marks[n], device->stream));
    return device->marks[n];
}

static void close_marks(struct device *device)
{
    for (size_t n = 0; n < device->mark_count; n++)
        CHECK(cudaEventDestroy(device->marks[n]));
    mem_free(device->marks);
}

static void open_slots(struct device *device)
{
    for (int slot = 0; slot < 2; slot++) {
        CHECK(cudaMallocHost((void **)&device->sent[slot].host, SENT_BYTES_MAX));
        CHECK(cudaEventCreateWithFlags(&device->sent[slot].there, cudaEventDisableTiming));
    }
}

static void close_slots(struct device *device)
{
    for (int slot = 0; slot < 2; slot++) {
        CHECK(cudaFreeHost(device->sent[slot].host));
        CHECK(cudaEventDestroy(device->sent[slot].there));
    }
}

/* What the kernels need, or a vector of sums for products with biases (linear.c). */
static size_t scratch_bytes(struct device *device, const struct ops_limits *limits)
{
    const size_t kernels = kernel_scratch_bytes(limits, device->ops.precision);
    const int32_t wide = limits->columns_max > limits->vocabulary ? limits->columns_max : limits->vocabulary;
    const size_t sums = (size_t)wide * sizeof(float);
    return kernels > sums ? kernels : sums;
}

#define TILE_ROWS 128 /* rows that most of the library's tiles of a product have */

static void close_cuda(struct ops *ops)
{
    struct device *device = (struct device *)ops;
    CHECK(cudaStreamSynchronize(device->stream));
    uploader_close(device->uploader);
    staging_close(device->staging);
    products_close(device->products);
    close_slots(device);
    close_marks(device);
    CHECK(cudaStreamDestroy(device->stream));
    mem_free(device);
}

static const struct ops table = {
    .real_size = sizeof(float),
    .late = true,
    .close = close_cuda,
    .allocate = allocate,
    .release = release,
    .map = map,
    .unmap = unmap,
    .wait = wait_all,
    .begin_step = begin_step,
    .send = send_bytes,
    .receive = receive_bytes,
    .mark = mark,
    .upload = upload,
    .scratch_bytes = scratch_bytes,
};
#define SET_OP(op) device->ops.op = op;

static struct ops *open_cuda(enum precision precision, const char *tune, struct error *err)
{
    struct cuda_facts facts;
    assert(precision < PRECISION_FP64);
    if (probe(&facts, err) < 0)
        return NULL;
    struct products *products = products_open(precision, tune, err);
    if (!products)
        return NULL;
    struct device *device = mem_clear(1, sizeof *device);
    device->products = products;
    device->uploader = uploader_open();
    device->staging = staging_open();
    open_slots(device);
    CHECK(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking));
    memcpy(device->processor, facts.name, sizeof device->processor);
    snprintf(device->library, sizeof device->library, "cuBLASLt %d.%d.%d", (int)(facts.products / 10000),
             (int)(facts.products / 100 % 100), (int)(facts.products % 100));
    device->ops = table;
    OPS_COMPUTING(SET_OP)
    device->ops.device = device;
    device->ops.precision = precision;
    device->ops.storage_size = precision == PRECISION_FP32 ? 4 : 2;
    device->ops.facts = (struct ops_facts){.kind = "cuda",
                                           .processor = device->processor,
                                           .library = device->library,
                                           .unit = "multiprocessor",
                                           .units = facts.processors};
    device->ops.memory = facts.memory;
    device->ops.free_bytes = free_memory();
    device->ops.wave_rows = facts.processors * TILE_ROWS;
    return &device->ops;
}

extern __attribute__((visibility("default"))) const struct cuda_module dstrain_cuda;
const struct cuda_module dstrain_cuda = {
    .interface = CUDA_INTERFACE,
    .probe = probe,
    .open = open_cuda,
    .tune = tune_make,
};
