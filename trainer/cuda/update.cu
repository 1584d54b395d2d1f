/* What an optimizer does to flat memory: a block has a chunk of at most 16,384 numbers. The formulas are at struct
 * update_step (backend/update_numbers.h), and are those of cpu/update.h, number by number. Sums of squares are doubles:
 * each thread adds its numbers in order, then the block adds in a fixed tree. Sums over the chunks of a tensor are made
 * by a block, and those over tensors by one block, which then computes the numbers per tensor. An infinity or NaN among
 * the gradients makes its chunk's sum non-finite: that is how overflow is found.
 *
 * Bytes per parameter: squares 4, adam 28, moments 24, apply 16 (LANS 20). With Adam and the norm, large (336e6) needs
 * 3.2 ms at 3.35e12 bytes/s. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

/* The operands of one chunk, as in cpu/update.h. */
struct update_numbers {
    float beta1, beta2, weight1, weight2, correction1, correction2, epsilon;
    float rate, shrink_rate;          /* of adam: rate * correction1, rate */
    float weight_decay, vector_decay; /* decoupled, or added to the gradient */
    bool decoupled;
    enum gradient_term term;
    update_work work; /* of a range: block 0 has its first chunk */
};

struct chunk_numbers {
    float factor, decay, added;
};

/* Pointers to where arrays would begin if all of them were held; what is not held is not accessed. Computed as
 * integers, because a pointer may not lie outside of its memory. */
static update_memory as_whole(const struct update_memory *memory)
{
    update_memory whole = *memory;
    const uintptr_t missing = memory->held_from * sizeof(float);
    whole.first = (void *)((uintptr_t)memory->first - missing);
    whole.second = (void *)((uintptr_t)memory->second - missing);
    whole.params = (void *)((uintptr_t)memory->params - memory->params_from * sizeof(float));
    whole.gradients = (const void *)((uintptr_t)memory->gradients - memory->gradients_from * sizeof(float));
    return whole;
}

/* Makes the range's first chunk the table's first. */
static update_work of_range(const struct update_work *work, struct chunk_range range)
{
    update_work part = *work;
    part.chunks += range.from;
    part.squares += range.from;
    part.sums += 3 * range.from;
    return part;
}

static update_numbers numbers_of(const struct update_step *step, const struct update_work *work,
                                 struct chunk_range range)
{
    return {(float)step->beta1,        (float)step->beta2,
            (float)step->weight1,      (float)(1 - step->beta2),
            (float)step->correction1,  (float)step->correction2,
            (float)step->epsilon,      (float)(step->rate * step->correction1),
            (float)step->rate,         (float)step->weight_decay,
            (float)step->vector_decay, step->decoupled,
            gradient_term(step->kind), of_range(work, range)};
}

static __device__ __forceinline__ chunk_numbers chunk_of(const update_numbers &u, const param_chunk &chunk)
{
    const float decay = chunk.decay ? u.weight_decay : u.vector_decay;
    return {(float)u.work.factors[chunk.tensor], u.decoupled ? decay : 0, u.decoupled ? 0 : decay};
}

/* The values of one parameter in all four arrays. */
struct update_place {
    float p, m, v, g;
};

enum { READS_GRADIENTS = 1, STORES_MOMENTS = 2, STORES_PARAMS = 4 };

/* Calls update(place) for each number of the chunk and stores m, v or p; g is 0 where it is not read. Four numbers at a
 * time where the chunk begins on 16 bytes: then its moments do too (held_from). */
template <int what, typename function>
static __device__ __forceinline__ void each_number(const update_memory &memory, const param_chunk &chunk,
                                                   function update)
{
    float *p = (float *)memory.params + chunk.offset, *m = (float *)memory.first + chunk.offset;
    float *v = (float *)memory.second + chunk.offset;
    const float *g = (const float *)memory.gradients + chunk.offset;
    const int fours = chunk.offset % 4 == 0 ? chunk.count / 4 : 0;
    for (int i = threadIdx.x; i < fours; i += THREADS) {
        const float4 p4 = ((float4 *)p)[i], m4 = ((float4 *)m)[i], v4 = ((float4 *)v)[i];
        const float4 g4 = what & READS_GRADIENTS ? ((const float4 *)g)[i] : make_float4(0, 0, 0, 0);
        update_place place[4] = {
            {p4.x, m4.x, v4.x, g4.x}, {p4.y, m4.y, v4.y, g4.y}, {p4.z, m4.z, v4.z, g4.z}, {p4.w, m4.w, v4.w, g4.w}};
#pragma unroll
        for (int k = 0; k < 4; k++)
            update(place[k]);
        if (what & STORES_MOMENTS) {
            ((float4 *)m)[i] = make_float4(place[0].m, place[1].m, place[2].m, place[3].m);
            ((float4 *)v)[i] = make_float4(place[0].v, place[1].v, place[2].v, place[3].v);
        }
        if (what & STORES_PARAMS)
            ((float4 *)p)[i] = make_float4(place[0].p, place[1].p, place[2].p, place[3].p);
    }
    for (int i = 4 * fours + threadIdx.x; i < chunk.count; i += THREADS) {
        update_place place = {p[i], m[i], v[i], what & READS_GRADIENTS ? g[i] : 0};
        update(place);
        if (what & STORES_MOMENTS) {
            m[i] = place.m;
            v[i] = place.v;
        }
        if (what & STORES_PARAMS)
            p[i] = place.p;
    }
}

static __global__ void __launch_bounds__(THREADS) squares_kernel(const update_work work, const float *values)
{
    __shared__ double room[WARP];
    const param_chunk chunk = work.chunks[blockIdx.x];
    const float *from = values + chunk.offset;
    const int fours = chunk.offset % 4 == 0 ? chunk.count / 4 : 0;
    double sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < fours; i += THREADS) {
        const float4 four = ((const float4 *)from)[i];
        sum += (double)four.x * (double)four.x;
        sum += (double)four.y * (double)four.y;
        sum += (double)four.z * (double)four.z;
        sum += (double)four.w * (double)four.w;
    }
    for (int i = 4 * fours + threadIdx.x; i < chunk.count; i += THREADS)
        sum += (double)from[i] * (double)from[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0)
        work.squares[blockIdx.x] = sum;
}

/* The sum over a tensor's chunks of of_chunks[each * chunk], in every thread of the block. */
static __device__ __forceinline__ double tensor_sum(const update_work &work, int tensor, const double *of_chunks,
                                                    int each, double *room)
{
    double sum = 0;
    for (int i = work.firsts[tensor] + threadIdx.x; i < work.firsts[tensor + 1]; i += THREADS)
        sum += of_chunks[each * (size_t)i];
    return block_sum(sum, room);
}

/* factors[tensor] = sum of squares, for factors_kernel. */
static __global__ void __launch_bounds__(THREADS) tensor_squares_kernel(const update_work work)
{
    __shared__ double room[WARP];
    const double sum = tensor_sum(work, blockIdx.x, work.squares, 1, room);
    if (threadIdx.x == 0)
        work.factors[blockIdx.x] = sum;
}

/* Runs as one block. */
static __global__ void __launch_bounds__(THREADS)
    factors_kernel(const update_work work, const update_step step, const double *sums)
{
    __shared__ double room[WARP];
    const int tensors = (int)work.tensors;
    double all = 0;
    for (int i = threadIdx.x; i < tensors; i += THREADS)
        all += work.factors[i];
    all = block_sum(all, room);
    if (threadIdx.x == 0)
        record_step(work.record, &step, all, sums);
    __syncthreads();
    const double factor = work.record->factor;
    for (int i = threadIdx.x; i < tensors; i += THREADS)
        work.factors[i] = tensor_factor(&step, factor, work.factors[i]);
}

/* A block has a chunk of the range, and works only if that is the first one of its tensor there. */
static __global__ void __launch_bounds__(THREADS)
    shares_kernel(const update_work work, const update_step step, size_t first)
{
    __shared__ double room[WARP];
    const param_chunk *chunk = work.chunks + first + blockIdx.x;
    const int tensor = chunk->tensor;
    if (blockIdx.x > 0 && chunk[-1].tensor == tensor)
        return;
    double sums[3];
    for (int k = 0; k < 3; k++)
        sums[k] = tensor_sum(work, tensor, work.sums + k, 3, room);
    if (threadIdx.x > 0)
        return;
    const param_chunk *begin = work.chunks + work.firsts[tensor], *last = work.chunks + work.firsts[tensor + 1] - 1;
    const double count = (double)(last->offset + last->count - begin->offset);
    const struct tensor_shares found = tensor_shares(&step, begin->decay, sums, count);
    work.shares[2 * tensor] = found.u;
    work.shares[2 * tensor + 1] = found.c;
}

/* The gradient as the step uses it, and the moments after it. */
static __device__ __forceinline__ float take_gradient(const update_place &x, const chunk_numbers &c)
{
    return x.g * c.factor + c.added * x.p;
}
static __device__ __forceinline__ void update_moments(update_place &x, float g, const update_numbers &u)
{
    x.m = u.beta1 * x.m + u.weight1 * g;
    x.v = u.beta2 * x.v + u.weight2 * g * g;
}

static __global__ void __launch_bounds__(THREADS) adam_kernel(const update_memory memory, const update_numbers u)
{
    if (u.work.record->skipped)
        return;
    const param_chunk chunk = u.work.chunks[blockIdx.x];
    const chunk_numbers c = chunk_of(u, chunk);
    const float shrink = u.shrink_rate * c.decay;
    each_number<READS_GRADIENTS | STORES_MOMENTS | STORES_PARAMS>(memory, chunk, [&](update_place &x) {
        update_moments(x, take_gradient(x, c), u);
        x.p -= u.rate * x.m / (sqrtf(x.v) * u.correction2 + u.epsilon) + shrink * x.p;
    });
}

static __global__ void __launch_bounds__(THREADS) moments_kernel(const update_memory memory, const update_numbers u)
{
    __shared__ double room[WARP];
    if (u.work.record->skipped)
        return;
    const param_chunk chunk = u.work.chunks[blockIdx.x];
    const chunk_numbers c = chunk_of(u, chunk);
    double pp = 0, uu = 0, cc = 0;
    each_number<READS_GRADIENTS | STORES_MOMENTS>(memory, chunk, [&](update_place &x) {
        const float g = take_gradient(x, c);
        update_moments(x, g, u);
        const float root = sqrtf(x.v), d = root * u.correction2 + u.epsilon;
        const float direction = u.correction1 * x.m / d + c.decay * x.p;
        const float gradient_part = u.term == TERM_NONE        ? 0
                                    : u.term == TERM_DIRECTION ? g / d + c.decay * x.p
                                                               : g / fmaxf(root, u.epsilon);
        pp += (double)x.p * (double)x.p;
        uu += (double)direction * (double)direction;
        cc += (double)gradient_part * (double)gradient_part;
    });
    pp = block_sum(pp, room);
    uu = block_sum(uu, room);
    cc = block_sum(cc, room);
    if (threadIdx.x < 3)
        u.work.sums[3 * (size_t)blockIdx.x + threadIdx.x] = threadIdx.x == 0 ? pp : threadIdx.x == 1 ? uu : cc;
}

/* Only LANS reads gradients: without that term, c is zero. */
template <bool gradient_term>
static __global__ void __launch_bounds__(THREADS) apply_kernel(const update_memory memory, const update_numbers u)
{
    if (u.work.record->skipped)
        return;
    const param_chunk chunk = u.work.chunks[blockIdx.x];
    const chunk_numbers c = chunk_of(u, chunk);
    const float share_u = (float)u.work.shares[2 * (size_t)chunk.tensor];
    const float share_c = gradient_term ? (float)u.work.shares[2 * (size_t)chunk.tensor + 1] : 0;
    each_number<(gradient_term ? READS_GRADIENTS : 0) | STORES_PARAMS>(memory, chunk, [&](update_place &x) {
        const float d = sqrtf(x.v) * u.correction2 + u.epsilon;
        float change = share_u * (u.correction1 * x.m / d + c.decay * x.p);
        if (gradient_term)
            change += share_c * (take_gradient(x, c) / d + c.decay * x.p);
        x.p -= change;
    });
}

/* One block per chunk. */
template <typename... parameters, typename... arguments>
static void launch_chunks(void (*kernel)(parameters...), struct chunk_range range, cudaStream_t stream,
                          arguments... args)
{
    launch(kernel, range.to - range.from, THREADS, 0, stream, args...);
}

void kernel_squares(cudaStream_t stream, const struct squares_args *args)
{
    const uintptr_t whole = (uintptr_t)args->values - args->from * sizeof(float);
    launch_chunks(squares_kernel, args->range, stream, of_range(args->work, args->range), (const float *)whole);
}

void kernel_factors(cudaStream_t stream, const struct factors_args *args)
{
    launch(tensor_squares_kernel, args->work->tensors, THREADS, 0, stream, *args->work);
    launch(factors_kernel, 1, THREADS, 0, stream, *args->work, *args->step, args->sums);
}

void kernel_adam(cudaStream_t stream, const struct adam_args *args)
{
    launch_chunks(adam_kernel, args->range, stream, as_whole(args->memory),
                  numbers_of(args->step, args->work, args->range));
}

void kernel_moments(cudaStream_t stream, const struct moments_args *args)
{
    launch_chunks(moments_kernel, args->range, stream, as_whole(args->memory),
                  numbers_of(args->step, args->work, args->range));
}

void kernel_shares(cudaStream_t stream, const struct shares_args *args)
{
    launch_chunks(shares_kernel, args->range, stream, *args->work, *args->step, args->range.from);
}

void kernel_apply(cudaStream_t stream, const struct apply_args *args)
{
    launch_chunks(gradient_term(args->step->kind) == TERM_DIRECTION ? apply_kernel<true> : apply_kernel<false>,
                  args->range, stream, as_whole(args->memory), numbers_of(args->step, args->work, args->range));
}
