/* For each op X a function X_work returns the work of a call: floating-point operations of its products (2 per
 * multiply-add; attention's backward pass counts as twice its forward pass, although it computes the probabilities
 * again), and the bytes of its operands. TIMED defines the rest. */
#include "trainer/device/timings.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "trainer/optim/onebit.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_MAX 96 /* of the table; ops that do not fit are counted in "the rest" */

struct timings {
    struct ops ops;    /* first: what the caller holds; its device is this struct */
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

static const struct ops *inner_of(struct device *device)
{
    return ((struct timings *)device)->inner;
}

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

static struct work clear_work(const struct timings *timings, const struct clear_args *args)
{
    (void)timings;
    return (struct work){.bytes = (double)args->bytes};
}

static struct work convert_work(const struct timings *timings, const struct convert_args *args)
{
    const double count = (double)args->count;
    return (struct work){.bytes = stored_bytes(timings, count) + real_bytes(timings, count)};
}

static struct work embed_work(const struct timings *timings, const struct embed_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 4.0 * args->batch->token_rows * args->hidden)};
}

static struct work embed_backward_work(const struct timings *timings, const struct embed_backward_args *args)
{
    const double numbers = (double)args->batch->tokens * args->hidden;
    return (struct work){.bytes = stored_bytes(timings, numbers) + real_bytes(timings, 6 * numbers)};
}

static struct work dropout_work(const struct timings *timings, const struct dropout_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->rows.live * args->hidden)};
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

static struct work linear_work(const struct timings *timings, const struct linear_args *args)
{
    return product_work(timings, args->rows, args->out, args->in, 0);
}

static struct work linear_gelu_work(const struct timings *timings, const struct linear_gelu_args *args)
{
    return product_work(timings, args->rows, args->out, args->in, (double)args->rows.total * args->out);
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

/* Rows of norm: x, y, the residual if there is one, and z if it is separate. */
static struct work norm_work(const struct timings *timings, const struct norm_args *args)
{
    const int rows = 2 + (args->residual ? 1 : 0) + (args->z != args->x || args->residual ? 1 : 0);
    return (struct work){.bytes = stored_bytes(timings, (double)rows * args->rows.total * args->hidden)};
}

static struct work norm_backward_work(const struct timings *timings, const struct norm_backward_args *args)
{
    const int rows = 3 + (args->adds ? 1 : 0) + (args->dx ? 1 : 0);
    return (struct work){.bytes = stored_bytes(timings, (double)rows * args->rows.total * args->hidden)};
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

static struct work attention_work(const struct timings *timings, const struct attention_args *args)
{
    return attend_work(timings, args->shape, args->batch, args->queries, 2);
}

static struct work attention_backward_work(const struct timings *timings, const struct attention_backward_args *args)
{
    struct work work = attend_work(timings, args->shape, args->batch, args->queries, 4);
    work.flops *= 2;
    return work;
}

static struct work gather_work(const struct timings *timings, const struct gather_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->rows.live * args->hidden)};
}

static struct work scatter_work(const struct timings *timings, const struct scatter_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 3.0 * args->rows.live * args->hidden)};
}

static struct work sequence_mean_work(const struct timings *timings, const struct sequence_mean_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 1.0 * args->batch->tokens * args->hidden)};
}

static struct work sequence_mean_backward_work(const struct timings *timings,
                                               const struct sequence_mean_backward_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->batch->tokens * args->hidden)};
}

static struct work tanh_rows_work(const struct timings *timings, const struct tanh_rows_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->rows.total * args->columns)};
}

static struct work tanh_backward_work(const struct timings *timings, const struct tanh_backward_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 3.0 * args->rows.total * args->columns)};
}

static struct work gelu_backward_work(const struct timings *timings, const struct gelu_backward_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 3.0 * args->rows.total * args->columns)};
}

static struct work glu_work(const struct timings *timings, const struct glu_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 3.0 * args->rows.total * args->columns)};
}

static struct work glu_backward_work(const struct timings *timings, const struct glu_backward_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 5.0 * args->rows.total * args->columns)};
}

static struct work rotate_work(const struct timings *timings, const struct rotate_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->batch->tokens * args->heads * args->head_size)};
}

static struct work loss_work(const struct timings *timings, const struct loss_args *args)
{
    const double passes = args->factor != 0 ? 2 : 1;
    return (struct work){.bytes = stored_bytes(timings, passes * args->rows.live * args->columns)};
}

static struct work square_loss_work(const struct timings *timings, const struct square_loss_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->rows.live)};
}

static struct work bits_loss_work(const struct timings *timings, const struct bits_loss_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 2.0 * args->rows.live * args->columns)};
}

static struct work span_loss_work(const struct timings *timings, const struct span_loss_args *args)
{
    const double passes = args->factor != 0 ? 2 : 1;
    return (struct work){.bytes = stored_bytes(timings, passes * 2 * args->batch->tokens)};
}

/* Approximately the bytes of `each` reals for every parameter of a range: all chunks count as equally large. */
static struct work range_work(const struct timings *timings, const struct update_work *work, struct chunk_range range,
                              double each)
{
    const double share = (double)(range.to - range.from) / (double)work->chunk_count;
    return (struct work){.bytes = real_bytes(timings, each * share * (double)work->numbers)};
}

static struct work squares_work(const struct timings *timings, const struct squares_args *args)
{
    return range_work(timings, args->work, args->range, 1);
}

static struct work factors_work(const struct timings *timings, const struct factors_args *args)
{
    (void)timings;
    return (struct work){.bytes = (double)(2 * args->work->chunk_count + args->work->tensors) * sizeof(double)};
}

static struct work adam_work(const struct timings *timings, const struct adam_args *args)
{
    return range_work(timings, args->work, args->range, 7);
}

static struct work moments_work(const struct timings *timings, const struct moments_args *args)
{
    return range_work(timings, args->work, args->range, 6);
}

static struct work shares_work(const struct timings *timings, const struct shares_args *args)
{
    (void)timings;
    return (struct work){.bytes = 3 * (double)(args->range.to - args->range.from) * sizeof(double)};
}

static struct work apply_work(const struct timings *timings, const struct apply_args *args)
{
    return range_work(timings, args->work, args->range, 5);
}

static double matrix_numbers(const struct update_matrix *matrix)
{
    return (double)matrix->rows * matrix->columns;
}

static struct work momentum_work(const struct timings *timings, const struct momentum_args *args)
{
    return (struct work){.bytes = real_bytes(timings, 3 * matrix_numbers(args->matrix))};
}

static struct work direction_work(const struct timings *timings, const struct direction_args *args)
{
    const double numbers = matrix_numbers(args->momentum.matrix);
    return (struct work){.bytes = real_bytes(timings, 2 * numbers) + stored_bytes(timings, numbers)};
}

static struct work combine_work(const struct timings *timings, const struct combine_args *args)
{
    return (struct work){.bytes = stored_bytes(timings, 3.0 * (double)args->count)};
}

static struct work shift_work(const struct timings *timings, const struct shift_args *args)
{
    const double numbers = matrix_numbers(args->matrix);
    return (struct work){.bytes = real_bytes(timings, 2 * numbers) + stored_bytes(timings, numbers)};
}

static double compact_numbers(const struct onebit_pass *pass)
{
    return (double)pass->layout->count;
}

static struct work compress_work(const struct timings *timings, const struct compress_args *args)
{
    return (struct work){.bytes = real_bytes(timings, 7 * compact_numbers(&args->pass))};
}

static struct work serve_work(const struct timings *timings, const struct serve_args *args)
{
    const struct onebit_layout *layout = args->pass.layout;
    return (struct work){
        .bytes = real_bytes(timings, 5.0 * (double)(layout->part[args->rank + 1] - layout->part[args->rank]))};
}

static struct work decompress_work(const struct timings *timings, const struct decompress_args *args)
{
    return (struct work){.bytes = real_bytes(timings, 4 * compact_numbers(&args->pass))};
}

static struct work fixed_add_work(const struct timings *timings, const struct fixed_add_args *args)
{
    const double count = (double)args->count;
    return (struct work){.bytes = real_bytes(timings, 2 * count) + 2 * count * sizeof(int64_t)};
}

static struct work fixed_take_work(const struct timings *timings, const struct fixed_take_args *args)
{
    const double count = (double)args->count;
    return (struct work){.bytes = real_bytes(timings, count) + 2 * count * sizeof(int64_t)};
}

static void end(struct device *device, enum op op, struct work work)
{
    struct timings *timings = (struct timings *)device;
    const struct ops *inner = inner_of(device);
    inner->wait(inner->device);
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
        const struct ops *inner = inner_of(device);                                                                    \
        struct timings *timings = (struct timings *)device;                                                            \
        timings->from = clock_now();                                                                                   \
        parallel_least();                                                                                              \
        inner->op(inner->device, args);                                                                                \
        end(device, OP_##op, op##_work(timings, args));                                                                \
    }
OPS_COMPUTING(TIMED)
#define SET_TIMED(op) ops->op = timed_##op;

static void close_both(struct ops *ops)
{
    struct ops *inner = timings_end(ops);
    inner->close(inner);
}

static void *allocate(struct device *device, size_t bytes)
{
    const struct ops *inner = inner_of(device);
    return inner->allocate(inner->device, bytes);
}

static void release(struct device *device, void *memory)
{
    const struct ops *inner = inner_of(device);
    inner->release(inner->device, memory);
}

static void *map(struct device *device, void *memory, size_t bytes, enum map_mode mode)
{
    const struct ops *inner = inner_of(device);
    return inner->map(inner->device, memory, bytes, mode);
}

static void unmap(struct device *device, void *memory, void *host, size_t bytes, enum map_mode mode)
{
    const struct ops *inner = inner_of(device);
    inner->unmap(inner->device, memory, host, bytes, mode);
}

static void wait_all(struct device *device)
{
    const struct ops *inner = inner_of(device);
    inner->wait(inner->device);
}

static void begin_step(struct device *device, uint64_t step)
{
    const struct ops *inner = inner_of(device);
    if (inner->begin_step)
        inner->begin_step(inner->device, step);
}

static void send(struct device *device, int slot, const void *memory, size_t bytes)
{
    const struct ops *inner = inner_of(device);
    inner->send(inner->device, slot, memory, bytes);
}

static void receive(struct device *device, int slot, void *host, size_t bytes)
{
    const struct ops *inner = inner_of(device);
    inner->receive(inner->device, slot, host, bytes);
}

static void *mark(struct device *device, size_t n)
{
    const struct ops *inner = inner_of(device);
    return inner->mark(inner->device, n);
}

static size_t scratch_bytes(struct device *device, const struct ops_limits *limits)
{
    const struct ops *inner = inner_of(device);
    return inner->scratch_bytes(inner->device, limits);
}

/* Also counts the pairs of query and key, from which attention's work is computed. */
static const struct batch *upload(struct device *device, const struct batch *batch)
{
    const struct ops *inner = inner_of(device);
    struct timings *timings = (struct timings *)device;
    const struct batch *read = batch_read(batch);
    timings->pairs = timings->read_pairs = 0;
    for (int32_t i = 0; i < batch->sequences; i++) {
        const double length = (double)batch->starts[i + 1] - batch->starts[i];
        timings->pairs += length * length;
        timings->read_pairs += ((double)read->starts[i + 1] - read->starts[i]) * length;
    }
    return inner->upload(inner->device, batch);
}

struct ops *timings_open(struct ops *inner)
{
    struct timings *timings = mem_clear(1, sizeof *timings);
    struct ops *ops = &timings->ops;
    timings->inner = inner;
    *ops = *inner;
    ops->device = (struct device *)timings;
    ops->late = false; /* timings wait for every op */
    ops->close = close_both;
    ops->allocate = allocate;
    ops->release = release;
    ops->map = map;
    ops->unmap = unmap;
    ops->wait = wait_all;
    ops->begin_step = begin_step;
    ops->send = send;
    ops->receive = receive;
    ops->mark = inner->mark ? mark : NULL;
    ops->upload = upload;
    ops->scratch_bytes = scratch_bytes;
    OPS_COMPUTING(SET_TIMED)
    ops_describe(ops);
    return ops;
}

struct ops *timings_end(struct ops *timed)
{
    struct ops *inner = ((struct timings *)timed)->inner;
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
