/* Softmax cross-entropy in place: logits in, their gradient out. A block has a row; a vocabulary of up to 32,768 16-bit
 * logits stays in its registers, so every byte moves once each way: 4 V bytes a row, 36 ns of V = 30,528 at 3.35e12
 * bytes/s. What is beyond that is read again, mostly from the cache. Losses and hits of the rows meet in scratch,
 * or where the caller wants them, and are added by one block in a fixed tree. */
#include "trainer/cuda/pack.cuh"

#define THREADS_MAX 512
#define KEPT        8 /* packs of a thread that stay in registers */
#define ADD_THREADS 256

template <typename storage> struct loss_operands {
    storage *logits;
    const int32_t *labels;
    double *results; /* [rows][2]: loss, hit */
    struct rows rows;
    int columns, vocabulary;
    float factor;
};

/* A thread's walk over its packs of a row: the first ones as they were kept, the others read again. Vectors are kept as
 * they came, so that two blocks fit a multiprocessor and one computes while the other waits for memory. */
template <typename storage, int width> struct row_walk {
    storage *row;
    int packs; /* of the row */
    uint4 kept[KEPT];

    __device__ __forceinline__ bool has(int k) const
    {
        return threadIdx.x + k * blockDim.x < (unsigned)packs;
    }
    __device__ __forceinline__ void keep()
    {
        if constexpr (width > 1)
#pragma unroll
            for (int k = 0; k < KEPT; k++)
                if (has(k))
                    kept[k] = reinterpret_cast<const uint4 *>(row)[threadIdx.x + k * blockDim.x];
    }
    /* f(first column, pack) for each. */
    template <typename function> __device__ __forceinline__ void each(function f)
    {
        int i = (int)threadIdx.x;
        if constexpr (width > 1) {
#pragma unroll
            for (int k = 0; k < KEPT; k++)
                if (has(k)) {
                    forget(kept[k]);
                    pack<storage, width> p = unpack<storage>(kept[k]);
                    f((int)(threadIdx.x + k * blockDim.x) * width, p);
                }
            i += KEPT * (int)blockDim.x;
        }
        for (; i < packs; i += (int)blockDim.x) {
            pack<storage, width> p = load_pack<storage, width>(row + (size_t)i * width);
            f(i * width, p);
        }
    }
};

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS_MAX, 2) loss_kernel(const loss_operands<storage> a)
{
    __shared__ float room[WARP];
    const int row = blockIdx.x, vocabulary = a.vocabulary;
    row_walk<storage, width> walk = {a.logits + (size_t)row * a.columns, a.columns / width, {}};
    storage *const logits = walk.row;
    if (row >= a.rows.live) {
        pack<storage, width> zero = {};
        for (int i = threadIdx.x; i < walk.packs; i += blockDim.x)
            store_pack(logits + (size_t)i * width, zero);
        return;
    }
    const int label = a.labels[row];
    const float truth = load(logits[label]);
    walk.keep();
    float most = -INFINITY, sum = 0;
    walk.each([&](int column, pack<storage, width> &p) {
#pragma unroll
        for (int i = 0; i < width; i++)
            if (column + i < vocabulary)
                most = fmaxf(most, p.x[i]);
    });
    most = block_max(most, room);
    bool earlier = false; /* has a column before the label the largest logit? */
    walk.each([&](int column, pack<storage, width> &p) {
#pragma unroll
        for (int i = 0; i < width; i++)
            if (column + i < vocabulary) {
                earlier |= p.x[i] == most && column + i < label;
                sum += __expf(p.x[i] - most);
            }
    });
    sum = block_sum(sum, room);
    earlier = __syncthreads_or(earlier);
    if (threadIdx.x == 0) {
        a.results[2 * (size_t)row] = log((double)sum) + (double)most - (double)truth;
        a.results[2 * (size_t)row + 1] = truth == most && !earlier;
    }
    if (a.factor == 0)
        return;
    const float scale = a.factor / sum, factor = a.factor;
    walk.each([&](int column, pack<storage, width> &p) {
#pragma unroll
        for (int i = 0; i < width; i++) {
            p.x[i] = column + i < vocabulary ? scale * __expf(p.x[i] - most) : 0;
            p.x[i] -= column + i == label ? factor : 0;
        }
        store_pack(logits + column, p);
    });
}

static __global__ void __launch_bounds__(ADD_THREADS) add_kernel(double *sums, const double *results, int rows)
{
    __shared__ double room[WARP];
    double loss = 0, hits = 0;
    for (int row = threadIdx.x; row < rows; row += ADD_THREADS) {
        loss += results[2 * (size_t)row];
        hits += results[2 * (size_t)row + 1];
    }
    loss = block_sum(loss, room);
    hits = block_sum(hits, room);
    if (threadIdx.x == 0) {
        sums[0] += loss;
        sums[1] += hits;
    }
}

template <typename storage> static void loss_of(cudaStream_t stream, const struct loss_args &args)
{
    const struct rows rows = args.rows;
    double *const results = args.results ? args.results : (double *)args.scratch;
    const loss_operands<storage> a = {(storage *)args.logits, args.labels,     results,           rows,
                                      args.columns,           args.vocabulary, (float)args.factor};
    const bool fast = vectors_serve<storage>(a.columns);
    const size_t warps = blocks_for(a.columns, WARP * (fast ? vector<storage>::count : 1));
    const int threads = warps * WARP < THREADS_MAX ? (int)warps * WARP : THREADS_MAX;
    launch(fast ? loss_kernel<storage, vector<storage>::count> : loss_kernel<storage, 1>, rows.total, threads, 0,
           stream, a);
    if (rows.live > 0)
        launch(add_kernel, 1, ADD_THREADS, 0, stream, args.sums, a.results, rows.live);
}

void kernel_loss(cudaStream_t stream, enum precision precision, const struct loss_args *args)
{
    FOR_STORAGE(precision, loss_of, stream, *args);
}
