/* Kernels that an op of the backend reaches in some cases only, and the updates, in ranges too, run on the host by
 * emulator.h, against the CPU backend in doubles; gpu/ops.c has the other kernels (ctest cuda_ops). Inputs are rounded
 * to storage first, so the measured error is the kernel's alone. Outputs begin as NaN, which shows missing writes.
 * Every kernel runs twice, with the block's threads in opposite order: other bits mean a missing barrier. */
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

/* ---- updates ---- */

/* Tensors of one chunk and of three, with gaps, at offsets that are and are not aligned for loads of four numbers. */
enum { COUNT = 2 * PARAM_CHUNK + 1119, CHUNKS = 6, TENSORS = 4 };
static struct param_chunk chunks[CHUNKS] = {{0, 1003, 0, false},
                                            {1003, 70, 1, true},
                                            {1088, PARAM_CHUNK, 2, true},
                                            {1088 + PARAM_CHUNK, PARAM_CHUNK, 2, true},
                                            {1088 + 2 * PARAM_CHUNK, 28, 2, true},
                                            {1116 + 2 * PARAM_CHUNK, 3, 3, false}};
static const struct params table = {.count = TENSORS, .total = COUNT - 15, .chunks = chunks, .chunk_count = CHUNKS};

/* An update by every kind of optimizer: the reference's results in `wanted`, the kernels' in `work`, also in host
 * memory. */
struct trial {
    struct array p, m, v, g;
    struct update_memory plain, memory;
    struct update_work wanted, work;
    double sums[STEP_SUMS];
};

static void trial_begin(struct trial *t)
{
    *t = (struct trial){.p = array_of(REAL, COUNT, COUNT, 1),
                        .m = array_of(REAL, COUNT, COUNT, 0.1),
                        .v = array_of(REAL, COUNT, COUNT, 0.1),
                        .g = array_of(REAL, COUNT, COUNT, 0.3),
                        .sums = {5, 6, 7, 8}};
    for (size_t i = 0; i < COUNT; i++) {
        t->v.values[i] = fabs(t->v.values[i]);
        put(&t->v, i, t->v.values[i]);
    }
    memcpy(t->v.before, t->v.memory, COUNT * sizeof(float));
    t->plain = (struct update_memory){
        .params = t->p.values, .first = t->m.values, .second = t->v.values, .gradients = t->g.values};
    t->memory = (struct update_memory){
        .params = t->p.memory, .first = t->m.memory, .second = t->v.memory, .gradients = t->g.memory};
    optimizer_work_init(&t->wanted, OPTIMIZER_ADAM, reference, &table);
    optimizer_work_init(&t->work, OPTIMIZER_ADAM, reference, &table);
}

static void trial_end(struct trial *t)
{
    release(&t->p);
    release(&t->m);
    release(&t->v);
    release(&t->g);
    optimizer_work_release(&t->wanted, reference);
    optimizer_work_release(&t->work, reference);
}

static void run_reference(const struct trial *t, const struct update_step *step)
{
    const struct chunk_range all = all_chunks(&t->wanted);
    CALL(reference, squares, &t->wanted, all, t->plain.gradients, 0);
    CALL(reference, factors, .work = &t->wanted, .step = step, .sums = t->sums);
    if (!optimizer_kinds[step->kind].by_tensor) {
        CALL(reference, adam, &t->plain, &t->wanted, step, all);
        return;
    }
    CALL(reference, moments, &t->plain, &t->wanted, step, all);
    CALL(reference, shares, &t->wanted, step, all);
    CALL(reference, apply, &t->plain, &t->wanted, step, all);
}

#define UPDATE(op, ...) kernel_##op(NULL, &(struct op##_args){__VA_ARGS__})

/* Updates in the given ranges; moments and gradients begin at the range. */
static void run_ranges(const struct trial *t, const struct update_step *step, const struct chunk_range *ranges,
                       size_t count)
{
    struct update_memory memory[CHUNKS];
    for (size_t i = 0; i < count; i++) {
        memory[i] = t->memory;
        memory[i].held_from = chunks[ranges[i].from].offset;
        memory[i].first = (float *)t->memory.first + memory[i].held_from;
        memory[i].second = (float *)t->memory.second + memory[i].held_from;
        memory[i].gradients_from = memory[i].held_from;
        memory[i].gradients = (const float *)t->memory.gradients + memory[i].gradients_from;
        UPDATE(squares, &t->work, ranges[i], memory[i].gradients, memory[i].gradients_from);
    }
    UPDATE(factors, .work = &t->work, .step = step, .sums = t->sums);
    const bool by_tensor = optimizer_kinds[step->kind].by_tensor;
    for (size_t i = 0; i < count; i++)
        if (by_tensor)
            UPDATE(moments, &memory[i], &t->work, step, ranges[i]);
        else
            UPDATE(adam, &memory[i], &t->work, step, ranges[i]);
    for (size_t i = 0; i < count && by_tensor; i++) {
        UPDATE(shares, &t->work, step, ranges[i]);
        UPDATE(apply, &memory[i], &t->work, step, ranges[i]);
    }
}

static void run_kernels(const struct trial *t, const struct update_step *step)
{
    const struct chunk_range all = all_chunks(&t->work);
    run_ranges(t, step, &all, 1);
}

/* Repeats the update in three ranges and an empty one, with a border inside a tensor; the bits must be the same. */
static void assert_ranges_agree(struct trial *t, const struct update_step *step)
{
    static const struct chunk_range ranges[] = {{4, 6}, {2, 4}, {2, 2}, {0, 2}};
    struct array *all[] = {&t->p, &t->m, &t->v};
    void *whole[3];
    for (int i = 0; i < 3; i++) {
        whole[i] = mem_alloc(COUNT * sizeof(float));
        memcpy(whole[i], all[i]->memory, COUNT * sizeof(float));
        memcpy(all[i]->memory, all[i]->before, COUNT * sizeof(float));
    }
    memset(t->work.squares, 0xff, CHUNKS * sizeof *t->work.squares); /* NaN until they are computed again */
    memset(t->work.sums, 0xff, 3 * CHUNKS * sizeof *t->work.sums);
    memset(t->work.shares, 0xff, 2 * TENSORS * sizeof *t->work.shares);
    run_ranges(t, step, ranges, sizeof ranges / sizeof *ranges);
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(whole[i], all[i]->memory, COUNT * sizeof(float));
        mem_free(whole[i]);
    }
}

static void assert_doubles(const double *is, const double *wanted, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(is[i] - wanted[i]) <= 1e-6 * fabs(wanted[i])))
            fail_msg("%s %d: %.9g is not %.9g", what, (int)i, is[i], wanted[i]);
}

static void update_of(const struct update_step *step)
{
    struct trial t;
    trial_begin(&t);
    struct array *all[] = {&t.p, &t.m, &t.v};
    run_reference(&t, step);
    BOTH_ORDERS(all, run_kernels(&t, step));
    const struct step_record *record = t.work.record, *wanted = t.wanted.record;
    assert_doubles(t.work.squares, t.wanted.squares, CHUNKS, "squares");
    assert_doubles(t.work.sums, t.wanted.sums, 3 * CHUNKS, "sums");
    assert_doubles(t.work.factors, t.wanted.factors, TENSORS, "factor");
    assert_doubles(t.work.shares, t.wanted.shares, 2 * TENSORS, "share");
    assert_doubles(&record->norm, &wanted->norm, 1, "norm");
    assert_doubles(&record->factor, &wanted->factor, 1, "factor of all");
    assert_memory_equal(record->sums, t.sums, sizeof t.sums);
    assert_true(!record->skipped && !record->halted);
    assert_close(&t.p, 1, "parameters");
    assert_close(&t.m, 1, "first moments");
    assert_close(&t.v, 1, "second moments");
    assert_ranges_agree(&t, step);

    float *infinite = (float *)t.g.memory + PARAM_CHUNK + 7, kept = *infinite;
    void *before = mem_alloc(COUNT * sizeof(float));
    memcpy(before, t.p.memory, COUNT * sizeof(float));
    *infinite = INFINITY;
    run_kernels(&t, step);
    assert_true(isfinite(t.work.squares[1]) && !isfinite(t.work.squares[2]) && !isfinite(record->norm));
    assert_true(record->skipped && record->halted == step->halts);
    *infinite = kept;
    if (step->halts) {
        run_kernels(&t, step);
        assert_true(record->skipped && isfinite(record->norm));
    }
    assert_memory_equal(before, t.p.memory, COUNT * sizeof(float));
    memset(t.work.record, 0, sizeof *record);
    t.sums[2] = NAN;
    run_kernels(&t, step);
    assert_true(record->skipped && isfinite(record->norm));
    assert_memory_equal(before, t.p.memory, COUNT * sizeof(float));
    mem_free(before);
    trial_end(&t);
}

static void updates(void)
{
    if (precision != PRECISION_FP32)
        return;
    struct update_step step = {.loss_scale = 4,
                               .norm_max = 5,
                               .rate = 1e-2,
                               .beta1 = 0.9,
                               .beta2 = 0.98,
                               .weight1 = 0.1,
                               .correction1 = 1.7,
                               .correction2 = 1.3,
                               .epsilon = 1e-6,
                               .weight_decay = 0.05,
                               .vector_decay = 0.01,
                               .ratio_min = 0.5,
                               .ratio_max = 2,
                               .halts = true};
    step.decoupled = true;
    update_of(&step);
    step.decoupled = step.halts = false;
    step.tensor_norm = 0.25;
    update_of(&step);
    step.decoupled = step.halts = true;
    step.tensor_norm = 0;
    step.kind = OPTIMIZER_LAMB;
    update_of(&step);
    step.kind = OPTIMIZER_NVLAMB;
    step.own_norm_max = 1;
    step.vector_decay = 0;
    update_of(&step);
    step.kind = OPTIMIZER_LANS;
    step.weight1 = 1;
    update_of(&step);
    step.kind = OPTIMIZER_STABLEADAMW;
    step.weight1 = 0.1;
    update_of(&step);
}

/* ---- whole matrices ---- */

/* Momentum, direction, combination and shift of a matrix of a little more than two chunks, wide or tall, with the step
 * skipped or not. The kernels access momentum at the chunk's offset minus held_from. */
struct matrix_trial {
    struct param_chunk chunks[3];
    struct param param;
    struct params params;
    struct array p, m, g, x, y;
    struct update_memory plain, memory;
    struct update_work wanted, work;
    struct update_matrix matrix;
};

enum { BEFORE = 64 }; /* numbers in front of the matrix */

static void matrix_begin(struct matrix_trial *t, int32_t rows, int32_t columns)
{
    const size_t count = (size_t)rows * (size_t)columns;
    *t = (struct matrix_trial){.p = array_of(REAL, BEFORE + count, BEFORE + count, 1),
                               .m = array_of(REAL, count, count, 0.1),
                               .g = array_of(REAL, BEFORE + count, BEFORE + count, 0.3),
                               .x = array_of(STORED, count, count, 1),
                               .y = array_of(STORED, count, count, 1),
                               .param = {.shape = {rows, columns}, .count = count}};
    for (size_t at = 0; at < count; at += PARAM_CHUNK, t->params.chunk_count++)
        t->chunks[t->params.chunk_count] = (struct param_chunk){
            .offset = BEFORE + at, .count = (int32_t)(count - at < PARAM_CHUNK ? count - at : PARAM_CHUNK)};
    t->params.items = &t->param;
    t->params.count = 1;
    t->params.chunks = t->chunks;
    t->plain = (struct update_memory){
        .params = t->p.values, .first = t->m.values, .gradients = t->g.values, .held_from = BEFORE};
    t->memory = (struct update_memory){
        .params = t->p.memory, .first = t->m.memory, .gradients = t->g.memory, .held_from = BEFORE};
    optimizer_work_init(&t->wanted, OPTIMIZER_ADAM, reference, &t->params);
    optimizer_work_init(&t->work, OPTIMIZER_ADAM, reference, &t->params);
    t->matrix = (struct update_matrix){all_chunks(&t->work), rows, columns};
    t->wanted.factors[0] = t->work.factors[0] = 0.5;
}

static void matrix_of(int32_t rows, int32_t columns, bool ahead)
{
    struct matrix_trial t;
    matrix_begin(&t, rows, columns);
    const struct update_matrix *matrix = &t.matrix;
    const size_t count = (size_t)rows * (size_t)columns;
    const struct momentum_args plain = {&t.plain, &t.wanted, matrix, 0.9, ahead};
    const struct momentum_args momentum = {&t.memory, &t.work, matrix, 0.9, ahead};
    struct array *moved[] = {&t.m}, *directed[] = {&t.x}, *combined[] = {&t.y}, *shifted[] = {&t.p};
    reference->momentum(DEVICE, &plain);
    BOTH_ORDERS(moved, kernel_momentum(NULL, &momentum));
    assert_close(&t.m, 1, "momentum");
    for (size_t i = 0; i < t.params.chunk_count; i++)
        assert_doubles(&t.work.sums[3 * i], &t.wanted.sums[3 * i], 1, "squares ahead");
    CALL(reference, direction, plain, t.x.values, 1e-7);
    BOTH_ORDERS(directed, kernel_direction(NULL, precision, &(struct direction_args){momentum, t.x.memory, 1e-7}));
    assert_close(&t.x, 1, "direction");
    CALL(reference, combine, t.y.values, t.x.values, count, -4.775, 2.0315);
    BOTH_ORDERS(combined,
                kernel_combine(NULL, precision, &(struct combine_args){t.y.memory, t.x.memory, count, -4.775, 2.0315}));
    assert_close(&t.y, 3, "combination");
    CALL(reference, shift, &t.plain, &t.wanted, matrix, t.x.values, 0.99, 0.1);
    const struct shift_args shift = {&t.memory, &t.work, matrix, t.x.memory, 0.99, 0.1};
    BOTH_ORDERS(shifted, kernel_shift(NULL, precision, &shift));
    assert_close(&t.p, precision == PRECISION_FP32 ? 1 : 300, "parameters of a matrix");

    void *p = mem_alloc((BEFORE + count) * sizeof(float)), *m = mem_alloc(count * sizeof(float));
    memcpy(p, t.p.memory, (BEFORE + count) * sizeof(float));
    memcpy(m, t.m.memory, count * sizeof(float));
    t.work.record->skipped = true;
    kernel_momentum(NULL, &momentum);
    kernel_shift(NULL, precision, &shift);
    assert_memory_equal(p, t.p.memory, (BEFORE + count) * sizeof(float));
    assert_memory_equal(m, t.m.memory, count * sizeof(float));
    mem_free(p);
    mem_free(m);
    optimizer_work_release(&t.wanted, reference);
    optimizer_work_release(&t.work, reference);
    struct array *all[] = {&t.p, &t.m, &t.g, &t.x, &t.y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static void matrices(void)
{
    matrix_of(96, 352, true);
    matrix_of(352, 96, true);
    matrix_of(37, 37, false);
    matrix_of(67, 5, true);
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
    each_precision(updates);
    each_precision(matrices);
    each_precision(integers);
}
