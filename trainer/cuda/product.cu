/* A plain product, one element of the result per thread: for the few shapes that the library refuses. */
#include "trainer/cuda/device.cuh"
#include "trainer/cuda/launch.cuh"

#define THREADS 256

/* D [height, width] = (beta D +) sum over k of left(row, k) right(k, column). */
struct plain_shape {
    size_t height, width, depth;
    size_t left_row, left_k, right_k, right_column;
};

template <typename storage, typename result>
static __global__ void multiply(result *d, const storage *left, const storage *right, struct plain_shape s, int beta)
{
    const size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= s.height * s.width)
        return;
    const size_t row = at / s.width, column = at % s.width;
    float sum = 0;
    for (size_t k = 0; k < s.depth; k++)
        sum += load(left[row * s.left_row + k * s.left_k]) * load(right[k * s.right_k + column * s.right_column]);
    d[at] = store<result>(beta ? load(d[at]) + sum : sum);
}

template <typename storage>
static void product(cudaStream_t stream, int kind, void *d, const void *a, const void *b, int beta, size_t rows,
                    size_t out, size_t in)
{
    const storage *left = (const storage *)b, *right = (const storage *)a;
    const struct plain_shape forward = {rows, out, in, in, 1, 1, in};
    const struct plain_shape input = {rows, in, out, out, 1, in, 1};
    const struct plain_shape weight = {out, in, rows, 1, out, in, 1};
    const struct plain_shape shape = kind == 0 ? forward : kind == 1 ? input : weight;
    const size_t blocks = blocks_for(shape.height * shape.width, THREADS);
    if (kind == 2)
        launch(multiply<storage, float>, blocks, THREADS, 0, stream, (float *)d, left, right, shape, beta);
    else
        launch(multiply<storage, storage>, blocks, THREADS, 0, stream, (storage *)d, left, right, shape, beta);
}

void kernel_product(cudaStream_t stream, enum precision precision, int kind, void *d, const void *a, const void *b,
                    int beta, int32_t rows, int32_t out, int32_t in)
{
    FOR_STORAGE(precision, product, stream, kind, d, a, b, beta, (size_t)rows, (size_t)out, (size_t)in);
}
