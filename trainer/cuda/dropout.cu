/* Keyed dropout in place. In: token rows; out: the same, dropped and scaled; dead rows are zero already. One call of
 * Philox serves 8 columns, which are one load. It moves 4 H bytes a token. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    dropout_kernel(storage *x, size_t packs, int packs_row, const row_dropout drop)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    const int row = (int)(i / packs_row), column = (int)(i % packs_row) * width;
    pack<storage, width> p = load_pack<storage, width>(x + i * width);
    drop_pack(p, drop, name_of(drop, row), column);
    store_pack(x + i * width, p);
}

template <typename storage>
static void dropout_of(cudaStream_t stream, void *x, const cuda_batch *batch, int hidden, const row_dropout &drop)
{
    const int count = vector<storage>::count;
    const size_t numbers = (size_t)batch->batch.tokens * hidden;
    if (vectors_serve<storage>(hidden))
        launch(dropout_kernel<storage, count>, blocks_for(numbers / count, THREADS), THREADS, 0, stream, (storage *)x,
               numbers / count, hidden / count, drop);
    else
        launch(dropout_kernel<storage, 1>, blocks_for(numbers, THREADS), THREADS, 0, stream, (storage *)x, numbers,
               hidden, drop);
}

void kernel_dropout(cudaStream_t stream, enum precision precision, void *x, const struct cuda_batch *batch,
                    int32_t hidden, const struct dropout *dropout)
{
    if (dropout->threshold == 0)
        return;
    FOR_STORAGE(precision, dropout_of, stream, x, batch, hidden, row_dropout_of(batch, dropout));
}
