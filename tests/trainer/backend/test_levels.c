/* With same_bits the fp32 ops give the same bits at every level of this processor (docs/ARITHMETIC.md): functions over
 * every 8191st float, products of random shapes, sums of every length to 4,096. An argument is another distance of the
 * floats: 1 takes an hour. */
#include "tests/trainer/made.h"
#ifdef __x86_64__
#include "tests/unit.h"
#include "trainer/cpu/fused.h"
#endif

#define LENGTHS 4096
#define BLOCK   65536 /* floats that an op gets at once */

static struct ops *levels[CPU_LEVELS]; /* base, avx2, avx512 */
static int level_count;
static uint64_t stride = 8191;
static uint32_t drawn;

static uint32_t draw(void)
{
    const struct random_stream stream = random_stream(6, RANDOM_FRESH, 9, 0, 0, 0, 0);
    return random_at(&stream, drawn++, 0);
}

static uint32_t draw_below(uint32_t limit)
{
    return draw() % limit;
}

/* [count], padded for whole vectors; the last `dead` are zero. */
static float *numbers(size_t count, size_t dead)
{
    float *memory = mem_aligned((count + 64) * sizeof *memory);
    for (size_t i = 0; i < count; i++)
        memory[i] = i < count - dead ? (float)((int32_t)draw() * 0x1p-31) : 0;
    return memory;
}

static float *zeros(size_t count)
{
    return numbers(count, count);
}

/* Equal bits; NaN has no bits that are defined. Keeps the first level's numbers in `expected`. */
static void compare(int level, float **expected, float *found, size_t count, const char *what)
{
    if (level == 0) {
        *expected = found;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (memcmp(&(*expected)[i], &found[i], sizeof *found) != 0 && !(isnan((*expected)[i]) && isnan(found[i])))
            fail_msg("%s, number %zu: %a at level %s, %a at level %s", what, i, (double)(*expected)[i],
                     levels[0]->facts.processor, (double)found[i], levels[level]->facts.processor);
    mem_free(found);
}

/* ---- functions ---- */

static float float_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* The function and the slope of every kind, of these x. */
static void functions_of(const float *x, size_t count)
{
    static const char *const names[] = {[GELU_TANH] = "tanh-GELU", [GELU_ERF] = "erf-GELU", [SILU] = "SiLU"};
    SCOPED(mem_free_at) float *gated = mem_array(2 * BLOCK, sizeof *gated), *one = mem_array(BLOCK, sizeof *one);
    for (size_t i = 0; i < count; i++) {
        gated[i] = x[i];
        gated[count + i] = one[i] = 1;
    }
    for (enum gelu kind = GELU_TANH; kind <= SILU; kind++) {
        SCOPED(mem_free_at) float *expected = NULL;
        for (int l = 0; l < level_count; l++) {
            float *found = mem_array(2 * BLOCK, sizeof *found);
            CALL(levels[l], glu_backward, .dx = found, .dy = one, .x = gated, .rows = {1, 1}, .columns = (int32_t)count,
                 .gelu = kind);
            compare(l, &expected, found, 2 * count, names[kind]);
        }
    }
    SCOPED(mem_free_at) float *expected = NULL;
    for (int l = 0; l < level_count; l++) {
        float *found = mem_array(BLOCK, sizeof *found);
        memcpy(found, x, count * sizeof *found);
        CALL(levels[l], tanh_rows, .x = found, .rows = {1, 1}, .columns = (int32_t)count);
        compare(l, &expected, found, count, "tanh");
    }
}

TEST(functions_are_equal)
{
    SCOPED(mem_free_at) float *x = mem_array(BLOCK, sizeof *x);
    size_t count = 0;
    for (uint64_t bits = 0; bits >> 32 == 0; bits += stride) {
        x[count++] = float_of(bits);
        if (count == BLOCK || (bits + stride) >> 32 != 0) {
            functions_of(x, count);
            count = 0;
        }
    }
}

#ifdef __x86_64__
TEST(software_fuses)
{
    for (int i = 0; i < 2000000; i++) {
        float a = float_of(draw()), b = float_of(draw()), c = float_of(draw());
        if (i % 2) { /* of similar size, and so that ties occur */
            a = (float)(int32_t)draw_below(1 << 24);
            b = (float)(int32_t)draw_below(1 << 24) * (float)(i % 3 ? 0x1p-60 : 0x1p-150 * 0x1p24);
            c = a * b * (float)(1 << draw_below(28)) * (i % 4 == 1 ? -1 : 1);
        }
        const float right = fmaf(a, b, c), software = fused(a, b, c);
        float four[4];
        _mm_storeu_ps(four, fused_four(_mm_set1_ps(a), _mm_set1_ps(b), _mm_set1_ps(c)));
        if (isnan(right) ? !isnan(software) || !isnan(four[1])
                         : memcmp(&right, &software, 4) != 0 || memcmp(&right, &four[0], 4) != 0 ||
                               memcmp(&right, &four[3], 4) != 0)
            fail_msg("%a * %a + %a is %a, not %a or %a", (double)a, (double)b, (double)c, (double)right,
                     (double)software, (double)four[0]);
    }
}
#endif

/* ---- products ---- */

static void product_of(int32_t rows, int32_t out, int32_t in)
{
    const int32_t total = made_rounded(rows), dead = total - rows;
    const size_t ys = (size_t)total * (size_t)out, xs = (size_t)total * (size_t)in, ws = (size_t)out * (size_t)in;
    const struct rows both = {rows, total};
    float *x = numbers(xs, (size_t)(dead * in)), *dy = numbers(ys, (size_t)(dead * out)), *w = numbers(ws, 0),
          *b = numbers((size_t)out, 0), *scratch = zeros(ys + xs);
    float *y0 = NULL, *pre0 = NULL, *dx0 = NULL, *dw0 = NULL, *db0 = NULL;
    for (int l = 0; l < level_count; l++) {
        float *y = zeros(ys), *pre = zeros(ys), *dx = zeros(xs), *dw = zeros(ws), *db = zeros((size_t)out);
        CALL(levels[l], linear_gelu, .pre = pre, .y = y, .x = x, .w = w, .b = b, .rows = both, .out = out, .in = in,
             .gelu = out % 2 ? GELU_TANH : GELU_ERF);
        CALL(levels[l], linear_backward_input, .dx = dx, .dy = dy, .w = w, .rows = both, .out = out, .in = in);
        CALL(levels[l], linear_backward_input, .dx = dx, .adds = true, .dy = dy, .w = w, .pre = x, .rows = both,
             .out = out, .in = in, .gelu = GELU_TANH);
        for (int twice = 0; twice < 2; twice++)
            CALL(levels[l], linear_backward_weight, .dw = dw, .db = db, .dy = dy, .x = x, .rows = both, .out = out,
                 .in = in, .scratch = scratch);
        compare(l, &pre0, pre, ys, "x W^T + b");
        compare(l, &y0, y, ys, "gelu(x W^T + b)");
        compare(l, &dx0, dx, xs, "dy W");
        compare(l, &dw0, dw, ws, "dy^T x");
        compare(l, &db0, db, (size_t)out, "column sums");
    }
    float *all[] = {x, dy, w, b, scratch, y0, pre0, dx0, dw0, db0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
}

TEST(products_are_equal)
{
    product_of(1, 1, 1);
    product_of(7, 17, 385);
    product_of(130, 33, 770);
    for (int i = 0; i < 20; i++)
        product_of(1 + (int32_t)draw_below(150), 1 + (int32_t)draw_below(150), 1 + (int32_t)draw_below(150));
}

/* ---- sums ---- */

TEST(sums_are_equal)
{
    float *x = numbers(LENGTHS, 0), *dy = numbers(LENGTHS, 0), *gain = numbers(LENGTHS, 0),
          *scratch = zeros(4 * LENGTHS);
    const int32_t label = 0;
    for (int32_t length = 1; length <= LENGTHS; length++) {
        const size_t count = (size_t)length;
        float *sums0 = NULL, *dx0 = NULL, *logits0 = NULL, *squares0 = NULL;
        for (int l = 0; l < level_count; l++) {
            float *y = zeros(count), *sums = zeros(2), *dx = zeros(count), *dgain = zeros(count),
                  *logits = zeros(count), *squares = zeros(4);
            CALL(levels[l], norm, .y = y, .z = x, .x = x, .statistics = sums, .gain = gain, .epsilon = 1e-12,
                 .rows = {1, 1}, .hidden = length);
            CALL(levels[l], norm_backward, .dz = dx, .dgain = dgain, .dy = dy, .z = x, .statistics = sums, .gain = gain,
                 .rows = {1, 1}, .hidden = length, .scratch = scratch);
            memcpy(logits, x, count * sizeof *logits);
            double losses[2] = {0};
            CALL(levels[l], loss, .sums = losses, .logits = logits, .labels = &label, .rows = {1, 1}, .columns = length,
                 .vocabulary = length, .factor = 1, .scratch = scratch);
            struct param_chunk chunk = {.count = length};
            double both[2];
            const struct update_work work = {.chunk_count = 1, .chunks = &chunk, .squares = both};
            CALL(levels[l], squares, .work = &work, .range = {0, 1}, .values = x);
            both[1] = losses[0];
            memcpy(squares, both, sizeof both);
            compare(l, &sums0, sums, 2, "mean and deviation");
            compare(l, &dx0, dx, count, "gradient of LayerNorm");
            compare(l, &logits0, logits, count, "gradient of the loss");
            compare(l, &squares0, squares, 4, "sum of squares, and loss");
            mem_free(y);
            mem_free(dgain);
        }
        float *all[] = {sums0, dx0, logits0, squares0};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            mem_free(all[i]);
    }
    float *all[] = {x, dy, gain, scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
}

/* ---- attention ---- */

static void attention_of(int32_t heads, int32_t size, int32_t window, uint32_t threshold)
{
    const int32_t lengths[] = {1 + (int32_t)draw_below(600), 1 + (int32_t)draw_below(30), 150};
    const struct made_source source = {.seed = 3, .vocabulary = 30};
    SCOPED(made_batch_release) struct batch batch = made_batch(&source, lengths, 3, 3);
    const struct attention_shape shape = {heads, size, 600, window, {{3, 99}, threshold, 40, 0}};
    const size_t hidden = (size_t)(heads * size), rows = (size_t)batch.token_rows, dead = rows - (size_t)batch.tokens;
    const int32_t wide = 3 * (int32_t)hidden;
    float *qkv = numbers(rows * 3 * hidden, dead * 3 * hidden), *dcontext = numbers(rows * hidden, dead * hidden);
    float *context0 = NULL, *sums0 = NULL, *d0 = NULL;
    for (int l = 0; l < level_count; l++) {
        const struct ops_limits limits = {batch.token_rows, wide, 64, 64, 600, size};
        SCOPED(mem_free_at) void *scratch = mem_aligned(levels[l]->scratch_bytes(levels[l]->device, &limits));
        float *context = zeros(rows * hidden), *sums = zeros(rows * (size_t)heads), *d = zeros(rows * 3 * hidden);
        CALL(levels[l], attention, .context = context, .log_sums = sums, .q = qkv, .kv = qkv + hidden, .q_stride = wide,
             .kv_stride = wide, .batch = &batch, .queries = &batch, .shape = &shape, .scratch = scratch);
        CALL(levels[l], attention_backward, .dq = d, .dkv = d + hidden, .dcontext = dcontext, .q = qkv,
             .kv = qkv + hidden, .q_stride = wide, .kv_stride = wide, .context = context, .log_sums = sums,
             .batch = &batch, .queries = &batch, .shape = &shape, .scratch = scratch);
        compare(l, &context0, context, rows * hidden, "attention");
        compare(l, &sums0, sums, rows * (size_t)heads, "sums of exponentials");
        compare(l, &d0, d, rows * 3 * hidden, "gradients of attention");
    }
    float *all[] = {qkv, dcontext, context0, sums0, d0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
}

TEST(attentions_are_equal)
{
    attention_of(2, 64, 0, 6554);
    attention_of(1, 1, 0, 0);
    attention_of(3, 20, 32, 0);
    for (int i = 0; i < 4; i++)
        attention_of(2, 1 + (int32_t)draw_below(70), i % 2 ? 10 + (int32_t)draw_below(100) : 0, i % 3 * 10000);
}

#ifdef __x86_64__
/* Though a library turned them off. */
TEST(subnormals_are_kept)
{
    const volatile float least = 0x1p-126f;
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
    struct ops *ops = made_ops(PRECISION_FP32, CPU_BASE, 1);
    assert_true(least / 2 > 0);
    ops->close(ops);
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1 && (stride = strtoull(argv[1], NULL, 10)) == 0)
        return 2;
    for (int level = CPU_BASE; level <= (int)cpu_level() && level <= CPU_AVX512; level++)
        levels[level_count++] = made_backend(&(struct cpu_options){
            .precision = PRECISION_FP32, .level = (enum cpu_level)level, .threads = 2, .same_bits = true});
    const int failed = unit_run();
    for (int l = 0; l < level_count; l++)
        levels[l]->close(levels[l]);
    return failed;
}
