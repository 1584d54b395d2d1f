/* The kernels of trainer/cuda, run on the host by emulator.h, against the CPU backend in doubles. Inputs are rounded to
 * storage first, so the measured error is the kernel's alone. Outputs begin as NaN, which shows missing writes. Every
 * kernel runs twice, with the block's threads in opposite order: other bits mean a missing barrier. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/trainer/made.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"
#include "trainer/cuda/kernels.h"
#include "trainer/optim/onebit.h"
#include "trainer/optim/optimizer.h"

extern int emulated_order;        /* emulator.h */
extern size_t emulated_conflicts; /* emulator.h */

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

static void assert_zero_from(const struct array *a, size_t first, const char *what)
{
    for (size_t i = first; i < a->count; i++)
        if (get(a, i) != 0)
            fail_msg("%s is not zero at %zu", what, i);
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

static const struct made_source source = {11, 90, 7};

/* The index arrays that the backend adds to a batch (trainer/cuda/batch.c), computed in the simplest way. */
static struct cuda_batch orders_of(const struct batch *batch)
{
    struct cuda_batch made = {.batch = *batch};
    const size_t tokens = (size_t)batch->tokens, sequences = (size_t)batch->sequences;
    made.order = mem_array(tokens + 1, sizeof *made.order);
    made.runs = mem_array(tokens + 1, sizeof *made.runs);
    made.by_length = mem_array(sequences + 1, sizeof *made.by_length);
    int32_t at = 0;
    for (int32_t id = 0; id < source.vocabulary; id++) {
        const int32_t first = at;
        for (int32_t row = 0; row < batch->tokens; row++)
            if (batch->ids[row] == id)
                made.order[at++] = row;
        if (at > first)
            made.runs[made.run_count++] = first;
    }
    made.runs[made.run_count] = at;
    at = 0;
    for (int32_t length = batch->tokens; length > 0; length--)
        for (int32_t i = 0; i < batch->sequences; i++)
            if (batch->starts[i + 1] - batch->starts[i] == length) {
                made.by_length[at++] = i;
                made.longest = made.longest > length ? made.longest : length;
            }
    return made;
}

static void orders_release(struct cuda_batch *batch)
{
    mem_free(batch->order);
    mem_free(batch->runs);
    mem_free(batch->by_length);
}

/* Calls the kernel of an op. */
#define KERNEL(op, ...) kernel_##op(NULL, precision, &(struct op##_args){__VA_ARGS__})

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

/* ---- attention ---- */

/* Removes the rows of a head at the places [from, end) of their sequences. */
static void leave_out(const struct batch *batch, struct head_batch *head, int32_t from, int32_t end)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < head->live; i++)
        if (batch->positions[head->index[i]] < from || batch->positions[head->index[i]] >= end)
            head->index[kept++] = head->index[i];
    head->live = kept;
}

/* shift is added to queries and subtracted from keys. few: queries are only the rows that heads read, in a separate
 * matrix. window: of struct attention_shape. */
static void attention_of(int32_t heads, const int32_t *lengths, int32_t sequences, uint32_t threshold, double scale,
                         double shift, bool few, int32_t window)
{
    struct batch batch = made_batch(&source, lengths, 3, sequences);
    if (few) { /* some sequences have no query */
        batch.heads[HEAD_NEXT].live = 0;
        for (int h = 0; h < HEAD_KINDS && window > 0; h++) /* nor has a tile of keys */
            leave_out(&batch, &batch.heads[h], 100, 400);
        made_read(&batch);
    }
    struct cuda_batch there = orders_of(&batch);
    const struct batch *read = few ? batch.read : &batch, *read_there = few ? batch.read : &there.batch;
    const size_t hidden = (size_t)heads * 64, total = (size_t)batch.token_rows, live = (size_t)batch.tokens;
    const size_t read_total = (size_t)read->token_rows, read_live = (size_t)read->tokens;
    const size_t q_stride = few ? hidden : 3 * hidden, kv_stride = few ? 2 * hidden : 3 * hidden;
    const size_t kv_from = few ? 0 : hidden;
    const struct attention_shape shape = {heads, 64, there.longest, window, {{3, 99}, threshold, 40, 0}};
    struct array kv = array_of(STORED, live * kv_stride, total * kv_stride, scale);
    struct array q = few ? array_of(STORED, read_live * hidden, read_total * hidden, scale) : kv;
    for (size_t i = 0; i < live * 3 * hidden && shift != 0; i++) {
        put(&q, i, q.values[i] + (i / hidden % 3 == 0 ? shift : i / hidden % 3 == 1 ? -shift : 0));
        q.values[i] = get(&q, i);
    }
    struct array dcontext = array_of(STORED, read_live * hidden, read_total * hidden, 1);
    struct array context = array_of(STORED, 0, read_total * hidden, 0);
    struct array dkv = array_of(STORED, 0, total * kv_stride, 0);
    struct array dq = few ? array_of(STORED, 0, read_total * hidden, 0) : dkv;
    struct array log_sums = array_of(REAL, 0, read_total * (size_t)heads, 0);
    const struct ops_limits limits = {batch.token_rows, 3 * (int32_t)hidden, 64, 64, there.longest, 64};
    void *scratch = mem_clear(1, kernel_scratch_bytes(&limits, precision) + 1);
    void *plain_scratch = mem_aligned(reference->scratch_bytes(reference->device, &limits));
#define STRIDES .q_stride = (int32_t)q_stride, .kv_stride = (int32_t)kv_stride
#define KV(x)   ((char *)(x).memory + kv_from * precision_kinds[precision].storage_size)
    CALL(reference, attention, .context = context.values, .log_sums = log_sums.values, .q = q.values,
         .kv = kv.values + kv_from, STRIDES, .batch = &batch, .queries = read, .shape = &shape,
         .scratch = plain_scratch);
    CALL(reference, attention_backward, .dq = dq.values, .dkv = dkv.values + kv_from, .dcontext = dcontext.values,
         .q = q.values, .kv = kv.values + kv_from, STRIDES, .context = context.values, .log_sums = log_sums.values,
         .batch = &batch, .queries = read, .shape = &shape, .scratch = plain_scratch);
    struct array *forward[] = {&context, &log_sums}, *backward[] = {&dq, &dkv};
    BOTH_ORDERS(forward,
                KERNEL(attention, .context = context.memory, .log_sums = log_sums.memory, .q = q.memory, .kv = KV(kv),
                       STRIDES, .batch = &there.batch, .queries = read_there, .shape = &shape, .scratch = scratch));
    const double wide = shift != 0 && precision == PRECISION_FP32 ? 5 : 1; /* large scores have larger rounding errors
                                                                            * */
    assert_close(&context, 2 * wide, "context");
    assert_close(&log_sums, 2, "log_sums");
    assert_zero_from(&context, read_live * hidden, "a dead row of context");
    BOTH_ORDERS(backward,
                KERNEL(attention_backward, .dq = dq.memory, .dkv = KV(dkv), .dcontext = dcontext.memory, .q = q.memory,
                       .kv = KV(kv), STRIDES, .context = context.memory, .log_sums = log_sums.memory,
                       .batch = &there.batch, .queries = read_there, .shape = &shape, .scratch = scratch));
#undef STRIDES
#undef KV
    assert_close(&dq, 3 * wide, "dq");
    assert_close(&dkv, 3 * wide, "dkv");
    assert_zero_from(&dq, read_live * q_stride, "a dead row of dq");
    assert_zero_from(&dkv, live * kv_stride, "a dead row of dkv");
    mem_free(scratch);
    mem_free(plain_scratch);
    struct array *all[] = {&kv, &dcontext, &context, &dkv, &log_sums, &q, &dq};
    for (size_t i = 0; i < (few ? 7 : 5); i++)
        release(all[i]);
    orders_release(&there);
    made_batch_release(&batch);
}

static void attentions(void)
{
    emulated_conflicts = 0;
    attention_of(2, (const int32_t[]){1, 7, 64, 33}, 4, 6554, 1, 0, false, 0);
    attention_of(1, (const int32_t[]){128, 65}, 2, 0, 4, 0, false, 0);
    attention_of(2, (const int32_t[]){1, 150, 2, 33}, 4, 6554, 1, 0, true, 0);
    if (precision != PRECISION_FP16) /* the layout for bf16 */
        attention_of(1, (const int32_t[]){130, 260}, 2, 16384, 2, 0, false, 0);
    attention_of(1, (const int32_t[]){67, 20}, 2, 6554, 0.5, 4, false,
                 0); /* scores near -128, whose exponentials underflow */
    /* Windows: of the query alone, within a tile, over tiles, as wide as the longest sequence. */
    attention_of(1, (const int32_t[]){1, 100, 70}, 3, 6554, 1, 0, false, 1);
    attention_of(1, (const int32_t[]){300, 7}, 2, 0, 1, 0, false, 32);
    attention_of(2, (const int32_t[]){260, 100}, 2, 6554, 1, 0, true, 129);
    if (precision == PRECISION_BF16) {
        attention_of(1, (const int32_t[]){700, 1, 200}, 3, 6554, 2, 0, false, 128);
        attention_of(1, (const int32_t[]){500, 3}, 2, 0, 1, 0, true, 20);
        attention_of(1, (const int32_t[]){200, 64}, 2, 0, 1, 0, false, 398);
    }
    assert_int_equal(emulated_conflicts, 0);
}

static void attention_is_right(void **state)
{
    (void)state;
    each_precision(attentions);
}

/* ---- rows ---- */

#define DEVICE reference->device

static const int32_t several[] = {1, 7, 64, 33, 100, 5};

static void norm_of(int32_t hidden, bool residual_too, bool bias_too, uint32_t threshold, float share)
{
    struct batch batch = made_batch(&source, several, 3, 6);
    struct cuda_batch there = orders_of(&batch);
    const size_t live = (size_t)batch.tokens, total = (size_t)batch.token_rows, width = (size_t)hidden;
    const struct rows rows = {batch.tokens, batch.token_rows};
    const struct dropout dropout = {{7, 9}, threshold, 5, share};
    struct array x = array_of(STORED, live * width, total * width, 2), z = array_of(STORED, 0, total * width, 0);
    struct array residual = array_of(STORED, live * width, total * width, 2), y = array_of(STORED, 0, total * width, 0);
    struct array gain = array_of(REAL, width, width, 1), bias = array_of(REAL, width, width, 1);
    struct array statistics = array_of(REAL, 0, total * 2, 0);
    CALL(reference, norm, .y = y.values, .z = z.values, .statistics = statistics.values, .x = x.values,
         .residual = residual_too ? residual.values : NULL, .gain = gain.values, .bias = bias_too ? bias.values : NULL,
         .epsilon = 1e-12, .rows = rows, .hidden = hidden, .batch = &batch, .dropout = &dropout);
    struct array *forward[] = {&y, &z, &statistics};
    BOTH_ORDERS(forward, KERNEL(norm, .y = y.memory, .z = z.memory, .statistics = statistics.memory, .x = x.memory,
                                .residual = residual_too ? residual.memory : NULL, .gain = gain.memory,
                                .bias = bias_too ? bias.memory : NULL, .epsilon = 1e-12, .rows = rows, .hidden = hidden,
                                .batch = &there.batch, .dropout = &dropout));
    assert_close(&z, 1, "sum of norm");
    assert_close(&y, 3, "norm");
    assert_close(&statistics, precision == PRECISION_FP32 ? 1 : 300, "statistics");
    assert_zero_from(&y, live * width, "a dead row of norm");
    assert_zero_from(&z, live * width, "a dead row of norm's sum");

    /* The backward pass from exactly the same z and statistics; dx replaces dy, or dz does. */
    for (size_t i = 0; i < z.count; i++)
        z.values[i] = get(&z, i);
    for (size_t i = 0; i < statistics.count; i++)
        statistics.values[i] = get(&statistics, i);
    for (int beta = 0; beta < 2; beta++) {
        struct array dy = array_of(STORED, live * width, total * width, 1);
        struct array other = array_of(STORED, live * width, total * width, 1);
        struct array dgain = array_of(REAL, width, width, 1), dbias = array_of(REAL, width, width, 1);
        struct array *dx = beta ? &dy : &other, *dz = beta ? &other : &dy;
        const struct ops_limits limits = {rows.total, hidden, 64, 64, 1, 1};
        void *scratch = mem_clear(1, kernel_scratch_bytes(&limits, precision) + 1);
        void *plain_scratch = mem_aligned(reference->scratch_bytes(DEVICE, &limits));
        CALL(reference, norm_backward, .dx = dx->values, .dz = dz->values, .adds = beta, .dgain = dgain.values,
             .dbias = bias_too ? dbias.values : NULL, .dy = dy.values, .z = z.values, .statistics = statistics.values,
             .gain = gain.values, .rows = rows, .hidden = hidden, .batch = &batch, .dropout = &dropout,
             .scratch = plain_scratch);
        struct array *backward[] = {&dy, &other, &dgain, &dbias};
        BOTH_ORDERS(backward, KERNEL(norm_backward, .dx = dx->memory, .dz = dz->memory, .adds = beta,
                                     .dgain = dgain.memory, .dbias = bias_too ? dbias.memory : NULL, .dy = dy.memory,
                                     .z = z.memory, .statistics = statistics.memory, .gain = gain.memory, .rows = rows,
                                     .hidden = hidden, .batch = &there.batch, .dropout = &dropout, .scratch = scratch));
        assert_close(dz, 2, "dz");
        assert_close(dx, 2, "dx");
        assert_close(&dgain, 2, "dgain");
        assert_close(&dbias, 2, "dbias");
        assert_zero_from(&dy, live * width, "a dead row of norm_backward");
        assert_zero_from(&other, live * width, "a dead row of norm_backward");
        mem_free(scratch);
        mem_free(plain_scratch);
        release(&dy);
        release(&other);
        release(&dgain);
        release(&dbias);
    }
    struct array *all[] = {&x, &z, &residual, &y, &gain, &bias, &statistics};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    orders_release(&there);
    made_batch_release(&batch);
}

static void norms(void)
{
    norm_of(1024, true, true, 6554, 0);
    norm_of(768, true, false, 6554, 0.5f);
    if (precision == PRECISION_FP16)
        return;
    norm_of(200, false, true, 0, 0.25f);
    norm_of(512, true, true, 0, 0);
    norm_of(1544, false, true, 100, 0);
    norm_of(37, true, false, 30000, 0);
    norm_of(2064, true, true, 0, 0);
}

/* words_alone: there is no table of positions, nor of segments. */
static void embed_of(int32_t hidden, int32_t ids, int32_t only, bool words_alone)
{
    static const int32_t lengths[] = {100, 3, 128, 40, 77};
    struct batch batch = made_batch(&source, lengths, 3, 5);
    for (int32_t row = 0; row < batch.tokens && ids < source.vocabulary; row++)
        batch.ids[row] = only + batch.ids[row] % ids;
    struct cuda_batch there = orders_of(&batch);
    const size_t live = (size_t)batch.tokens, total = (size_t)batch.token_rows, width = (size_t)hidden;
    const size_t words = (size_t)source.vocabulary * width, places = 128 * width;
    struct array word = array_of(STORED, words, words, 1), position = array_of(STORED, places, places, 1);
    struct array type = array_of(STORED, 2 * width, 2 * width, 1), y = array_of(STORED, 0, total * width, 0);
#define TABLE(array, member) (words_alone ? NULL : (array).member)
    CALL(reference, embed, .y = y.values, .word = word.values, .position = TABLE(position, values),
         .type = TABLE(type, values), .batch = &batch, .hidden = hidden);
    struct array *forward[] = {&y};
    BOTH_ORDERS(forward, KERNEL(embed, .y = y.memory, .word = word.memory, .position = TABLE(position, memory),
                                .type = TABLE(type, memory), .batch = &there.batch, .hidden = hidden));
    assert_close(&y, 1, "embed");
    assert_zero_from(&y, live * width, "a dead row of embed");

    struct array dy = array_of(STORED, live * width, total * width, 1), dword = array_of(REAL, words, words, 1);
    struct array dposition = array_of(REAL, places, places, 1), dtype = array_of(REAL, 2 * width, 2 * width, 1);
    const struct ops_limits limits = {batch.token_rows, hidden, 64, 64, 128, 64};
    void *scratch = mem_clear(1, kernel_scratch_bytes(&limits, precision) + 1);
    CALL(reference, embed_backward, .dword = dword.values, .dposition = TABLE(dposition, values),
         .dtype = TABLE(dtype, values), .dy = dy.values, .batch = &batch, .hidden = hidden);
    struct array *backward[] = {&dword, &dposition, &dtype};
    BOTH_ORDERS(backward, KERNEL(embed_backward, .dword = dword.memory, .dposition = TABLE(dposition, memory),
                                 .dtype = TABLE(dtype, memory), .dy = dy.memory, .batch = &there.batch,
                                 .hidden = hidden, .scratch = scratch));
    assert_close(&dword, 2, "dword");
    assert_close(&dposition, 2, "dposition");
    assert_close(&dtype, 2, "dtype");
#undef TABLE
    mem_free(scratch);
    struct array *all[] = {&word, &position, &type, &y, &dy, &dword, &dposition, &dtype};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    orders_release(&there);
    made_batch_release(&batch);
}

static void embeds(void)
{
    embed_of(64, 90, 0, false);  /* runs within chunks and over one border */
    embed_of(1100, 2, 0, false); /* runs over many chunks; more columns than one block handles */
    embed_of(72, 1, 89, false);  /* one id alone, the last one */
    embed_of(13, 5, 40, false);
    embed_of(72, 90, 0, true);
    embed_of(13, 3, 1, true);
}

static void row_work_of(int32_t hidden)
{
    const struct rows rows = {77, 128};
    const size_t width = (size_t)hidden, live = 77 * width, total = 128 * width;
    int32_t index[128];
    for (int32_t i = 0; i < 128; i++)
        index[i] = i < 77 ? 150 - 2 * i % 151 + (i > 75) : -1;
    struct array x = array_of(STORED, 200 * width, 200 * width, 1), y = array_of(STORED, 0, total, 0);
    struct array *picked[] = {&y}, *added[] = {&x};
    CALL(reference, gather, .y = y.values, .x = x.values, .index = index, .rows = rows, .hidden = hidden);
    BOTH_ORDERS(picked, KERNEL(gather, .y = y.memory, .x = x.memory, .index = index, .rows = rows, .hidden = hidden));
    assert_close(&y, 0, "gather");
    CALL(reference, scatter, .y = x.values, .x = y.values, .index = index, .rows = rows, .hidden = hidden);
    BOTH_ORDERS(added, KERNEL(scatter, .y = x.memory, .x = y.memory, .index = index, .rows = rows, .hidden = hidden));
    assert_close(&x, 1, "scatter");

    struct array t = array_of(STORED, live, total, 3), dt = array_of(STORED, live, total, 1);
    struct array *one[] = {&t}, *two[] = {&dt};
    for (int gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        CALL(reference, gelu_backward, .dy = dt.values, .pre = t.values, .rows = rows, .columns = hidden,
             .gelu = (enum gelu)gelu);
        BOTH_ORDERS(two, KERNEL(gelu_backward, .dy = dt.memory, .pre = t.memory, .rows = rows, .columns = hidden,
                                .gelu = (enum gelu)gelu));
        assert_close(&dt, 3, "gelu_backward");
        for (size_t i = 0; i < dt.count; i++)
            dt.values[i] = get(&dt, i);
        memcpy(dt.before, dt.memory, dt.count * dt.size);
    }
    CALL(reference, tanh_rows, .x = t.values, .rows = rows, .columns = hidden);
    BOTH_ORDERS(one, KERNEL(tanh_rows, .x = t.memory, .rows = rows, .columns = hidden));
    assert_close(&t, 1, "tanh");
    for (size_t i = 0; i < t.count; i++)
        t.values[i] = get(&t, i);
    CALL(reference, tanh_backward, .dy = dt.values, .y = t.values, .rows = rows, .columns = hidden);
    BOTH_ORDERS(two, KERNEL(tanh_backward, .dy = dt.memory, .y = t.memory, .rows = rows, .columns = hidden));
    assert_close(&dt, 3, "tanh_backward");

    /* The kernels for products without a fused epilogue: GELU, bias, gradient of a bias. */
    struct array b = array_of(REAL, width, width, 1), sums = array_of(REAL, width, width, 1);
    struct array pre = array_of(STORED, total, total, 3), after = array_of(STORED, 0, total, 0);
    const struct ops_limits limits = {rows.total, hidden, 64, 64, 1, 1};
    void *scratch = mem_clear(1, kernel_scratch_bytes(&limits, precision) + 1);
    for (size_t i = 0; i < total; i++) {
        after.values[i] = i < live ? pre.values[i] * 0.5 * erfc(-pre.values[i] * sqrt(0.5)) : 0;
        pre.values[i] = i < live ? pre.values[i] : 0;
        sums.values[i % width] += pre.values[i];
    }
    struct array *gelu[] = {&after, &pre}, *biased[] = {&pre}, *summed[] = {&sums};
    BOTH_ORDERS(gelu, kernel_gelu(NULL, precision, after.memory, pre.memory, rows, hidden, GELU_ERF));
    assert_close(&after, 2, "gelu");
    assert_close(&pre, 0, "what gelu was made of");
    BOTH_ORDERS(summed, kernel_column_sums(NULL, precision, sums.memory, pre.memory, rows, hidden, scratch));
    assert_close(&sums, 2, "column_sums");
    for (size_t i = 0; i < total; i++)
        pre.values[i] = i < live ? get(&pre, i) + b.values[i % width] : 0;
    memcpy(pre.before, pre.memory, pre.count * pre.size);
    BOTH_ORDERS(biased, kernel_add_bias(NULL, precision, pre.memory, b.memory, rows, hidden));
    assert_close(&pre, 1, "add_bias");
    mem_free(scratch);
    struct array *all[] = {&x, &y, &t, &dt, &b, &sums, &pre, &after};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static void flat_work(void)
{
    struct array x = array_of(REAL, 4003, 4003, 5), y = array_of(STORED, 0, 4003, 0), z = array_of(REAL, 4003, 4003, 5);
    struct array *out[] = {&y}, *sum[] = {&z};
    KERNEL(convert, .y = y.memory, .x = x.memory, .count = 4000);
    BOTH_ORDERS(out, KERNEL(convert, .y = y.memory, .x = x.memory, .count = 4003));
    memcpy(y.values, x.values, 4003 * sizeof *y.values);
    assert_close(&y, 1, "convert");
    for (size_t i = 0; i < 4003; i++)
        z.values[i] += x.values[i];
    BOTH_ORDERS(sum, kernel_add(NULL, z.memory, x.memory, 4003));
    assert_close(&z, 1, "add");
    release(&x);
    release(&y);
    release(&z);
}

static void drops_of(int32_t hidden)
{
    struct batch batch = made_batch(&source, several, 3, 6);
    struct cuda_batch there = orders_of(&batch);
    const size_t live = (size_t)(batch.tokens * hidden), total = (size_t)(batch.token_rows * hidden);
    const struct dropout dropout = {{1, 2}, 20000, 3, 0};
    struct array x = array_of(STORED, live, total, 1);
    struct array *all[] = {&x};
    const struct rows rows = {batch.tokens, batch.token_rows};
    CALL(reference, dropout, .y = x.values, .x = x.values, .batch = &batch, .rows = rows, .hidden = hidden,
         .dropout = &dropout);
    BOTH_ORDERS(all, KERNEL(dropout, .y = x.memory, .x = x.memory, .batch = &there.batch, .rows = rows,
                            .hidden = hidden, .dropout = &dropout));
    assert_close(&x, 1, "dropout");
    release(&x);

    const struct head_batch *first = &batch.heads[HEAD_CLASS];
    const struct rows few = {first->live, first->total};
    struct array from = array_of(STORED, (size_t)(few.live * hidden), (size_t)(few.total * hidden), 1);
    struct array to = array_of(STORED, 0, (size_t)(few.total * hidden), 0), *picked[] = {&to};
    CALL(reference, dropout, .y = to.values, .x = from.values, .batch = &batch, .index = first->index, .rows = few,
         .hidden = hidden, .dropout = &dropout);
    BOTH_ORDERS(picked, KERNEL(dropout, .y = to.memory, .x = from.memory, .batch = &there.batch, .index = first->index,
                               .rows = few, .hidden = hidden, .dropout = &dropout));
    assert_close(&to, 1, "dropout of picked rows");
    release(&from);
    release(&to);
    orders_release(&there);
    made_batch_release(&batch);
}

/* ---- what ModernBERT needs besides ---- */

static void glu_of(int32_t columns)
{
    const struct rows rows = {77, 128};
    const size_t width = (size_t)columns, live = 77 * width, total = 128 * width;
    struct array x = array_of(STORED, 2 * live, 2 * total, 4), dy = array_of(STORED, live, total, 1);
    for (int gelu = GELU_TANH; gelu <= SILU; gelu++) {
        struct array y = array_of(STORED, 0, total, 0), dx = array_of(STORED, 0, 2 * total, 0);
        struct array *forward[] = {&y}, *backward[] = {&dx};
        CALL(reference, glu, .y = y.values, .x = x.values, .rows = rows, .columns = columns, .gelu = (enum gelu)gelu);
        BOTH_ORDERS(forward, KERNEL(glu, .y = y.memory, .x = x.memory, .rows = rows, .columns = columns,
                                    .gelu = (enum gelu)gelu));
        assert_close(&y, 2, "glu");
        assert_zero_from(&y, live, "a dead row of glu");
        CALL(reference, glu_backward, .dx = dx.values, .dy = dy.values, .x = x.values, .rows = rows, .columns = columns,
             .gelu = (enum gelu)gelu);
        BOTH_ORDERS(backward, KERNEL(glu_backward, .dx = dx.memory, .dy = dy.memory, .x = x.memory, .rows = rows,
                                     .columns = columns, .gelu = (enum gelu)gelu));
        assert_close(&dx, 3, "glu_backward");
        assert_zero_from(&dx, 2 * live, "a dead row of glu_backward");
        release(&y);
        release(&dx);
    }
    release(&x);
    release(&dy);
}

/* The queries of rows of [q | k | v], whose keys and values must not change; forwards and back. */
static void rotate_of(int32_t heads, int32_t size, int32_t stride)
{
    struct batch batch = made_batch(&source, several, 3, 6);
    struct cuda_batch there = orders_of(&batch);
    const size_t live = (size_t)(batch.tokens * stride), total = (size_t)(batch.token_rows * stride);
    const size_t places = (size_t)(there.longest * size);
    struct array x = array_of(STORED, live, total, 2), turns = array_of(REAL, places, places, 1);
    struct array *all[] = {&x};
    for (int back = 0; back < 2; back++) {
        CALL(reference, rotate, .x = x.values, .stride = stride, .turns = turns.values, .batch = &batch, .heads = heads,
             .head_size = size, .back = back);
        BOTH_ORDERS(all, KERNEL(rotate, .x = x.memory, .stride = stride, .turns = turns.memory, .batch = &there.batch,
                                .heads = heads, .head_size = size, .back = back));
        assert_close(&x, 1, back ? "rotate back" : "rotate");
        for (size_t i = 0; i < live; i++)
            if (i % (size_t)stride >= (size_t)(heads * size))
                assert_true(get(&x, i) == x.values[i]);
        assert_zero_from(&x, live, "a dead row of rotate");
        for (size_t i = 0; i < total; i++)
            x.values[i] = get(&x, i);
        memcpy(x.before, x.memory, x.count * x.size);
    }
    release(&x);
    release(&turns);
    orders_release(&there);
    made_batch_release(&batch);
}

/* Means of the first, third and last of the sequences. */
static void means_of(int32_t hidden)
{
    struct batch batch = made_batch(&source, several, 3, 6);
    struct cuda_batch there = orders_of(&batch);
    const struct rows rows = {3, 64};
    const int32_t index[] = {batch.starts[0], batch.starts[2] + 5, batch.starts[5]};
    const size_t width = (size_t)hidden, live = (size_t)batch.tokens * width, total = (size_t)batch.token_rows * width;
    struct array x = array_of(STORED, live, total, 1), y = array_of(STORED, 0, 64 * width, 0);
    struct array dx = array_of(STORED, live, total, 1), dy = array_of(STORED, 3 * width, 64 * width, 1);
    struct array *forward[] = {&y}, *backward[] = {&dx};
    CALL(reference, sequence_mean, .y = y.values, .x = x.values, .batch = &batch, .index = index, .rows = rows,
         .hidden = hidden);
    BOTH_ORDERS(forward, KERNEL(sequence_mean, .y = y.memory, .x = x.memory, .batch = &there.batch, .index = index,
                                .rows = rows, .hidden = hidden));
    assert_close(&y, 1, "sequence_mean");
    assert_zero_from(&y, 3 * width, "a dead row of sequence_mean");
    CALL(reference, sequence_mean_backward, .dx = dx.values, .dy = dy.values, .batch = &batch, .index = index,
         .rows = rows, .hidden = hidden);
    BOTH_ORDERS(backward, KERNEL(sequence_mean_backward, .dx = dx.memory, .dy = dy.memory, .batch = &there.batch,
                                 .index = index, .rows = rows, .hidden = hidden));
    assert_close(&dx, 1, "sequence_mean_backward");
    assert_zero_from(&dx, live, "a dead row of sequence_mean_backward");
    struct array *all[] = {&x, &y, &dx, &dy};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    orders_release(&there);
    made_batch_release(&batch);
}

static void modern_works(void)
{
    glu_of(96);
    glu_of(19);
    rotate_of(2, 64, 384);
    rotate_of(1, 64, 64);
    rotate_of(3, 10, 33);
    means_of(72);
    means_of(21);
}

static void row_works(void)
{
    modern_works();
    row_work_of(64);
    row_work_of(1032);
    row_work_of(19);
    flat_work();
    drops_of(72);
    drops_of(21);
}

/* ---- loss ---- */

static void loss_of(int32_t live, int32_t total, int32_t vocabulary, int32_t columns, double scale, double factor)
{
    const size_t width = (size_t)columns, rows_total = (size_t)total;
    const struct rows rows = {live, total};
    struct array logits = array_of(STORED, rows_total * width, rows_total * width, scale);
    int32_t *labels = mem_array(rows_total, sizeof *labels);
    for (int32_t row = 0; row < live; row++) {
        double *own = logits.values + (size_t)row * width;
        int32_t most = 0;
        for (int32_t i = 1; i < vocabulary; i++)
            most = own[i] > own[most] ? i : most;
        labels[row] = row % 3 == 0 ? most : (row * 7919 + 1) % vocabulary;
        const int32_t twin = row % 2 ? vocabulary - 1 : 0; /* another column, before or after the label, with the same
                                                            * logit */
        put(&logits, (size_t)row * width + (size_t)twin, own[labels[row]]);
        own[twin] = own[labels[row]];
        for (int32_t i = vocabulary; i < columns; i++) { /* padding columns with values larger than every logit */
            put(&logits, (size_t)row * width + (size_t)i, 3 * scale);
            own[i] = 3 * scale;
        }
    }
    memcpy(logits.before, logits.memory, logits.count * logits.size);
    void *scratch = mem_clear(rows_total, 2 * sizeof(double));
    double wanted[2] = {1, 2}, sums[2], *each = mem_clear(4 * (size_t)live, sizeof *each), *results = each + 2 * live;
    CALL(reference, loss, .sums = wanted, .results = each, .logits = logits.values, .labels = labels, .rows = rows,
         .columns = columns, .vocabulary = vocabulary, .factor = factor, .scratch = scratch);
    struct array *all[] = {&logits};
    BOTH_ORDERS(all, sums[0] = 1; sums[1] = 2;
                KERNEL(loss, .sums = sums, .results = results, .logits = logits.memory, .labels = labels, .rows = rows,
                       .columns = columns, .vocabulary = vocabulary, .factor = factor, .scratch = scratch));
    assert_true(fabs(sums[0] - wanted[0]) < 1e-5 * wanted[0]);
    assert_true(sums[1] == wanted[1]);
    for (int32_t i = 0; i < live; i++) {
        assert_true(fabs(results[2 * i] - each[2 * i]) < 1e-5 * fabs(each[2 * i]) + 1e-5);
        assert_true(results[2 * i + 1] == each[2 * i + 1]);
    }
    if (factor != 0) {
        assert_close(&logits, 1, "loss");
        assert_zero_from(&logits, (size_t)live * width, "a dead row of loss");
    }
    mem_free(each);
    mem_free(scratch);
    mem_free(labels);
    release(&logits);
}

/* Spans and squared errors, and dropout of picked rows. */
static void task_losses(double factor)
{
    struct batch batch = made_batch(&source, several, 3, 6);
    struct cuda_batch there = orders_of(&batch);
    const struct head_batch *span = &batch.heads[HEAD_SPAN], *class = &batch.heads[HEAD_CLASS];
    const size_t live = 2 * (size_t)batch.tokens, total = 2 * (size_t)batch.token_rows;
    const struct rows rows = {class->live, class->total};
    struct array logits = array_of(STORED, live, total, 4);
    struct array numbers = array_of(STORED, (size_t)rows.live, (size_t)rows.total, 4);
    void *scratch = mem_clear((size_t)batch.token_rows, 2 * sizeof(double));
    double wanted[2] = {1, 2}, sums[2];
    int32_t *labels = mem_array((size_t)rows.live, sizeof *labels);
    for (int32_t i = 0; i < rows.live; i++)
        memcpy(&labels[i], &(const float){(float)i / 2}, sizeof(float));
    for (int32_t i = 0; i < batch.sequences; i += 2) { /* the label has the largest logit, the first one of that value
                                                        * */
        put(&logits, 2 * (size_t)span->index[i], 5);
        put(&logits, 2 * (size_t)(batch.starts[i] + span->labels[i]) + 1, 5);
        logits.values[2 * span->index[i]] = logits.values[2 * (batch.starts[i] + span->labels[i]) + 1] = 5;
    }
    memcpy(logits.before, logits.memory, logits.count * logits.size);
    CALL(reference, span_loss, .sums = wanted, .logits = logits.values, .batch = &batch, .first = span->index,
         .last = span->labels, .factor = factor, .scratch = scratch);
    struct array *spans[] = {&logits}, *squares[] = {&numbers};
    BOTH_ORDERS(spans, sums[0] = 1; sums[1] = 2;
                KERNEL(span_loss, .sums = sums, .logits = logits.memory, .batch = &there.batch, .first = span->index,
                       .last = span->labels, .factor = factor, .scratch = scratch));
    assert_true(fabs(sums[0] - wanted[0]) < 1e-5 * wanted[0] && sums[1] == wanted[1] && sums[1] >= 5);
    assert_close(&logits, 1, "span_loss");
    CALL(reference, square_loss, .sums = wanted, .logits = numbers.values, .labels = labels, .rows = rows,
         .factor = factor);
    BOTH_ORDERS(squares, sums[0] = wanted[0]; KERNEL(square_loss, .sums = sums, .logits = numbers.memory,
                                                     .labels = labels, .rows = rows, .factor = factor));
    assert_close(&numbers, 1, "square_loss");
    struct array per_bit = array_of(STORED, 33 * (size_t)rows.live, 33 * (size_t)rows.total, 4);
    struct array *bits[] = {&per_bit};
    for (int32_t i = 0; i < rows.live; i++)
        labels[i] = i * 77;
    wanted[0] = wanted[1] = 1;
    CALL(reference, bits_loss, .sums = wanted, .logits = per_bit.values, .labels = labels, .rows = rows, .columns = 33,
         .factor = factor);
    BOTH_ORDERS(bits, sums[0] = sums[1] = 1; KERNEL(bits_loss, .sums = sums, .logits = per_bit.memory, .labels = labels,
                                                    .rows = rows, .columns = 33, .factor = factor));
    assert_true(fabs(sums[0] - wanted[0]) < 1e-5 * wanted[0] && sums[1] == wanted[1]);
    assert_close(&per_bit, 1, "bits_loss");
    release(&per_bit);
    mem_free(labels);
    mem_free(scratch);
    release(&logits);
    release(&numbers);
    orders_release(&there);
    made_batch_release(&batch);
}

static void losses(void)
{
    task_losses(0);
    task_losses(0.25);
    loss_of(10, 64, 2, 2, 1, 0.25);
    loss_of(5, 6, 101, 104, 4, 8);
    loss_of(4, 5, 30522, 30528, 6, 0.125);
    loss_of(2, 2, 40001, 40064, 6, 1);
    loss_of(4, 5, 999, 1001, 2, 0);
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

#define CASE(name, cases)                                                                                              \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        each_precision(cases);                                                                                         \
    }

CASE(norm_is_right, norms)
CASE(embedding_is_right, embeds)
CASE(rows_are_moved_right, row_works)
CASE(loss_is_right, losses)
CASE(updates_are_right, updates)
CASE(matrices_are_right, matrices)

/* The same integers as on the CPU, and the same floats back. */
static void gradients_convert_to_integers_and_back(void **state)
{
    (void)state;
    precision = PRECISION_FP32;
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
static void bits_are_those_of_the_cpu(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_right),
        cmocka_unit_test(norm_is_right),
        cmocka_unit_test(embedding_is_right),
        cmocka_unit_test(rows_are_moved_right),
        cmocka_unit_test(loss_is_right),
        cmocka_unit_test(updates_are_right),
        cmocka_unit_test(matrices_are_right),
        cmocka_unit_test(gradients_convert_to_integers_and_back),
        cmocka_unit_test(bits_are_those_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
