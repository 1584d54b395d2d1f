/* Gradients to integers and back (ops_args.h); one thread per number. Bytes per number: 24 and 20. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

static __global__ void __launch_bounds__(THREADS) fixed_add_kernel(const struct fixed_add_args a)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    float *gradient = (float *)a.gradients + i;
    const double product = (double)*gradient * a.unit;
    if (fabs(product) < a.limit) /* false for NaN */
        a.sums[i] += llrint(product);
    else
        *a.refused = 1; /* all that write it write the same */
    *gradient = 0;
}

static __global__ void __launch_bounds__(THREADS) fixed_take_kernel(const struct fixed_take_args a)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    ((float *)a.gradients)[i] = (float)a.sums[i] * (float)(1 / a.unit);
    a.sums[i] = 0;
}

void kernel_fixed_add(cudaStream_t stream, const struct fixed_add_args *args)
{
    launch(fixed_add_kernel, blocks_for(args->count, THREADS), THREADS, 0, stream, *args);
}

void kernel_fixed_take(cudaStream_t stream, const struct fixed_take_args *args)
{
    launch(fixed_take_kernel, blocks_for(args->count, THREADS), THREADS, 0, stream, *args);
}
