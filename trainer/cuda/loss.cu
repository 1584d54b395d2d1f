/* Softmax cross-entropy in place: logits in, their gradient out. A block has a row; a vocabulary of up to 32,768 16-bit
 * logits stays in its registers, so every byte moves once each way: 4 V bytes per row, 36 ns for V = 30,528 at 3.35e12
 * bytes/s. Logits beyond that are read again, mostly from the cache. Losses and hits of the rows go to scratch, or
 * where the caller wants them, and are added by one block in a fixed tree. */
#include "trainer/cuda/pack.cuh"

#define THREADS_MAX 512
#define KEPT        8 /* packs per thread that stay in registers */
#define ADD_THREADS 256

template <typename storage> struct loss_operands {
    storage *logits;
    const int32_t *labels;
    double *results; /* [rows][2]: loss, hit */
    struct rows rows;
    int columns, vocabulary;
    float factor;
    const float *weights; /* [vocabulary] of labels, or NULL */
};

/* A thread's walk over its packs of a row: the first ones are kept in registers, the others read again. Vectors are
 * kept as they were loaded, so that two blocks fit a multiprocessor and one computes while the other waits for
 * memory. */
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
    /* Calls f(first column, pack) for each pack. */
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
    bool earlier = false; /* a column before the label has the largest logit */
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
    const float weight = a.weights ? a.weights[label] : 1; /* read here: earlier it would cost a register */
    if (threadIdx.x == 0) {
        a.results[2 * (size_t)row] = weight * (log((double)sum) + (double)most - (double)truth);
        a.results[2 * (size_t)row + 1] = truth == most && !earlier;
    }
    if (a.factor == 0)
        return;
    const float factor = weight * a.factor, scale = factor / sum;
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
    const loss_operands<storage> a = {(storage *)args.logits, args.labels,        results,     rows, args.columns,
                                      args.vocabulary,        (float)args.factor, args.weights};
    const bool fast = vectors_serve<storage>(a.columns);
    const size_t warps = blocks_for(a.columns, WARP * (fast ? vector<storage>::count : 1));
    const int threads = warps * WARP < THREADS_MAX ? (int)warps * WARP : THREADS_MAX;
    launch(fast ? loss_kernel<storage, vector<storage>::count> : loss_kernel<storage, 1>, rows.total, threads, 0,
           stream, a);
    if (rows.live > 0)
        launch(add_kernel, 1, ADD_THREADS, 0, stream, args.sums, a.results, rows.live);
}

template <typename storage>
static __global__ void __launch_bounds__(ADD_THREADS)
    square_loss_kernel(double *sums, storage *logits, const int32_t *labels, const struct rows rows, float factor)
{
    __shared__ double room[WARP];
    double loss = 0;
    for (int row = threadIdx.x; row < rows.total; row += ADD_THREADS) {
        const bool live = row < rows.live;
        const float distance = live ? load(logits[row]) - __int_as_float(labels[row]) : 0;
        loss += (double)distance * (double)distance;
        if (factor != 0)
            logits[row] = store<storage>(factor * 2 * distance);
    }
    loss = block_sum(loss, room);
    if (threadIdx.x == 0)
        sums[0] += loss;
}

template <typename storage> static void square_loss_of(cudaStream_t stream, const struct square_loss_args &a)
{
    launch(square_loss_kernel<storage>, 1, ADD_THREADS, 0, stream, a.sums, (storage *)a.logits, a.labels, a.rows,
           (float)a.factor);
}

STORAGE_KERNEL(square_loss)

template <typename storage>
static __global__ void __launch_bounds__(ADD_THREADS)
    bits_loss_kernel(double *sums, storage *logits, const int32_t *labels, const struct rows rows, int columns,
                     float factor)
{
    __shared__ double room[WARP];
    double loss = 0, hits = 0;
    for (int row = threadIdx.x; row < rows.total; row += ADD_THREADS) {
        const bool live = row < rows.live;
        bool hit = live;
        for (int c = 0; c < columns; c++) {
            storage *const logit = &logits[(size_t)row * columns + c];
            const float x = live ? load(*logit) : 0;
            const bool is_right = live && c < BITS_LABELS && labels[row] >> c & 1;
            loss += live ? (log1pf(expf(-fabsf(x))) + fmaxf(is_right ? -x : x, 0)) / (double)columns : 0;
            hit &= (x > 0) == is_right;
            if (factor != 0)
                *logit = store<storage>(live ? factor / columns * (1 / (1 + expf(-x)) - is_right) : 0);
        }
        hits += hit;
    }
    loss = block_sum(loss, room);
    hits = block_sum(hits, room);
    if (threadIdx.x == 0) {
        sums[0] += loss;
        sums[1] += hits;
    }
}

template <typename storage> static void bits_loss_of(cudaStream_t stream, const struct bits_loss_args &a)
{
    launch(bits_loss_kernel<storage>, 1, ADD_THREADS, 0, stream, a.sums, (storage *)a.logits, a.labels, a.rows,
           a.columns, (float)a.factor);
}

STORAGE_KERNEL(bits_loss)

#define SPAN_THREADS 128

template <typename storage> struct span_operands {
    storage *logits; /* [T, 2] */
    const int32_t *starts, *first, *last;
    double *results; /* [sequences][2]: loss, hit */
    int sequences, token_rows;
    float factor;
};

/* One end of a span: every second number of `logits`. In thread 0, loss += its loss, and the result is whether the
 * label has the largest logit. */
template <typename storage>
static __device__ __forceinline__ bool span_end(storage *logits, int count, int label, float factor, float *room,
                                                double *loss)
{
    const float truth = load(logits[2 * label]);
    float most = -INFINITY, sum = 0;
    bool earlier = false; /* a token before the label has the largest logit */
    for (int i = threadIdx.x; i < count; i += SPAN_THREADS)
        most = fmaxf(most, load(logits[2 * i]));
    most = block_max(most, room);
    for (int i = threadIdx.x; i < count; i += SPAN_THREADS) {
        sum += __expf(load(logits[2 * i]) - most);
        earlier |= i < label && load(logits[2 * i]) == most;
    }
    sum = block_sum(sum, room);
    earlier = __syncthreads_or(earlier);
    *loss += (log((double)sum) + (double)most - (double)truth) / 2;
    if (factor != 0)
        for (int i = threadIdx.x; i < count; i += SPAN_THREADS) {
            const float gradient = factor / sum * __expf(load(logits[2 * i]) - most);
            logits[2 * i] = store<storage>(gradient - (i == label ? factor : 0));
        }
    return truth == most && !earlier;
}

template <typename storage>
static __global__ void __launch_bounds__(SPAN_THREADS) span_loss_kernel(const span_operands<storage> a)
{
    __shared__ float room[WARP];
    const int sequence = blockIdx.x, from = a.starts[sequence];
    if (sequence == a.sequences) {
        for (int i = 2 * from + threadIdx.x; a.factor != 0 && i < 2 * a.token_rows; i += SPAN_THREADS)
            a.logits[i] = store<storage>(0);
        return;
    }
    const int count = a.starts[sequence + 1] - from;
    storage *const logits = a.logits + 2 * (size_t)from;
    double loss = 0;
    const bool begins = span_end(logits, count, a.first[sequence] - from, a.factor, room, &loss);
    const bool ends = span_end(logits + 1, count, a.last[sequence], a.factor, room, &loss);
    if (threadIdx.x == 0) {
        a.results[2 * (size_t)sequence] = loss;
        a.results[2 * (size_t)sequence + 1] = begins && ends;
    }
}

template <typename storage> static void span_loss_of(cudaStream_t stream, const struct span_loss_args &args)
{
    const struct batch *batch = args.batch;
    const span_operands<storage> a = {
        (storage *)args.logits, batch->starts,    args.first,        args.last,
        (double *)args.scratch, batch->sequences, batch->token_rows, (float)(args.factor / 2)};
    launch(span_loss_kernel<storage>, (size_t)batch->sequences + 1, SPAN_THREADS, 0, stream, a);
    launch(add_kernel, 1, ADD_THREADS, 0, stream, args.sums, a.results, batch->sequences);
}

STORAGE_KERNEL(span_loss)
STORAGE_KERNEL(loss)
