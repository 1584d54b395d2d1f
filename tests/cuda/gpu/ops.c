/* Each op against the CPU backend: odd sizes, sizes of real models, lengths 1 to 512, empty masks. Outputs begin as
 * NaN, and every op runs twice on the backend under test and must give the same bits. */
#include <math.h>

#include "tests/cuda/gpu/sides.h"

#define FP32 1e-5 /* allowed relative L2 distance in fp32 */

static void *scratch_on[SIDES];

static void take_scratch(const struct ops_limits *limits)
{
    EACH_SIDE (s)
        scratch_on[s] = OPS(s)->allocate(OPS(s)->device, OPS(s)->scratch_bytes(OPS(s)->device, limits));
}

static void drop_scratch(void)
{
    EACH_SIDE (s)
        OPS(s)->release(OPS(s)->device, scratch_on[s]);
}

static void release_all(struct array *const *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        array_release(arrays[i]);
}
#define RELEASE(...)                                                                                                   \
    release_all((struct array *const[]){__VA_ARGS__}, sizeof((struct array *const[]){__VA_ARGS__}) / sizeof(void *))

/* Whether the side under test wrote the same bits into both. */
static void compare_bits(const struct array *a, const struct array *b, const char *what)
{
    double *values[2];
    for (int i = 0; i < 2; i++) {
        values[i] = mem_array(a->count, sizeof(double));
        array_get(i == 0 ? a : b, TESTED, values[i]);
    }
    check(memcmp(values[0], values[1], a->count * sizeof(double)) == 0, "%s %s: two runs differ", sides_name(), what);
    mem_free(values[0]);
    mem_free(values[1]);
}

/* ---- products ---- */

/* In a model, biases are in converted memory and can be fused into the product; `converted` does the same here. */
static void forward(struct rows rows, int32_t out, int32_t in, bool converted)
{
    const size_t live = (size_t)rows.live, total = (size_t)rows.total, width = (size_t)out, depth = (size_t)in;
    struct array x = array_random(live * depth, total * depth, STORED, 1);
    struct array w = array_random(width * depth, width * depth, STORED, 2 / sqrt((double)in));
    struct array b = array_random(width, width, REAL, 1), small = array_nan(width, STORED);
    struct array y = array_nan(total * width, STORED), again = array_nan(total * width, STORED);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        if (converted)
            CALL(ops, convert, .y = AT(small), .x = AT(b), .count = width);
        CALL(ops, linear, .y = AT(y), .x = AT(x), .w = AT(w), .b = AT(b), .rows = rows, .out = out, .in = in);
        CALL(ops, linear, .y = AT(again), .x = AT(x), .w = AT(w), .b = AT(b), .rows = rows, .out = out, .in = in);
    }
    compare(&y, FP32, "linear %d x %d x %d", rows.total, out, in);
    compare_zero_from(&y, live * width, "dead rows of linear");
    compare_bits(&y, &again, "linear");
    EACH_SIDE (s)
        CALL(OPS(s), linear, .y = AT(y), .x = AT(x), .w = AT(w), .rows = rows, .out = out, .in = in);
    compare(&y, FP32, "linear without bias %d x %d x %d", rows.total, out, in);
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        struct array pre = array_nan(total * width, STORED), act = array_nan(total * width, STORED);
        EACH_SIDE (s) {
            const struct ops *ops = OPS(s);
            if (converted)
                CALL(ops, convert, .y = AT(small), .x = AT(b), .count = width);
            CALL(ops, linear_gelu, .pre = AT(pre), .y = AT(act), .x = AT(x), .w = AT(w), .b = AT(b), .rows = rows,
                 .out = out, .in = in, .gelu = gelu);
        }
        compare(&pre, FP32, "linear before GELU %d, %d x %d x %d", (int)gelu, rows.total, out, in);
        compare(&act, FP32, "GELU %d after linear %d x %d x %d", (int)gelu, rows.total, out, in);
        compare_zero_from(&pre, live * width, "dead rows before GELU");
        compare_zero_from(&act, live * width, "dead rows of GELU");
        RELEASE(&pre, &act);
    }
    RELEASE(&x, &w, &b, &small, &y, &again);
}

static void backward(struct rows rows, int32_t out, int32_t in)
{
    const size_t live = (size_t)rows.live, total = (size_t)rows.total, width = (size_t)out, depth = (size_t)in;
    struct array x = array_random(live * depth, total * depth, STORED, 1);
    struct array w = array_random(width * depth, width * depth, STORED, 2 / sqrt((double)out));
    struct array dy = array_random(live * width, total * width, STORED, 1);
    struct array pre = array_random(live * depth, total * depth, STORED, 3);
    static const char *const kinds[] = {"", " added", " with tanh-GELU", " with erf-GELU"};
    for (int kind = 0; kind < 4; kind++) {
        struct array dx =
            kind == 1 ? array_random(live * depth, total * depth, STORED, 1) : array_nan(total * depth, STORED);
        EACH_SIDE (s)
            CALL(OPS(s), linear_backward_input, .dx = AT(dx), .adds = kind == 1, .dy = AT(dy), .w = AT(w),
                 .pre = kind >= 2 ? AT(pre) : NULL, .rows = rows, .out = out, .in = in,
                 .gelu = kind == 3 ? GELU_ERF : GELU_TANH);
        compare(&dx, FP32, "linear_backward_input%s %d x %d x %d", kinds[kind], rows.total, out, in);
        compare_zero_from(&dx, live * depth, "dead rows of linear_backward_input");
        array_release(&dx);
    }
    struct array dw = array_random(width * depth, width * depth, REAL, 1), db = array_random(width, width, REAL, 1);
    struct array dw_again = array_copy(&dw), db_again = array_copy(&db);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        CALL(ops, linear_backward_weight, .dw = AT(dw), .db = AT(db), .dy = AT(dy), .x = AT(x), .rows = rows,
             .out = out, .in = in, .scratch = scratch_on[s]);
        CALL(ops, linear_backward_weight, .dw = AT(dw_again), .db = AT(db_again), .dy = AT(dy), .x = AT(x),
             .rows = rows, .out = out, .in = in, .scratch = scratch_on[s]);
    }
    compare(&dw, FP32, "linear_backward_weight %d x %d x %d", rows.total, out, in);
    compare(&db, FP32, "bias of linear_backward_weight %d x %d x %d", rows.total, out, in);
    compare_bits(&dw, &dw_again, "linear_backward_weight");
    compare_bits(&db, &db_again, "bias of linear_backward_weight");
    EACH_SIDE (s)
        CALL(OPS(s), linear_backward_weight, .dw = AT(dw), .dy = AT(dy), .x = AT(x), .rows = rows, .out = out, .in = in,
             .scratch = scratch_on[s]);
    compare(&dw, FP32, "linear_backward_weight without bias");
    RELEASE(&x, &w, &dy, &pre, &dw, &db, &dw_again, &db_again);
}

static void check_products(void)
{
    static const struct {
        struct rows rows;
        int32_t out, in;
    } sizes[] = {
        {{1, 64}, 1, 1},        {{3, 64}, 2, 33},       {{100, 128}, 70, 45},    {{64, 64}, 96, 32},
        {{261, 320}, 130, 65},  {{7, 64}, 1100, 12},    {{1090, 1152}, 20, 30},  {{9, 64}, 2, 128},
        {{500, 512}, 768, 256}, {{512, 512}, 256, 768}, {{77, 128}, 1024, 1024}, {{300, 320}, 2112, 128},
    };
    take_scratch(&(struct ops_limits){1152, 2112, 1152, 2112, 1, 64});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        forward(sizes[i].rows, sizes[i].out, sizes[i].in, false);
        forward(sizes[i].rows, sizes[i].out, sizes[i].in, true);
        backward(sizes[i].rows, sizes[i].out, sizes[i].in);
    }
    drop_scratch();
}

/* ---- ops that need a batch ---- */

struct case_batch {
    struct batch host;
    const struct batch *on[SIDES];
};

static void upload_all(struct case_batch *batch, const int32_t *lengths, int32_t count, int32_t vocabulary,
                       int32_t masked_every)
{
    const struct made_source source = {3, vocabulary, masked_every};
    batch->host = made_batch(&source, lengths, 7, count);
    EACH_SIDE (s)
        batch->on[s] = OPS(s)->upload(OPS(s)->device, &batch->host);
}

static const struct dropout drops[] = {
    {.key = {11, 5}},
    {.key = {11, 5}, .threshold = 6554, .name = 12},
    {.key = {42, 977}, .threshold = 32768, .name = 3, .share = 0.75f},
};
enum { DROPS = sizeof drops / sizeof *drops };

static void norm_case(const struct case_batch *batch, int32_t hidden, const struct dropout *dropout, bool residual_too,
                      bool bias_too)
{
    const struct rows rows = {batch->host.tokens, batch->host.token_rows};
    const size_t live = (size_t)rows.live * (size_t)hidden, total = (size_t)rows.total * (size_t)hidden;
    const size_t width = (size_t)hidden;
    struct array x = array_random(live, total, STORED, 2), residual = array_random(live, total, STORED, 1);
    struct array gain = array_random(width, width, REAL, 1.5), bias = array_random(width, width, REAL, 1);
    struct array y = array_nan(total, STORED), z = array_copy(&x), again = array_nan(total, STORED);
    struct array statistics = array_nan(2 * (size_t)rows.total, REAL);
    EACH_SIDE (s) /* z in a buffer of its own; then in place of x, as in a model */
    {
        const struct ops *ops = OPS(s);
        CALL(ops, norm, .y = AT(again), .z = AT(y), .statistics = AT(statistics), .x = AT(x),
             .residual = residual_too ? AT(residual) : NULL, .gain = AT(gain), .bias = bias_too ? AT(bias) : NULL,
             .epsilon = 1e-12, .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout);
        CALL(ops, norm, .y = AT(y), .z = AT(z), .statistics = AT(statistics), .x = AT(z),
             .residual = residual_too ? AT(residual) : NULL, .gain = AT(gain), .bias = bias_too ? AT(bias) : NULL,
             .epsilon = 1e-12, .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout);
    }
    compare(&z, FP32, "norm's sum, width %d, dropout %u", hidden, dropout->threshold);
    compare(&y, FP32, "norm, width %d, dropout %u", hidden, dropout->threshold);
    compare(&statistics, FP32, "norm's statistics, width %d", hidden);
    compare_zero_from(&y, live, "dead rows of norm");
    compare_zero_from(&z, live, "dead rows of norm's sum");
    compare_bits(&y, &again, "norm");

    for (int beta = 0; beta < 2; beta++) {
        struct array dy = array_random(live, total, STORED, 1), dx = array_nan(total, STORED);
        struct array dz = beta ? array_random(live, total, STORED, 1) : array_nan(total, STORED);
        struct array dz_again = array_copy(&dz), dx_again = array_nan(total, STORED);
        struct array dgain = array_random(width, width, REAL, 1), dbias = array_random(width, width, REAL, 1);
        struct array dgain_again = array_copy(&dgain), dbias_again = array_copy(&dbias);
        EACH_SIDE (s) {
            const struct ops *ops = OPS(s);
            CALL(ops, norm_backward, .dx = AT(dx), .dz = AT(dz), .adds = beta, .dgain = AT(dgain),
                 .dbias = bias_too ? AT(dbias) : NULL, .dy = AT(dy), .z = AT(z), .statistics = AT(statistics),
                 .gain = AT(gain), .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout,
                 .scratch = scratch_on[s]);
            CALL(ops, norm_backward, .dx = AT(dx_again), .dz = AT(dz_again), .adds = beta, .dgain = AT(dgain_again),
                 .dbias = bias_too ? AT(dbias_again) : NULL, .dy = AT(dy), .z = AT(z), .statistics = AT(statistics),
                 .gain = AT(gain), .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout,
                 .scratch = scratch_on[s]);
        }
        compare(&dz, 3 * FP32, "norm_backward's dz, width %d, beta %d", hidden, beta);
        compare(&dx, 3 * FP32, "norm_backward's dx, width %d, beta %d", hidden, beta);
        compare(&dgain, 3 * FP32, "norm_backward's dgain, width %d", hidden);
        compare(&dbias, 3 * FP32, "norm_backward's dbias, width %d", hidden);
        compare_zero_from(&dz, live, "dead rows of dz");
        compare_zero_from(&dx, live, "dead rows of dx");
        compare_bits(&dz, &dz_again, "norm_backward");
        compare_bits(&dgain, &dgain_again, "dgain");
        compare_bits(&dbias, &dbias_again, "dbias");
        if (beta == 0) /* in place, without dropout: dx NULL, dz is dy */
            EACH_SIDE (s)
                CALL(OPS(s), norm_backward, .dz = AT(dy), .dgain = AT(dgain), .dbias = AT(dbias), .dy = AT(dy),
                     .z = AT(z), .statistics = AT(statistics), .gain = AT(gain), .rows = rows, .hidden = hidden,
                     .scratch = scratch_on[s]);
        if (beta == 0)
            compare(&dy, 3 * FP32, "norm_backward in place, width %d", hidden);
        RELEASE(&dy, &dx, &dz, &dz_again, &dx_again, &dgain, &dbias, &dgain_again, &dbias_again);
    }
    RELEASE(&x, &residual, &gain, &bias, &y, &z, &again, &statistics);
}

/* words_alone: there is no table of positions, nor of segments. */
static void embed_case(const struct case_batch *batch, int32_t hidden, int32_t vocabulary, bool words_alone)
{
    const struct batch *host = &batch->host;
    const size_t width = (size_t)hidden, live = (size_t)host->tokens * width, total = (size_t)host->token_rows * width;
    const size_t sizes[3] = {(size_t)vocabulary * width, 512 * width, 2 * width};
    struct array tables[3], slopes[3], slopes_again[3];
    for (int i = 0; i < 3; i++) {
        tables[i] = array_random(sizes[i], sizes[i], STORED, 1);
        slopes[i] = array_random(sizes[i], sizes[i], REAL, 1);
        slopes_again[i] = array_copy(&slopes[i]);
    }
    struct array y = array_nan(total, STORED), dy = array_random(live, total, STORED, 1);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        CALL(ops, embed, .y = AT(y), .word = AT(tables[0]), .position = words_alone ? NULL : AT(tables[1]),
             .type = words_alone ? NULL : AT(tables[2]), .batch = batch->on[s], .hidden = hidden);
        CALL(ops, embed_backward, .dword = AT(slopes[0]), .dposition = words_alone ? NULL : AT(slopes[1]),
             .dtype = words_alone ? NULL : AT(slopes[2]), .dy = AT(dy), .batch = batch->on[s], .hidden = hidden,
             .scratch = scratch_on[s]);
        CALL(ops, embed_backward, .dword = AT(slopes_again[0]), .dposition = words_alone ? NULL : AT(slopes_again[1]),
             .dtype = words_alone ? NULL : AT(slopes_again[2]), .dy = AT(dy), .batch = batch->on[s], .hidden = hidden,
             .scratch = scratch_on[s]);
    }
    compare(&y, FP32, "embed, width %d", hidden);
    compare_zero_from(&y, live, "dead rows of embed");
    for (int i = 0; i < 3; i++) {
        compare(&slopes[i], FP32, "embed_backward, table %d, width %d", i, hidden);
        compare_bits(&slopes[i], &slopes_again[i], "embed_backward");
    }
    for (int i = 0; i < DROPS; i++) {
        struct array dropped = array_copy(&dy);
        EACH_SIDE (s)
            CALL(OPS(s), dropout, .y = AT(dropped), .x = AT(dropped), .batch = batch->on[s],
                 .rows = {host->tokens, host->token_rows}, .hidden = hidden, .dropout = &drops[i]);
        if (drops[i].share == 0)
            compare(&dropped, FP32, "dropout %u, width %d", drops[i].threshold, hidden);
        array_release(&dropped);
    }
    for (int i = 0; i < 3; i++)
        RELEASE(&tables[i], &slopes[i], &slopes_again[i]);
    RELEASE(&y, &dy);
}

static void rows_case(const struct case_batch *batch, int32_t hidden)
{
    const struct rows rows = {batch->host.heads[HEAD_MASKED].live, batch->host.heads[HEAD_MASKED].total};
    const size_t width = (size_t)hidden, all = (size_t)batch->host.token_rows * width;
    struct array x = array_random(all, all, STORED, 1), picked = array_nan((size_t)rows.total * width, STORED);
    EACH_SIDE (s)
        CALL(OPS(s), gather, .y = AT(picked), .x = AT(x), .index = batch->on[s]->heads[HEAD_MASKED].index, .rows = rows,
             .hidden = hidden);
    compare(&picked, 0, "gather, width %d", hidden);
    compare_zero_from(&picked, (size_t)rows.live * width, "dead rows of gather");
    EACH_SIDE (s)
        CALL(OPS(s), scatter, .y = AT(x), .x = AT(picked), .index = batch->on[s]->heads[HEAD_MASKED].index,
             .rows = rows, .hidden = hidden);
    compare(&x, FP32, "scatter, width %d", hidden);

    struct array pre = array_random((size_t)rows.live * width, picked.count, STORED, 4);
    struct array dy = array_copy(&picked);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        CALL(ops, tanh_rows, .x = AT(picked), .rows = rows, .columns = hidden);
        CALL(ops, tanh_backward, .dy = AT(dy), .y = AT(picked), .rows = rows, .columns = hidden);
    }
    compare(&picked, FP32, "tanh, width %d", hidden);
    compare(&dy, FP32, "tanh_backward, width %d", hidden);
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        struct array slope = array_copy(&dy);
        EACH_SIDE (s)
            CALL(OPS(s), gelu_backward, .dy = AT(slope), .pre = AT(pre), .rows = rows, .columns = hidden, .gelu = gelu);
        compare(&slope, FP32, "gelu_backward %d, width %d", (int)gelu, hidden);
        array_release(&slope);
    }
    RELEASE(&x, &picked, &pre, &dy);
}

/* ---- what ModernBERT needs besides ---- */

static void glu_case(struct rows rows, int32_t columns)
{
    const size_t live = (size_t)rows.live * (size_t)columns, total = (size_t)rows.total * (size_t)columns;
    struct array x = array_random(2 * live, 2 * total, STORED, 4), dy = array_random(live, total, STORED, 1);
    for (enum gelu gelu = GELU_TANH; gelu <= SILU; gelu++) {
        struct array y = array_nan(total, STORED), dx = array_nan(2 * total, STORED);
        EACH_SIDE (s) {
            const struct ops *ops = OPS(s);
            CALL(ops, glu, .y = AT(y), .x = AT(x), .rows = rows, .columns = columns, .gelu = gelu);
            CALL(ops, glu_backward, .dx = AT(dx), .dy = AT(dy), .x = AT(x), .rows = rows, .columns = columns,
                 .gelu = gelu);
        }
        compare(&y, FP32, "glu %d, width %d", (int)gelu, columns);
        compare(&dx, FP32, "glu_backward %d, width %d", (int)gelu, columns);
        compare_zero_from(&y, live, "dead rows of glu");
        compare_zero_from(&dx, 2 * live, "dead rows of glu_backward");
        RELEASE(&y, &dx);
    }
    RELEASE(&x, &dy);
}

/* Queries, then keys of rows [q | k | v]: values do not change. */
static void rotate_case(const struct case_batch *batch, int32_t heads)
{
    const size_t width = (size_t)heads * 64, row = 3 * width, rows = (size_t)batch->host.token_rows;
    struct array x = array_random((size_t)batch->host.tokens * row, rows * row, STORED, 2);
    struct array turns = array_random((size_t)512 * 64, (size_t)512 * 64, REAL, 1);
    EACH_SIDE (s)
        for (int part = 0; part < 2; part++)
            CALL(OPS(s), rotate, .x = (char *)AT(x) + (size_t)part * width * OPS(s)->storage_size,
                 .stride = (int32_t)row, .turns = AT(turns), .batch = batch->on[s], .heads = heads, .head_size = 64,
                 .back = part);
    compare(&x, FP32, "rotate, %d heads", heads);
    compare_zero_from(&x, (size_t)batch->host.tokens * row, "dead rows of rotate");
    RELEASE(&x, &turns);
}

static void mean_case(const struct case_batch *batch, int32_t hidden)
{
    const struct head_batch *first = &batch->host.heads[HEAD_CLASS];
    const struct rows rows = {first->live, first->total};
    const size_t width = (size_t)hidden, live = (size_t)batch->host.tokens * width;
    struct array x = array_random(live, (size_t)batch->host.token_rows * width, STORED, 1), dx = array_copy(&x);
    struct array y = array_nan((size_t)rows.total * width, STORED);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        CALL(ops, sequence_mean, .y = AT(y), .x = AT(x), .batch = batch->on[s],
             .index = batch->on[s]->heads[HEAD_CLASS].index, .rows = rows, .hidden = hidden);
        CALL(ops, sequence_mean_backward, .dx = AT(dx), .dy = AT(y), .batch = batch->on[s],
             .index = batch->on[s]->heads[HEAD_CLASS].index, .rows = rows, .hidden = hidden);
    }
    compare(&y, FP32, "sequence_mean, width %d", hidden);
    compare(&dx, FP32, "sequence_mean_backward, width %d", hidden);
    compare_zero_from(&y, (size_t)rows.live * width, "dead rows of sequence_mean");
    compare_zero_from(&dx, live, "dead rows of sequence_mean_backward");
    RELEASE(&x, &dx, &y);
}

static void check_rows(void)
{
    static const int32_t lengths[] = {1, 33, 128, 2, 64, 17, 100, 5, 90, 3};
    static const int32_t widths[] = {64, 128, 96, 100, 256, 768, 1024, 1600, 4096};
    struct case_batch batch;
    upload_all(&batch, lengths, 10, 300, 4);
    take_scratch(&(struct ops_limits){512, 4096, 512, 4096, 128, 64});
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int j = 0; j < DROPS; j++)
            norm_case(&batch, widths[i], &drops[j], j != 1 || i % 2, (size_t)j != i % 3);
        embed_case(&batch, widths[i], 300, i % 3 == 1);
        rows_case(&batch, widths[i]);
        glu_case((struct rows){batch.host.tokens, batch.host.token_rows}, widths[i]);
        mean_case(&batch, widths[i]);
    }
    rotate_case(&batch, 1);
    rotate_case(&batch, 12);
    drop_scratch();
    made_batch_release(&batch.host);

    static const int32_t many[] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    struct case_batch full;
    upload_all(&full, many, 16, 5, 0); /* five word ids: every sum has many terms */
    take_scratch(&(struct ops_limits){2048, 768, 64, 768, 128, 64});
    embed_case(&full, 768, 5, false);
    embed_case(&full, 768, 5, true);
    norm_case(&full, 768, &drops[1], true, true);
    drop_scratch();
    made_batch_release(&full.host);
}

/* ---- attention ---- */

/* few: queries are only the rows that heads read, in a separate matrix; some sequences have none. */
static void attention_case(const int32_t *lengths, int32_t count, int32_t heads, const struct dropout *dropout,
                           bool few, int32_t window)
{
    const struct made_source source = {3, 100, few ? 7 : 0};
    struct case_batch batch = {.host = made_batch(&source, lengths, 7, count)};
    if (few) {
        batch.host.heads[HEAD_NEXT].live = batch.host.heads[HEAD_NEXT].total = 0;
        made_read(&batch.host);
    }
    int32_t longest = 0;
    for (int32_t i = 0; i < count; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    const struct attention_shape shape = {heads, 64, longest, window, *dropout};
    const struct batch *read = batch_read(&batch.host);
    const size_t width = (size_t)heads * 64, rows = (size_t)batch.host.token_rows, live = (size_t)batch.host.tokens;
    const size_t read_rows = (size_t)read->token_rows, read_live = (size_t)read->tokens;
    const bool apart = read != &batch.host;
    const size_t q_stride = apart ? width : 3 * width, kv_stride = apart ? 2 * width : 3 * width;
    take_scratch(&(struct ops_limits){(int32_t)rows, 3 * (int32_t)width, 64, 64, longest, 64});
    struct array kv = array_random(live * kv_stride, rows * kv_stride, STORED, 2);
    struct array q = apart ? array_random(read_live * width, read_rows * width, STORED, 2) : kv;
    struct array context = array_nan(read_rows * width, STORED), again = array_nan(read_rows * width, STORED);
    struct array log_sums = array_nan((size_t)heads * read_rows, REAL);
    struct array dcontext = array_random(read_live * width, read_rows * width, STORED, 1);
    struct array dkv = array_nan(rows * kv_stride, STORED), dkv_again = array_nan(rows * kv_stride, STORED);
    struct array dq = apart ? array_nan(read_rows * width, STORED) : dkv;
    struct array dq_again = apart ? array_nan(read_rows * width, STORED) : dkv_again;
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        const size_t from = apart ? 0 : width * ops->storage_size;
        const struct batch *there = ops->upload(ops->device, &batch.host);
        const struct attention_args forward = {.context = AT(context),
                                               .log_sums = AT(log_sums),
                                               .q = AT(q),
                                               .kv = (char *)AT(kv) + from,
                                               .q_stride = (int32_t)q_stride,
                                               .kv_stride = (int32_t)kv_stride,
                                               .batch = there,
                                               .queries = batch_read(there),
                                               .shape = &shape,
                                               .scratch = scratch_on[s]};
        struct attention_args first = forward;
        first.context = AT(again);
        ops->attention(ops->device, &first);
        ops->attention(ops->device, &forward);
        const struct attention_backward_args backward = {.dq = AT(dq),
                                                         .dkv = (char *)AT(dkv) + from,
                                                         .dcontext = AT(dcontext),
                                                         .q = AT(q),
                                                         .kv = (char *)AT(kv) + from,
                                                         .q_stride = (int32_t)q_stride,
                                                         .kv_stride = (int32_t)kv_stride,
                                                         .context = AT(context),
                                                         .log_sums = AT(log_sums),
                                                         .batch = there,
                                                         .queries = batch_read(there),
                                                         .shape = &shape,
                                                         .scratch = scratch_on[s]};
        struct attention_backward_args first_back = backward;
        first_back.dq = AT(dq_again);
        first_back.dkv = (char *)AT(dkv_again) + from;
        ops->attention_backward(ops->device, &first_back);
        ops->attention_backward(ops->device, &backward);
    }
    compare(&context, FP32, "attention, %d of up to %d, dropout %u, window %d", count, longest, dropout->threshold,
            window);
    compare(&log_sums, FP32, "attention's log-sums, %d of up to %d", count, longest);
    compare(&dkv, 3 * FP32, "attention_backward, %d of up to %d, dropout %u, window %d", count, longest,
            dropout->threshold, window);
    compare(&dq, 3 * FP32, "attention_backward's queries, %d of up to %d", count, longest);
    compare_zero_from(&context, read_live * width, "dead rows of attention");
    compare_zero_from(&dkv, live * kv_stride, "dead rows of attention_backward");
    compare_zero_from(&dq, read_live * q_stride, "dead rows of attention_backward's queries");
    compare_bits(&context, &again, "attention");
    compare_bits(&dkv, &dkv_again, "attention_backward");
    compare_bits(&dq, &dq_again, "attention_backward's queries");
    RELEASE(&kv, &context, &again, &log_sums, &dcontext, &dkv, &dkv_again);
    if (apart)
        RELEASE(&q, &dq, &dq_again);
    drop_scratch();
    made_batch_release(&batch.host);
}

static void check_attention(void)
{
    static const int32_t each[] = {1,   2,   7,   8,   15,  16,  17,  31,  32,  33,  63,  64,  65,  96,  127, 128,
                                   129, 160, 191, 192, 193, 255, 256, 257, 300, 383, 384, 385, 447, 500, 511, 512};
    static const int32_t mixed[] = {128, 1, 512, 77, 64, 3, 256, 129};
    static const int32_t full[] = {128, 128, 128, 128};
    static const int32_t windows[] = {3, 30, 128, 513};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        attention_case(&each[i], 1, 2, &drops[i % 2], i % 3 == 2, i % 4 == 3 ? 64 : 0);
    for (int i = 0; i < 2; i++) {
        attention_case(mixed, 8, 3, &drops[i], false, 0);
        attention_case(mixed, 8, 3, &drops[i], true, 0);
        attention_case(full, 4, 12, &drops[i], false, 0);
        for (size_t j = 0; j < sizeof windows / sizeof *windows; j++) {
            attention_case(mixed, 8, 3, &drops[i], false, windows[j]);
            attention_case(mixed, 8, 3, &drops[i], true, windows[j]);
        }
        attention_case(&(const int32_t){4096}, 1, 2, &drops[i], false, 128);
    }
}

/* ---- loss ---- */

static void loss_case(struct rows rows, int32_t columns, int32_t vocabulary, double factor)
{
    const size_t live = (size_t)rows.live * (size_t)columns, total = (size_t)rows.total * (size_t)columns;
    struct array logits = array_random(live, total, STORED, 5), again = array_copy(&logits);
    struct array sums = array_zero(2, DOUBLE), sums_again = array_zero(2, DOUBLE);
    struct array results = array_zero(2 * (size_t)rows.live, DOUBLE);
    int32_t *values = mem_array((size_t)rows.total, sizeof *values);
    for (int32_t i = 0; i < rows.total; i++)
        values[i] = i < rows.live ? (int32_t)((draw() + 1) / 2 * vocabulary) % vocabulary : -1;
    struct index_array labels = index_make(values, (size_t)rows.total);
    EACH_SIDE (s) {
        const struct ops *ops = OPS(s);
        CALL(ops, loss, .sums = AT(sums), .results = AT(results), .logits = AT(logits), .labels = AT(labels),
             .rows = rows, .columns = columns, .vocabulary = vocabulary, .factor = factor, .scratch = scratch_on[s]);
        CALL(ops, loss, .sums = AT(sums_again), .logits = AT(again), .labels = AT(labels), .rows = rows,
             .columns = columns, .vocabulary = vocabulary, .factor = factor, .scratch = scratch_on[s]);
    }
    compare(&logits, FP32, "loss's gradient, %d x %d of %d", rows.total, vocabulary, columns);
    if (factor != 0)
        compare_zero_from(&logits, live, "dead rows of the loss's gradient");
    compare_bits(&logits, &again, "loss's gradient");
    compare_bits(&sums, &sums_again, "loss");
    compare(&results, FP32, "losses and hits of rows, %d x %d of %d", rows.total, vocabulary, columns);
    double found[SIDES][2];
    EACH_SIDE (s)
        array_get(&sums, s, found[s]);
    compare_numbers(found[EXACT][0], found[HOST][0], found[TESTED][0], FP32, "loss");
    check(found[EXACT][1] == found[TESTED][1], "%s loss: %g hits, not %g", sides_name(), found[TESTED][1],
          found[EXACT][1]);
    mem_free(values);
    index_release(&labels);
    RELEASE(&logits, &again, &sums, &sums_again, &results);
}

static void check_loss(void)
{
    take_scratch(&(struct ops_limits){512, 2048, 512, 30528, 1, 64});
    loss_case((struct rows){5, 64}, 2, 2, 0.5);
    loss_case((struct rows){64, 64}, 64, 61, 3);
    loss_case((struct rows){1, 64}, 320, 300, 1);
    loss_case((struct rows){77, 128}, 1100, 1100, 0.01);
    loss_case((struct rows){200, 256}, 30528, 30522, 1.0 / 200);
    loss_case((struct rows){64, 64}, 30528, 30522, 0);
    drop_scratch();
}

/* ---- memory ---- */

/* A byte for each position; pieces of 16 MiB all differ. */
static unsigned char byte_at(size_t at)
{
    return (unsigned char)((at ^ at >> 24) * 2654435761u >> 16);
}

/* Bytes written through map and unmap read back the same, also where they are copied in several pieces. */
static void check_memory(void)
{
    static const size_t sizes[] = {1, 1000, (size_t)16 << 20, ((size_t)16 << 20) + 1, ((size_t)70 << 20) + 12345};
    const struct ops *ops = OPS(TESTED);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = ops->allocate(ops->device, sizes[i]);
        unsigned char *host = ops->map(ops->device, memory, sizes[i], MAP_FILL);
        for (size_t at = 0; at < sizes[i]; at++)
            host[at] = byte_at(at);
        ops->unmap(ops->device, memory, host, sizes[i], MAP_FILL);
        host = ops->map(ops->device, memory, sizes[i], MAP_READ);
        size_t right = 0;
        while (right < sizes[i] && host[right] == byte_at(right))
            right++;
        check(right == sizes[i], "%s memory: byte %zu of %zu is another one", sides_name(), right, sizes[i]);
        ops->unmap(ops->device, memory, host, sizes[i], MAP_READ);
        ops->release(ops->device, memory);
    }
}

/* ---- conversion ---- */

static void check_convert(void)
{
    static const size_t counts[] = {1, 7, 64, 1000, 100003};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct array real = array_random(counts[i], counts[i], REAL, 100), small = array_nan(counts[i], STORED);
        EACH_SIDE (s)
            CALL(OPS(s), convert, .y = AT(small), .x = AT(real), .count = counts[i]);
        double *values[2] = {mem_array(counts[i], sizeof(double)), mem_array(counts[i], sizeof(double))};
        array_get(&small, HOST, values[0]);
        array_get(&small, TESTED, values[1]);
        check(memcmp(values[0], values[1], counts[i] * sizeof(double)) == 0, "%s convert rounds otherwise, %zu numbers",
              sides_name(), counts[i]);
        mem_free(values[0]);
        mem_free(values[1]);
        RELEASE(&real, &small);
    }
}

void check_ops(const char *part)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"memory", check_memory}, {"convert", check_convert},     {"products", check_products},
                 {"rows", check_rows},     {"attention", check_attention}, {"loss", check_loss}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int before = checks_failed(), from = checks_done();
        if (part && strcmp(part, parts[i].name) != 0)
            continue;
        draw_again(5);
        parts[i].run();
        printf("%s %-10s %d of %d checks right\n", sides_name(), parts[i].name,
               checks_done() - from - (checks_failed() - before), checks_done() - from);
        fflush(stdout);
    }
}
