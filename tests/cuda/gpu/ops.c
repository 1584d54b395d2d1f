/* Compares each op with the CPU in doubles: odd sizes, borders of tiles and chunks, lengths from 1 on, empty masks, and
 * sizes of real models. Outputs begin as NaN, which shows missing writes. All sides read the same inputs (array_agree),
 * even those that another op computed, so the measured error is the op's alone. trainer_reference checks the doubles
 * against reference/step.c, trainer_model against finite differences. */
#include <math.h>

#include "tests/cuda/gpu/sides.h"

static void *scratch_on[SIDES];
static bool is_large; /* also the sizes of real models */

static bool on_cpu(void)
{
    return strncmp(OPS(TESTED)->name, "cpu", 3) == 0;
}

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

/* Calls an op on every side; AT(x) is x there. */
#define EACH(op, ...)                                                                                                  \
    EACH_SIDE (s)                                                                                                      \
    CALL(OPS(s), op, __VA_ARGS__)

/* ---- products ---- */

/* In a model, biases are in converted memory and can be fused into the product; `converted` does the same here. */
static void forward(struct rows rows, int32_t out, int32_t in, bool converted)
{
    const size_t live = (size_t)rows.live, total = (size_t)rows.total, width = (size_t)out, depth = (size_t)in;
    struct array x = array_random(live * depth, total * depth, STORED, 1);
    struct array w = array_random(width * depth, width * depth, STORED, 2 / sqrt((double)in));
    struct array b = array_random(width, width, REAL, 1), small = array_nan(width, STORED);
    struct array y = array_nan(total * width, STORED);
    if (converted)
        EACH(convert, .y = AT(small), .x = AT(b), .count = width);
    EACH(linear, .y = AT(y), .x = AT(x), .w = AT(w), .b = AT(b), .rows = rows, .out = out, .in = in);
    compare(&y, 1, "linear %d x %d x %d", rows.total, out, in);
    compare_zero_from(&y, live * width, "dead rows of linear");
    EACH(linear, .y = AT(y), .x = AT(x), .w = AT(w), .rows = rows, .out = out, .in = in);
    compare(&y, 1, "linear without bias %d x %d x %d", rows.total, out, in);
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        struct array pre = array_nan(total * width, STORED), act = array_nan(total * width, STORED);
        if (converted)
            EACH(convert, .y = AT(small), .x = AT(b), .count = width);
        EACH(linear_gelu, .pre = AT(pre), .y = AT(act), .x = AT(x), .w = AT(w), .b = AT(b), .rows = rows, .out = out,
             .in = in, .gelu = gelu);
        compare(&pre, 1, "linear before GELU %d, %d x %d x %d", (int)gelu, rows.total, out, in);
        if (!on_cpu()) { /* a GPU applies GELU to the stored numbers; a product with 1 gives EXACT the same */
            array_agree(&pre);
            CALL(OPS(EXACT), linear_gelu, .pre = pre.memory[EXACT], .y = act.memory[EXACT], .x = pre.memory[EXACT],
                 .w = &(double){1}, .rows = {(int32_t)(live * width), (int32_t)(live * width)}, .out = 1, .in = 1,
                 .gelu = gelu);
        }
        compare(&act, 1, "GELU %d after linear %d x %d x %d", (int)gelu, rows.total, out, in);
        compare_zero_from(&pre, live * width, "dead rows before GELU");
        compare_zero_from(&act, live * width, "dead rows of GELU");
        RELEASE(&pre, &act);
    }
    RELEASE(&x, &w, &b, &small, &y);
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
        EACH(linear_backward_input, .dx = AT(dx), .adds = kind == 1, .dy = AT(dy), .w = AT(w),
             .pre = kind >= 2 ? AT(pre) : NULL, .rows = rows, .out = out, .in = in,
             .gelu = kind == 3 ? GELU_ERF : GELU_TANH);
        compare(&dx, 1.5, "linear_backward_input%s %d x %d x %d", kinds[kind], rows.total, out, in);
        compare_zero_from(&dx, live * depth, "dead rows of linear_backward_input");
        array_release(&dx);
    }
    struct array dw = array_random(width * depth, width * depth, REAL, 1), db = array_random(width, width, REAL, 1);
    EACH(linear_backward_weight, .dw = AT(dw), .db = AT(db), .dy = AT(dy), .x = AT(x), .rows = rows, .out = out,
         .in = in, .scratch = scratch_on[s]);
    compare(&dw, 1, "linear_backward_weight %d x %d x %d", rows.total, out, in);
    compare(&db, 1, "bias of linear_backward_weight %d x %d x %d", rows.total, out, in);
    EACH(linear_backward_weight, .dw = AT(dw), .dy = AT(dy), .x = AT(x), .rows = rows, .out = out, .in = in,
         .scratch = scratch_on[s]);
    compare(&dw, 1, "linear_backward_weight without bias");
    RELEASE(&x, &w, &dy, &pre, &dw, &db);
}

struct size {
    struct rows rows;
    int32_t out, in;
};

static void check_products(void)
{
    static const struct size sizes[] =
        {
            {{1, 64}, 1, 1},       {{3, 64}, 2, 33},    {{100, 128}, 70, 45},
            {{64, 64}, 96, 32},    {{7, 64}, 1100, 12}, {{1090, 1152}, 20, 30},
            {{261, 320}, 130, 65}, {{9, 64}, 2, 128},   {{98, 128}, 70, 800}, /* sums in several pieces of k */
        };
    static const struct size large[] = {
        {{500, 512}, 768, 256}, {{512, 512}, 256, 768}, {{77, 128}, 1024, 1024}, {{300, 320}, 2112, 128}};
    const size_t count = sizeof sizes / sizeof *sizes, all = count + (is_large ? sizeof large / sizeof *large : 0);
    take_scratch(&(struct ops_limits){1152, 2112, 1152, 2112, 1, 64});
    for (size_t i = 0; i < all; i++) {
        const struct size *size = i < count ? &sizes[i] : &large[i - count];
        forward(size->rows, size->out, size->in, false);
        if (!on_cpu())
            forward(size->rows, size->out, size->in, true);
        backward(size->rows, size->out, size->in);
    }
    drop_scratch();
}

/* ---- ops that need a batch ---- */

struct case_batch {
    struct batch host;
    const struct batch *on[SIDES];
};

static void upload_all(struct case_batch *batch)
{
    EACH_SIDE (s)
        batch->on[s] = OPS(s)->upload(OPS(s)->device, &batch->host);
}

static void make_case(struct case_batch *batch, const int32_t *lengths, int32_t count, int32_t vocabulary,
                      int32_t masked_every)
{
    batch->host = made_batch(&(struct made_source){3, vocabulary, masked_every}, lengths, 7, count);
    upload_all(batch);
}

static const struct dropout drops[] = {
    {.key = {11, 5}},
    {.key = {11, 5}, .threshold = 6554, .name = 12},
    {.key = {42, 977}, .threshold = 32768, .name = 3, .share = 0.75f},
    {.key = {7, 9}, .share = 0.625f},
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
    struct array y = array_nan(total, STORED), z = array_copy(&x), statistics = array_nan(2 * (size_t)rows.total, REAL);
    struct array apart = array_nan(total, STORED);
    for (int place = 0; place < 2; place++) /* z in a buffer of its own; then in place of x, as in a model */
        EACH(norm, .y = AT(y), .z = place ? AT(z) : AT(apart), .statistics = AT(statistics), .x = place ? AT(z) : AT(x),
             .residual = residual_too ? AT(residual) : NULL, .gain = AT(gain), .bias = bias_too ? AT(bias) : NULL,
             .epsilon = 1e-5, .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout);
    compare(&apart, 1, "norm's sum apart, width %d, dropout %u", hidden, dropout->threshold);
    compare(&z, 1, "norm's sum, width %d, dropout %u", hidden, dropout->threshold);
    array_agree(&z); /* the statistics are those of the rounded numbers */
    CALL(OPS(EXACT), norm, .y = y.memory[EXACT], .z = apart.memory[EXACT], .statistics = statistics.memory[EXACT],
         .x = z.memory[EXACT], .gain = gain.memory[EXACT], .bias = bias_too ? bias.memory[EXACT] : NULL,
         .epsilon = 1e-5, .rows = rows, .hidden = hidden);
    compare(&y, 2, "norm, width %d, dropout %u", hidden, dropout->threshold);
    compare(&statistics, on_cpu() ? 4 : 1, "norm's statistics, width %d", hidden);
    compare_zero_from(&y, live, "dead rows of norm");
    compare_zero_from(&z, live, "dead rows of norm's sum");
    array_agree(&statistics);

    for (int beta = 0; beta < 2; beta++) { /* dx replaces dy where results are added to dz */
        struct array dy = array_random(live, total, STORED, 1);
        struct array dx = beta ? dy : array_nan(total, STORED);
        struct array dz = beta ? array_random(live, total, STORED, 1) : array_nan(total, STORED);
        struct array dgain = array_random(width, width, REAL, 1), dbias = array_random(width, width, REAL, 1);
        EACH(norm_backward, .dx = AT(dx), .dz = AT(dz), .adds = beta, .dgain = AT(dgain),
             .dbias = bias_too ? AT(dbias) : NULL, .dy = AT(dy), .z = AT(z), .statistics = AT(statistics),
             .gain = AT(gain), .rows = rows, .hidden = hidden, .batch = batch->on[s], .dropout = dropout,
             .scratch = scratch_on[s]);
        compare(&dz, 3, "norm_backward's dz, width %d, beta %d", hidden, beta);
        compare(&dx, 3, "norm_backward's dx, width %d, beta %d", hidden, beta);
        compare(&dgain, 4, "norm_backward's dgain, width %d", hidden);
        compare(&dbias, 4, "norm_backward's dbias, width %d", hidden);
        compare_zero_from(&dz, live, "dead rows of dz");
        compare_zero_from(&dx, live, "dead rows of dx");
        if (beta == 0) { /* in place, without dropout: dx NULL, dz is dy */
            EACH(norm_backward, .dz = AT(dy), .dgain = AT(dgain), .dbias = AT(dbias), .dy = AT(dy), .z = AT(z),
                 .statistics = AT(statistics), .gain = AT(gain), .rows = rows, .hidden = hidden,
                 .scratch = scratch_on[s]);
            compare(&dy, 3, "norm_backward in place, width %d", hidden);
            array_release(&dx);
        }
        RELEASE(&dy, &dz, &dgain, &dbias);
    }
    RELEASE(&x, &residual, &gain, &bias, &y, &z, &apart, &statistics);
}

/* words_alone: there is no table of positions, nor of segments. */
static void embed_case(const struct case_batch *batch, int32_t hidden, int32_t vocabulary, bool words_alone)
{
    const struct batch *host = &batch->host;
    const size_t width = (size_t)hidden, live = (size_t)host->tokens * width, total = (size_t)host->token_rows * width;
    const size_t sizes[3] = {(size_t)vocabulary * width, 512 * width, 2 * width};
    struct array tables[3], slopes[3];
    for (int i = 0; i < 3; i++) {
        tables[i] = array_random(sizes[i], sizes[i], STORED, 1);
        slopes[i] = array_random(sizes[i], sizes[i], REAL, 1);
    }
    struct array y = array_nan(total, STORED), dy = array_random(live, total, STORED, 1);
    EACH(embed, .y = AT(y), .word = AT(tables[0]), .position = words_alone ? NULL : AT(tables[1]),
         .type = words_alone ? NULL : AT(tables[2]), .batch = batch->on[s], .hidden = hidden);
    EACH(embed_backward, .dword = AT(slopes[0]), .dposition = words_alone ? NULL : AT(slopes[1]),
         .dtype = words_alone ? NULL : AT(slopes[2]), .dy = AT(dy), .batch = batch->on[s], .hidden = hidden,
         .scratch = scratch_on[s]);
    compare(&y, 1, "embed, width %d", hidden);
    compare_zero_from(&y, live, "dead rows of embed");
    for (int i = 0; i < 3; i++)
        compare(&slopes[i], 1, "embed_backward, table %d, width %d", i, hidden);
    for (int i = 0; i < 3; i++)
        RELEASE(&tables[i], &slopes[i]);
    RELEASE(&y, &dy);
}

/* Drops out all rows, in place, and the rows that a head reads. */
static void dropout_case(const struct case_batch *batch, int32_t hidden, const struct dropout *dropout)
{
    const struct head_batch *masked = &batch->host.heads[HEAD_MASKED];
    const size_t width = (size_t)hidden, live = (size_t)batch->host.tokens * width;
    const size_t few = (size_t)masked->live * width, all = (size_t)masked->total * width;
    struct array x = array_random(live, (size_t)batch->host.token_rows * width, STORED, 1);
    struct array from = array_random(few, all, STORED, 1), to = array_nan(all, STORED);
    EACH(dropout, .y = AT(x), .x = AT(x), .batch = batch->on[s], .rows = {batch->host.tokens, batch->host.token_rows},
         .hidden = hidden, .dropout = dropout);
    compare(&x, 1, "dropout %u, width %d", dropout->threshold, hidden);
    EACH(dropout, .y = AT(to), .x = AT(from), .batch = batch->on[s], .index = batch->on[s]->heads[HEAD_MASKED].index,
         .rows = {masked->live, masked->total}, .hidden = hidden, .dropout = dropout);
    compare(&to, 1, "dropout %u of picked rows, width %d", dropout->threshold, hidden);
    compare_zero_from(&to, few, "dead rows of dropout");
    RELEASE(&x, &from, &to);
}

static void rows_case(const struct case_batch *batch, int32_t hidden)
{
    const struct rows rows = {batch->host.heads[HEAD_MASKED].live, batch->host.heads[HEAD_MASKED].total};
    const size_t width = (size_t)hidden, all = (size_t)batch->host.token_rows * width;
    struct array x = array_random(all, all, STORED, 1), picked = array_nan((size_t)rows.total * width, STORED);
    EACH(gather, .y = AT(picked), .x = AT(x), .index = batch->on[s]->heads[HEAD_MASKED].index, .rows = rows,
         .hidden = hidden);
    compare(&picked, 0, "gather, width %d", hidden);
    compare_zero_from(&picked, (size_t)rows.live * width, "dead rows of gather");
    EACH(scatter, .y = AT(x), .x = AT(picked), .index = batch->on[s]->heads[HEAD_MASKED].index, .rows = rows,
         .hidden = hidden);
    compare(&x, 0, "scatter, width %d", hidden); /* twice a number is exact */

    struct array pre = array_random((size_t)rows.live * width, picked.count, STORED, 4);
    struct array dy = array_copy(&picked);
    EACH(tanh_rows, .x = AT(picked), .rows = rows, .columns = hidden);
    compare(&picked, 1, "tanh, width %d", hidden);
    array_agree(&picked);
    EACH(tanh_backward, .dy = AT(dy), .y = AT(picked), .rows = rows, .columns = hidden);
    compare(&dy, 1, "tanh_backward, width %d", hidden);
    for (enum gelu gelu = GELU_TANH; gelu <= GELU_ERF; gelu++) {
        struct array slope = array_copy(&dy);
        array_agree(&slope);
        EACH(gelu_backward, .dy = AT(slope), .pre = AT(pre), .rows = rows, .columns = hidden, .gelu = gelu);
        compare(&slope, 2, "gelu_backward %d, width %d", (int)gelu, hidden);
        array_release(&slope);
    }
    RELEASE(&x, &picked, &pre, &dy);
}

/* ---- ops that only ModernBERT needs ---- */

static void glu_case(struct rows rows, int32_t columns)
{
    const size_t live = (size_t)rows.live * (size_t)columns, total = (size_t)rows.total * (size_t)columns;
    struct array x = array_random(2 * live, 2 * total, STORED, 4), dy = array_random(live, total, STORED, 1);
    for (enum gelu gelu = GELU_TANH; gelu <= SILU; gelu++) {
        struct array y = array_nan(total, STORED), dx = array_nan(2 * total, STORED);
        EACH(glu, .y = AT(y), .x = AT(x), .rows = rows, .columns = columns, .gelu = gelu);
        EACH(glu_backward, .dx = AT(dx), .dy = AT(dy), .x = AT(x), .rows = rows, .columns = columns, .gelu = gelu);
        compare(&y, 2, "glu %d, width %d", (int)gelu, columns);
        compare(&dx, on_cpu() ? 3 : 1, "glu_backward %d, width %d", (int)gelu, columns);
        compare_zero_from(&y, live, "dead rows of glu");
        compare_zero_from(&dx, 2 * live, "dead rows of glu_backward");
        RELEASE(&y, &dx);
    }
    RELEASE(&x, &dy);
}

/* Rotates the queries of rows [q | k | v], then the keys back; values stay. */
static void rotate_case(const struct case_batch *batch, int32_t heads, int32_t size)
{
    const size_t width = (size_t)(heads * size), row = 3 * width, rows = (size_t)batch->host.token_rows;
    struct array x = array_random((size_t)batch->host.tokens * row, rows * row, STORED, 2);
    struct array turns = array_random((size_t)(512 * size), (size_t)(512 * size), REAL, 1);
    for (size_t part = 0; part < 2; part++)
        EACH(rotate, .x = (char *)AT(x) + part * width * OPS(s)->storage_size, .stride = (int32_t)row,
             .turns = AT(turns), .batch = batch->on[s], .heads = heads, .head_size = size, .back = part == 1);
    compare(&x, 1, "rotate, %d heads", heads);
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
    EACH(sequence_mean, .y = AT(y), .x = AT(x), .batch = batch->on[s], .index = batch->on[s]->heads[HEAD_CLASS].index,
         .rows = rows, .hidden = hidden);
    compare(&y, 1, "sequence_mean, width %d", hidden);
    array_agree(&y);
    EACH(sequence_mean_backward, .dx = AT(dx), .dy = AT(y), .batch = batch->on[s],
         .index = batch->on[s]->heads[HEAD_CLASS].index, .rows = rows, .hidden = hidden);
    compare(&dx, 2, "sequence_mean_backward, width %d", hidden);
    compare_zero_from(&y, (size_t)rows.live * width, "dead rows of sequence_mean");
    compare_zero_from(&dx, live, "dead rows of sequence_mean_backward");
    RELEASE(&x, &dx, &y);
}

static void check_rows(void)
{
    static const int32_t lengths[] = {1, 33, 70, 2, 64, 17, 100, 5};
    static const int32_t widths[] = {3, 19, 40, 64, 72, 301, 1032, 2064, 128, 96, 100, 256, 768, 1024, 1600, 4096};
    struct case_batch batch;
    make_case(&batch, lengths, 8, 300, 4);
    take_scratch(&(struct ops_limits){512, 4096, 512, 4096, 128, 64});
    for (size_t i = 0; i < (is_large ? sizeof widths / sizeof *widths : 8); i++) {
        const bool wide = widths[i] > 1000 && !is_large; /* mostly for norms and embeddings, which split rows */
        for (size_t j = 0; j < DROPS; j++) {
            const bool one = j == i % DROPS;
            if (is_large || one || (on_cpu() && !wide))
                norm_case(&batch, widths[i], &drops[j], j != 1 || i % 2, j != i % 3);
            if (drops[j].share == 0 && (one || !wide))
                dropout_case(&batch, widths[i], &drops[j]);
        }
        embed_case(&batch, widths[i], 300, i % 3 == 1);
        if (wide)
            continue;
        rows_case(&batch, widths[i]);
        glu_case((struct rows){batch.host.tokens, batch.host.token_rows}, widths[i]);
        mean_case(&batch, widths[i]);
    }
    rotate_case(&batch, 1, 64);
    rotate_case(&batch, 3, 10);
    rotate_case(&batch, 12, 64);
    for (int32_t row = 0; row < batch.host.tokens; row++)
        batch.host.ids[row] = 299; /* one id alone, the last one */
    upload_all(&batch);
    embed_case(&batch, 72, 300, false);
    drop_scratch();
    made_batch_release(&batch.host);

    static const int32_t many[] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    const int32_t count = is_large ? 16 : 3, width = is_large ? 768 : 72;
    make_case(&batch, many, count, 5, 0); /* five word ids: every sum has many terms */
    take_scratch(&(struct ops_limits){2048, 768, 64, 768, 128, 64});
    embed_case(&batch, width, 5, false);
    embed_case(&batch, width, 5, true);
    norm_case(&batch, width, &drops[1], true, true);
    drop_scratch();
    made_batch_release(&batch.host);
}

/* ---- attention ---- */

struct attended {
    const int32_t *lengths;
    int32_t count, heads, size;
    int drop;            /* index into drops */
    double scale, shift; /* shift is added to queries and subtracted from keys */
    bool few;            /* queries are only the rows that heads read, in a separate matrix; some sequences have none */
    int32_t window;
};

/* Removes the rows of a head at positions [from, end) of their sequences. */
static void leave_out(const struct batch *batch, struct head_batch *head, int32_t from, int32_t end)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < head->live; i++)
        if (batch->positions[head->index[i]] < from || batch->positions[head->index[i]] >= end)
            head->index[kept++] = head->index[i];
    head->live = kept;
}

static struct array shifted(size_t live, size_t count, size_t width, const struct attended *c)
{
    double *values = mem_clear(count, sizeof *values);
    for (size_t i = 0; i < live; i++)
        values[i] = c->scale * draw() + (i / width % 3 == 0 ? c->shift : i / width % 3 == 1 ? -c->shift : 0);
    struct array array = array_nan(count, STORED);
    array_put(&array, values);
    mem_free(values);
    return array;
}

static void attention_case(const struct attended *c)
{
    const struct made_source source = {3, 100, c->few ? 7 : 0};
    struct case_batch batch = {.host = made_batch(&source, c->lengths, 7, c->count)};
    int32_t longest = 0;
    for (int32_t i = 0; i < c->count; i++)
        longest = c->lengths[i] > longest ? c->lengths[i] : longest;
    if (c->few) {
        batch.host.heads[HEAD_NEXT].live = batch.host.heads[HEAD_NEXT].total = 0;
        for (int h = 0; h < HEAD_KINDS && c->window > 0; h++) /* some tiles of keys have no query either */
            leave_out(&batch.host, &batch.host.heads[h], 100, 400);
        made_read(&batch.host);
    }
    const struct attention_shape shape = {c->heads, c->size, longest, c->window, drops[c->drop]};
    const struct batch *read = batch_read(&batch.host);
    const size_t width = (size_t)(c->heads * c->size), rows = (size_t)batch.host.token_rows;
    const size_t live = (size_t)batch.host.tokens, read_rows = (size_t)read->token_rows;
    const size_t read_live = (size_t)read->tokens;
    const bool apart = read != &batch.host;
    const size_t q_stride = apart ? width : 3 * width, kv_stride = apart ? 2 * width : 3 * width;
    take_scratch(&(struct ops_limits){(int32_t)rows, 3 * (int32_t)width, 64, 64, longest, c->size});
    struct array kv = apart ? array_random(live * kv_stride, rows * kv_stride, STORED, c->scale)
                            : shifted(live * kv_stride, rows * kv_stride, width, c);
    struct array q = apart ? array_random(read_live * width, read_rows * width, STORED, c->scale) : kv;
    struct array context = array_nan(read_rows * width, STORED), dkv = array_nan(rows * kv_stride, STORED);
    struct array log_sums = array_nan((size_t)c->heads * read_rows, REAL);
    struct array dcontext = array_random(read_live * width, read_rows * width, STORED, 1);
    struct array dq = apart ? array_nan(read_rows * width, STORED) : dkv;
    upload_all(&batch);
#define ARGUMENTS                                                                                                      \
    .q = AT(q), .kv = (char *)AT(kv) + (apart ? 0 : width * OPS(s)->storage_size), .q_stride = (int32_t)q_stride,      \
    .kv_stride = (int32_t)kv_stride, .batch = batch.on[s], .queries = batch_read(batch.on[s]), .shape = &shape,        \
    .scratch = scratch_on[s]
    EACH(attention, .context = AT(context), .log_sums = AT(log_sums), ARGUMENTS);
    /* Large scores have larger rounding errors. */
    const double wide = c->shift != 0 && on_cpu() && OPS(TESTED)->storage_size == 4 ? 5 : 1;
    compare(&context, 2 * wide, "attention, %d of up to %d, window %d", c->count, longest, c->window);
    compare(&log_sums, 2, "attention's log-sums, %d of up to %d", c->count, longest);
    array_agree(&context);
    array_agree(&log_sums);
    EACH(attention_backward, .dq = AT(dq), .dkv = (char *)AT(dkv) + (apart ? 0 : width * OPS(s)->storage_size),
         .dcontext = AT(dcontext), .context = AT(context), .log_sums = AT(log_sums), ARGUMENTS);
#undef ARGUMENTS
    compare(&dkv, 3 * wide, "attention_backward, %d of up to %d, window %d", c->count, longest, c->window);
    compare(&dq, 3 * wide, "attention_backward's queries, %d of up to %d", c->count, longest);
    compare_zero_from(&context, read_live * width, "dead rows of attention");
    compare_zero_from(&dkv, live * kv_stride, "dead rows of attention_backward");
    compare_zero_from(&dq, read_live * q_stride, "dead rows of attention_backward's queries");
    drop_scratch();
    if (apart)
        RELEASE(&q, &dq);
    RELEASE(&kv, &context, &log_sums, &dcontext, &dkv);
    made_batch_release(&batch.host);
}

#define LENGTHS(...) (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

static void check_attention(void)
{
    const struct attended cases[] = {
        {LENGTHS(1, 7, 64, 33), 2, 64, 1, 1, 0, false, 0},
        {LENGTHS(128, 65), 1, 64, 0, 4, 0, false, 0},
        {LENGTHS(1, 150, 2, 33), 2, 64, 1, 1, 0, true, 0},
        {LENGTHS(67, 20), 1, 64, 1, 0.5, 4, false, 0}, /* scores near -128, whose exponentials underflow */
        /* Windows that hold the query alone, fit in a tile, or span tiles. */
        {LENGTHS(1, 100, 70), 1, 64, 1, 1, 0, false, 1},
        {LENGTHS(300, 7), 1, 64, 0, 1, 0, false, 32},
        {LENGTHS(260, 100), 2, 64, 1, 1, 0, true, 129},
    };
    const struct attended more[] = {
        {LENGTHS(130, 260), 1, 64, 1, 2, 0, false, 0},
        {LENGTHS(700, 1, 200), 1, 64, 1, 2, 0, false, 128},
        {LENGTHS(500, 3), 1, 64, 0, 1, 0, true, 20},
        {LENGTHS(200, 64), 1, 64, 0, 1, 0, false, 398}, /* covers the longest sequence */
    };
    const struct attended others[] = {
        /* head sizes that only the CPU supports */
        {LENGTHS(5, 1, 70, 16, 130), 1, 1, 0, 1, 0, false, 0},
        {LENGTHS(5, 1, 70, 16, 130), 3, 20, 1, 1, 0, false, 0},
        {LENGTHS(5, 1, 70, 16, 130), 1, 1, 0, 1, 0, true, 0},
        {LENGTHS(300, 1, 257, 16, 520), 1, 20, 0, 1, 0, true, 0},
        {LENGTHS(300, 1, 257, 16, 520), 1, 20, 1, 1, 0, false, 128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        attention_case(&cases[i]);
    for (size_t i = 0; i < sizeof more / sizeof *more && (on_cpu() || OPS(TESTED)->precision == PRECISION_BF16); i++)
        attention_case(&more[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others && on_cpu(); i++)
        attention_case(&others[i]);
    static const int32_t mixed[] = {128, 1, 512, 77, 64, 3, 256, 129}, full[] = {128, 128, 128, 128};
    static const int32_t windows[] = {0, 3, 30, 128, 513};
    for (int32_t length = 1; length <= 512 && is_large; length += length % 64 == 1 ? 30 : 11)
        attention_case(
            &(struct attended){&length, 1, 2, 64, length % 2, 2, 0, length % 3 == 2, length % 4 == 3 ? 64 : 0});
    for (int i = 0; i < 2 && is_large; i++) {
        attention_case(&(struct attended){full, 4, 12, 64, i, 2, 0, false, 0});
        for (size_t j = 0; j < sizeof windows / sizeof *windows; j++)
            for (int few = 0; few < 2; few++)
                attention_case(&(struct attended){mixed, 8, 3, 64, i, 2, 0, few, windows[j]});
        attention_case(&(struct attended){LENGTHS(4096), 2, 64, i, 2, 0, false, 128});
    }
}

/* ---- losses ---- */

static struct index_array labels_of(const void *labels, struct rows rows)
{
    int32_t *all = mem_array((size_t)rows.total, sizeof *all);
    memset(all, 0xff, (size_t)rows.total * sizeof *all);
    memcpy(all, labels, (size_t)rows.live * sizeof *all);
    struct index_array index = index_make(all, (size_t)rows.total);
    mem_free(all);
    return index;
}

/* Every third label has the largest logit. Another column has the same logit as the label; padding columns have larger
 * ones. */
static struct index_array likely(struct array *logits, struct rows rows, int32_t columns, int32_t vocabulary)
{
    double *values = mem_array(logits->count, sizeof *values);
    int32_t *labels = mem_array((size_t)rows.total, sizeof *labels);
    array_get(logits, EXACT, values);
    for (int32_t row = 0; row < rows.live; row++) {
        double *own = values + (size_t)row * (size_t)columns;
        int32_t most = 0;
        for (int32_t i = 1; i < vocabulary; i++)
            most = own[i] > own[most] ? i : most;
        labels[row] = row % 3 == 0 ? most : (row * 7919 + 1) % vocabulary;
        own[row % 2 ? vocabulary - 1 : 0] = own[labels[row]];
        for (int32_t i = vocabulary; i < columns; i++)
            own[i] = 20;
    }
    array_put(logits, values);
    struct index_array index = labels_of(labels, rows);
    mem_free(values);
    mem_free(labels);
    return index;
}

static void compare_hits(const struct array *sums, const char *what)
{
    double found[SIDES][2];
    EACH_SIDE (s)
        array_get(sums, s, found[s]);
    check(found[EXACT][1] == found[TESTED][1], "%s %s: %g hits, not %g", sides_name(), what, found[TESTED][1],
          found[EXACT][1]);
}

static void loss_case(struct rows rows, int32_t columns, int32_t vocabulary, double factor, bool weighted)
{
    const size_t live = (size_t)rows.live * (size_t)columns, total = (size_t)rows.total * (size_t)columns;
    struct array logits = array_random(live, total, STORED, 5), sums = array_zero(2, DOUBLE);
    struct array results = array_zero(2 * (size_t)rows.live, DOUBLE);
    struct index_array labels = likely(&logits, rows, columns, vocabulary);
    float *own = mem_array((size_t)vocabulary, sizeof *own); /* weights are floats on every side */
    for (int32_t i = 0; i < vocabulary; i++)
        own[i] = 0.25f * (float)(1 + i % 7);
    struct index_array floats = index_make((const int32_t *)(const void *)own, (size_t)vocabulary);
    EACH(loss, .sums = AT(sums), .results = AT(results), .logits = AT(logits), .labels = AT(labels),
         .weights = weighted ? (const float *)(const void *)AT(floats) : NULL, .rows = rows, .columns = columns,
         .vocabulary = vocabulary, .factor = factor, .scratch = scratch_on[s]);
    compare(&logits, 1, "loss's gradient, %d x %d of %d", rows.total, vocabulary, columns);
    if (factor != 0)
        compare_zero_from(&logits, live, "dead rows of the loss's gradient");
    compare(&results, 1, "losses and hits of rows, %d x %d of %d", rows.total, vocabulary, columns);
    compare(&sums, 1, "loss, %d x %d of %d", rows.total, vocabulary, columns);
    compare_hits(&sums, "loss");
    mem_free(own);
    index_release(&labels);
    index_release(&floats);
    RELEASE(&logits, &sums, &results);
}

/* Losses of spans, of numbers as labels, and of several labels per text: 31 of 33 columns at most. */
static void task_losses(double factor)
{
    static const int32_t lengths[] = {1, 7, 64, 33, 100, 5};
    struct case_batch batch;
    make_case(&batch, lengths, 6, 90, 7);
    const struct head_batch *span = &batch.host.heads[HEAD_SPAN], *one = &batch.host.heads[HEAD_CLASS];
    const size_t live = 2 * (size_t)batch.host.tokens, total = 2 * (size_t)batch.host.token_rows;
    const struct rows rows = {one->live, one->total};
    struct array logits = array_random(live, total, STORED, 4), sums = array_zero(2, DOUBLE);
    double *values = mem_array(total, sizeof *values);
    array_get(&logits, EXACT, values);
    for (int32_t i = 0; i < batch.host.sequences; i += 2) /* hits: of two equal logits the first counts */
        for (int end = 0; end < 2; end++) {
            values[2 * (batch.host.starts[i + 1] - 1) + end] = 5;
            values[2 * (end ? batch.host.starts[i] + span->labels[i] : span->index[i]) + end] = 5;
        }
    array_put(&logits, values);
    EACH(span_loss, .sums = AT(sums), .logits = AT(logits), .batch = batch.on[s],
         .first = batch.on[s]->heads[HEAD_SPAN].index, .last = batch.on[s]->heads[HEAD_SPAN].labels, .factor = factor,
         .scratch = scratch_on[s]);
    compare(&logits, 1, "span_loss's gradient");
    compare(&sums, 1, "span_loss");
    compare_hits(&sums, "span_loss");
    mem_free(values);
    array_release(&logits);

    float numbers[6];
    int32_t bits[6] = {0, 5, 0x7fffffff, 1 << 30, 77, 154};
    for (int i = 0; i < 6; i++)
        numbers[i] = (float)i * 1.25f - 2;
    for (int several = 0; several < 2; several++) {
        const size_t columns = several ? 33 : 1;
        struct index_array labels = labels_of(several ? (void *)bits : numbers, rows);
        logits = array_random((size_t)rows.live * columns, (size_t)rows.total * columns, STORED, several ? 30 : 4);
        if (several)
            EACH(bits_loss, .sums = AT(sums), .logits = AT(logits), .labels = AT(labels), .rows = rows, .columns = 33,
                 .factor = factor);
        else
            EACH(square_loss, .sums = AT(sums), .logits = AT(logits), .labels = AT(labels), .rows = rows,
                 .factor = factor);
        compare(&logits, 1, several ? "bits_loss's gradient" : "square_loss's gradient");
        compare(&sums, 1, several ? "bits_loss" : "square_loss");
        compare_hits(&sums, several ? "bits_loss" : "square_loss");
        index_release(&labels);
        array_release(&logits);
    }
    array_release(&sums);
    made_batch_release(&batch.host);
}

static void check_loss(void)
{
    take_scratch(&(struct ops_limits){512, 2048, 512, 40064, 128, 64});
    loss_case((struct rows){10, 64}, 2, 2, 0.5, false);
    loss_case((struct rows){10, 64}, 4, 4, 0.5, true);
    loss_case((struct rows){64, 64}, 64, 61, 3, false);
    loss_case((struct rows){5, 64}, 104, 101, 8, true);
    loss_case((struct rows){64, 64}, 1024, 1000, 0.125, false);
    loss_case((struct rows){4, 64}, 1001, 999, 0, false);
    if (!on_cpu()) { /* more columns than a block holds */
        loss_case((struct rows){4, 64}, 30528, 30522, 0.125, false);
        loss_case((struct rows){2, 64}, 40064, 40001, 1, false);
    }
    if (is_large) {
        loss_case((struct rows){77, 128}, 1100, 1100, 0.01, false);
        loss_case((struct rows){200, 256}, 30528, 30522, 1.0 / 200, false);
    }
    task_losses(0);
    task_losses(0.25);
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
        struct array rounded = array_nan(counts[i], STORED);
        double *values = mem_array(counts[i], sizeof *values);
        array_get(&real, TESTED, values);
        array_put(&rounded, values);
        EACH(convert, .y = AT(small), .x = AT(real), .count = counts[i]);
        /* EXACT does not round, so it gets rounded numbers. */
        CALL(OPS(EXACT), convert, .y = small.memory[EXACT], .x = rounded.memory[EXACT], .count = counts[i]);
        compare(&small, 0, "convert, %zu numbers", counts[i]);
        mem_free(values);
        RELEASE(&real, &small, &rounded);
    }
}

void check_ops(const char *part, bool large, int passes)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"memory", check_memory}, {"convert", check_convert},     {"products", check_products},
                 {"rows", check_rows},     {"attention", check_attention}, {"loss", check_loss}};
    is_large = large;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int before = checks_failed(), from = checks_done();
        if (part ? strcmp(part, parts[i].name) != 0 : parts[i].run == check_memory && !large)
            continue;
        for (int pass = 0; pass < passes; pass++) {
            begin_pass(pass);
            draw_again(5);
            parts[i].run();
        }
        printf("%s %-10s %d of %d checks right\n", sides_name(), parts[i].name,
               checks_done() - from - (checks_failed() - before), checks_done() - from);
        fflush(stdout);
    }
}
