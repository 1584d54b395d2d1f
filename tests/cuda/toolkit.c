/* Device properties of the CUDA runtime and cuBLASLt on the host, as far as trainer/cuda uses them, so that the whole
 * host code of the backend can be tested without a GPU (streams and memory: streams.c). A product is a plain loop over
 * column-major matrices; epilogues follow the manual of cublasLtEpilogue_t. It does not show speed, or whether the real
 * library has an algorithm. Environment variables set its properties and inject faults:
 *
 *     EMULATED_GPUS=N         there are N GPUs (1), CUDA_VISIBLE_DEVICES shows some; all share one memory
 *     TOOLKIT_FAIL=N:now      the launch of the N-th op after the first send fails
 *     TOOLKIT_FAIL=N:late     its kernel fails, which the next wait reports
 *     TOOLKIT_REFUSE=N        cublasLtMatmul refuses algorithm N, although the heuristics offer it
 *     TOOLKIT_SLOW=EPILOGUE   by events, a product with this cublasLtEpilogue_t (a number) is slow
 *     TOOLKIT_WRONG=EPILOGUE  such a product has a few wrong results */
#include <assert.h>
#include <cublasLt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/cuda/memory.h"
#include "tests/cuda/toolkit.h"
#include "trainer/backend/bf16.h"
#include "trainer/backend/fp16.h"
#include "trainer/backend/update_numbers.h"

/* ---- properties ---- */

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess                 ? "no error"
           : error == cudaErrorIllegalAddress   ? "a broken kernel"
           : error == cudaErrorNoDevice         ? "no GPU"
           : error == cudaErrorMemoryAllocation ? "out of memory"
                                                : "a bad launch";
}

/* Parses CUDA_VISIBLE_DEVICES as the driver does: the numbers of visible GPUs, up to the first that does not exist. */
static int visible(long numbers[16])
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    const long all = toolkit_wish("EMULATED_GPUS") > 0 ? toolkit_wish("EMULATED_GPUS") : 1;
    int count = 0;
    for (long i = 0; !text && i < all; i++)
        numbers[count++] = i;
    for (char *end; text && *text && count < 16; text = *end == ',' ? end + 1 : end) {
        const long number = strtol(text, &end, 10);
        if (end == text || number >= all)
            break;
        numbers[count++] = number;
    }
    return count;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    long numbers[16];
    *count = visible(numbers);
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *card, int device)
{
    long numbers[16];
    assert(device == 0 && visible(numbers) > 0);
    *card = (struct cudaDeviceProp){.major = 9, .multiProcessorCount = 4, .totalGlobalMem = EMULATED_MEMORY};
    strcpy(card->name, "no GPU, but the host");
    card->uuid.bytes[0] = (char)numbers[0];
    return cudaSuccess;
}

/* ---- cuBLASLt: descriptions ---- */

struct operation {
    cublasOperation_t a, b;
    cublasLtEpilogue_t epilogue;
    void *vector, *aux;
    int64_t aux_row;
};

struct matrix {
    cudaDataType type;
    size_t rows, columns, leading;
};

size_t cublasLtGetVersion(void)
{
    return 130100;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "a failure";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = mem_clear(1, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    mem_free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute, cudaDataType_t scale)
{
    assert(compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F);
    *made = mem_clear(1, sizeof(struct operation));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation)
{
    mem_free(operation);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes)
{
    struct operation *operation = (struct operation *)description;
    const struct {
        cublasLtMatmulDescAttributes_t what;
        void *field;
        size_t bytes;
    } fields[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &operation->a, sizeof operation->a},
        {CUBLASLT_MATMUL_DESC_TRANSB, &operation->b, sizeof operation->b},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &operation->epilogue, sizeof operation->epilogue},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &operation->vector, sizeof operation->vector},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &operation->aux, sizeof operation->aux},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &operation->aux_row, sizeof operation->aux_row},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].what == what && fields[i].bytes == bytes) {
            memcpy(fields[i].field, value, bytes);
            return CUBLAS_STATUS_SUCCESS;
        }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
    struct matrix *matrix = mem_clear(1, sizeof *matrix);
    *matrix = (struct matrix){type, rows, columns, (size_t)leading};
    *made = (cublasLtMatrixLayout_t)matrix;
    return leading >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix)
{
    mem_free(matrix);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    *made = mem_clear(1, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    mem_free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void *value,
                                                    size_t bytes)
{
    (void)preference;
    (void)what;
    (void)value;
    (void)bytes;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- cuBLASLt: algorithms and products ---- */

/* The alignment that the manual requires of 16-bit matrices and auxiliary ones. Products that are refused take the
 * backend's fallback. */
static bool serves(const struct operation *operation, const struct matrix *d)
{
    const bool gelu = operation->aux_row > 0, half = d->type != CUDA_R_32F;
    return !(gelu && operation->aux_row % 8) && !(half && d->leading % 8);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *count)
{
    (void)handle;
    (void)a;
    (void)b;
    (void)c;
    (void)preference;
    *count = 0;
    if (!serves((const struct operation *)operation, (const struct matrix *)d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (; *count < most && *count < 2; ++*count)
        results[*count] =
            (cublasLtMatmulHeuristicResult_t){.algo.data[0] = 1 + (uint64_t)*count, .state = CUBLAS_STATUS_SUCCESS};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    (void)handle;
    (void)operation;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    *result = (cublasLtMatmulHeuristicResult_t){.algo = *algorithm, .state = CUBLAS_STATUS_SUCCESS};
    return algorithm->data[0] > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static float get(const void *memory, cudaDataType type, size_t i)
{
    return type == CUDA_R_32F    ? ((const float *)memory)[i]
           : type == CUDA_R_16BF ? bf16_to_float(((const uint16_t *)memory)[i])
                                 : fp16_to_float(((const uint16_t *)memory)[i]);
}

static void put(void *memory, cudaDataType type, size_t i, float value)
{
    if (type == CUDA_R_32F)
        ((float *)memory)[i] = value;
    else
        ((uint16_t *)memory)[i] = type == CUDA_R_16BF ? bf16_from_float(value) : fp16_from_float(value);
}

/* Element (row, column) of op(A). */
static size_t place(const struct matrix *m, cublasOperation_t operation, size_t row, size_t column)
{
    return operation == CUBLAS_OP_N ? row + column * m->leading : column + row * m->leading;
}

static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    const double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/* Applies the epilogue to an element of alpha op(A) op(B) + beta C. */
static double finish(const struct operation *o, const struct matrix *d, size_t row, size_t column, double value)
{
    const size_t aux = row + column * (size_t)o->aux_row;
    if (o->epilogue == CUBLASLT_EPILOGUE_BIAS || o->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
        value += (double)get(o->vector, d->type, row);
    if (o->epilogue == CUBLASLT_EPILOGUE_GELU_AUX || o->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
        put(o->aux, d->type, aux, (float)value);
        value = gelu(value);
    } else if (o->epilogue == CUBLASLT_EPILOGUE_DGELU) {
        value *= gelu_slope((double)get(o->aux, d->type, aux));
    }
    return value;
}

/* One product, with copies of its descriptors. */
struct product {
    struct operation operation;
    struct matrix left, right, out;
    const void *a, *b;
    void *d;
    double beta;
    size_t depth;
    bool wrong;
    float took; /* milliseconds */
};

static bool multiply(void *context)
{
    const struct product *p = context;
    const struct operation *o = &p->operation;
    const struct matrix *left = &p->left, *right = &p->right, *out = &p->out;
    toolkit_clock += p->took;
    for (size_t column = 0; column < out->columns; column++) {
        for (size_t row = 0; row < out->rows; row++) {
            const size_t at = row + column * out->leading;
            double sum = 0;
            for (size_t k = 0; k < p->depth; k++)
                sum += (double)get(p->a, left->type, place(left, o->a, row, k)) *
                       (double)get(p->b, right->type, place(right, o->b, k, column));
            if (p->beta != 0)
                sum += p->beta * (double)get(p->d, out->type, at);
            if (p->wrong && row >= out->rows - out->rows / 16)
                sum = -sum;
            put(p->d, out->type, at, (float)finish(o, out, row, column, sum));
        }
        if (o->epilogue == CUBLASLT_EPILOGUE_BGRADB) {
            double sum = 0;
            for (size_t k = 0; k < p->depth; k++)
                sum += (double)get(p->b, right->type, place(right, o->b, k, column));
            put(o->vector, out->type, column, p->wrong && column % 16 == 0 ? 0 : (float)sum);
        }
    }
    mem_free(context);
    return true;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
    const struct operation *o = (const struct operation *)description;
    const struct matrix *left = (const struct matrix *)a_layout, *right = (const struct matrix *)b_layout;
    const struct matrix *out = (const struct matrix *)d_layout;
    (void)handle;
    (void)workspace;
    (void)workspace_bytes;
    if (algorithm->data[0] == (uint64_t)toolkit_wish("TOOLKIT_REFUSE"))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    assert(c == d && c_layout == d_layout && algorithm->data[0] > 0 && *(const float *)alpha == 1);
    struct product *product = mem_alloc(sizeof *product);
    *product = (struct product){.operation = *o,
                                .left = *left,
                                .right = *right,
                                .out = *out,
                                .a = a,
                                .b = b,
                                .d = d,
                                .beta = (double)*(const float *)beta,
                                .depth = o->a == CUBLAS_OP_N ? left->columns : left->rows,
                                .wrong = toolkit_wish("TOOLKIT_WRONG") == (long)o->epilogue,
                                .took = toolkit_wish("TOOLKIT_SLOW") == (long)o->epilogue ? 3
                                        : o->epilogue == CUBLASLT_EPILOGUE_DEFAULT        ? 2
                                                                                          : 1};
    assert(product->depth == (o->b == CUBLAS_OP_N ? right->rows : right->columns));
    assert(out->rows == (o->a == CUBLAS_OP_N ? left->rows : left->columns));
    assert(out->columns == (o->b == CUBLAS_OP_N ? right->columns : right->rows));
    toolkit_queue(stream, multiply, product);
    return CUBLAS_STATUS_SUCCESS;
}
