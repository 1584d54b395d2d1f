/* Every op of the CPU backend, in every number type and at every level of this processor, against its definition in
 * doubles. Inputs are rounded to storage first, so the measured error is the op's alone. Outputs begin as NaN, which
 * shows missing writes, also in dead rows. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"

static const struct ops *ops; /* the backend under test */
static uint32_t drawn;        /* numbers drawn so far */

#define DEVICE ops->device

static double uniform(void) /* -1 to 1 */
{
    const struct random_stream stream = random_stream(5, RANDOM_FRESH, 9, 0, 0, 0, 0);
    return random_at(&stream, drawn++, 0) * 0x1p-31 - 1;
}

/* The backend's 16-bit type. */
static float half_to_float(uint16_t stored)
{
    return ops->precision == PRECISION_FP16 ? fp16_to_float(stored) : bf16_to_float(stored);
}

static uint16_t half_from_float(float value)
{
    return ops->precision == PRECISION_FP16 ? fp16_from_float(value) : bf16_from_float(value);
}

static double get(const void *memory, size_t size, size_t i)
{
    if (size == 8)
        return ((const double *)memory)[i];
    return size == 4 ? (double)((const float *)memory)[i] : (double)half_to_float(((const uint16_t *)memory)[i]);
}

static void put(void *memory, size_t size, size_t i, double value)
{
    if (size == 8)
        ((double *)memory)[i] = value;
    else if (size == 4)
        ((float *)memory)[i] = (float)value;
    else
        ((uint16_t *)memory)[i] = half_from_float((float)value);
}

/* An array in the backend's type, and as doubles. */
struct array {
    void *memory;
    double *values;
    size_t count, size;
};

static struct array array_of(size_t count, size_t size)
{
    struct array array = {mem_aligned(count * size + 64), mem_array(count, sizeof(double)), count, size};
    for (size_t i = 0; i < count; i++) {
        array.values[i] = 0;
        put(array.memory, size, i, (double)NAN);
    }
    return array;
}

/* The first `live` numbers random, the others zero. */
static struct array random_array(size_t live, size_t count, size_t size, double scale)
{
    struct array array = array_of(count, size);
    for (size_t i = 0; i < count; i++) {
        put(array.memory, size, i, i < live ? scale * uniform() : 0);
        array.values[i] = get(array.memory, size, i);
    }
    return array;
}

static void release(struct array *array)
{
    mem_free(array->memory);
    mem_free(array->values);
}

/* Relative L2 error of the backend's array; NaN if part of it is unwritten. */
static double error_of(const struct array *array)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < array->count; i++) {
        const double distance = get(array->memory, array->size, i) - array->values[i];
        error += distance * distance;
        size += array->values[i] * array->values[i];
    }
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* The error of rounding one stored number, and of a sum of some hundred terms. */
static double limit(const struct array *array)
{
    return array->size == 8         ? 1e-13
           : array->size == 2       ? (ops->precision == PRECISION_FP16 ? 1e-3 : 4e-3)
           : ops->storage_size == 2 ? 2e-5
                                    : 2e-6;
}

static void assert_close(const struct array *array, double times, const char *what)
{
    const double error = error_of(array);
    if (!(error <= times * limit(array)))
        fail_msg("%s: %s has relative error %g", ops->name, what, error);
}

static void assert_zero_from(const struct array *array, size_t first, const char *what)
{
    for (size_t i = first; i < array->count; i++)
        if (get(array->memory, array->size, i) != 0)
            fail_msg("%s: %s is not zero at %zu", ops->name, what, i);
}

static void try_backend(struct ops *opened, void (*test)(void))
{
    ops = opened;
    drawn = 0;
    test();
    opened->close(opened);
}

static void each_backend(void (*test)(void))
{
    for (enum precision precision = 0; precision < PRECISION_KINDS; precision++)
        for (int level = (int)cpu_level(); level >= CPU_BASE; level--) {
            if (precision == PRECISION_FP64 && level > CPU_BASE)
                continue;
            try_backend(made_ops(precision, (enum cpu_level)level, 2), test);
        }
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double gelu_plain(double x, enum gelu gelu)
{
    if (gelu == GELU_ERF)
        return x * normal_cdf(x);
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope_plain(double x, enum gelu gelu)
{
    if (gelu == GELU_ERF)
        return normal_cdf(x) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
    const double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/* The factor of keyed dropout as ops.h defines it. */
static double keep_plain(const struct dropout *dropout, uint32_t name, uint32_t number, uint32_t position,
                         uint32_t column)
{
    const double whole = dropout->share > 0 ? 1 / (double)dropout->share : 1;
    if (dropout->threshold == 0)
        return whole;
    uint32_t words[4];
    philox4x32((const uint32_t[4]){column / 8, position, number, name}, dropout->key, words);
    const uint32_t lane = words[column % 8 / 2] >> (column % 2 ? 16 : 0) & 0xffff;
    return lane >= dropout->threshold ? whole * 65536.0 / (65536 - dropout->threshold) : 0;
}

static void product_of_size(size_t live, size_t total, size_t out, size_t in)
{
    const struct rows rows = {(int32_t)live, (int32_t)total};
    const size_t small = ops->storage_size, real = ops->real_size;
    struct array x = random_array(live * in, total * in, small, 1), w = random_array(out * in, out * in, small, 0.3);
    struct array b = random_array(out, out, real, 1), y = array_of(total * out, small),
                 act = array_of(total * out, small);
    for (size_t r = 0; r < live; r++)
        for (size_t o = 0; o < out; o++) {
            double sum = b.values[o];
            for (size_t i = 0; i < in; i++)
                sum += x.values[r * in + i] * w.values[o * in + i];
            y.values[r * out + o] = sum;
        }
    CALL(ops, linear, .y = y.memory, .x = x.memory, .w = w.memory, .b = b.memory, .rows = rows, .out = (int32_t)out,
         .in = (int32_t)in);
    assert_close(&y, 1, "linear");
    assert_zero_from(&y, live * out, "a dead row of linear");
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        for (size_t i = 0; i < total * out; i++) {
            put(y.memory, small, i, (double)NAN);
            put(act.memory, small, i, (double)NAN);
        }
        CALL(ops, linear_gelu, .pre = y.memory, .y = act.memory, .x = x.memory, .w = w.memory, .b = b.memory,
             .rows = rows, .out = (int32_t)out, .in = (int32_t)in, .gelu = gelu);
        assert_close(&y, 1, "linear before GELU");
        for (size_t i = 0; i < total * out; i++)
            act.values[i] = gelu_plain(get(y.memory, small, i), gelu);
        assert_close(&act, 1, "GELU after linear");
        assert_zero_from(&act, live * out, "a dead row of GELU");
    }

    struct array dy = random_array(live * out, total * out, small, 1),
                 pre = random_array(live * in, total * in, small, 3);
    for (int kind = 0; kind < 4; kind++) { /* plain, added, tanh-GELU, erf-GELU */
        struct array dx = kind == 1 ? random_array(live * in, total * in, small, 1) : array_of(total * in, small);
        const enum gelu gelu = kind == 3 ? GELU_ERF : GELU_TANH;
        for (size_t r = 0; r < live; r++)
            for (size_t i = 0; i < in; i++) {
                double sum = dx.values[r * in + i];
                for (size_t o = 0; o < out; o++)
                    sum += dy.values[r * out + o] * w.values[o * in + i];
                dx.values[r * in + i] = kind >= 2 ? sum * gelu_slope_plain(pre.values[r * in + i], gelu) : sum;
            }
        CALL(ops, linear_backward_input, .dx = dx.memory, .adds = kind == 1, .dy = dy.memory, .w = w.memory,
             .pre = kind >= 2 ? pre.memory : NULL, .rows = rows, .out = (int32_t)out, .in = (int32_t)in, .gelu = gelu);
        assert_close(&dx, 1.5, "linear_backward_input");
        assert_zero_from(&dx, live * in, "a dead row of linear_backward_input");
        release(&dx);
    }

    struct array dw = random_array(out * in, out * in, real, 1), db = random_array(out, out, real, 1);
    for (size_t o = 0; o < out; o++)
        for (size_t r = 0; r < live; r++) {
            db.values[o] += dy.values[r * out + o];
            for (size_t i = 0; i < in; i++)
                dw.values[o * in + i] += dy.values[r * out + o] * x.values[r * in + i];
        }
    const struct ops_limits limits = {(int32_t)total, (int32_t)(out > in ? out : in), 64, 64, 1, 1};
    void *scratch = mem_aligned(ops->scratch_bytes(DEVICE, &limits));
    CALL(ops, linear_backward_weight, .dw = dw.memory, .db = db.memory, .dy = dy.memory, .x = x.memory, .rows = rows,
         .out = (int32_t)out, .in = (int32_t)in, .scratch = scratch);
    assert_close(&dw, 1, "linear_backward_weight");
    assert_close(&db, 1, "bias of linear_backward_weight");
    mem_free(scratch);
    struct array *all[] = {&x, &w, &b, &y, &act, &dy, &pre, &dw, &db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static void products(void)
{
    product_of_size(1, 64, 1, 1);
    product_of_size(3, 64, 2, 33);
    product_of_size(100, 128, 70, 45);
    product_of_size(64, 64, 96, 32);
    product_of_size(261, 320, 130, 65);
    product_of_size(7, 64, 1100, 12);
    product_of_size(1090, 1152, 20, 30);
    product_of_size(98, 128, 70, 800); /* sums in several pieces of k, strips and panels */
}

/* x x^T, where the backend knows it and where it does not. */
static void square_of_size(size_t rows, size_t in)
{
    const struct rows all = {(int32_t)rows, (int32_t)rows};
    struct array x = random_array(rows * in, rows * in, ops->storage_size, 1);
    struct array known = array_of(rows * rows, ops->storage_size), other = array_of(rows * rows, ops->storage_size);
    void *w = mem_aligned(rows * in * ops->storage_size);
    memcpy(w, x.memory, rows * in * ops->storage_size);
    CALL(ops, linear, .y = known.memory, .x = x.memory, .w = x.memory, .rows = all, .out = all.total,
         .in = (int32_t)in);
    CALL(ops, linear, .y = other.memory, .x = x.memory, .w = w, .rows = all, .out = all.total, .in = (int32_t)in);
    if (memcmp(known.memory, other.memory, rows * rows * ops->storage_size) != 0)
        fail_msg("%s: x x^T of %zu rows and %zu columns has other bits", ops->name, rows, in);
    mem_free(w);
    release(&x);
    release(&known);
    release(&other);
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
    struct array dy = random_array(live * out, total * out, ops->storage_size, 1);
    struct array x = random_array(live * in, total * in, ops->storage_size, 1);
    const struct ops_limits limits = {(int32_t)total, (int32_t)out, 64, 64, 1, 1};
    void *scratch = mem_aligned(ops->scratch_bytes(DEVICE, &limits));
    char *whole = mem_clear((in + 1) * out, real), *parts = mem_clear((in + 1) * out, real);
    CALL(ops, linear_backward_weight, .dw = whole, .db = whole + in * out * real, .dy = dy.memory, .x = x.memory,
         .rows = rows, .out = (int32_t)out, .in = (int32_t)in, .scratch = scratch);
    for (size_t i = 0, from = 0; i < 3; from = ends[i++])
        CALL(ops, linear_backward_weight, .dw = parts + from * in * real, .db = parts + (in * out + from) * real,
             .dy = (char *)dy.memory + from * ops->storage_size, .columns = (int32_t)out, .x = x.memory, .rows = rows,
             .out = (int32_t)(ends[i] - from), .in = (int32_t)in, .scratch = scratch);
    if (memcmp(whole, parts, (in + 1) * out * real) != 0)
        fail_msg("%s: parts of linear_backward_weight have other bits", ops->name);
    mem_free(whole);
    mem_free(parts);
    mem_free(scratch);
    release(&dy);
    release(&x);
}

TEST(a_part_of_a_weight_has_the_bits_of_the_whole)
{
    each_backend(weight_in_parts);
}

TEST(products_are_right)
{
    each_backend(products);
}

/* Relative error at every magnitude, tails included: nothing may cancel. */
TEST(gelu_keeps_its_tail)
{
    struct ops *opened = made_ops(PRECISION_FP32, cpu_level(), 1);
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        enum { COUNT = 4001 };
        float x[COUNT], y[COUNT], slope[COUNT], pre[COUNT];
        const float one = 1;
        for (int i = 0; i < COUNT; i++) {
            x[i] = (float)(i - COUNT / 2) * 0.003f; /* -6 to 6 */
            slope[i] = 1;
        }
        const struct rows rows = {COUNT, COUNT};
        CALL(opened, linear_gelu, .pre = pre, .y = y, .x = x, .w = &one, .rows = rows, .out = 1, .in = 1, .gelu = gelu);
        CALL(opened, gelu_backward, .dy = slope, .pre = x, .rows = rows, .columns = 1, .gelu = gelu);
        for (int i = 0; i < COUNT; i++) {
            const double size =
                gelu == GELU_ERF ? gelu_plain((double)x[i], gelu) : /* the definition with tanh cancels */
                    (double)x[i] / (1 + exp(-2 * sqrt(2 / M_PI) * ((double)x[i] + 0.044715 * pow((double)x[i], 3))));
            assert_true(fabs((double)y[i] - size) <= 6e-6 * fabs(size));
            assert_true(fabs((double)slope[i] - gelu_slope_plain((double)x[i], gelu)) <= 6e-7);
            if (fabs((double)x[i]) < 2)
                assert_true(fabs((double)y[i] - size) <= 8e-7 * fabs(size));
        }
    }
    opened->close(opened);
}

static void norm_of_size(size_t hidden, const struct batch *batch, uint32_t threshold, float share)
{
    const struct rows rows = {batch->tokens, batch->token_rows};
    const size_t small = ops->storage_size, real = ops->real_size, total = (size_t)rows.total, live = (size_t)rows.live;
    const struct dropout dropout = {{17, 4}, threshold, 6, share};
    const double epsilon = 1e-5;
    struct array x = random_array(live * hidden, total * hidden, small, 1);
    struct array residual = random_array(live * hidden, total * hidden, small, 1);
    struct array gain = random_array(hidden, hidden, real, 1), bias = random_array(hidden, hidden, real, 1);
    struct array y = array_of(total * hidden, small), z = array_of(total * hidden, small),
                 stats = array_of(total * 2, real);
    struct array dy = random_array(live * hidden, total * hidden, small, 1);
    struct array dx = array_of(total * hidden, small), dz = array_of(total * hidden, small);
    struct array dgain = random_array(hidden, hidden, real, 1), dbias = random_array(hidden, hidden, real, 1);
    CALL(ops, norm, .y = y.memory, .z = z.memory, .statistics = stats.memory, .x = x.memory,
         .residual = residual.memory, .gain = gain.memory, .bias = bias.memory, .epsilon = epsilon, .rows = rows,
         .hidden = (int32_t)hidden, .batch = batch, .dropout = &dropout);
    for (size_t r = 0; r < live; r++) {
        double mean = 0, variance = 0, sum = 0, product = 0;
        for (size_t i = 0; i < hidden; i++) {
            const size_t at = r * hidden + i;
            z.values[at] = x.values[at] * keep_plain(&dropout, 6, batch->numbers[batch->sequence_of[r]],
                                                     (uint32_t)batch->positions[r], (uint32_t)i) +
                           residual.values[at];
            const double rounded = get(z.memory, small, at); /* the statistics are of the rounded numbers */
            mean += rounded / (double)hidden;
        }
        for (size_t i = 0; i < hidden; i++)
            variance += pow(get(z.memory, small, r * hidden + i) - mean, 2) / (double)hidden;
        const double scale = 1 / sqrt(variance + epsilon);
        for (size_t i = 0; i < hidden; i++) {
            const size_t at = r * hidden + i;
            const double normal = (get(z.memory, small, at) - mean) * scale, slope = dy.values[at] * gain.values[i];
            y.values[at] = normal * gain.values[i] + bias.values[i];
            dgain.values[i] += dy.values[at] * normal;
            dbias.values[i] += dy.values[at];
            sum += slope / (double)hidden;
            product += slope * normal / (double)hidden;
        }
        for (size_t i = 0; i < hidden; i++) {
            const size_t at = r * hidden + i;
            const double normal = (get(z.memory, small, at) - mean) * scale;
            dz.values[at] = scale * (dy.values[at] * gain.values[i] - sum - normal * product);
            dx.values[at] = dz.values[at] * keep_plain(&dropout, 6, batch->numbers[batch->sequence_of[r]],
                                                       (uint32_t)batch->positions[r], (uint32_t)i);
        }
        stats.values[r * 2] = mean;
        stats.values[r * 2 + 1] = scale;
    }
    assert_close(&z, 1, "sum before norm");
    assert_close(&y, 2, "norm");
    assert_close(&stats, 4, "statistics of norm");
    assert_zero_from(&y, live * hidden, "a dead row of norm");
    const struct ops_limits limits = {(int32_t)total, (int32_t)hidden, 64, 64, 1, 1};
    void *scratch = mem_aligned(ops->scratch_bytes(DEVICE, &limits));
    CALL(ops, norm_backward, .dx = dx.memory, .dz = dz.memory, .dgain = dgain.memory, .dbias = dbias.memory,
         .dy = dy.memory, .z = z.memory, .statistics = stats.memory, .gain = gain.memory, .rows = rows,
         .hidden = (int32_t)hidden, .batch = batch, .dropout = &dropout, .scratch = scratch);
    assert_close(&dz, 3, "norm_backward");
    assert_close(&dx, 3, "norm_backward after dropout");
    assert_close(&dgain, 4, "gain of norm_backward");
    assert_close(&dbias, 4, "bias of norm_backward");
    assert_zero_from(&dx, live * hidden, "a dead row of norm_backward");
    assert_zero_from(&dz, live * hidden, "a dead row of norm_backward");

    /* The same with results added, and dx in place of dy. */
    struct array sum = random_array(live * hidden, total * hidden, small, 1);
    memcpy(dx.memory, dy.memory, total * hidden * small);
    for (size_t r = 0; r < live; r++)
        for (size_t i = 0; i < hidden; i++) {
            const size_t at = r * hidden + i;
            sum.values[at] += dz.values[at];
            dx.values[at] = sum.values[at] * keep_plain(&dropout, 6, batch->numbers[batch->sequence_of[r]],
                                                        (uint32_t)batch->positions[r], (uint32_t)i);
        }
    CALL(ops, norm_backward, .dx = dx.memory, .dz = sum.memory, .adds = true, .dgain = dgain.memory,
         .dbias = dbias.memory, .dy = dx.memory, .z = z.memory, .statistics = stats.memory, .gain = gain.memory,
         .rows = rows, .hidden = (int32_t)hidden, .batch = batch, .dropout = &dropout, .scratch = scratch);
    assert_close(&sum, 3, "norm_backward on top");
    assert_close(&dx, 3, "norm_backward on top, after dropout");
    assert_zero_from(&dx, live * hidden, "a dead row of norm_backward on top");
    release(&sum);
    mem_free(scratch);
    struct array *all[] = {&x, &residual, &gain, &bias, &y, &z, &stats, &dy, &dx, &dz, &dgain, &dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static const int32_t lengths[] = {5, 1, 70, 16, 130};
static const int32_t long_ones[] = {300, 1, 257, 16, 520};
static const struct made_source source = {4, 50, 5};

static void norms(void)
{
    struct batch batch = made_batch(&source, lengths, 9, 5);
    norm_of_size(1, &batch, 0, 0);
    norm_of_size(40, &batch, 6554, 0);
    norm_of_size(40, &batch, 0, 0.625f);
    norm_of_size(301, &batch, 32768, 0.875f);
    made_batch_release(&batch);
}

TEST(norm_is_right)
{
    each_backend(norms);
}

/* Inputs of attention: a matrix [R, hidden] of queries and one of keys and values [T, 2 hidden]; or one [T, 3 hidden]
 * with all, where kv begins `hidden` numbers after q. */
struct attended {
    struct array *q, *kv, *dq, *dkv, *context, *dcontext;
    size_t kv_from, q_stride, kv_stride; /* numbers */
    const struct batch *batch, *queries;
    const struct attention_shape *shape;
};

/* One head of one sequence, from the definition. p, keep: [queries, n]. */
static void attend_plain(const struct attended *a, int32_t sequence, int32_t head)
{
    const size_t first = (size_t)a->batch->starts[sequence], n = (size_t)a->batch->starts[sequence + 1] - first;
    const size_t from = (size_t)a->queries->starts[sequence], end = (size_t)a->queries->starts[sequence + 1];
    const struct attention_shape *shape = a->shape;
    const size_t size = (size_t)shape->head_size, hidden = (size_t)shape->heads * size, at = (size_t)head * size;
    double *p = mem_clear(n, sizeof *p), *keep = mem_clear(n, sizeof *keep), *dp = mem_clear(n, sizeof *dp);
#define Q(array, i)        a->array->values[q * a->q_stride + at + (i)]
#define KV(array, part, i) a->array->values[(first + k) * a->kv_stride + a->kv_from + (part)*hidden + at + (i)]
#define CONTEXT(array, i)  a->array->values[q * hidden + at + (i)]
    for (size_t q = from; q < end; q++) {
        double sum = 0, mean = 0;
        for (size_t k = 0; k < n; k++) {
            p[k] = dp[k] = 0;
            for (size_t i = 0; i < size; i++)
                p[k] += Q(q, i) * KV(kv, 0, i) / sqrt((double)size);
            keep[k] = keep_plain(&shape->dropout, shape->dropout.name + (uint32_t)head, a->batch->numbers[sequence],
                                 (uint32_t)a->queries->positions[q], (uint32_t)k);
            const int32_t apart = a->queries->positions[q] - (int32_t)k;
            p[k] = shape->window == 0 || abs(apart) <= shape->window / 2 ? exp(p[k]) : 0;
            sum += p[k];
        }
        for (size_t k = 0; k < n; k++) {
            p[k] /= sum;
            for (size_t i = 0; i < size; i++) {
                CONTEXT(context, i) += p[k] * keep[k] * KV(kv, 1, i);
                dp[k] += CONTEXT(dcontext, i) * KV(kv, 1, i) * keep[k];
                KV(dkv, 1, i) += p[k] * keep[k] * CONTEXT(dcontext, i);
            }
            mean += p[k] * dp[k];
        }
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < size; i++) {
                const double dscore = p[k] * (dp[k] - mean) / sqrt((double)size);
                Q(dq, i) += dscore * KV(kv, 0, i);
                KV(dkv, 0, i) += dscore * Q(q, i);
            }
    }
#undef Q
#undef KV
#undef CONTEXT
    mem_free(p);
    mem_free(keep);
    mem_free(dp);
}

/* Against the definition. `queries` is the batch, or its `read`; then Q has a matrix of its own. */
static void attend(const struct attended *a)
{
    const int32_t heads = a->shape->heads;
    const size_t hidden = (size_t)(heads * a->shape->head_size);
    const size_t live = (size_t)a->queries->tokens, total = (size_t)a->queries->token_rows;
    struct array log_sums = array_of(total * (size_t)heads, ops->real_size);
    for (int32_t i = 0; i < a->batch->sequences * heads; i++)
        attend_plain(a, i / heads, i % heads);
    const struct ops_limits limits = {a->batch->token_rows, 3 * (int32_t)hidden, 64, 64,
                                      a->shape->length_max, a->shape->head_size};
    void *scratch = mem_aligned(ops->scratch_bytes(DEVICE, &limits));
    const size_t kv_at = a->kv_from * ops->storage_size;
    const void *kv = (char *)a->kv->memory + kv_at;
    CALL(ops, attention, .context = a->context->memory, .log_sums = log_sums.memory, .q = a->q->memory, .kv = kv,
         .q_stride = (int32_t)a->q_stride, .kv_stride = (int32_t)a->kv_stride, .batch = a->batch, .queries = a->queries,
         .shape = a->shape, .scratch = scratch);
    assert_close(a->context, 2, "attention");
    assert_zero_from(a->context, live * hidden, "a dead row of attention");
    CALL(ops, attention_backward, .dq = a->dq->memory, .dkv = (char *)a->dkv->memory + kv_at,
         .dcontext = a->dcontext->memory, .q = a->q->memory, .kv = kv, .q_stride = (int32_t)a->q_stride,
         .kv_stride = (int32_t)a->kv_stride, .context = a->context->memory, .log_sums = log_sums.memory,
         .batch = a->batch, .queries = a->queries, .shape = a->shape, .scratch = scratch);
    assert_close(a->dq, 3, "attention_backward, queries");
    assert_close(a->dkv, 3, "attention_backward, keys and values");
    assert_zero_from(a->dq, live * a->q_stride, "a dead row of queries' gradients");
    assert_zero_from(a->dkv, (size_t)a->batch->tokens * a->kv_stride, "a dead row of keys' gradients");
    mem_free(scratch);
    release(&log_sums);
}

static void attention_of_lengths(const int32_t *of, int32_t heads, int32_t head_size, int32_t window,
                                 uint32_t threshold, double scale, bool few)
{
    struct batch batch = made_batch(&source, of, 3, 5);
    if (few) { /* the second sequence has no query */
        batch.heads[HEAD_NEXT].live = 0;
        made_read(&batch);
    }
    const struct batch *queries = few ? batch.read : &batch;
    const size_t hidden = (size_t)(heads * head_size), total = (size_t)batch.token_rows, live = (size_t)batch.tokens;
    const size_t read = (size_t)queries->token_rows, read_live = (size_t)queries->tokens, small = ops->storage_size;
    const size_t q_stride = few ? hidden : 3 * hidden, kv_stride = few ? 2 * hidden : 3 * hidden;
    const struct attention_shape shape = {heads, head_size, 600, window, {{3, 99}, threshold, 40, 0}};
    struct array kv = random_array(live * kv_stride, total * kv_stride, small, scale);
    struct array q = few ? random_array(read_live * hidden, read * hidden, small, scale) : kv;
    struct array dkv = array_of(total * kv_stride, small), dq = few ? array_of(read * hidden, small) : dkv;
    struct array dcontext = random_array(read_live * hidden, read * hidden, small, 1);
    struct array context = array_of(read * hidden, small);
    attend(&(struct attended){&q, &kv, &dq, &dkv, &context, &dcontext, few ? 0 : hidden, q_stride, kv_stride, &batch,
                              queries, &shape});
    struct array *all[] = {&kv, &dkv, &dcontext, &context, &q, &dq};
    for (size_t i = 0; i < (few ? 6 : 4); i++)
        release(all[i]);
    made_batch_release(&batch);
}

static void attention_of_size(int32_t heads, int32_t head_size, uint32_t threshold, double scale, bool few)
{
    attention_of_lengths(lengths, heads, head_size, 0, threshold, scale, few);
}

static void attentions(void)
{
    attention_of_size(1, 1, 0, 1, false);
    attention_of_size(3, 20, 16384, 1, false);
    attention_of_size(2, 64, 6554, 4, false);
    attention_of_size(1, 1, 0, 1, true);
    attention_of_size(2, 64, 6554, 4, true);
    attention_of_lengths(long_ones, 1, 64, 0, 6554, 1, false); /* several blocks of queries */
    attention_of_lengths(long_ones, 1, 20, 0, 0, 1, true);
    attention_of_lengths(long_ones, 1, 20, 128, 6554, 1, false);
    attention_of_lengths(long_ones, 2, 64, 31, 0, 1, false);
}

TEST(attention_is_right)
{
    each_backend(attentions);
}

static void loss_of_size(size_t live, size_t total, size_t vocabulary, size_t columns, double scale)
{
    const size_t small = ops->storage_size;
    struct array logits = random_array(total * columns, total * columns, small, scale);
    int32_t *labels = mem_array(total, sizeof *labels);
    double loss = 0, hits = 0, *each = mem_array(live, sizeof *each);
    for (size_t r = 0; r < total; r++) {
        double *row = logits.values + r * columns, sum = 0;
        size_t best = 0;
        labels[r] = r < live ? (int32_t)(r * 7 % vocabulary) : -1;
        for (size_t i = 0; i < columns; i++) {
            if (r >= live || i >= vocabulary) {
                if (i >= vocabulary)
                    put(logits.memory, small, r * columns + i, (double)NAN);
                row[i] = 0;
                continue;
            }
            sum += exp(row[i]);
            best = row[i] > row[best] ? i : best;
        }
        if (r >= live)
            continue;
        each[r] = log(sum) - row[labels[r]];
        loss += each[r];
        hits += best == (size_t)labels[r];
        for (size_t i = 0; i < vocabulary; i++)
            row[i] = 3 * (exp(row[i]) / sum - (i == (size_t)labels[r]));
    }
    const struct ops_limits limits = {(int32_t)total, 1, 64, 64, 1, 1};
    void *scratch = mem_aligned(ops->scratch_bytes(DEVICE, &limits));
    double sums[2] = {100, 1000}, *results = mem_array(2 * live, sizeof *results), added[2] = {0, 0};
    const struct rows rows = {(int32_t)live, (int32_t)total};
    void *copy = mem_aligned(total * columns * small);
    memcpy(copy, logits.memory, total * columns * small);
    CALL(ops, loss, .sums = sums, .results = results, .logits = copy, .labels = labels, .rows = rows,
         .columns = (int32_t)columns, .vocabulary = (int32_t)vocabulary, .factor = 0, .scratch = scratch);
    assert_true(fabs(sums[0] - 100 - loss) <= 1e-6 * loss && sums[1] == 1000 + hits);
    for (size_t r = 0; r < live; r++) {
        assert_true(fabs(results[2 * r] - each[r]) <= 1e-6 * fabs(each[r]) + 1e-6);
        added[0] += results[2 * r];
        added[1] += results[2 * r + 1];
    }
    assert_true(fabs(added[0] - loss) <= 1e-6 * loss && added[1] == hits);
    assert_memory_equal(copy, logits.memory, live * columns * small);
    CALL(ops, loss, .sums = sums, .logits = logits.memory, .labels = labels, .rows = rows, .columns = (int32_t)columns,
         .vocabulary = (int32_t)vocabulary, .factor = 3, .scratch = scratch);
    assert_true(fabs(sums[0] - 100 - 2 * loss) <= 2e-6 * loss && sums[1] == 1000 + 2 * hits);
    assert_close(&logits, 1, "gradient of the loss");
    assert_zero_from(&logits, live * columns, "a dead row of the loss");
    mem_free(copy);
    mem_free(results);
    mem_free(each);
    mem_free(scratch);
    mem_free(labels);
    release(&logits);
}

static void losses(void)
{
    loss_of_size(5, 64, 61, 64, 3);
    loss_of_size(64, 64, 1000, 1024, 20);
    loss_of_size(3, 64, 2, 2, 1);
    /* The first of equal largest logits counts. */
    void *logits = mem_aligned(8 * 64), *scratch = mem_aligned(64 * 16);
    double sums[2] = {0, 0};
    CALL(ops, loss, .sums = sums, .logits = logits, .labels = (const int32_t[]){1}, .rows = (struct rows){1, 1},
         .columns = 4, .vocabulary = 4, .factor = 1, .scratch = scratch);
    assert_true(sums[1] == 0 && fabs(sums[0] - log(4)) < 1e-6);
    /* A NaN is propagated. */
    put(logits, ops->storage_size, 3, (double)NAN);
    CALL(ops, loss, .sums = sums, .logits = logits, .labels = (const int32_t[]){1}, .rows = (struct rows){1, 1},
         .columns = 4, .vocabulary = 4, .factor = 1, .scratch = scratch);
    assert_true(isnan(sums[0]));
    mem_free(logits);
    mem_free(scratch);
}

/* Softmax over `count` values of a column of two: stores the slopes times factor in `slopes` and returns the loss of
 * `label`. */
static double softmax_plain(const double *logits, size_t count, size_t label, double factor, double *slopes, bool *hit)
{
    double sum = 0;
    *hit = true;
    for (size_t i = 0; i < count; i++) {
        sum += exp(logits[2 * i]);
        *hit = *hit && !(i < label ? logits[2 * i] >= logits[2 * label] : logits[2 * i] > logits[2 * label]);
    }
    for (size_t i = 0; i < count; i++)
        slopes[2 * i] = factor * (exp(logits[2 * i]) / sum - (i == label));
    return log(sum) - logits[2 * label];
}

static void span_losses(void)
{
    struct batch batch = made_batch(&source, lengths, 1000, 5);
    const size_t live = 2 * (size_t)batch.tokens;
    struct array logits = random_array(live, 2 * (size_t)batch.token_rows, ops->storage_size, 3);
    void *copy = mem_aligned(logits.count * logits.size), *scratch = mem_clear((size_t)batch.token_rows, 16);
    double *slopes = mem_clear(logits.count, sizeof *slopes), sums[2] = {100, 1000}, loss = 0, hits = 0;
    const struct head_batch *span = &batch.heads[HEAD_SPAN];
    for (size_t s = 0; s < 5; s++) {
        const size_t first = (size_t)batch.starts[s], count = (size_t)batch.starts[s + 1] - first;
        const size_t labels[2] = {(size_t)span->index[s] - first, (size_t)span->labels[s]};
        bool hit[2];
        for (size_t end = 0; end < 2; end++) {
            if (s % 2) /* the prediction is right, and is the first of equal ones */
                for (size_t i = 0; i < count; i++) {
                    const size_t at = 2 * (first + i) + end;
                    const double value = i == labels[end] || i + 1 == count ? 4 : logits.values[at];
                    put(logits.memory, logits.size, at, value);
                    logits.values[at] = value;
                }
            loss += softmax_plain(logits.values + 2 * first + end, count, labels[end], 0.25, slopes + 2 * first + end,
                                  &hit[end]) /
                    2;
        }
        hits += hit[0] && hit[1];
    }
    assert_true(hits >= 2);
    memcpy(copy, logits.memory, logits.count * logits.size);
    CALL(ops, span_loss, .sums = sums, .logits = copy, .batch = &batch, .first = span->index, .last = span->labels,
         .factor = 0, .scratch = scratch);
    assert_true(fabs(sums[0] - 100 - loss) <= 1e-6 * loss && sums[1] == 1000 + hits);
    assert_memory_equal(copy, logits.memory, logits.count * logits.size);
    CALL(ops, span_loss, .sums = sums, .logits = logits.memory, .batch = &batch, .first = span->index,
         .last = span->labels, .factor = 0.5, .scratch = scratch);
    assert_true(fabs(sums[0] - 100 - 2 * loss) <= 2e-6 * loss && sums[1] == 1000 + 2 * hits);
    memcpy(logits.values, slopes, logits.count * sizeof *slopes);
    assert_close(&logits, 1, "gradient of the loss of spans");
    assert_zero_from(&logits, live, "a dead row of the loss of spans");
    mem_free(copy);
    mem_free(scratch);
    mem_free(slopes);
    release(&logits);
    made_batch_release(&batch);
}

static void square_losses(void)
{
    struct array logits = random_array(5, 64, ops->storage_size, 4);
    int32_t labels[5];
    double sums[2] = {100, 1000}, loss = 0;
    for (size_t i = 0; i < 5; i++) {
        const float label = (float)i * 1.25f - 2;
        memcpy(&labels[i], &label, sizeof label);
        const double distance = logits.values[i] - (double)label;
        loss += distance * distance;
        logits.values[i] = 0.5 * distance;
    }
    for (int i = 0; i < 2; i++) /* first without, then with a factor */
        CALL(ops, square_loss, .sums = sums, .logits = logits.memory, .labels = labels, .rows = {5, 64},
             .factor = i * 0.25);
    assert_true(fabs(sums[0] - 100 - 2 * loss) <= 2e-6 * loss && sums[1] == 1000);
    assert_close(&logits, 1, "gradient of the squared error");
    assert_zero_from(&logits, 5, "a dead row of the squared error");
    release(&logits);
}

/* Rows of a class count by its weight. */
static void weighted_losses(void)
{
    const float weights[4] = {0.5f, 2, 1, 0.25f};
    const int32_t labels[3] = {1, 3, 1};
    struct array plain = random_array(3 * 4, 3 * 4, ops->storage_size, 4);
    void *weighted = mem_aligned(3 * 4 * ops->storage_size), *scratch = mem_aligned(64 * 16);
    double sums[2] = {0}, results[6], wanted = 0;
    memcpy(weighted, plain.memory, 3 * 4 * ops->storage_size);
    CALL(ops, loss, .sums = sums, .results = results, .logits = plain.memory, .labels = labels, .rows = {3, 3},
         .columns = 4, .vocabulary = 4, .factor = 1, .scratch = scratch);
    for (int r = 0; r < 3; r++)
        wanted += (double)weights[labels[r]] * results[2 * r];
    sums[0] = 0;
    CALL(ops, loss, .sums = sums, .logits = weighted, .labels = labels, .weights = weights, .rows = {3, 3},
         .columns = 4, .vocabulary = 4, .factor = 1, .scratch = scratch);
    assert_true(fabs(sums[0] - wanted) <= 1e-6 * wanted);
    for (size_t i = 0; i < 12; i++)
        plain.values[i] = get(plain.memory, ops->storage_size, i) * (double)weights[labels[i / 4]];
    mem_free(plain.memory);
    plain.memory = weighted;
    assert_close(&plain, 1, "gradient of a weighted loss");
    mem_free(scratch);
    release(&plain);
}

static void losses_of_several_labels(void)
{
    enum { ROWS = 5, COLUMNS = 33 }; /* labels from 31 on are wrong in every row */
    struct array logits = random_array(ROWS * COLUMNS, 64 * COLUMNS, ops->storage_size, 30);
    const int32_t labels[ROWS] = {0, 5, 0x7fffffff, 1 << 30, 77};
    double sums[2] = {100, 1000}, loss = 0, hits = 0;
    for (size_t r = 0; r < ROWS; r++) {
        bool right = true;
        for (size_t c = 0; c < COLUMNS; c++) {
            const size_t at = r * COLUMNS + c;
            const bool bit = c < 31 && labels[r] >> c & 1;
            if (r == 2) /* this row is right */
                put(logits.memory, logits.size, at, logits.values[at] = c < 31 ? 2 : -3);
            const double x = logits.values[at], share = 1 / (1 + exp(-x));
            loss -= (bit ? log(share) : log1p(-share)) / COLUMNS;
            right &= (x > 0) == bit;
            logits.values[at] = 0.25 / COLUMNS * (share - bit);
        }
        hits += right;
    }
    assert_true(hits >= 1);
    for (int i = 0; i < 2; i++) /* first without, then with a factor */
        CALL(ops, bits_loss, .sums = sums, .logits = logits.memory, .labels = labels, .rows = {ROWS, 64},
             .columns = COLUMNS, .factor = i * 0.25);
    assert_true(fabs(sums[0] - 100 - 2 * loss) <= 2e-6 * loss && sums[1] == 1000 + 2 * hits);
    assert_close(&logits, 1, "gradient of several labels");
    assert_zero_from(&logits, ROWS * COLUMNS, "a dead row of several labels");
    release(&logits);
}

static void losses_of_tasks(void)
{
    weighted_losses();
    losses_of_several_labels();
    span_losses();
    square_losses();
}

TEST(loss_is_right)
{
    each_backend(losses);
    each_backend(losses_of_tasks);
}

static void row_work(void)
{
    struct batch batch = made_batch(&source, lengths, 3, 4);
    const size_t hidden = 70, total = (size_t)batch.token_rows, live = (size_t)batch.tokens, small = ops->storage_size;
    struct array tables[3], gradients[3];
    const size_t table_rows[3] = {50, 70, 2};
    for (int i = 0; i < 3; i++) {
        tables[i] = random_array(table_rows[i] * hidden, table_rows[i] * hidden, small, 1);
        gradients[i] = random_array(table_rows[i] * hidden, table_rows[i] * hidden, ops->real_size, 1);
    }
    struct array y = array_of(total * hidden, small), dy = random_array(live * hidden, total * hidden, small, 1);
    for (size_t r = 0; r < live; r++)
        for (size_t i = 0; i < hidden; i++) {
            const size_t places[3] = {(size_t)batch.ids[r], (size_t)batch.positions[r], (size_t)batch.segments[r]};
            for (int t = 0; t < 3; t++) {
                y.values[r * hidden + i] += tables[t].values[places[t] * hidden + i];
                gradients[t].values[places[t] * hidden + i] += dy.values[r * hidden + i];
            }
        }
    CALL(ops, embed, .y = y.memory, .word = tables[0].memory, .position = tables[1].memory, .type = tables[2].memory,
         .batch = &batch, .hidden = (int32_t)hidden);
    assert_close(&y, 1, "embed");
    assert_zero_from(&y, live * hidden, "a dead row of embed");
    CALL(ops, embed_backward, .dword = gradients[0].memory, .dposition = gradients[1].memory,
         .dtype = gradients[2].memory, .dy = dy.memory, .batch = &batch, .hidden = (int32_t)hidden);
    for (int i = 0; i < 3; i++)
        assert_close(&gradients[i], 1, "embed_backward");

    const struct rows masked = {batch.heads[HEAD_MASKED].live, batch.heads[HEAD_MASKED].total};
    assert_true(batch.heads[HEAD_MASKED].live > 3);
    struct array picked = array_of((size_t)masked.total * hidden, small);
    for (size_t r = 0; r < (size_t)masked.live; r++)
        for (size_t i = 0; i < hidden; i++)
            picked.values[r * hidden + i] = dy.values[(size_t)batch.heads[HEAD_MASKED].index[r] * hidden + i];
    CALL(ops, gather, .y = picked.memory, .x = dy.memory, .index = batch.heads[HEAD_MASKED].index, .rows = masked,
         .hidden = (int32_t)hidden);
    assert_true(error_of(&picked) == 0);
    assert_zero_from(&picked, (size_t)masked.live * hidden, "a dead row of gather");
    for (size_t r = 0; r < (size_t)masked.live; r++)
        for (size_t i = 0; i < hidden; i++)
            dy.values[(size_t)batch.heads[HEAD_MASKED].index[r] * hidden + i] *= 2;
    CALL(ops, scatter, .y = dy.memory, .x = picked.memory, .index = batch.heads[HEAD_MASKED].index, .rows = masked,
         .hidden = (int32_t)hidden);
    assert_true(error_of(&dy) == 0); /* twice a number is exact */

    const struct head_batch *each = &batch.heads[HEAD_NEXT];
    const struct rows sequences = {each->live, each->total};
    struct array means = array_of((size_t)sequences.total * hidden, small);
    struct array below = random_array((size_t)sequences.live * hidden, (size_t)sequences.total * hidden, small, 1);
    for (size_t r = 0; r < live; r++)
        for (size_t i = 0; i < hidden; i++) {
            const size_t s = (size_t)batch.sequence_of[r], at = s * hidden + i;
            const double length = batch.starts[s + 1] - batch.starts[s];
            means.values[at] += dy.values[r * hidden + i] / length;
            y.values[r * hidden + i] += below.values[at] / length;
        }
    CALL(ops, sequence_mean, .y = means.memory, .x = dy.memory, .batch = &batch, .index = each->index,
         .rows = sequences, .hidden = (int32_t)hidden);
    assert_close(&means, 1, "sequence_mean");
    assert_zero_from(&means, (size_t)sequences.live * hidden, "a dead row of sequence_mean");
    CALL(ops, sequence_mean_backward, .dx = y.memory, .dy = below.memory, .batch = &batch, .index = each->index,
         .rows = sequences, .hidden = (int32_t)hidden);
    assert_close(&y, 2, "sequence_mean_backward");
    assert_zero_from(&y, live * hidden, "a dead row of sequence_mean_backward");

    struct array slopes = random_array((size_t)masked.live * hidden, (size_t)masked.total * hidden, small, 1);
    for (size_t i = 0; i < picked.count; i++)
        picked.values[i] = tanh(picked.values[i]);
    CALL(ops, tanh_rows, .x = picked.memory, .rows = masked, .columns = (int32_t)hidden);
    assert_close(&picked, 1, "tanh");
    for (size_t i = 0; i < picked.count; i++)
        slopes.values[i] *= 1 - pow(get(picked.memory, small, i), 2);
    CALL(ops, tanh_backward, .dy = slopes.memory, .y = picked.memory, .rows = masked, .columns = (int32_t)hidden);
    assert_close(&slopes, 1, "tanh_backward");
    struct array *all[] = {&y,         &dy,        &picked,    &slopes,       &means,        &below,
                           &tables[0], &tables[1], &tables[2], &gradients[0], &gradients[1], &gradients[2]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    made_batch_release(&batch);
}

TEST(rows_are_moved_right)
{
    each_backend(row_work);
}

static void drops(void)
{
    struct batch batch = made_batch(&source, lengths, 1000, 5);
    const size_t hidden = 1029, live = (size_t)batch.tokens;
    const struct dropout dropout = {{1, 2}, 6554, 12, 0};
    struct array x = random_array(live * hidden, (size_t)batch.token_rows * hidden, ops->storage_size, 1);
    double kept = 0;
    for (size_t i = 0; i < live * hidden; i++) {
        put(x.memory, ops->storage_size, i, 1);
        const double keep = keep_plain(&dropout, 12, batch.numbers[batch.sequence_of[i / hidden]],
                                       (uint32_t)batch.positions[i / hidden], (uint32_t)(i % hidden));
        x.values[i] = keep;
        kept += keep > 0;
    }
    CALL(ops, dropout, .y = x.memory, .x = x.memory, .batch = &batch, .rows = {batch.tokens, batch.token_rows},
         .hidden = (int32_t)hidden, .dropout = &dropout);
    assert_close(&x, 1, "dropout");
    for (size_t i = 0; i < x.count; i++) /* picking rows is exact */
        assert_true((get(x.memory, ops->storage_size, i) == 0) == (x.values[i] == 0));
    const double count = (double)(live * hidden), share = kept / count;
    assert_true(fabs(share - (1 - 6554.0 / 65536)) < 4 * sqrt(0.09 / count));
    release(&x);

    /* Rows of picked tokens. */
    const struct head_batch *picked = &batch.heads[HEAD_MASKED];
    const size_t rows = (size_t)picked->live, total = (size_t)picked->total;
    struct array from = random_array(rows * hidden, total * hidden, ops->storage_size, 1);
    struct array to = array_of(total * hidden, ops->storage_size);
    for (size_t i = 0; i < rows * hidden; i++) {
        const int32_t token = picked->index[i / hidden];
        to.values[i] = from.values[i] * keep_plain(&dropout, 12, batch.numbers[batch.sequence_of[token]],
                                                   (uint32_t)batch.positions[token], (uint32_t)(i % hidden));
    }
    CALL(ops, dropout, .y = to.memory, .x = from.memory, .batch = &batch, .index = picked->index,
         .rows = {picked->live, picked->total}, .hidden = (int32_t)hidden, .dropout = &dropout);
    assert_close(&to, 1, "dropout of picked rows");
    assert_zero_from(&to, rows * hidden, "a dead row of dropout");
    CALL(ops, dropout, .y = to.memory, .x = from.memory, .batch = &batch, .index = picked->index,
         .rows = {picked->live, picked->total}, .hidden = (int32_t)hidden,
         .dropout = &(struct dropout){.threshold = 0});
    assert_memory_equal(to.memory, from.memory, total * hidden * ops->storage_size);
    release(&from);
    release(&to);
    made_batch_release(&batch);
}

TEST(dropout_is_keyed_and_fair)
{
    each_backend(drops);
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
        struct ops *opened = made_ops(PRECISION_BF16, (enum cpu_level)level, 1);
        float values[300];
        uint16_t stored[300];
        for (int i = 0; i < 300; i++)
            memcpy(&values[i], &cases[(size_t)i % (sizeof cases / sizeof *cases)].bits, sizeof *values);
        CALL(opened, convert, .y = stored, .x = values, .count = 300);
        for (int i = 0; i < 300; i++)
            assert_int_equal(stored[i], cases[(size_t)i % (sizeof cases / sizeof *cases)].rounded);
        opened->close(opened);
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
        struct ops *opened = made_ops(precision, CPU_BASE, 1);
        assert_int_equal(opened->storage_size, precision_kinds[precision].storage_size);
        assert_int_equal(opened->real_size, precision_kinds[precision].real_size);
        opened->close(opened);
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
    struct array gradients = random_array(count, count, ops->real_size, 1e-3);
    int64_t *sums = mem_clear(count, sizeof *sums), refused = 0;
    put(gradients.memory, gradients.size, 0, 0x1p-42);      /* 0.5: to even, 0 */
    put(gradients.memory, gradients.size, 1, 3 * 0x1p-42);  /* 1.5: to even, 2 */
    put(gradients.memory, gradients.size, 2, -3 * 0x1p-42); /* -1.5 */
    put(gradients.memory, gradients.size, 3, 1000.0 * 8);   /* large and exact in a float */
    for (size_t i = 0; i < count; i++) {
        gradients.values[i] = get(gradients.memory, gradients.size, i);
        sums[i] = (int64_t)i - 35000;
    }
    CALL(ops, fixed_add, .sums = sums, .gradients = gradients.memory, .count = count, .unit = unit, .limit = limit,
         .refused = &refused);
    assert_int_equal(refused, 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(sums[i] == (int64_t)i - 35000 + llrint(gradients.values[i] * unit));
        assert_true(get(gradients.memory, gradients.size, i) == 0);
    }
    assert_true(sums[0] == -35000 && sums[1] == -34999 + 2 && sums[2] == -34998 - 2);
    assert_true(sums[3] == -34997 + (INT64_C(1000) << 44));

    CALL(ops, fixed_take, .gradients = gradients.memory, .sums = sums, .count = count, .unit = unit);
    assert_true(get(gradients.memory, gradients.size, 1) == (-34999 + 2) / unit);
    for (size_t i = 0; i < count; i++) {
        const double exact = ((double)((int64_t)i - 35000) + rint(gradients.values[i] * unit)) / unit;
        assert_true(get(gradients.memory, gradients.size, i) == (ops->real_size == 8 ? exact : (double)(float)exact));
        assert_true(sums[i] == 0);
    }

    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, limit / unit, -limit / unit};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        put(gradients.memory, gradients.size, 66000, bad[k]);
        sums[66000] = 7;
        refused = 0;
        CALL(ops, fixed_add, .sums = sums, .gradients = gradients.memory, .count = count, .unit = unit, .limit = limit,
             .refused = &refused);
        assert_true(refused == 1 && sums[66000] == 7);
        assert_true(get(gradients.memory, gradients.size, 66000) == 0);
    }
    put(gradients.memory, gradients.size, 66000, limit / unit * (1 - 0x1p-20)); /* just below */
    refused = 0;
    CALL(ops, fixed_add, .sums = sums, .gradients = gradients.memory, .count = count, .unit = unit, .limit = limit,
         .refused = &refused);
    assert_true(refused == 0 && sums[66000] > 7);
    mem_free(sums);
    release(&gradients);
}

TEST(gradients_convert_to_integers_and_back)
{
    each_backend(fixed_sums);
}
