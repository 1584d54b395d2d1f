/* Keyed dropout of rows of tokens: dropped and scaled, in place; dead rows are zero already. One call of Philox serves
 * 8 columns, which are one load. It moves 4 H bytes per token. */
#include "trainer/cuda/pack.cuh"

#define THREADS 256

template <typename storage, int width>
static __global__ void __launch_bounds__(THREADS)
    dropout_kernel(storage *y, const storage *x, const int32_t *index, size_t live, size_t packs, int packs_row,
                   const row_dropout drop)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= packs)
        return;
    const int row = (int)(i / packs_row), column = (int)(i % packs_row) * width;
    pack<storage, width> p = {};
    if (i < live) {
        p = load_pack<storage, width>(x + i * width);
        drop_pack(p, drop, name_of(drop, index ? index[row] : row), column);
    }
    store_pack(y + i * width, p);
}

template <typename storage> static void dropout_of(cudaStream_t stream, const struct dropout_args &a)
{
    const int count = vector<storage>::count, hidden = a.hidden;
    const size_t live = (size_t)a.rows.live * hidden;
    const size_t numbers = a.y == a.x ? live : (size_t)a.rows.total * hidden;
    const row_dropout drop = row_dropout_of(cuda_batch_of(a.batch), a.dropout);
    if (vectors_serve<storage>(hidden))
        launch(dropout_kernel<storage, count>, blocks_for(numbers / count, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const storage *)a.x, a.index, live / count, numbers / count, hidden / count, drop);
    else
        launch(dropout_kernel<storage, 1>, blocks_for(numbers, THREADS), THREADS, 0, stream, (storage *)a.y,
               (const storage *)a.x, a.index, live, numbers, hidden, drop);
}

void kernel_dropout(cudaStream_t stream, enum precision precision, const struct dropout_args *args)
{
    if (args->dropout->threshold > 0 || args->y != args->x)
        FOR_STORAGE(precision, dropout_of, stream, *args);
}
