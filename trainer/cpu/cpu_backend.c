/* Opens the backend: builds the table of ops for a precision and an instruction set. */
#include <fenv.h>

#include "base/mem.h"
#include "trainer/cpu/device.h"
#include "trainer/cpu/kernels.h"

struct cpu {
    struct ops ops; /* first: close_cpu casts its address */
    struct device device;
    const struct kernels *kernels;
};

#define CLEAR_BYTES ((size_t)2 << 20) /* bytes: a large page */

static void clear_block(const void *args, size_t block, int thread)
{
    const struct clear_args *a = args;
    (void)thread;
    memset((char *)a->memory + block * CLEAR_BYTES, 0, smaller(CLEAR_BYTES, a->bytes - block * CLEAR_BYTES));
}

/* All threads touch the pages first, each a part: where memory has several nodes, the pages are spread over them. */
static void *allocate(struct device *device, size_t bytes)
{
    (void)device;
    const struct clear_args all = {.memory = mem_aligned_new(bytes), .bytes = bytes};
    parallel(blocks_of(bytes, CLEAR_BYTES), clear_block, &all);
    return all.memory;
}

static void release(struct device *device, void *memory)
{
    (void)device;
    mem_free(memory);
}

static void *map(struct device *device, void *memory, size_t bytes, enum map_mode mode)
{
    (void)device;
    (void)bytes;
    (void)mode;
    return memory;
}

static void unmap(struct device *device, void *memory, void *host, size_t bytes, enum map_mode mode)
{
    (void)device;
    (void)bytes;
    (void)mode;
    assert(host == memory);
}

static void wait(struct device *device)
{
    (void)device;
}

static void send(struct device *device, int slot, const void *memory, size_t bytes)
{
    assert(bytes <= SENT_BYTES_MAX);
    memcpy(device->sent[slot], memory, bytes);
}

static void receive(struct device *device, int slot, void *host, size_t bytes)
{
    memcpy(host, device->sent[slot], bytes);
}

static const struct batch *upload(struct device *device, const struct batch *batch)
{
    (void)device;
    return batch;
}

/* The most that any op needs: partial sums over rows (norm_backward has two per column, and one part per thread),
 * results of the loss, attention. */
static size_t scratch_bytes(struct device *device, const struct ops_limits *limits)
{
    const struct cpu *cpu = (const struct cpu *)((char *)device - offsetof(struct cpu, device));
    const size_t parts = blocks_of((size_t)limits->rows_max, BLOCK_ROWS), threads = (size_t)device->threads;
    const size_t blocks = parts > threads ? parts : threads;
    const size_t sums = blocks * 2 * (size_t)limits->columns_max * cpu->ops.real_size;
    const size_t bias =
        blocks_of((size_t)limits->vocabulary_rows_max, BLOCK_ROWS) * (size_t)limits->vocabulary * cpu->ops.real_size;
    const size_t losses = (size_t)limits->rows_max * 2 * sizeof(double);
    const size_t attention = cpu->kernels->attention_scratch(limits, device->threads);
    size_t most = sums > bias ? sums : bias;
    most = losses > most ? losses : most;
    return attention > most ? attention : most;
}

static void close_cpu(struct ops *ops)
{
    struct cpu *cpu = (struct cpu *)ops;
    mem_free(cpu->device.work);
    mem_free(cpu);
}

/* The table of the highest level up to `level`. */
static const struct kernels *kernels_of(enum precision precision, enum cpu_level level, bool same_bits)
{
    if (same_bits && precision == PRECISION_FP32 && level == CPU_BASE)
        return &kernels_fp32_exact_base;
#ifdef __x86_64__
    static const struct kernels *const all[PRECISION_KINDS][CPU_LEVELS] = {
        [PRECISION_FP32] = {&kernels_fp32_base, &kernels_fp32_avx2, &kernels_fp32_avx512},
        [PRECISION_BF16] = {&kernels_bf16_base, &kernels_bf16_avx2, &kernels_bf16_avx512, &kernels_bf16_avx512_bf16,
                            &kernels_bf16_amx},
        [PRECISION_FP16] = {&kernels_fp16_base, &kernels_fp16_avx2, &kernels_fp16_avx512},
        [PRECISION_FP64] = {&kernels_fp64_base},
    };
#else
    static const struct kernels *const all[PRECISION_KINDS][CPU_LEVELS] = {
        [PRECISION_FP32] = {&kernels_fp32_base},
        [PRECISION_BF16] = {&kernels_bf16_base},
        [PRECISION_FP16] = {&kernels_fp16_base},
        [PRECISION_FP64] = {&kernels_fp64_base},
    };
#endif
    int own = (int)level;
    while (!all[precision][own])
        own--;
    return all[precision][own];
}

struct ops *cpu_open(const struct cpu_options *options, struct error *err)
{
    if (options->level > cpu_level()) {
        fail(err, ERR_USAGE, "this processor has no %s, only %s", cpu_level_name(options->level),
             cpu_level_name(cpu_level()));
        return NULL;
    }
    /* Rounding to nearest, and subnormal numbers, which a library that was built with -ffast-math turns off when it is
     * loaded. Threads that begin from now on have it from this one. */
    fesetenv(FE_DFL_ENV);
    struct cpu *cpu = mem_clear(1, sizeof *cpu);
    struct ops *ops = &cpu->ops;
    cpu->kernels = kernels_of(options->precision, options->level, options->same_bits);
    *ops = cpu->kernels->ops;
    if (options->threads)
        parallel_set_threads((int)options->threads);
    cpu->device.threads = parallel_threads();
    cpu->device.work_thread = padded(cpu->kernels->linear_work, 64);
    cpu->device.work = mem_aligned((size_t)cpu->device.threads * cpu->device.work_thread);
    ops->device = &cpu->device;
    ops->precision = options->precision;
    ops->storage_size = precision_kinds[options->precision].storage_size;
    ops->real_size = precision_kinds[options->precision].real_size;
    ops->facts = (struct ops_facts){.kind = "cpu",
                                    .processor = cpu_level_name(options->level),
                                    .library = "own products",
                                    .unit = "thread",
                                    .units = cpu->device.threads};
    ops_describe(ops);
    ops->close = close_cpu;
    ops->allocate = allocate;
    ops->release = release;
    ops->map = map;
    ops->unmap = unmap;
    ops->wait = wait;
    ops->send = send;
    ops->receive = receive;
    ops->upload = upload;
    ops->scratch_bytes = scratch_bytes;
    return ops;
}
