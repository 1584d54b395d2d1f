/* Makes plans of products and runs them (product.h). */
#include "trainer/cuda/product.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define WORKSPACE ((size_t)64 << 20) /* bytes; Hopper's kernels ask for up to 32 MiB */
#define BUCKETS   1024

#define BLAS(call) blas_check((call), #call)
static void blas_check(cublasStatus_t status, const char *call)
{
    char where[320];
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    op_trace_text(where, sizeof where);
    die(ERR_RESOURCE, "cuBLASLt: %s in %s, seen by %s", cublasLtGetStatusString(status), where, call);
}

struct plan {
    struct product_key key;
    bool served; /* false: the library has no algorithm for it */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
    struct plan *next; /* in the same bucket */
};

struct products {
    cublasLtHandle_t handle;
    enum precision precision;
    void *workspace;
    struct product_choice *choices; /* [choice_count] the table */
    size_t choice_count;
    struct plan *buckets[BUCKETS];
};

struct products *products_open(enum precision precision, const char *tune, struct error *err)
{
    struct product_choice *choices = NULL;
    size_t count = 0;
    if (tune && tune_read(tune, &choices, &count, err) < 0)
        return NULL;
    struct products *products = mem_clear(1, sizeof *products);
    products->precision = precision;
    products->choices = choices;
    products->choice_count = count;
    BLAS(cublasLtCreate(&products->handle));
    CHECK(cudaMalloc(&products->workspace, WORKSPACE));
    return products;
}

static void plan_release(struct plan *plan)
{
    BLAS(cublasLtMatmulDescDestroy(plan->operation));
    BLAS(cublasLtMatrixLayoutDestroy(plan->a));
    BLAS(cublasLtMatrixLayoutDestroy(plan->b));
    BLAS(cublasLtMatrixLayoutDestroy(plan->d));
    mem_free(plan);
}

static void forget_plans(struct products *products)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct plan *plan = products->buckets[i], *next; plan; plan = next) {
            next = plan->next;
            plan_release(plan);
        }
        products->buckets[i] = NULL;
    }
}

void products_close(struct products *products)
{
    forget_plans(products);
    BLAS(cublasLtDestroy(products->handle));
    CHECK(cudaFree(products->workspace));
    mem_free(products->choices);
    mem_free(products);
}

static cudaDataType_t storage_type(enum precision precision)
{
    return precision == PRECISION_FP32 ? CUDA_R_32F : precision == PRECISION_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static const cublasLtEpilogue_t epilogues[] = {
    [FINISH_NONE] = CUBLASLT_EPILOGUE_DEFAULT,  [FINISH_BIAS] = CUBLASLT_EPILOGUE_BIAS,
    [FINISH_GELU] = CUBLASLT_EPILOGUE_GELU_AUX, [FINISH_BIAS_GELU] = CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    [FINISH_SLOPE] = CUBLASLT_EPILOGUE_DGELU,   [FINISH_SUMS] = CUBLASLT_EPILOGUE_BGRADB,
};

static void set(struct plan *plan, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
    BLAS(cublasLtMatmulDescSetAttribute(plan->operation, what, value, bytes));
}

static void set_pointers(struct plan *plan, const struct product_operands *operands)
{
    const int32_t finish = plan->key.finish;
    if (finish == FINISH_BIAS || finish == FINISH_BIAS_GELU || finish == FINISH_SUMS)
        set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &operands->vector, sizeof operands->vector);
    if (finish == FINISH_GELU || finish == FINISH_BIAS_GELU || finish == FINISH_SLOPE)
        set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &operands->aux, sizeof operands->aux);
}

/* The layout of a stored matrix: our [rows, columns] is the library's columns x rows, dense. */
static cublasLtMatrixLayout_t layout(cudaDataType_t type, int32_t rows, int32_t columns)
{
    cublasLtMatrixLayout_t made;
    BLAS(cublasLtMatrixLayoutCreate(&made, type, (uint64_t)columns, (uint64_t)rows, columns));
    return made;
}

static void describe(struct plan *plan, enum precision precision, const struct product_operands *operands)
{
    const struct product_key *key = &plan->key;
    const cudaDataType_t storage = storage_type(precision);
    const cublasOperation_t as_is = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = epilogues[key->finish];
    const bool forward = key->kind == PRODUCT_FORWARD, weight = key->kind == PRODUCT_WEIGHT;
    BLAS(cublasLtMatmulDescCreate(&plan->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t *of_a = forward ? &transposed : &as_is, *of_b = weight ? &transposed : &as_is;
    set(plan, CUBLASLT_MATMUL_DESC_TRANSA, of_a, sizeof *of_a);
    set(plan, CUBLASLT_MATMUL_DESC_TRANSB, of_b, sizeof *of_b);
    set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    const int64_t aux_row = forward ? key->out : key->in;
    if (key->finish == FINISH_GELU || key->finish == FINISH_BIAS_GELU || key->finish == FINISH_SLOPE)
        set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_row, sizeof aux_row);
    set_pointers(plan, operands);
    plan->a = layout(storage, weight ? key->rows : key->out, key->in);
    plan->b = layout(storage, key->rows, forward ? key->in : key->out);
    plan->d = weight ? layout(CUDA_R_32F, key->out, key->in) : layout(storage, key->rows, forward ? key->out : key->in);
}

/* Only algorithms that add in float and in a fixed order: partial results are not rounded to storage, nor added in
 * place. */
static int offers_of(struct products *products, struct plan *plan, cublasLtMatmulHeuristicResult_t *results, int most)
{
    cublasLtMatmulPreference_t preference;
    const uint64_t workspace = WORKSPACE;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint32_t a = (uint32_t)plan->key.align_a, b = (uint32_t)plan->key.align_b, d = (uint32_t)plan->key.align_d;
    const struct {
        cublasLtMatmulPreferenceAttributes_t what;
        const void *value;
        size_t bytes;
    } wishes[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &d, sizeof d},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &d, sizeof d},
    };
    BLAS(cublasLtMatmulPreferenceCreate(&preference));
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        BLAS(cublasLtMatmulPreferenceSetAttribute(preference, wishes[i].what, wishes[i].value, wishes[i].bytes));
    int count = 0;
    if (cublasLtMatmulAlgoGetHeuristic(products->handle, plan->operation, plan->a, plan->b, plan->d, plan->d,
                                       preference, most, results, &count) != CUBLAS_STATUS_SUCCESS)
        count = 0;
    BLAS(cublasLtMatmulPreferenceDestroy(preference));
    int good = 0;
    for (int i = 0; i < count; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS)
            results[good++] = results[i];
    return good;
}

/* The table's row for a product: the one with the nearest number of rows. */
static const struct product_choice *find_choice(const struct products *products, const struct product_key *key)
{
    const struct product_choice *best = NULL;
    if (key->align_a < PRODUCT_ALIGNED || key->align_b < PRODUCT_ALIGNED || key->align_d < PRODUCT_ALIGNED)
        return NULL;
    for (size_t i = 0; i < products->choice_count; i++) {
        const struct product_choice *c = &products->choices[i];
        if (c->kind == key->kind && c->finish == key->finish && c->precision == (int32_t)products->precision &&
            c->out == key->out && c->in == key->in &&
            (!best || labs((long)c->rows - key->rows) < labs((long)best->rows - key->rows)))
            best = c;
    }
    return best;
}

static bool runs(struct products *products, const struct plan *plan, const cublasLtMatmulAlgo_t *algorithm)
{
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(products->handle, plan->operation, plan->a, plan->b, plan->d, plan->d, algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= WORKSPACE;
}

bool choice_is_plain(const struct product_choice *choice)
{
    static const cublasLtMatmulAlgo_t nothing; /* a row of zeros in the table */
    return memcmp(&choice->algorithm, &nothing, sizeof nothing) == 0;
}

static void decide(struct products *products, struct plan *plan)
{
    cublasLtMatmulHeuristicResult_t result;
    const struct product_choice *choice = find_choice(products, &plan->key);
    if (choice && choice_is_plain(choice))
        return;
    plan->served = choice && runs(products, plan, &choice->algorithm);
    if (plan->served) {
        plan->algorithm = choice->algorithm;
    } else if (offers_of(products, plan, &result, 1) == 1) {
        plan->served = true;
        plan->algorithm = result.algo;
    }
}

static int32_t alignment(const void *one, const void *other)
{
    const uintptr_t bits = (uintptr_t)one | (uintptr_t)other | 256;
    return (int32_t)(bits & -bits);
}

static struct product_key key_of(enum product_kind kind, enum product_finish finish, int beta, struct rows rows,
                                 int32_t out, int32_t in, const struct product_operands *operands)
{
    return (struct product_key){
        .kind = kind,
        .finish = finish,
        .beta = beta,
        .rows = rows.total,
        .out = out,
        .in = in,
        .align_a = alignment(operands->a, NULL),
        .align_b = alignment(operands->b, NULL),
        .align_d = alignment(operands->d, NULL),
        .align_beside = alignment(operands->vector, operands->aux),
    };
}

static struct plan *plan_make(enum precision precision, const struct product_key *key,
                              const struct product_operands *operands)
{
    struct plan *plan = mem_clear(1, sizeof *plan);
    plan->key = *key;
    describe(plan, precision, operands);
    return plan;
}

static struct plan *plan_of(struct products *products, const struct product_key *key,
                            const struct product_operands *operands)
{
    struct plan **bucket = &products->buckets[hash64(key, sizeof *key) % BUCKETS];
    for (struct plan *plan = *bucket; plan; plan = plan->next)
        if (memcmp(&plan->key, key, sizeof *key) == 0)
            return plan;
    struct plan *plan = plan_make(products->precision, key, operands);
    decide(products, plan);
    plan->next = *bucket;
    *bucket = plan;
    return plan;
}

void products_choose(struct products *products, const struct product_choice *choices, size_t count)
{
    struct product_choice *copy = mem_array(count, sizeof *copy);
    memcpy(copy, choices, count * sizeof *copy);
    mem_free(products->choices);
    products->choices = copy;
    products->choice_count = count;
    forget_plans(products);
}

bool product_ran(const struct products *products, const struct product_choice *choice)
{
    const bool fused = !choice_is_plain(choice);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct plan *plan = products->buckets[i]; plan; plan = plan->next) {
            const struct product_key *key = &plan->key;
            if (key->kind == choice->kind && key->finish == choice->finish && key->rows == choice->rows &&
                key->out == choice->out && key->in == choice->in)
                return plan->served == fused &&
                       (!fused || memcmp(&plan->algorithm, &choice->algorithm, sizeof plan->algorithm) == 0);
        }
    return false;
}

int product_offers(struct products *products, const struct product_choice *product,
                   const struct product_operands *operands, cublasLtMatmulAlgo_t *offers, int most)
{
    cublasLtMatmulHeuristicResult_t results[PRODUCT_OFFERS];
    const struct product_key key = {
        .kind = product->kind,
        .finish = product->finish,
        .rows = product->rows,
        .out = product->out,
        .in = product->in,
        .align_a = PRODUCT_ALIGNED, /* the least alignment of a model's operands */
        .align_b = PRODUCT_ALIGNED,
        .align_d = PRODUCT_ALIGNED,
        .align_beside = PRODUCT_ALIGNED,
    };
    assert(most <= PRODUCT_OFFERS);
    struct plan *plan = plan_make(products->precision, &key, operands);
    const int count = offers_of(products, plan, results, most);
    for (int i = 0; i < count; i++)
        offers[i] = results[i].algo;
    plan_release(plan);
    return count;
}

bool product_run(struct products *products, cudaStream_t stream, enum product_kind kind, enum product_finish finish,
                 int beta, struct rows rows, int32_t out, int32_t in, const struct product_operands *operands)
{
    const struct product_key key = key_of(kind, finish, beta, rows, out, in, operands);
    struct plan *plan = plan_of(products, &key, operands);
    if (!plan->served)
        return false;
    const float one = 1, factor = (float)beta;
    set_pointers(plan, operands);
    const cublasStatus_t status = cublasLtMatmul(products->handle, plan->operation, &one, operands->a, plan->a,
                                                 operands->b, plan->b, &factor, operands->d, plan->d, operands->d,
                                                 plan->d, &plan->algorithm, products->workspace, WORKSPACE, stream);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)
        return plan->served = false; /* the library offered what it cannot do */
    blas_check(status, "cublasLtMatmul");
    return true;
}
