/* Every norm order, GELU and head size, with and without layer drop, against PyTorch: tests/golden/order-*.safetensors,
 * which scripts/golden_orders.py wrote. The weights are not in the files: both sides compute them from names. Each
 * tensor is compared by its norm and a selection of entries (all, of small ones); with and without recomputation, whole
 * and in micro-batches of one sequence, some of which have no masked token. bf16 may have twice the error of PyTorch's
 * bf16: an absolute bound would hide mistakes. */
#include "tests/trainer/made.h"
#include "tests/unit.h"
#include "trainer/backend/bf16.h"
#include "trainer/keep/safetensors.h"

#define STRIDE 7919 /* between selected entries, as in the script */

struct golden {
    struct safetensors file;
    struct model_config config;
    uint32_t seed, step;
    struct batch batch;
    double median; /* of PyTorch's bf16 errors, the lower limit of allowed errors */
};

/* Integers or floats of the file; the caller mem_free's them. */
static float *numbers_of(const struct golden *golden, const char *name, size_t *count)
{
    const struct tensor *tensor = safetensors_find(&golden->file, name);
    if (!tensor)
        fail_msg("no tensor %s", name);
    *count = tensor_elements(tensor);
    float *values = mem_array(*count, sizeof *values);
    for (size_t i = 0; i < *count; i++)
        values[i] =
            tensor->type == TENSOR_I32 ? (float)((const int32_t *)tensor->data)[i] : ((const float *)tensor->data)[i];
    return values;
}

static int32_t column_of(const struct golden *golden, const char *name, int32_t *to)
{
    size_t count;
    SCOPED(mem_free_at) float *values = numbers_of(golden, name, &count);
    for (size_t i = 0; i < count; i++)
        to[i] = (int32_t)values[i];
    return (int32_t)count;
}

static void take_config(struct golden *golden)
{
    int32_t numbers[11];
    size_t count;
    SCOPED(mem_free_at) float *drop = numbers_of(golden, "layer_drop", &count);
    assert_int_equal(column_of(golden, "model", numbers), 11);
    golden->config = (struct model_config){
        .layers = numbers[0],
        .hidden = numbers[1],
        .heads = numbers[2],
        .intermediate = numbers[3],
        .vocabulary = numbers[4],
        .positions = numbers[5],
        .types = 2,
        .gelu = (enum gelu)numbers[6],
        .architecture = (enum architecture_kind)numbers[7],
        .layer_drop = {(double)drop[0], (double)drop[1], numbers[8] != 0},
        .task_heads = 1u << HEAD_MASKED | 1u << HEAD_NEXT,
        .norm_epsilon = 1e-12,
    };
    golden->seed = (uint32_t)numbers[9];
    golden->step = (uint32_t)numbers[10];
}

/* A synthetic batch of the same lengths, overwritten with the golden one. */
static void take_batch(struct golden *golden)
{
    int32_t lengths[16];
    const int32_t sequences = column_of(golden, "batch.lengths", lengths);
    struct batch *batch = &golden->batch;
    *batch = made_batch(&(struct made_source){1, golden->config.vocabulary, 0}, lengths, 0, sequences);
    assert_int_equal(column_of(golden, "batch.ids", batch->ids), batch->tokens);
    column_of(golden, "batch.segments", batch->segments);
    struct head_batch *masked = &batch->heads[HEAD_MASKED];
    column_of(golden, "batch.next_labels", batch->heads[HEAD_NEXT].labels);
    column_of(golden, "batch.masked_index", masked->index);
    masked->live = column_of(golden, "batch.labels", masked->labels);
    masked->total = made_rounded(masked->live);
    assert_true(masked->live > 0);
}

static int compare_floats(const void *a, const void *b)
{
    return *(const float *)a < *(const float *)b ? -1 : 1;
}

static double median_error(const struct golden *golden)
{
    float errors[256];
    size_t found = 0, count;
    for (size_t i = 0; i < golden->file.count && found < 256; i++)
        if (strncmp(golden->file.tensors[i].name, "gradient.", 9) == 0) {
            SCOPED(mem_free_at) float *values = numbers_of(golden, golden->file.tensors[i].name, &count);
            if (values[1] > 0)
                errors[found++] = values[2];
        }
    qsort(errors, found, sizeof *errors, compare_floats);
    return (double)errors[found / 2];
}

static struct golden golden_open(const char *name)
{
    char path[256];
    struct error err;
    struct golden golden = {0};
    snprintf(path, sizeof path, SOURCE_DIR "/tests/golden/order-%s.safetensors", name);
    if (safetensors_open(&golden.file, path, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    take_config(&golden);
    take_batch(&golden);
    golden.median = median_error(&golden);
    return golden;
}

static void golden_close(struct golden *golden)
{
    made_batch_release(&golden->batch);
    safetensors_close(&golden->file);
}

/* Uniform numbers around 0 (gains: around 1), named by tensor and element: weight() of the script. */
static void make_weights(struct model *model, const struct ops *ops)
{
    const struct params *params = model_table(model);
    for (size_t i = 0; i < params->count; i++) {
        const struct param *param = &params->items[i];
        uint32_t key[2] = {2166136261u, 0}; /* FNV-1a of the name */
        for (const char *c = param->name; *c; c++)
            key[0] = (key[0] ^ (unsigned char)*c) * 16777619u;
        const double centre = param->init == INIT_ONE ? 1 : 0, spread = param->dimensions == 2 ? 0.4 : 0.2;
        for (size_t j = 0; j < param->count; j++) {
            const uint32_t counter[4] = {(uint32_t)j, 0, 0, 0};
            uint32_t words[4];
            philox4x32(counter, key, words);
            const float value = (float)(centre + spread * (2 * (words[0] * 0x1p-32) - 1));
            if (ops->precision == PRECISION_FP64)
                ((double *)model_params(model))[param->offset + j] = (double)value;
            else
                ((float *)model_params(model))[param->offset + j] = value;
        }
    }
    model_refresh(model);
}

static double entry_of(const void *values, size_t at, size_t size)
{
    return size == 8   ? ((const double *)values)[at]
           : size == 4 ? (double)((const float *)values)[at]
                       : (double)bf16_to_float(((const uint16_t *)values)[at]);
}

static double bound_of(const char *name, enum precision precision, double theirs, double median)
{
    if (precision == PRECISION_FP64)
        return 1e-6; /* the file has fp32 */
    if (precision == PRECISION_FP32)
        return strcmp(name, "hidden") == 0 ? 1e-5 : strstr(name, "LayerNorm") ? 1e-4 : 5e-5;
    return 2 * (theirs > median ? theirs : median) + 1e-3; /* not 1.5: our stream is 16 bits wide, theirs 32 */
}

/* `size` bytes an entry. A selection of n among all entries has about n / all of the error's square. */
static void check_tensor(const struct golden *golden, const char *prefix, const char *name, const void *ours,
                         size_t size, size_t all, enum precision precision)
{
    char key[160];
    size_t count;
    snprintf(key, sizeof key, "%s%s", prefix, name);
    SCOPED(mem_free_at) float *theirs = numbers_of(golden, key, &count);
    count -= 3;
    double error = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        error += pow(entry_of(ours, i * STRIDE % all, size) - (double)theirs[3 + i], 2);
    for (size_t i = 0; i < all; i++)
        squares += pow(entry_of(ours, i, size), 2);
    const double norm = (double)theirs[0], scale = (double)theirs[1];
    const double bound = bound_of(name, precision, (double)theirs[2], golden->median);
    if (scale == 0) { /* a dropped layer */
        assert_true(squares == 0 && error == 0);
    } else {
        error = sqrt(error * (double)all / (double)count) / scale;
        const double off = fabs(sqrt(squares) - norm) / scale;
        if (!(error <= bound && off <= bound))
            fail_msg("%s: relative error %g, of the norm %g, allowed %g", name, error, off, bound);
    }
}

static void check_model(const struct golden *golden, struct model *model, const struct ops *ops,
                        const struct model_metrics *metrics, bool hidden)
{
    const struct params *params = model_table(model);
    const enum precision precision = ops->precision;
    size_t count;
    SCOPED(mem_free_at) float *losses = numbers_of(golden, "losses", &count);
    const double masked = made_mean(metrics, HEAD_MASKED);
    const double next = made_mean(metrics, HEAD_NEXT);
    const double slack = precision == PRECISION_BF16 ? 0.1 : 1e-5;
    assert_true(fabs(masked - (double)losses[0]) < slack && fabs(next - (double)losses[1]) < slack);
    if (precision != PRECISION_BF16) {
        assert_int_equal(metrics->heads[HEAD_MASKED].hits, (int64_t)losses[2]);
        assert_int_equal(metrics->heads[HEAD_NEXT].hits, (int64_t)losses[3]);
    }
    if (hidden)
        check_tensor(golden, "", "hidden", model_hidden(model), ops->storage_size,
                     (size_t)(golden->batch.tokens * golden->config.hidden), precision);
    for (size_t i = 0; i < params->count; i++)
        check_tensor(golden, "gradient.", params->items[i].name,
                     (const char *)model_gradients(model) + params->items[i].offset * ops->real_size, ops->real_size,
                     params->items[i].count, precision);
}

/* Sequence `number` of a batch as a batch: views into it, and new arrays for indices that begin at 0. */
static struct batch one_of(const struct batch *all, int32_t number)
{
    const int32_t from = all->starts[number], length = all->starts[number + 1] - from;
    struct batch one = made_batch(&(struct made_source){1, 2, 0}, &length, number, 1);
    memcpy(one.ids, all->ids + from, (size_t)length * sizeof *one.ids);
    memcpy(one.segments, all->segments + from, (size_t)length * sizeof *one.segments);
    const struct head_batch *theirs = &all->heads[HEAD_MASKED];
    struct head_batch *masked = &one.heads[HEAD_MASKED];
    one.heads[HEAD_NEXT].labels[0] = all->heads[HEAD_NEXT].labels[number];
    for (int32_t i = 0; i < theirs->live; i++)
        if (theirs->index[i] >= from && theirs->index[i] < from + length) {
            masked->index[masked->live] = theirs->index[i] - from;
            masked->labels[masked->live++] = theirs->labels[i];
        }
    masked->total = made_rounded(masked->live);
    return one;
}

static struct model *begin(const struct golden *golden, const struct ops *ops, int32_t recompute_every)
{
    struct model_budget budget = made_budget(&golden->batch);
    budget.recompute_every = recompute_every;
    struct model *model = model_open(&golden->config, ops, &budget);
    make_weights(model, ops);
    const struct step_settings settings = made_step(golden->seed, golden->step, &golden->batch, 1);
    model_begin_step(model, &settings);
    return model;
}

static void check_whole(const struct golden *golden, const struct ops *ops, bool recomputed)
{
    void *kept = NULL;
    for (int32_t every = 0; every < (recomputed ? golden->config.layers : 1); every++) {
        SCOPED(model_close_at) struct model *model = begin(golden, ops, every);
        struct model_metrics metrics = {0};
        model_forward_backward(model, &golden->batch, NULL, &metrics);
        check_model(golden, model, ops, &metrics, every == 0);
        const size_t bytes = model_table(model)->size * ops->real_size;
        if (every == 0)
            kept = memcpy(mem_array(bytes, 1), model_gradients(model), bytes);
        assert_memory_equal(kept, model_gradients(model), bytes); /* recomputation changes no bit */
    }
    mem_free(kept);
}

static void check_parts(const struct golden *golden, const struct ops *ops)
{
    SCOPED(model_close_at) struct model *model = begin(golden, ops, 1);
    struct model_metrics metrics = {0};
    int32_t empty = 0;
    for (int32_t i = 0; i < golden->batch.sequences; i++) {
        SCOPED(made_batch_release) struct batch one = one_of(&golden->batch, i);
        empty += one.heads[HEAD_MASKED].live == 0;
        model_forward_backward(model, &one, NULL, &metrics);
    }
    assert_true(golden->batch.sequences == 1 || empty >= 2);
    check_model(golden, model, ops, &metrics, false);
}

static const char *const cases[] = {"post-several",  "post-one",  "pre-several", "pre-one",
                                    "large-several", "large-one", "drop",        "drop-compat"};

static void check_all(enum precision precision, enum cpu_level level, bool recomputed)
{
    SCOPED(ops_close_at) struct ops *ops = made_ops(precision, level, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct golden golden = golden_open(cases[i]);
        check_whole(&golden, ops, recomputed);
        check_parts(&golden, ops);
        golden_close(&golden);
    }
}

TEST(double_matches_pytorch)
{
    check_all(PRECISION_FP64, CPU_BASE, false);
}

TEST(fp32_matches_pytorch_at_every_level)
{
    for (int level = (int)cpu_level(); level >= CPU_BASE; level--)
        check_all(PRECISION_FP32, (enum cpu_level)level, level == (int)cpu_level());
}

TEST(bf16_is_as_close_as_pytorch)
{
    check_all(PRECISION_BF16, cpu_level(), true);
    check_all(PRECISION_BF16, CPU_BASE, false);
}
