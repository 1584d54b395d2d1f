/* The CPU backend in every number type and at every level of this processor: each op against doubles, as on a GPU
 * (tests/cuda/gpu/ops.c), and what only this backend promises. */
#include "tests/cuda/gpu/sides.h"
#include "tests/unit.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"

static const struct ops *ops; /* the backend under test */

static void each_backend(void (*test)(void))
{
    for (enum precision precision = 0; precision < PRECISION_FP64; precision++)
        for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
            struct error err;
            const struct cpu_options options = {.precision = precision, .level = (enum cpu_level)level, .threads = 2};
            assert_int_equal(sides_open(DEVICE_CPU, &options, false, &err), 0);
            ops = side_ops(TESTED);
            draw_again(5);
            test();
            sides_close();
        }
}

static void all_ops(void)
{
    const int failed = checks_failed();
    check_ops(NULL, false, 1);
    assert_int_equal(checks_failed(), failed);
}

TEST(ops_are_those_in_doubles)
{
    each_backend(all_ops);
}

static void all_optimizers(void)
{
    const int failed = checks_failed();
    check_optimizers(1);
    assert_int_equal(checks_failed(), failed);
}

TEST(updates_are_those_in_doubles)
{
    each_backend(all_optimizers);
}

/* x x^T, where the backend knows it and where it does not. */
static void square_of_size(size_t rows, size_t in)
{
    const struct rows all = {(int32_t)rows, (int32_t)rows};
    struct array x = array_random(rows * in, rows * in, STORED, 1), w = array_copy(&x);
    struct array known = array_nan(rows * rows, STORED), other = array_nan(rows * rows, STORED);
    CALL(ops, linear, .y = known.memory[TESTED], .x = x.memory[TESTED], .w = x.memory[TESTED], .rows = all,
         .out = all.total, .in = (int32_t)in);
    CALL(ops, linear, .y = other.memory[TESTED], .x = x.memory[TESTED], .w = w.memory[TESTED], .rows = all,
         .out = all.total, .in = (int32_t)in);
    if (memcmp(known.memory[TESTED], other.memory[TESTED], rows * rows * ops->storage_size) != 0)
        fail_msg("%s: x x^T of %zu rows and %zu columns has other bits", ops->name, rows, in);
    struct array *arrays[] = {&x, &w, &known, &other};
    for (size_t i = 0; i < 4; i++)
        array_release(arrays[i]);
}

static void squares(void)
{
    square_of_size(1, 1);
    square_of_size(16, 33);
    square_of_size(70, 45);
    square_of_size(256, 64);
    square_of_size(300, 801); /* several pieces of k */
    square_of_size(771, 20);
}

TEST(a_symmetric_product_has_the_bits_of_the_whole)
{
    each_backend(squares);
}

/* The gradient of a table of words, in parts of its rows (ops_args.h). */
static void weight_in_parts(void)
{
    const size_t live = 37, total = 64, out = 2 * WEIGHT_BLOCK + 90, in = 72, real = ops->real_size;
    const size_t ends[] = {WEIGHT_BLOCK, 2 * WEIGHT_BLOCK, out};
    const struct rows rows = {(int32_t)live, (int32_t)total};
    SCOPED(array_release) struct array dy = array_random(live * out, total * out, STORED, 1);
    SCOPED(array_release) struct array x = array_random(live * in, total * in, STORED, 1);
    const struct ops_limits limits = {(int32_t)total, (int32_t)out, 64, 64, 1, 1};
    SCOPED(mem_free_at) void *scratch = mem_aligned(ops->scratch_bytes(ops->device, &limits));
    SCOPED(mem_free_at) char *whole = mem_clear((in + 1) * out, real), *parts = mem_clear((in + 1) * out, real);
    CALL(ops, linear_backward_weight, .dw = whole, .db = whole + in * out * real, .dy = dy.memory[TESTED],
         .x = x.memory[TESTED], .rows = rows, .out = (int32_t)out, .in = (int32_t)in, .scratch = scratch);
    for (size_t i = 0, from = 0; i < 3; from = ends[i++])
        CALL(ops, linear_backward_weight, .dw = parts + from * in * real, .db = parts + (in * out + from) * real,
             .dy = (char *)dy.memory[TESTED] + from * ops->storage_size, .columns = (int32_t)out, .x = x.memory[TESTED],
             .rows = rows, .out = (int32_t)(ends[i] - from), .in = (int32_t)in, .scratch = scratch);
    if (memcmp(whole, parts, (in + 1) * out * real) != 0)
        fail_msg("%s: parts of linear_backward_weight have other bits", ops->name);
}

TEST(a_part_of_a_weight_has_the_bits_of_the_whole)
{
    each_backend(weight_in_parts);
}

/* Relative error at every magnitude, tails included: nothing may cancel, as the formula with tanh does. */
TEST(gelu_keeps_its_tail)
{
    enum { COUNT = 4001 };
    SCOPED(ops_close_at) struct ops *opened = made_ops(PRECISION_FP32, cpu_level(), 1);
    const float one = 1;
    const struct rows rows = {COUNT, COUNT};
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        float x[COUNT], y[COUNT], pre[COUNT];
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)(i - COUNT / 2) * 0.003f; /* -6 to 6 */
        CALL(opened, linear_gelu, .pre = pre, .y = y, .x = x, .w = &one, .rows = rows, .out = 1, .in = 1, .gelu = gelu);
        for (int i = 0; i < COUNT; i++) {
            const double at = (double)x[i];
            const double size = gelu == GELU_ERF ? at / 2 * erfc(-at / sqrt(2))
                                                 : at / (1 + exp(-2 * sqrt(2 / M_PI) * (at + 0.044715 * at * at * at)));
            assert_true(fabs((double)y[i] - size) <= (fabs(at) < 2 ? 8e-7 : 6e-6) * fabs(size));
        }
    }
}

/* The loss of one row of four equal logits: the first of equal largest ones counts, and a NaN is propagated. */
static void loss_of_equal_logits(void)
{
    SCOPED(array_release) struct array logits = array_zero(4, STORED);
    char scratch[64 * 16];
    double sums[2] = {0, 0};
    for (int nan = 0; nan < 2; nan++) {
        if (nan)
            array_put(&logits, (const double[]){0, 0, 0, (double)NAN});
        CALL(ops, loss, .sums = sums, .logits = logits.memory[TESTED], .labels = (const int32_t[]){1}, .rows = {1, 1},
             .columns = 4, .vocabulary = 4, .factor = nan, .scratch = scratch);
        assert_true(nan ? isnan(sums[0]) : sums[1] == 0 && fabs(sums[0] - log(4)) < 1e-6);
    }
}

TEST(the_first_of_equal_logits_counts)
{
    each_backend(loss_of_equal_logits);
}

/* A lane of 16 bits for each number (ops_args.h): the share that is kept, and which ones. */
TEST(dropout_is_keyed_and_fair)
{
    static const int32_t lengths[] = {5, 1, 70, 16, 130};
    enum { HIDDEN = 1029 };
    SCOPED(ops_close_at) struct ops *opened = made_ops(PRECISION_FP64, CPU_BASE, 1);
    SCOPED(made_batch_release) struct batch batch = made_batch(&(struct made_source){4, 50, 5}, lengths, 1000, 5);
    const struct dropout dropout = {{1, 2}, 6554, 12, 0};
    const size_t count = (size_t)batch.tokens * HIDDEN;
    double *x = mem_array((size_t)batch.token_rows * HIDDEN, sizeof *x), kept = 0;
    for (size_t i = 0; i < (size_t)batch.token_rows * HIDDEN; i++)
        x[i] = i < count;
    CALL(opened, dropout, .y = x, .x = x, .batch = &batch, .rows = {batch.tokens, batch.token_rows}, .hidden = HIDDEN,
         .dropout = &dropout);
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = (uint32_t)(i / HIDDEN), column = (uint32_t)(i % HIDDEN);
        uint32_t words[4];
        philox4x32((const uint32_t[4]){column / 8, (uint32_t)batch.positions[row],
                                       batch.numbers[batch.sequence_of[row]], dropout.name},
                   dropout.key, words);
        const uint32_t lane = words[column % 8 / 2] >> (column % 2 ? 16 : 0) & 0xffff;
        assert_true(lane < 6554 ? x[i] == 0 : fabs(x[i] - 65536.0 / (65536 - 6554)) < 1e-12);
        kept += x[i] > 0;
    }
    assert_true(fabs(kept / (double)count - (1 - 6554.0 / 65536)) < 4 * sqrt(0.09 / (double)count));
    mem_free(x);
}

TEST(bf16_rounds_to_even_and_keeps_nan)
{
    const struct {
        uint32_t bits;
        uint16_t rounded;
    } cases[] = {
        {0x3f800000, 0x3f80}, {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82},
        {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff},
        {0x00000001, 0x0000}, {0x80000000, 0x8000}, {0x00018000, 0x0002},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float value;
        memcpy(&value, &cases[i].bits, sizeof value);
        assert_int_equal(bf16_from_float(value), cases[i].rounded);
    }
    for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
        SCOPED(ops_close_at) struct ops *opened = made_ops(PRECISION_BF16, (enum cpu_level)level, 1);
        float values[300];
        uint16_t stored[300];
        for (int i = 0; i < 300; i++)
            memcpy(&values[i], &cases[(size_t)i % (sizeof cases / sizeof *cases)].bits, sizeof *values);
        CALL(opened, convert, .y = stored, .x = values, .count = 300);
        for (int i = 0; i < 300; i++)
            assert_int_equal(stored[i], cases[(size_t)i % (sizeof cases / sizeof *cases)].rounded);
    }
}

/* Every number of fp16 converts back to itself; a number halfway between two is rounded to even; beyond the largest
 * there is infinity. */
TEST(fp16_rounds_to_even_and_keeps_nan)
{
    for (uint32_t half = 0; half < 0x7c00; half++) {
        const float value = fp16_to_float((uint16_t)half),
                    next = half < 0x7bff ? fp16_to_float((uint16_t)(half + 1)) : 65536;
        const float middle = (value + next) / 2;
        const uint16_t even = (uint16_t)(half % 2 ? half + 1 : half);
        if (fp16_from_float(value) != half || fp16_from_float(-value) != (half | 0x8000) ||
            fp16_from_float(middle) != even || fp16_from_float(nextafterf(middle, 0)) != half ||
            fp16_from_float(nextafterf(middle, 1e9f)) != half + 1)
            fail_msg("%04x, %g", half, (double)value);
    }
    assert_true(fp16_to_float(0x0001) == 0x1p-24f && fp16_to_float(0x3c00) == 1 && fp16_to_float(0xc000) == -2);
    assert_true(isinf(fp16_to_float(0x7c00)) && isnan(fp16_to_float(0x7e00)) && fp16_to_float(0xfc00) < 0);
    assert_int_equal(fp16_from_float(HUGE_VALF), 0x7c00);
    assert_int_equal(fp16_from_float(-1e30f), 0xfc00);
    assert_int_equal(fp16_from_float(NAN) & 0x7fff, 0x7e00);
    assert_int_equal(fp16_from_float(0x1p-26f), 0);
}

TEST(a_backend_that_cannot_be_is_refused)
{
    struct error err;
    if (cpu_level() < CPU_AMX) {
        assert_null(cpu_open(&(struct cpu_options){.level = CPU_AMX, .threads = 1}, &err));
        assert_int_equal(err.kind, ERR_USAGE);
    }
    assert_int_equal(cpu_default_precision(CPU_AVX512), PRECISION_FP32);
}

TEST(precisions_have_their_rows)
{
    for (enum precision precision = 0; precision < PRECISION_KINDS; precision++) {
        assert_non_null(precision_name(precision));
        assert_int_equal(precision_named(precision_name(precision)), precision);
        SCOPED(ops_close_at) struct ops *opened = made_ops(precision, CPU_BASE, 1);
        assert_int_equal(opened->storage_size, precision_kinds[precision].storage_size);
        assert_int_equal(opened->real_size, precision_kinds[precision].real_size);
    }
    assert_int_equal(precision_named("fp8"), PRECISION_FP32);
}

/* The device as recorded in run.json; existing runs have this text. */
TEST(a_device_is_recorded_without_its_threads)
{
    char text[OPS_NAME_SIZE];
    struct ops *opened = made_ops(PRECISION_FP16, CPU_BASE, 3);
    assert_string_equal(ops_device(opened, text), "cpu fp16 (base, own products)");
    assert_string_equal(opened->name, "cpu fp16 (base, own products), 3 threads");
    assert_int_equal(opened->facts.units, 3);
    opened->close(opened);
    struct ops card = {.precision = PRECISION_BF16,
                       .facts = {"cuda", "NVIDIA H100 80GB HBM3", "cuBLASLt 12.5.3", "multiprocessor", 132}};
    ops_describe(&card);
    assert_string_equal(ops_device(&card, text), "cuda bf16 (NVIDIA H100 80GB HBM3, cuBLASLt 12.5.3)");
    assert_string_equal(card.name, "cuda bf16 (NVIDIA H100 80GB HBM3, cuBLASLt 12.5.3), 132 multiprocessors");
}

/* Gradients as integers, against llrint, and back. Numbers that cannot be added are refused and leave the sum
 * unchanged. */
static void fixed_sums(void)
{
    const size_t count = 70001; /* more than one task, and not a round number */
    const double unit = 0x1p44 / 8, limit = 0x1p55;
    SCOPED(array_release) struct array drawn = array_random(count, count, REAL, 1e-3);
    float *gradients = drawn.memory[TESTED];
    SCOPED(mem_free_at) double *values = mem_array(count, sizeof *values);
    int64_t *sums = mem_clear(count, sizeof *sums), refused = 0;
    gradients[0] = (float)(0x1p-42);      /* 0.5: to even, 0 */
    gradients[1] = (float)(3 * 0x1p-42);  /* 1.5: to even, 2 */
    gradients[2] = (float)(-3 * 0x1p-42); /* -1.5 */
    gradients[3] = (float)(1000.0 * 8);   /* large and exact in a float */
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)gradients[i];
        sums[i] = (int64_t)i - 35000;
    }
    CALL(ops, fixed_add, .sums = sums, .gradients = gradients, .count = count, .unit = unit, .limit = limit,
         .refused = &refused);
    assert_int_equal(refused, 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(sums[i] == (int64_t)i - 35000 + llrint(values[i] * unit));
        assert_true((double)gradients[i] == 0);
    }
    assert_true(sums[0] == -35000 && sums[1] == -34999 + 2 && sums[2] == -34998 - 2);
    assert_true(sums[3] == -34997 + (INT64_C(1000) << 44));

    CALL(ops, fixed_take, .gradients = gradients, .sums = sums, .count = count, .unit = unit);
    assert_true((double)gradients[1] == (-34999 + 2) / unit);
    for (size_t i = 0; i < count; i++) {
        const double exact = ((double)((int64_t)i - 35000) + rint(values[i] * unit)) / unit;
        assert_true((double)gradients[i] == (double)(float)exact);
        assert_true(sums[i] == 0);
    }

    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, limit / unit, -limit / unit};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        gradients[66000] = (float)(bad[k]);
        sums[66000] = 7;
        refused = 0;
        CALL(ops, fixed_add, .sums = sums, .gradients = gradients, .count = count, .unit = unit, .limit = limit,
             .refused = &refused);
        assert_true(refused == 1 && sums[66000] == 7);
        assert_true((double)gradients[66000] == 0);
    }
    gradients[66000] = (float)(limit / unit * (1 - 0x1p-20)); /* just below */
    refused = 0;
    CALL(ops, fixed_add, .sums = sums, .gradients = gradients, .count = count, .unit = unit, .limit = limit,
         .refused = &refused);
    assert_true(refused == 0 && sums[66000] > 7);
    mem_free(sums);
}

TEST(gradients_convert_to_integers_and_back)
{
    each_backend(fixed_sums);
}
