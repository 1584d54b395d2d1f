/* For each op X a function X_work returns the work of a call: floating-point operations of its products (2 per
 * multiply-add; attention's backward pass counts as twice its forward pass, although it computes the probabilities
 * again), and the bytes of its operands. TIMED defines the rest. */
#include "trainer/device/timings.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/optim/onebit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS_MAX 96 /* of the table; ops that do not fit are counted in "the rest" */

struct timings {
    struct ops ops;    /* first: what the caller holds; a copy of `inner` whose ops are measured */
    struct ops *inner; /* the backend that computes */
    double from;       /* clock_now at the beginning of the current op */
    double pairs;      /* pairs of query and key tokens in the batch that was uploaded last */
    double read_pairs; /* the same, counting only queries in rows that heads read */
    struct timings_row {
        enum op op;
        int32_t out, in; /* of a linear layer; 0, 0: not one */
        uint64_t calls;
        double seconds, flops, bytes;
        size_t tasks; /* of its smallest parallel region, on the CPU; SIZE_MAX: none */
    } rows[ROWS_MAX];
    size_t count;
};

static struct timings *running; /* ops get the device of `inner`; one backend is measured at a time */

struct work {
    double flops, bytes;
    int32_t out, in; /* of a linear layer; 0, 0: not one */
};

static double real_bytes(const struct timings *timings, double count)
{
    return count * (double)timings->ops.real_size;
}

static double stored_bytes(const struct timings *timings, double count)
{
    return count * (double)timings->ops.storage_size;
}

/* The work of an op without products: the numbers in STORAGE and in REAL that it moves. */
static struct work moved(const struct timings *timings, double stored, double real)
{
    return (struct work){.bytes = stored_bytes(timings, stored) + real_bytes(timings, real)};
}

/* The work of a product: its operations, the elements of its three matrices, and `beside` more elements. */
static struct work product_work(const struct timings *timings, struct rows rows, int32_t out, int32_t in, double beside)
{
    const double total = rows.total, width = out, depth = in;
    return (struct work){.flops = 2 * total * width * depth,
                         .bytes = stored_bytes(timings, total * (width + depth) + width * depth + beside),
                         .out = out,
                         .in = in};
}

/* The work of two products, queries with keys and probabilities with values. `rows` is the number of rows of `hidden`
 * elements that are moved per query (query and context) and per token (keys and values). */
static struct work attend_work(const struct timings *timings, const struct attention_shape *shape,
                               const struct batch *batch, const struct batch *queries, int rows)
{
    const double hidden = (double)shape->heads * shape->head_size, tokens = batch->tokens + queries->tokens;
    const double pairs = queries == batch ? timings->pairs : timings->read_pairs;
    return (struct work){.flops = 2 * 2 * pairs * hidden, .bytes = stored_bytes(timings, rows * tokens * hidden)};
}

/* Approximately the bytes of `each` reals for every parameter of a range: all chunks count as equally large. */
static struct work range_work(const struct timings *timings, const struct update_work *work, struct chunk_range range,
                              double each)
{
    const double share = (double)(range.to - range.from) / (double)work->chunk_count;
    return moved(timings, 0, each * share * (double)work->numbers);
}

static double matrix_numbers(const struct update_matrix *matrix)
{
    return (double)matrix->rows * matrix->columns;
}

static double own_part(const struct onebit_layout *layout, uint32_t rank)
{
    return (double)(layout->part[rank + 1] - layout->part[rank]);
}

static struct work linear_backward_input_work(const struct timings *timings,
                                              const struct linear_backward_input_args *args)
{
    const int read = (args->adds ? 1 : 0) + (args->pre ? 1 : 0);
    return product_work(timings, args->rows, args->out, args->in, (double)read * args->rows.total * args->in);
}

static struct work linear_backward_weight_work(const struct timings *timings,
                                               const struct linear_backward_weight_args *args)
{
    const double matrix = (double)args->out * args->in;
    struct work work = product_work(timings, args->rows, args->out, args->in, -matrix);
    work.bytes += real_bytes(timings, 2 * matrix);
    return work;
}

static struct work attention_backward_work(const struct timings *timings, const struct attention_backward_args *args)
{
    struct work work = attend_work(timings, args->shape, args->batch, args->queries, 4);
    work.flops *= 2;
    return work;
}

/* Rows of norm: x, y, the residual if there is one, and z if it is separate. */
static struct work norm_work(const struct timings *timings, const struct norm_args *args)
{
    const int rows = 2 + (args->residual ? 1 : 0) + (args->z != args->x || args->residual ? 1 : 0);
    return moved(timings, (double)rows * args->rows.total * args->hidden, 0);
}

static struct work norm_backward_work(const struct timings *timings, const struct norm_backward_args *args)
{
    const int rows = 3 + (args->adds ? 1 : 0) + (args->dx ? 1 : 0);
    return moved(timings, (double)rows * args->rows.total * args->hidden, 0);
}

/* The ops whose work is one expression of `args`. */
#define WORK(op, expression)                                                                                           \
    static struct work op##_work(const struct timings *timings, const struct op##_args *args)                          \
    {                                                                                                                  \
        (void)timings;                                                                                                 \
        return expression;                                                                                             \
    }
#define BYTES(count)        ((struct work){.bytes = (double)(count)})
#define MOVED(stored, real) moved(timings, stored, real)

WORK(clear, BYTES(args->bytes))
WORK(convert, MOVED((double)args->count, (double)args->count))
WORK(embed, MOVED(4.0 * args->batch->token_rows * args->hidden, 0))
WORK(embed_backward, MOVED((double)args->batch->tokens * args->hidden, 6.0 * args->batch->tokens * args->hidden))
WORK(dropout, MOVED(2.0 * args->rows.live * args->hidden, 0))
WORK(linear, product_work(timings, args->rows, args->out, args->in, 0))
WORK(linear_gelu, product_work(timings, args->rows, args->out, args->in, (double)args->rows.total * args->out))
WORK(attention, attend_work(timings, args->shape, args->batch, args->queries, 2))
WORK(gather, MOVED(2.0 * args->rows.live * args->hidden, 0))
WORK(scatter, MOVED(3.0 * args->rows.live * args->hidden, 0))
WORK(sequence_mean, MOVED(1.0 * args->batch->tokens * args->hidden, 0))
WORK(sequence_mean_backward, MOVED(2.0 * args->batch->tokens * args->hidden, 0))
WORK(tanh_rows, MOVED(2.0 * args->rows.total * args->columns, 0))
WORK(tanh_backward, MOVED(3.0 * args->rows.total * args->columns, 0))
WORK(gelu_backward, MOVED(3.0 * args->rows.total * args->columns, 0))
WORK(glu, MOVED(3.0 * args->rows.total * args->columns, 0))
WORK(glu_backward, MOVED(5.0 * args->rows.total * args->columns, 0))
WORK(rotate, MOVED(2.0 * args->batch->tokens * args->heads * args->head_size, 0))
WORK(loss, MOVED((args->factor != 0 ? 2.0 : 1.0) * args->rows.live * args->columns, 0))
WORK(square_loss, MOVED(2.0 * args->rows.live, 0))
WORK(bits_loss, MOVED(2.0 * args->rows.live * args->columns, 0))
WORK(span_loss, MOVED((args->factor != 0 ? 2.0 : 1.0) * 2 * args->batch->tokens, 0))
WORK(squares, range_work(timings, args->work, args->range, 1))
WORK(factors, BYTES((double)(2 * args->work->chunk_count + args->work->tensors) * sizeof(double)))
WORK(adam, range_work(timings, args->work, args->range, 7))
WORK(moments, range_work(timings, args->work, args->range, 6))
WORK(shares, BYTES(3 * (double)(args->range.to - args->range.from) * sizeof(double)))
WORK(apply, range_work(timings, args->work, args->range, 5))
WORK(momentum, MOVED(0, 3 * matrix_numbers(args->matrix)))
WORK(direction, MOVED(matrix_numbers(args->momentum.matrix), 2 * matrix_numbers(args->momentum.matrix)))
WORK(combine, MOVED(3.0 * (double)args->count, 0))
WORK(shift, MOVED(matrix_numbers(args->matrix), 2 * matrix_numbers(args->matrix)))
WORK(compress, MOVED(0, 7 * (double)args->pass.layout->count))
WORK(serve, MOVED(0, 5 * own_part(args->pass.layout, args->rank)))
WORK(decompress, MOVED(0, 4 * (double)args->pass.layout->count))
WORK(fixed_add, BYTES(real_bytes(timings, 2 * (double)args->count) + 2 * (double)args->count * sizeof(int64_t)))
WORK(fixed_take, BYTES(real_bytes(timings, (double)args->count) + 2 * (double)args->count * sizeof(int64_t)))

static void end(struct timings *timings, enum op op, struct work work)
{
    timings->inner->wait(timings->inner->device);
    size_t i = 0;
    while (i < timings->count &&
           (timings->rows[i].op != op || timings->rows[i].out != work.out || timings->rows[i].in != work.in))
        i++;
    if (i == ROWS_MAX)
        return;
    struct timings_row *row = &timings->rows[i];
    if (i == timings->count)
        timings->rows[timings->count++] =
            (struct timings_row){.op = op, .out = work.out, .in = work.in, .tasks = SIZE_MAX};
    const size_t tasks = parallel_least();
    row->tasks = tasks < row->tasks ? tasks : row->tasks;
    row->calls++;
    row->seconds += clock_now() - timings->from;
    row->flops += work.flops;
    row->bytes += work.bytes;
}

#define TIMED(op)                                                                                                      \
    static void timed_##op(struct device *device, const struct op##_args *args)                                        \
    {                                                                                                                  \
        struct timings *timings = running;                                                                             \
        timings->from = clock_now();                                                                                   \
        parallel_least();                                                                                              \
        timings->inner->op(device, args);                                                                              \
        end(timings, OP_##op, op##_work(timings, args));                                                               \
    }
OPS_COMPUTING(TIMED)
#define SET_TIMED(op) ops->op = timed_##op;

static void close_both(struct ops *ops)
{
    struct ops *inner = timings_end(ops);
    inner->close(inner);
}

/* Also counts the pairs of query and key, from which attention's work is computed. */
static const struct batch *upload(struct device *device, const struct batch *batch)
{
    struct timings *timings = running;
    const struct batch *read = batch_read(batch);
    timings->pairs = timings->read_pairs = 0;
    for (int32_t i = 0; i < batch->sequences; i++) {
        const double length = (double)batch->starts[i + 1] - batch->starts[i];
        timings->pairs += length * length;
        timings->read_pairs += ((double)read->starts[i + 1] - read->starts[i]) * length;
    }
    return timings->inner->upload(device, batch);
}

struct ops *timings_open(struct ops *inner)
{
    struct timings *timings = mem_clear(1, sizeof *timings);
    struct ops *ops = &timings->ops;
    assert(!running);
    running = timings;
    timings->inner = inner;
    *ops = *inner;
    ops->late = false; /* timings wait for every op */
    ops->close = close_both;
    ops->upload = upload;
    OPS_COMPUTING(SET_TIMED)
    ops_describe(ops);
    return ops;
}

struct ops *timings_end(struct ops *timed)
{
    struct ops *inner = ((struct timings *)timed)->inner;
    running = NULL;
    mem_free(timed);
    return inner;
}

void timings_clear(struct ops *timed)
{
    ((struct timings *)timed)->count = 0;
}

static int by_time(const void *a, const void *b)
{
    const struct timings_row *left = a, *right = b;
    return (left->seconds < right->seconds) - (left->seconds > right->seconds);
}

/* "612.3 TFLOP/s of 790.1, 77.5 %": the rate of operations or bytes, whichever limits the row. If the limits are not
 * known: of operations if the op has any. */
static void say_rate(const struct timings_row *row, const struct timings_limits *limits, char *out, size_t size)
{
    const bool known = limits->flops > 0 && limits->bytes > 0;
    const bool flops = known ? row->flops / limits->flops > row->bytes / limits->bytes : row->flops > 0;
    const double work = flops ? row->flops : row->bytes, most = flops ? limits->flops : limits->bytes;
    const bool tera = flops && (known ? most : work / row->seconds) >= 1e12;
    const double unit = tera ? 1e12 : 1e9;
    const int used = snprintf(out, size, "%8.1f %s", work / row->seconds / unit,
                              tera    ? "TFLOP/s"
                              : flops ? "GFLOP/s"
                                      : "GB/s   ");
    if (known)
        snprintf(out + used, size - (size_t)used, " of %8.1f, %5.1f %%", most / unit, 100 * work / row->seconds / most);
}

static void say(const char *name, uint64_t calls, double seconds, double all, const char *rate)
{
    char count[32] = "";
    if (calls > 0)
        snprintf(count, sizeof count, "%llu", (unsigned long long)calls);
    log_say("  %-34s %7s %10.3f s %6.2f %%  %s", name, count, seconds, all > 0 ? 100 * seconds / all : 0, rate);
}

void timings_say(const struct ops *timed, double seconds, const struct timings_limits *limits,
                 const struct timings_beside *beside)
{
    const struct timings *timings = (const struct timings *)timed;
    struct timings_row rows[ROWS_MAX];
    double rest = seconds;
    memcpy(rows, timings->rows, timings->count * sizeof *rows);
    qsort(rows, timings->count, sizeof *rows, by_time);
    log_say("timings    %s; each operation is waited for", timed->name);
    for (const struct timings_row *row = rows; row < rows + timings->count; row++) {
        char name[64], rate[96] = "";
        snprintf(name, sizeof name, row->out > 0 ? "%s %dx%d" : "%s", op_names[row->op], (int)row->out, (int)row->in);
        if (row->seconds > 0)
            say_rate(row, limits, rate, sizeof rate);
        const size_t used = strlen(rate);
        if (row->tasks < SIZE_MAX)
            snprintf(rate + used, sizeof rate - used, " %6zu tasks", row->tasks);
        say(name, row->calls, row->seconds, seconds, rate);
        rest -= row->seconds;
    }
    for (; beside->name; beside++) {
        say(beside->name, 0, beside->seconds, seconds, "");
        rest -= beside->seconds;
    }
    say("the rest", 0, rest, seconds, "");
    say("all", 0, seconds, seconds, "");
}
