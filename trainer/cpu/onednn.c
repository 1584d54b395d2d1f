/* In: the shape of a product. Out: a oneDNN matmul primitive that one thread runs. Primitives are made for a single
 * thread, so neither their blocking nor their bits depend on the number of threads; linear.h cuts a product into such
 * pieces. (oneDNN's threads are OpenMP's, and each of our threads limits its own to one.) Several threads run one
 * primitive at once, so it cannot have one scratchpad of its own: each thread provides one. */
#include "trainer/cpu/onednn.h"

#ifdef DS_ONEDNN

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define PRODUCTS_MAX 4096 /* places of the table, a power of two; at most half are used. BERT has dozens of shapes */

struct onednn_product {
    struct product_shape shape;
    bool tried;
    dnnl_primitive_t primitive; /* NULL: oneDNN cannot */
    dnnl_memory_desc_t a, b, c, bias, scratchpad;
    struct onednn *owner;
};

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_data_type_t type;
    struct onednn_product *products; /* [PRODUCTS_MAX], a hash table with linear probing */
    size_t count;
    void **scratchpads; /* [threads] */
    size_t scratchpad_bytes;
    int threads;
};

static void check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_out_of_memory)
        die(ERR_RESOURCE, "out of memory in oneDNN (%s)", what);
    if (status != dnnl_success)
        die(ERR_BUG, "oneDNN refuses to %s (status %d)", what, (int)status);
}

/* Sets a switch of oneDNN's, for the whole process and before its first use; later calls change nothing. */
static void limit_level(enum cpu_level level)
{
    static const dnnl_cpu_isa_t levels[] = {
        [CPU_BASE] = dnnl_cpu_isa_sse41,          [CPU_AVX2] = dnnl_cpu_isa_avx2,
        [CPU_AVX512] = dnnl_cpu_isa_avx512_core,  [CPU_AVX512_BF16] = dnnl_cpu_isa_avx512_core_bf16,
        [CPU_AMX] = dnnl_cpu_isa_avx512_core_amx,
    };
    _Static_assert(sizeof levels / sizeof *levels == CPU_LEVELS, "a level of oneDNN for every one of ours");
    (void)dnnl_set_max_cpu_isa(levels[level]);
}

struct onednn *onednn_open(enum precision precision, enum cpu_level level, bool always, int threads)
{
    if (precision != PRECISION_BF16 || (level < CPU_AMX && !always))
        return NULL;
    limit_level(level);
    struct onednn *onednn = mem_clear(1, sizeof *onednn);
    onednn->type = dnnl_bf16;
    onednn->products = mem_clear(PRODUCTS_MAX, sizeof *onednn->products);
    onednn->scratchpads = mem_clear((size_t)threads, sizeof *onednn->scratchpads);
    onednn->threads = threads;
    check(dnnl_engine_create(&onednn->engine, dnnl_cpu, 0), "open the processor");
    check(dnnl_stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags), "open a stream");
    return onednn;
}

void onednn_close(struct onednn *onednn)
{
    if (!onednn)
        return;
    for (size_t i = 0; i < PRODUCTS_MAX; i++)
        if (onednn->products[i].primitive)
            dnnl_primitive_destroy(onednn->products[i].primitive);
    dnnl_stream_destroy(onednn->stream);
    dnnl_engine_destroy(onednn->engine);
    for (int i = 0; i < onednn->threads; i++)
        mem_free(onednn->scratchpads[i]);
    mem_free(onednn->scratchpads);
    mem_free(onednn->products);
    mem_free(onednn);
}

static dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, int64_t row, int64_t column, dnnl_data_type_t type)
{
    const dnnl_dims_t sizes = {rows, columns}, strides = {row, column};
    dnnl_memory_desc_t result;
    check(dnnl_memory_desc_init_by_strides(&result, 2, sizes, type, strides), "describe a matrix");
    return result;
}

static void grow_scratchpads(struct onednn *onednn, size_t bytes)
{
    if (bytes <= onednn->scratchpad_bytes)
        return;
    onednn->scratchpad_bytes = bytes;
    for (int i = 0; i < onednn->threads; i++) {
        mem_free(onednn->scratchpads[i]);
        onednn->scratchpads[i] = mem_aligned(bytes);
    }
}

static void make(struct onednn *onednn, struct onednn_product *product)
{
    const struct product_shape *s = &product->shape;
    product->a = matrix(s->m, s->k, s->a_row, s->a_column, onednn->type);
    product->b = matrix(s->k, s->n, s->b_row, s->b_column, onednn->type);
    product->c = matrix(s->m, s->n, s->c_row, 1, s->real_c ? dnnl_f32 : onednn->type);
    product->bias = matrix(1, s->n, s->n, 1, dnnl_f32);
    product->owner = onednn;
    dnnl_matmul_desc_t operation;
    check(dnnl_matmul_desc_init(&operation, &product->a, &product->b, s->bias ? &product->bias : NULL, &product->c),
          "describe a product");
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t after;
    check(dnnl_primitive_attr_create(&attributes), "make attributes");
    check(dnnl_post_ops_create(&after), "make attributes");
    if (s->add)
        check(dnnl_post_ops_append_sum(after, 1.0f), "add to a product");
    check(dnnl_primitive_attr_set_post_ops(attributes, after), "make attributes");
    check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "make attributes");

    omp_set_num_threads(1);
    dnnl_primitive_desc_t description;
    const dnnl_status_t status = dnnl_primitive_desc_create(&description, &operation, attributes, onednn->engine, NULL);
    if (status == dnnl_success) {
        check(dnnl_primitive_create(&product->primitive, description), "make a product");
        product->scratchpad = *dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
        grow_scratchpads(onednn, dnnl_memory_desc_get_size(&product->scratchpad));
        dnnl_primitive_desc_destroy(description);
    }
    dnnl_post_ops_destroy(after);
    dnnl_primitive_attr_destroy(attributes);
}

const struct onednn_product *onednn_prepare(struct onednn *onednn, const struct product_shape *shape)
{
    if (!onednn)
        return NULL;
    size_t at = hash64(shape, sizeof *shape) % PRODUCTS_MAX;
    while (onednn->products[at].tried && memcmp(&onednn->products[at].shape, shape, sizeof *shape) != 0)
        at = (at + 1) % PRODUCTS_MAX;
    struct onednn_product *product = &onednn->products[at];
    if (!product->tried) {
        if (onednn->count == PRODUCTS_MAX / 2)
            return NULL;
        onednn->count++;
        product->tried = true;
        product->shape = *shape;
        make(onednn, product);
    }
    return product->primitive ? product : NULL;
}

void onednn_multiply(const struct onednn_product *product, void *c, const void *a, const void *b, const void *bias,
                     int thread)
{
    const struct onednn *onednn = product->owner;
    const struct {
        int name;
        const dnnl_memory_desc_t *shape;
        const void *memory;
    } operands[] = {
        {DNNL_ARG_SRC, &product->a, a},        {DNNL_ARG_WEIGHTS, &product->b, b},
        {DNNL_ARG_DST, &product->c, c},        {DNNL_ARG_SCRATCHPAD, &product->scratchpad, onednn->scratchpads[thread]},
        {DNNL_ARG_BIAS, &product->bias, bias},
    };
    const int count = product->shape.bias ? 5 : 4;
    dnnl_exec_arg_t args[5];
    for (int i = 0; i < count; i++) {
        args[i].arg = operands[i].name;
        check(dnnl_memory_create(&args[i].memory, operands[i].shape, onednn->engine, (void *)operands[i].memory),
              "point at a matrix");
    }
    omp_set_num_threads(1);
    check(dnnl_primitive_execute(product->primitive, onednn->stream, count, args), "multiply");
    for (int i = 0; i < count; i++)
        dnnl_memory_destroy(args[i].memory);
}

const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

#else

struct onednn *onednn_open(enum precision precision, enum cpu_level level, bool always, int threads)
{
    (void)precision, (void)level, (void)always, (void)threads;
    return NULL;
}

void onednn_close(struct onednn *onednn)
{
    (void)onednn;
}

const struct onednn_product *onednn_prepare(struct onednn *onednn, const struct product_shape *shape)
{
    (void)onednn, (void)shape;
    return NULL;
}

void onednn_multiply(const struct onednn_product *product, void *c, const void *a, const void *b, const void *bias,
                     int thread)
{
    (void)product, (void)c, (void)a, (void)b, (void)bias, (void)thread;
}

const char *onednn_version(void)
{
    return "own products";
}

#endif
