/* Products at the sizes of a real training, where the library uses other algorithms than at those of ops.c: 64 results
 * of each, at borders and spread over the matrix, against sums in doubles. Operands are a function of their index
 * (value), so that the host keeps and computes nothing large. */
#include <math.h>

#include "base/file.h"
#include "base/str.h"
#include "tests/cuda/gpu/sides.h"

#define SAMPLES 64
#define PIECE   ((size_t)1 << 24) /* numbers that the host writes at once */

/* Rows of 264 sequences of 128, or of 528; 20 rows per sequence are masked. */
struct shape {
    int32_t rows, out, in;
};
static const struct shape shapes[] = {
    {33792, 3072, 1024}, {33792, 1024, 1024}, {33792, 4096, 1024}, {33792, 1024, 4096}, {5280, 1024, 1024},
    {5280, 30528, 1024}, {264, 1024, 1024},   {67584, 4096, 1024}, {67584, 1024, 4096}, {33792, 2304, 768},
    {33792, 768, 768},   {33792, 3072, 768},  {33792, 768, 3072},  {5280, 30528, 768},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Offsets of operands in the one block of values that holds x, dy and pre. */
#define DY_AT  1024
#define PRE_AT 2048

static struct {
    const struct ops *ops;
    int32_t share;
    void *values, *weights, *out, *beside; /* storage */
    void *bias, *rounded, *db, *dw, *scratch;
    struct shape shape;
} s;

/* ---- numbers ---- */

/* In (-1, 1), exact in the precision under test; in fp32 all bits are used, so that a product in TF32 would show. */
static double value(size_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u; /* splitmix64's mixer, shortened */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    const int bits = s.ops->precision == PRECISION_FP32 ? 24 : 8;
    const int32_t whole = (int32_t)(z >> (64 - bits)) - (1 << (bits - 1));
    return whole / (double)(1 << (bits - 1));
}

static double weight(size_t i)
{
    return value(i) / 16; /* results of 1,024 of them are about 1 */
}

static void *filled(size_t count, double (*number)(size_t))
{
    const struct ops *ops = s.ops;
    const size_t most = count < PIECE ? count : PIECE, real = ops->real_size;
    char *storage = ops->allocate(ops->device, count * ops->storage_size);
    void *piece = ops->allocate(ops->device, most * real);
    for (size_t at = 0; at < count; at += most) {
        const size_t numbers = count - at < most ? count - at : most;
        float *host = ops->map(ops->device, piece, numbers * real, MAP_FILL);
        for (size_t i = 0; i < numbers; i++)
            host[i] = (float)number(at + i);
        ops->unmap(ops->device, piece, host, numbers * real, MAP_FILL);
        CALL(ops, convert, .y = storage + at * ops->storage_size, .x = piece, .count = numbers);
    }
    ops->release(ops->device, piece);
    return storage;
}

static void fill_bias(size_t count)
{
    const struct ops *ops = s.ops;
    s.bias = ops->allocate(ops->device, count * ops->real_size);
    s.rounded = ops->allocate(ops->device, count * ops->storage_size);
    float *host = ops->map(ops->device, s.bias, count * ops->real_size, MAP_FILL);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)value(i);
    ops->unmap(ops->device, s.bias, host, count * ops->real_size, MAP_FILL);
    CALL(ops, convert, .y = s.rounded, .x = s.bias, .count = count); /* a converted bias can be fused */
}

static void *window(size_t at)
{
    return (char *)s.values + at * s.ops->storage_size;
}

/* ---- what should come out ---- */

struct expected {
    double value, slack;
};

/* Relative error of storing a number. */
static double stored_error(void)
{
    return s.ops->precision == PRECISION_FP32 ? 0x1p-22 : s.ops->precision == PRECISION_BF16 ? 0x1p-7 : 0x1p-10;
}

/* A sum of `count` terms left(i) right(i), in doubles; in float it may be off by 2^-14 of the square root of the sum of
 * squares (in TF32 it would be off by 2^-11). */
static struct expected sum(size_t count, double (*left)(size_t), size_t left_at, size_t left_step,
                           double (*right)(size_t), size_t right_at, size_t right_step)
{
    double total = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double term = left(left_at + i * left_step) * (right ? right(right_at + i * right_step) : 1);
        total += term;
        squares += term * term;
    }
    return (struct expected){total, 0x1p-14 * sqrt(squares)};
}

static struct expected plus(struct expected e, double added)
{
    return (struct expected){e.value + added, e.slack};
}

/* Adds the error of two roundings: of the value `before` the last operation and of the result. */
static struct expected stored(struct expected e, double before)
{
    e.slack += stored_error() * (fabs(e.value) + fabs(before));
    return e;
}

static double gelu(double x, enum gelu kind)
{
    return kind == GELU_ERF ? x / 2 * (1 + erf(x / sqrt(2)))
                            : x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x, enum gelu kind)
{
    const double step = 1e-5;
    return (gelu(x + step, kind) - gelu(x - step, kind)) / (2 * step);
}

/* In 16 bits, a GELU may use approximations of that precision. */
static double gelu_error(void)
{
    return s.ops->precision == PRECISION_FP32 ? 1e-6 : 0x1p-9;
}

static struct expected after_gelu(struct expected pre, enum gelu kind)
{
    const struct expected e = {gelu(pre.value, kind), 1.2 * pre.slack + gelu_error() * fabs(pre.value)};
    return stored(e, 0);
}

static struct expected times_slope(struct expected e, double pre, enum gelu kind)
{
    const double slope = gelu_slope(pre, kind);
    return stored((struct expected){e.value * slope, e.slack * fabs(slope) + gelu_error() * fabs(e.value)}, e.value);
}

/* ---- comparing ---- */

typedef struct expected expect_function(size_t row, size_t column, const void *what);

/* Index of a sample: borders of the matrix and of tiles first, then places spread over it. */
static size_t sampled(int sample, int axis, size_t count)
{
    static const size_t marks[] = {0, SIZE_MAX, 127, 128, 255, 256};
    const size_t mark = marks[(axis ? sample / 6 : sample) % 6];
    if (sample < 36)
        return mark < count ? mark : count - 1;
    return (size_t)((value((size_t)(2 * sample + axis) + 77) + 1) / 2 * (double)count) % count;
}

static void compare_samples(const char *op, const void *memory, enum number number, size_t rows, size_t columns,
                            expect_function *expect, const void *what)
{
    int wrong = 0;
    char first[160] = "";
    for (int i = 0; i < SAMPLES; i++) {
        const size_t row = sampled(i, 0, rows), column = sampled(i, 1, columns);
        const struct expected e = expect(row, column, what);
        const double found = side_number(TESTED, memory, number, row * columns + column);
        if (fabs(found - e.value) <= e.slack)
            continue;
        if (wrong++ == 0)
            snprintf(first, sizeof first, "[%zu, %zu] is %.7g, not %.7g (within %.2g)", row, column, found, e.value,
                     e.slack);
    }
    check(wrong == 0, "%s %s %d x %d x %d: %d of %d wrong: %s", sides_name(), op, s.shape.rows, s.shape.out, s.shape.in,
          wrong, SAMPLES, first);
}

/* ---- the products ---- */

struct forward {
    int32_t live;
    bool bias;
};

static struct expected expect_forward(size_t row, size_t column, const void *what)
{
    const struct forward *f = what;
    const size_t in = (size_t)s.shape.in;
    if (row >= (size_t)f->live)
        return (struct expected){0, 0};
    const struct expected e = sum(in, value, row * in, 1, weight, column * in, 1);
    return stored(f->bias ? plus(e, value(column)) : e, e.value);
}

static struct expected expect_gelu(size_t row, size_t column, const void *what)
{
    const struct forward f = {s.shape.rows, true};
    return after_gelu(expect_forward(row, column, &f), *(const enum gelu *)what);
}

static void forward(void)
{
    const struct ops *ops = s.ops;
    const size_t height = (size_t)s.shape.rows, width = (size_t)s.shape.out;
    const struct rows some = {s.shape.rows - 3, s.shape.rows}, all = {s.shape.rows, s.shape.rows};
    const struct forward with = {some.live, true}, without = {all.live, false}, before = {all.live, true};
    CALL(ops, linear, .y = s.out, .x = s.values, .w = s.weights, .b = s.bias, .rows = some, .out = s.shape.out,
         .in = s.shape.in);
    compare_samples("linear", s.out, STORED, height, width, expect_forward, &with);
    CALL(ops, linear, .y = s.out, .x = s.values, .w = s.weights, .rows = all, .out = s.shape.out, .in = s.shape.in);
    compare_samples("linear without bias", s.out, STORED, height, width, expect_forward, &without);
    for (enum gelu kind = GELU_TANH; kind <= GELU_ERF; kind++) {
        CALL(ops, linear_gelu, .pre = s.beside, .y = s.out, .x = s.values, .w = s.weights, .b = s.bias, .rows = all,
             .out = s.shape.out, .in = s.shape.in, .gelu = kind);
        compare_samples(kind == GELU_TANH ? "linear before tanh-GELU" : "linear before erf-GELU", s.beside, STORED,
                        height, width, expect_forward, &before);
        compare_samples(kind == GELU_TANH ? "tanh-GELU after linear" : "erf-GELU after linear", s.out, STORED, height,
                        width, expect_gelu, &kind);
    }
}

static struct expected expect_input(size_t row, size_t column, const void *what)
{
    const size_t out = (size_t)s.shape.out, in = (size_t)s.shape.in;
    const struct expected e = sum(out, value, DY_AT + row * out, 1, weight, column, in);
    const int kind = *(const int *)what;
    if (kind == 0)
        return stored(e, 0);
    return times_slope(e, value(PRE_AT + row * in + column), kind == 1 ? GELU_TANH : GELU_ERF);
}

/* The product is added to its own earlier result, so the expected value is doubled. */
static struct expected expect_input_twice(size_t row, size_t column, const void *what)
{
    const struct expected e = expect_input(row, column, what);
    return stored((struct expected){2 * e.value, 2 * e.slack}, e.value);
}

static void backward_input(void)
{
    static const char *const names[] = {"linear_backward_input", "linear_backward_input with tanh-GELU",
                                        "linear_backward_input with erf-GELU"};
    const struct ops *ops = s.ops;
    const struct rows all = {s.shape.rows, s.shape.rows};
    const size_t height = (size_t)s.shape.rows, width = (size_t)s.shape.in;
    for (int kind = 0; kind < 3; kind++) {
        CALL(ops, linear_backward_input, .dx = s.out, .dy = window(DY_AT), .w = s.weights,
             .pre = kind ? window(PRE_AT) : NULL, .rows = all, .out = s.shape.out, .in = s.shape.in,
             .gelu = kind == 2 ? GELU_ERF : GELU_TANH);
        compare_samples(names[kind], s.out, STORED, height, width, expect_input, &kind);
        if (kind > 0)
            continue;
        CALL(ops, linear_backward_input, .dx = s.out, .adds = true, .dy = window(DY_AT), .w = s.weights, .rows = all,
             .out = s.shape.out, .in = s.shape.in);
        compare_samples("linear_backward_input added", s.out, STORED, height, width, expect_input_twice, &kind);
    }
}

static struct expected expect_weight(size_t row, size_t column, const void *what)
{
    const size_t out = (size_t)s.shape.out, in = (size_t)s.shape.in;
    (void)what;
    return sum((size_t)s.shape.rows, value, DY_AT + row, out, value, column, in);
}

static struct expected expect_sums(size_t row, size_t column, const void *what)
{
    (void)row;
    (void)what;
    return sum((size_t)s.shape.rows, value, DY_AT + column, (size_t)s.shape.out, NULL, 0, 0);
}

static void backward_weight(void)
{
    const struct ops *ops = s.ops;
    const struct rows all = {s.shape.rows, s.shape.rows};
    const size_t out = (size_t)s.shape.out, in = (size_t)s.shape.in;
    for (int with_bias = 1; with_bias >= 0; with_bias--) {
        CALL(ops, clear, .memory = s.dw, .bytes = out * in * ops->real_size);
        CALL(ops, clear, .memory = s.db, .bytes = out * ops->real_size);
        CALL(ops, linear_backward_weight, .dw = s.dw, .db = with_bias ? s.db : NULL, .dy = window(DY_AT), .x = s.values,
             .rows = all, .out = s.shape.out, .in = s.shape.in, .scratch = s.scratch);
        compare_samples(with_bias ? "linear_backward_weight" : "linear_backward_weight alone", s.dw, REAL, out, in,
                        expect_weight, NULL);
        if (with_bias)
            compare_samples("bias of linear_backward_weight", s.db, REAL, 1, out, expect_sums, NULL);
    }
}

/* ---- all of them ---- */

static int32_t part_of(int32_t size)
{
    return (size / s.share + 15) / 16 * 16;
}

static struct shape shape_of(int i)
{
    return (struct shape){part_of(shapes[i].rows), part_of(shapes[i].out), part_of(shapes[i].in)};
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void take_memory(void)
{
    const struct ops *ops = s.ops;
    size_t most = 0, weights = 0, widest = 0;
    for (int i = 0; i < SHAPES; i++) {
        const struct shape shape = shape_of(i);
        const size_t rows = (size_t)shape.rows, out = (size_t)shape.out, in = (size_t)shape.in;
        most = larger(most, rows * larger(out, in));
        weights = larger(weights, out * in);
        widest = larger(widest, larger(out, in));
    }
    const struct ops_limits limits = {part_of(67584), (int32_t)widest, part_of(5280), (int32_t)widest, 1, 64};
    s.values = filled(most + PRE_AT, value);
    s.weights = filled(weights, weight);
    s.out = ops->allocate(ops->device, most * ops->storage_size);
    s.beside = ops->allocate(ops->device, most * ops->storage_size);
    fill_bias(widest);
    s.db = ops->allocate(ops->device, widest * ops->real_size);
    s.dw = ops->allocate(ops->device, weights * ops->real_size);
    s.scratch = ops->allocate(ops->device, ops->scratch_bytes(ops->device, &limits));
}

static void drop_memory(void)
{
    void *const all[] = {s.values, s.weights, s.out, s.beside, s.bias, s.rounded, s.db, s.dw, s.scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        s.ops->release(s.ops->device, all[i]);
}

int check_shapes(int share, const char *tune, struct error *err)
{
    const int from = checks_done(), before = checks_failed();
    s.ops = side_ops(TESTED);
    s.share = share;
    if (tune) {
        const struct model_config large = {
            .hidden = part_of(1024), .intermediate = part_of(4096), .vocabulary = part_of(30528), .gelu = GELU_TANH};
        const struct pack_limits limits = {
            .tokens = part_of(33792), .sequences = part_of(264), .marks = {[HEAD_MASKED] = part_of(5280)}};
        struct buf table = {0};
        int result = backend_tune(side_ops(TESTED), &large, &limits, true, &table, err);
        if (result == 0)
            result = file_write_all(tune, table.data, table.size, err);
        buf_release(&table);
        TRY(result);
    }
    take_memory();
    for (int i = 0; i < SHAPES; i++) {
        s.shape = shape_of(i);
        forward();
        backward_input();
        backward_weight();
    }
    drop_memory();
    printf("%s shapes     %d of %d checks right\n", sides_name(), checks_done() - from - (checks_failed() - before),
           checks_done() - from);
    fflush(stdout);
    return 0;
}
