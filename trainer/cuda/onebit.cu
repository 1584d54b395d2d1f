/* The compression of 1-bit Adam (optim/onebit.h): a block has a chunk, whose numbers share a scale. Signs are those of
 * the CPU to the bit, because every product and sum of floats is rounded as it is there; the squares of a chunk are
 * doubles that each thread adds in order and the block in a fixed tree.
 *
 * Bytes per parameter: compress 28, serve 20 of the own part, decompress 16. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

static __device__ __forceinline__ float scale_of(double squares, double counted)
{
    return counted > 0 ? (float)sqrt(squares / counted) : 0;
}

/* Quantises eight numbers, of which the first `count` are there, with frozen second moments v: returns their signs,
 * leaves their errors, and zeros where v is 0 and after the last one. */
static __device__ __forceinline__ uint8_t quantise(float *x, const float *v, int count, float scale)
{
    unsigned byte = 0;
    for (int i = 0; i < 8; i++) {
        const bool plus = i >= count || x[i] >= 0;
        byte = byte << 1 | plus;
        x[i] = i < count && v[i] != 0 ? x[i] - (plus ? scale : -scale) : 0;
    }
    return (uint8_t)byte;
}

static __global__ void __launch_bounds__(THREADS)
    compress_kernel(const bits_operands o, float *errors, uint8_t *bits, float *alphas)
{
    __shared__ double room[WARP];
    const param_chunk chunk = o.chunks[blockIdx.x];
    const size_t at = o.at[blockIdx.x];
    const float *m = o.first + chunk.offset, *v = o.second + chunk.offset, *g = o.gradients + chunk.offset;
    float *b = errors + at;
    double squares = 0, counted = 0;
    for (int i = threadIdx.x; i < chunk.count; i += THREADS) {
        const float scaled = __fmul_rn(o.share, __fmul_rn(g[i], o.factor));
        const float sum = __fadd_rn(__fadd_rn(__fmul_rn(o.beta, m[i]), scaled), b[i]);
        b[i] = v[i] != 0 ? sum : 0;
        squares += (double)b[i] * (double)b[i];
        counted += v[i] != 0;
    }
    squares = block_sum(squares, room);
    counted = block_sum(counted, room);
    const float alpha = scale_of(squares, counted);
    if (threadIdx.x == 0)
        alphas[blockIdx.x] = alpha;
    __syncthreads(); /* other threads wrote b */
    for (int i = 8 * threadIdx.x; i < chunk.count; i += 8 * THREADS)
        bits[(at + i) / 8] = quantise(b + i, v + i, chunk.count - i, alpha);
}

static __global__ void __launch_bounds__(THREADS)
    serve_kernel(const bits_operands o, const served_part part, const serve_args a)
{
    __shared__ double room[WARP];
    const param_chunk chunk = o.chunks[part.first + blockIdx.x];
    const size_t at = o.at[part.first + blockIdx.x];
    const float *v = o.second + chunk.offset;
    float *served = a.served + (at - part.from);
    const uint8_t *bits = a.bits_of_all + (at - part.from) / 8;
    double squares = 0, counted = 0;
    for (int i = threadIdx.x; i < chunk.count; i += THREADS) {
        float sum = 0;
        for (uint32_t r = 0; r < part.size; r++) {
            const float alpha = a.alphas_of_all[r * part.count + blockIdx.x];
            sum += bits[r * (part.elements / 8) + i / 8] >> (7 - i % 8) & 1 ? alpha : -alpha;
        }
        served[i] = v[i] != 0 ? __fadd_rn(served[i], sum / (float)part.size) : 0;
        squares += (double)served[i] * (double)served[i];
        counted += v[i] != 0;
    }
    squares = block_sum(squares, room);
    counted = block_sum(counted, room);
    const float sigma = scale_of(squares, counted);
    if (threadIdx.x == 0)
        a.sigmas[part.first + blockIdx.x] = sigma;
    __syncthreads();
    for (int i = 8 * threadIdx.x; i < chunk.count; i += 8 * THREADS)
        a.bits[(at + i) / 8] = quantise(served + i, v + i, chunk.count - i, sigma);
}

static __global__ void __launch_bounds__(THREADS)
    decompress_kernel(const bits_operands o, const uint8_t *bits, const float *sigmas)
{
    const param_chunk chunk = o.chunks[blockIdx.x];
    const uint8_t *signs = bits + o.at[blockIdx.x] / 8;
    const float sigma = sigmas[blockIdx.x], shrink = chunk.decay ? o.matrix_shrink : o.vector_shrink;
    float *p = o.params + chunk.offset, *m = o.first + chunk.offset;
    const float *v = o.second + chunk.offset;
    for (int i = threadIdx.x; i < chunk.count; i += THREADS) {
        m[i] = v[i] == 0 ? 0 : signs[i / 8] >> (7 - i % 8) & 1 ? sigma : -sigma;
        p[i] -= o.rate * m[i] / (sqrtf(v[i]) + o.epsilon) + shrink * p[i];
    }
}

void kernel_compress(cudaStream_t stream, const struct bits_operands *operands, size_t chunks, float *errors,
                     uint8_t *bits, float *alphas)
{
    launch(compress_kernel, chunks, THREADS, 0, stream, *operands, errors, bits, alphas);
}

void kernel_serve(cudaStream_t stream, const struct bits_operands *operands, const struct served_part *part,
                  const struct serve_args *args)
{
    if (part->count > 0)
        launch(serve_kernel, part->count, THREADS, 0, stream, *operands, *part, *args);
}

void kernel_decompress(cudaStream_t stream, const struct bits_operands *operands, size_t chunks, const uint8_t *bits,
                       const float *sigmas)
{
    launch(decompress_kernel, chunks, THREADS, 0, stream, *operands, bits, sigmas);
}
