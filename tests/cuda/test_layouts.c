/* Kernels that an op of the backend reaches in some cases only, and those of bits that are exchanged, run on the host
 * by emulator.h, against the CPU; gpu/ops.c and gpu/model.c have the others (ctests cuda_ops, cuda_optimizers). Inputs
 * are rounded to storage first, so the measured error is the kernel's alone. Outputs begin as NaN, which shows missing
 * writes. Every kernel runs twice, with the block's threads in opposite order: other bits mean a missing barrier. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"
#include "trainer/cuda/kernels.h"
#include "trainer/optim/onebit.h"
#include "trainer/optim/optimizer.h"

extern int emulated_order; /* emulator.h */

static const struct ops *reference; /* doubles */
static enum precision precision;    /* of the kernels */
static uint32_t drawn;

static double uniform(void) /* -1 to 1 */
{
    uint32_t words[4];
    philox4x32((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){5, 9}, words);
    return words[0] * 0x1p-31 - 1;
}

/* ---- arrays on both sides ---- */

enum kind { STORED, REAL };

struct array {
    double *values; /* of the reference */
    void *memory;   /* of the kernel: numbers of `size` bytes */
    void *before;   /* a copy to run again from */
    size_t count, size;
};

static double get(const struct array *a, size_t i)
{
    if (a->size == 4)
        return ((const float *)a->memory)[i];
    const uint16_t stored = ((const uint16_t *)a->memory)[i];
    return precision == PRECISION_FP16 ? fp16_to_float(stored) : bf16_to_float(stored);
}

static void put(struct array *a, size_t i, double value)
{
    if (a->size == 4)
        ((float *)a->memory)[i] = (float)value;
    else
        ((uint16_t *)a->memory)[i] =
            precision == PRECISION_FP16 ? fp16_from_float((float)value) : bf16_from_float((float)value);
}

/* Random up to `scale` in the first `live` numbers, zero after them. With scale 0: NaN, for outputs. */
static struct array array_of(enum kind kind, size_t live, size_t count, double scale)
{
    const size_t size = kind == REAL || precision == PRECISION_FP32 ? 4 : 2;
    struct array a = {mem_clear(count + 1, sizeof(double)), mem_clear(count, size), NULL, count, size};
    for (size_t i = 0; i < count; i++) {
        put(&a, i, scale == 0 ? (double)NAN : i < live ? scale * uniform() : 0);
        a.values[i] = get(&a, i);
    }
    a.before = mem_clear(count, size);
    memcpy(a.before, a.memory, count * size);
    return a;
}

static void release(struct array *a)
{
    mem_free(a->values);
    mem_free(a->memory);
    mem_free(a->before);
}

/* Relative L2 error of the kernel, at most `times` the rounding of one stored number. */
static void assert_close(const struct array *a, double times, const char *what)
{
    static const char *const names[] = {"fp32", "bf16", "fp16"};
    const double unit =
        a->size == 4 ? (precision == PRECISION_FP32 ? 1e-6 : 1e-5) : (precision == PRECISION_FP16 ? 5e-4 : 4e-3);
    double error = 0, size = 0;
    for (size_t i = 0; i < a->count; i++) {
        const double distance = get(a, i) - a->values[i];
        error += distance * distance;
        size += a->values[i] * a->values[i];
    }
    error = sqrt(size > 0 ? error / size : error);
    if (getenv("LAYOUTS_SHOW"))
        print_message("%s %s: %.2g\n", names[precision], what, error);
    if (!(error <= times * unit))
        fail_msg("%s in %s has relative error %g", what, names[precision], error);
}

/* Runs the statements once with each order of threads and compares the arrays. */
#define BOTH_ORDERS(arrays, ...)                                                                                       \
    do {                                                                                                               \
        const size_t both_count = sizeof(arrays) / sizeof *(arrays);                                                   \
        void *both_first[sizeof(arrays) / sizeof *(arrays)];                                                           \
        emulated_order = 1;                                                                                            \
        __VA_ARGS__;                                                                                                   \
        for (size_t i = 0; i < both_count; i++) {                                                                      \
            both_first[i] = mem_aligned((arrays)[i]->count * (arrays)[i]->size);                                       \
            memcpy(both_first[i], (arrays)[i]->memory, (arrays)[i]->count *(arrays)[i]->size);                         \
        }                                                                                                              \
        for (size_t i = 0; i < both_count; i++)                                                                        \
            memcpy((arrays)[i]->memory, (arrays)[i]->before, (arrays)[i]->count *(arrays)[i]->size);                   \
        emulated_order = 0;                                                                                            \
        __VA_ARGS__;                                                                                                   \
        for (size_t i = 0; i < both_count; i++) {                                                                      \
            assert_memory_equal(both_first[i], (arrays)[i]->memory, (arrays)[i]->count *(arrays)[i]->size);            \
            mem_free(both_first[i]);                                                                                   \
        }                                                                                                              \
    } while (0)

static void each_precision(void (*test)(void))
{
    struct ops *opened = made_ops(PRECISION_FP64, CPU_BASE, 1);
    reference = opened;
    for (precision = 0; precision < PRECISION_KINDS; precision++) {
        if (!precision_kinds[precision].offered)
            continue;
        drawn = 0;
        test();
    }
    opened->close(opened);
}

#define DEVICE reference->device

/* ---- what stands in for a product's epilogue ---- */

static void unfused_of(int32_t columns)
{
    const struct rows rows = {77, 128};
    const size_t width = (size_t)columns, live = 77 * width, total = 128 * width;
    struct array b = array_of(REAL, width, width, 1), sums = array_of(REAL, width, width, 1);
    struct array pre = array_of(STORED, total, total, 3), after = array_of(STORED, 0, total, 0);
    const struct ops_limits limits = {rows.total, columns, 64, 64, 1, 1};
    void *scratch = mem_clear(1, kernel_scratch_bytes(&limits, precision) + 1);
    for (size_t i = 0; i < total; i++) {
        after.values[i] = i < live ? pre.values[i] * 0.5 * erfc(-pre.values[i] * sqrt(0.5)) : 0;
        pre.values[i] = i < live ? pre.values[i] : 0;
        sums.values[i % width] += pre.values[i];
    }
    struct array *gelu[] = {&after, &pre}, *biased[] = {&pre}, *summed[] = {&sums};
    BOTH_ORDERS(gelu, kernel_gelu(NULL, precision, after.memory, pre.memory, rows, columns, GELU_ERF));
    assert_close(&after, 2, "gelu");
    assert_close(&pre, 0, "what gelu was made of");
    BOTH_ORDERS(summed, kernel_column_sums(NULL, precision, sums.memory, pre.memory, rows, columns, scratch));
    assert_close(&sums, 2, "column_sums");
    for (size_t i = 0; i < total; i++)
        pre.values[i] = i < live ? get(&pre, i) + b.values[i % width] : 0;
    memcpy(pre.before, pre.memory, pre.count * pre.size);
    BOTH_ORDERS(biased, kernel_add_bias(NULL, precision, pre.memory, b.memory, rows, columns));
    assert_close(&pre, 1, "add_bias");
    mem_free(scratch);
    struct array *all[] = {&b, &sums, &pre, &after};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static void unfused(void)
{
    unfused_of(64);
    unfused_of(1032);
    unfused_of(19);
    struct array x = array_of(REAL, 4003, 4003, 5), z = array_of(REAL, 4003, 4003, 5), *sum[] = {&z};
    for (size_t i = 0; i < 4003; i++)
        z.values[i] += x.values[i];
    BOTH_ORDERS(sum, kernel_add(NULL, z.memory, x.memory, 4003));
    assert_close(&z, 1, "add");
    release(&x);
    release(&z);
}

/* The same integers as on the CPU, and the same floats back. */
static void integers(void)
{
    if (precision != PRECISION_FP32)
        return;
    const size_t count = 1000;
    const double unit = 0x1p44, limit = 0x1p58;
    struct array a = array_of(REAL, count, count, 1e-2);
    int64_t *sums = mem_clear(count, sizeof *sums), *wanted = mem_clear(count, sizeof *wanted), refused = 0;
    a.values[999] = (double)NAN;
    put(&a, 999, (double)NAN);
    for (size_t i = 0; i < count; i++)
        sums[i] = wanted[i] = (int64_t)i;
    int64_t refused_there = 0;
    CALL(reference, fixed_add, .sums = wanted, .gradients = a.values, .count = count, .unit = unit, .limit = limit,
         .refused = &refused_there);
    kernel_fixed_add(NULL, &(struct fixed_add_args){sums, a.memory, count, unit, limit, &refused});
    assert_true(refused == 1 && refused_there == 1);
    assert_memory_equal(sums, wanted, count * sizeof *sums);
    for (size_t i = 0; i < count; i++)
        assert_true(get(&a, i) == 0);
    kernel_fixed_take(NULL, &(struct fixed_take_args){a.memory, sums, count, unit});
    for (size_t i = 0; i < count; i++)
        assert_true(sums[i] == 0 && get(&a, i) == (double)((float)wanted[i] * 0x1p-44f));
    mem_free(sums);
    mem_free(wanted);
    release(&a);
}

/* ---- updates that exchange bits ---- */

enum { BIT_PROCESSES = 3, BIT_CHUNKS = 7, BIT_STEPS = 3 };

/* What the processes have, on one side: that of the CPU, or that of the kernels. */
struct bits_side {
    float *params, *first, *gradients[BIT_PROCESSES], *errors[BIT_PROCESSES], *served, *alphas_of_all, *sigmas;
    float alphas[BIT_PROCESSES][BIT_CHUNKS];
    uint8_t *bits[BIT_PROCESSES], *bits_of_all, *bits_back;
};

struct bits_trial {
    struct param_chunk chunks[BIT_CHUNKS];
    struct params table;
    struct onebit_layout layout;
    float *second;
    struct bits_side cpu, gpu;
};

static void side_open(struct bits_side *s, const struct onebit_layout *l, size_t flat)
{
    s->params = mem_clear(flat, sizeof(float));
    s->first = mem_clear(flat, sizeof(float));
    for (int i = 0; i < BIT_PROCESSES; i++) {
        s->gradients[i] = mem_clear(flat, sizeof(float));
        s->errors[i] = mem_clear(l->count, sizeof(float));
        s->bits[i] = mem_clear(l->count / 8, 1);
    }
    s->served = mem_clear(l->count, sizeof(float));
    s->alphas_of_all = mem_clear(BIT_PROCESSES * BIT_CHUNKS, sizeof(float));
    s->sigmas = mem_clear(BIT_CHUNKS, sizeof(float));
    s->bits_of_all = mem_clear(BIT_PROCESSES, l->count / 8);
    s->bits_back = mem_clear(l->count / 8, 1);
}

static void side_close(struct bits_side *s)
{
    void *const all[] = {s->params, s->first, s->served, s->alphas_of_all, s->sigmas, s->bits_of_all, s->bits_back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
    for (int i = 0; i < BIT_PROCESSES; i++) {
        mem_free(s->gradients[i]);
        mem_free(s->errors[i]);
        mem_free(s->bits[i]);
    }
}

static void assert_floats(const float *got, const float *wanted, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= 1e-6 * fmax(fabs((double)wanted[i]), 1e-3)))
            fail_msg("%s: element %zu is %g, not %g", what, i, (double)got[i], (double)wanted[i]);
}

/* The exchange: the part of process `rank` from all. */
static void send_part(const struct onebit_layout *l, struct bits_side *s, uint32_t rank)
{
    const size_t bytes = (l->part[rank + 1] - l->part[rank]) / 8, units = l->first[rank + 1] - l->first[rank];
    for (int i = 0; i < BIT_PROCESSES; i++) {
        memcpy(s->bits_of_all + (size_t)i * bytes, s->bits[i] + l->part[rank] / 8, bytes);
        memcpy(s->alphas_of_all + (size_t)i * units, s->alphas[i] + l->first[rank], units * sizeof(float));
    }
}

static struct bits_operands operands_of(const struct bits_trial *t, const struct onebit_update *u)
{
    return (struct bits_operands){
        .chunks = t->chunks,
        .at = t->layout.at,
        .params = u->params,
        .first = u->first,
        .second = u->second,
        .gradients = u->gradients,
        .factor = (float)u->gradient_factor,
        .beta = (float)u->beta1,
        .share = (float)(1 - u->beta1),
        .rate = (float)u->rate,
        .epsilon = (float)u->epsilon,
        .matrix_shrink = (float)u->rate * (float)u->weight_decay,
        .vector_shrink = (float)u->rate * (float)u->vector_decay,
    };
}

static struct onebit_update update_on(const struct bits_trial *t, const struct bits_side *s, int process)
{
    return (struct onebit_update){s->params, s->first, t->second, s->gradients[process], 1.7, 0.9, 1e-2, 1e-6, 0.01, 0};
}

static void compressed(struct bits_trial *t, int i)
{
    const struct onebit_layout *l = &t->layout;
    const struct onebit_update cpu = update_on(t, &t->cpu, i), gpu = update_on(t, &t->gpu, i);
    const struct bits_operands operands = operands_of(t, &gpu);
    const size_t bytes = l->count * sizeof(float);
    float *before = mem_array(l->count, sizeof *before), *first = mem_array(l->count, sizeof *first);
    memcpy(before, t->gpu.errors[i], bytes);
    onebit_compress(l, &cpu, t->cpu.errors[i], t->cpu.bits[i], t->cpu.alphas[i]);
    emulated_order = 1;
    kernel_compress(NULL, &operands, BIT_CHUNKS, t->gpu.errors[i], t->gpu.bits[i], t->gpu.alphas[i]);
    memcpy(first, t->gpu.errors[i], bytes);
    memcpy(t->gpu.errors[i], before, bytes);
    memset(t->gpu.bits[i], 0x55, l->count / 8);
    emulated_order = 0;
    kernel_compress(NULL, &operands, BIT_CHUNKS, t->gpu.errors[i], t->gpu.bits[i], t->gpu.alphas[i]);
    assert_memory_equal(first, t->gpu.errors[i], bytes);
    assert_memory_equal(t->gpu.bits[i], t->cpu.bits[i], l->count / 8);
    assert_floats(t->gpu.alphas[i], t->cpu.alphas[i], BIT_CHUNKS, "alpha");
    assert_floats(t->gpu.errors[i], t->cpu.errors[i], l->count, "an error");
    mem_free(before);
    mem_free(first);
}

static void served(struct bits_trial *t, uint32_t rank)
{
    const struct onebit_layout *l = &t->layout;
    const size_t from = l->part[rank], elements = l->part[rank + 1] - from;
    const struct served_part part = {l->first[rank], l->first[rank + 1] - l->first[rank], from, elements, l->size};
    const struct onebit_update cpu = update_on(t, &t->cpu, 0), gpu = update_on(t, &t->gpu, 0);
    const struct bits_operands operands = operands_of(t, &gpu);
    send_part(l, &t->cpu, rank);
    send_part(l, &t->gpu, rank);
    onebit_serve(l, &cpu, rank, t->cpu.bits_of_all, t->cpu.alphas_of_all, t->cpu.served + from, t->cpu.bits_back,
                 t->cpu.sigmas);
    emulated_order = (int)rank % 2;
    kernel_serve(NULL, &operands, &part,
                 &(struct serve_args){.rank = rank,
                                      .bits_of_all = t->gpu.bits_of_all,
                                      .alphas_of_all = t->gpu.alphas_of_all,
                                      .served = t->gpu.served + from,
                                      .bits = t->gpu.bits_back,
                                      .sigmas = t->gpu.sigmas});
}

/* Brings the kernels' side to the CPU's numbers, so that one step is compared at a time. */
static void side_copy(struct bits_trial *t, size_t flat)
{
    memcpy(t->gpu.params, t->cpu.params, flat * sizeof(float));
    memcpy(t->gpu.first, t->cpu.first, flat * sizeof(float));
    memcpy(t->gpu.served, t->cpu.served, t->layout.count * sizeof(float));
    for (int i = 0; i < BIT_PROCESSES; i++) {
        memcpy(t->gpu.errors[i], t->cpu.errors[i], t->layout.count * sizeof(float));
        memcpy(t->gpu.gradients[i], t->cpu.gradients[i], flat * sizeof(float));
    }
}

/* Three processes' updates: chunks that are whole, short, not a multiple of 8, and one without any gradient. */
TEST(bits_are_those_of_the_cpu)
{
    static const int32_t counts[BIT_CHUNKS] = {PARAM_CHUNK, PARAM_CHUNK, 37, 8, 1, 1000, 4099};
    static struct bits_trial t;
    size_t flat = 0;
    for (int k = 0; k < BIT_CHUNKS; k++) {
        t.chunks[k] = (struct param_chunk){.offset = flat, .count = counts[k], .tensor = k, .decay = k % 2 == 0};
        flat += ((size_t)counts[k] + 15) / 16 * 16;
    }
    t.table = (struct params){.chunks = t.chunks, .chunk_count = BIT_CHUNKS, .size = flat};
    onebit_layout_init(&t.layout, &t.table, false, BIT_PROCESSES);
    side_open(&t.cpu, &t.layout, flat);
    side_open(&t.gpu, &t.layout, flat);
    t.second = mem_clear(flat, sizeof(float));
    for (size_t i = 0; i < flat; i++) {
        t.second[i] = i % 9 == 4 || (i >= t.chunks[5].offset && i < t.chunks[6].offset) ? 0 : (float)(1 + uniform());
        t.cpu.params[i] = (float)uniform();
        t.cpu.first[i] = t.second[i] != 0 ? (float)uniform() : 0;
    }
    for (int step = 0; step < BIT_STEPS; step++) {
        for (int i = 0; i < BIT_PROCESSES; i++)
            for (size_t k = 0; k < flat; k++)
                t.cpu.gradients[i][k] = (float)uniform();
        side_copy(&t, flat);
        for (int i = 0; i < BIT_PROCESSES; i++)
            compressed(&t, i);
        for (uint32_t rank = 0; rank < BIT_PROCESSES; rank++)
            served(&t, rank);
        assert_memory_equal(t.gpu.bits_back, t.cpu.bits_back, t.layout.count / 8);
        assert_floats(t.gpu.sigmas, t.cpu.sigmas, BIT_CHUNKS, "sigma");
        assert_floats(t.gpu.served, t.cpu.served, t.layout.count, "the server's error");
        assert_true(t.gpu.sigmas[5] == 0 && t.gpu.sigmas[0] > 0);
        const struct onebit_update cpu = update_on(&t, &t.cpu, 0), gpu = update_on(&t, &t.gpu, 0);
        const struct bits_operands operands = operands_of(&t, &gpu);
        onebit_apply(&t.layout, &cpu, t.cpu.bits_back, t.cpu.sigmas);
        kernel_decompress(NULL, &operands, BIT_CHUNKS, t.gpu.bits_back, t.gpu.sigmas);
        assert_floats(t.gpu.first, t.cpu.first, flat, "momentum");
        assert_floats(t.gpu.params, t.cpu.params, flat, "a parameter");
    }
    side_close(&t.cpu);
    side_close(&t.gpu);
    mem_free(t.second);
    onebit_layout_release(&t.layout);
}

TEST(other_kernels_are_right)
{
    each_precision(unfused);
    each_precision(integers);
}
