/* The backend's own kernels, for its host code, which is C: one entry point for each op of ops.h that cuBLASLt does not
 * do, with the op's arguments, and kernel_product for products that it does not offer. `stream` is where it is queued,
 * `precision` the type of storage (fp32, bf16 or fp16; real is float). All pointers are to device memory, except args
 * itself, batch, shape, dropout, memory, work and step, which are read before the call returns. No call waits,
 * allocates or copies to the host. The caller checks for failed launches (cudaGetLastError). The rules of ops.h hold:
 * dead rows become zero, sums have a fixed tree, no float atomics.
 *
 * Alignment: rows of [.., hidden] start on 16 bytes where hidden is a multiple of 8 (16-bit) or 4 (fp32); other widths
 * must work, however slowly. */
#pragma once

#include "trainer/cuda/cuda.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A batch as ops receive it, made by batch.c. Arrays are in device memory; scalars are in this struct. */
struct cuda_batch {
    struct batch batch; /* first: ops get its address */
    int32_t *order;     /* [tokens] live rows sorted by id, rows of one id in their own order */
    int32_t
        *runs; /* [run_count + 1] offset in `order` of each id's first row; the last entry is the number of tokens */
    int32_t *by_length; /* [sequences] sequences, the longest first, equal ones in their own order */
    int32_t run_count;
    int32_t longest; /* tokens of the longest sequence */
};

/* NULL stays NULL. */
static inline const struct cuda_batch *cuda_batch_of(const struct batch *batch)
{
    return (const struct cuda_batch *)batch;
}

/* Bytes of `scratch` for the largest call within limits. */
size_t kernel_scratch_bytes(const struct ops_limits *limits, enum precision precision);

/* kind, a and b as in product.h. */
void kernel_product(cudaStream_t stream, enum precision precision, int kind, void *d, const void *a, const void *b,
                    int beta, int32_t rows, int32_t out, int32_t in);

void kernel_convert(cudaStream_t stream, enum precision precision, const struct convert_args *args);
void kernel_gather(cudaStream_t stream, enum precision precision, const struct gather_args *args);
void kernel_scatter(cudaStream_t stream, enum precision precision, const struct scatter_args *args);
void kernel_square_loss(cudaStream_t stream, enum precision precision, const struct square_loss_args *args);
void kernel_bits_loss(cudaStream_t stream, enum precision precision, const struct bits_loss_args *args);
void kernel_span_loss(cudaStream_t stream, enum precision precision, const struct span_loss_args *args);
void kernel_tanh_rows(cudaStream_t stream, enum precision precision, const struct tanh_rows_args *args);
void kernel_tanh_backward(cudaStream_t stream, enum precision precision, const struct tanh_backward_args *args);
/* y = gelu(pre), dead rows of both zeroed: for products that are not fused with GELU. */
void kernel_gelu(cudaStream_t stream, enum precision precision, void *y, void *pre, struct rows rows, int32_t columns,
                 enum gelu gelu);
void kernel_gelu_backward(cudaStream_t stream, enum precision precision, const struct gelu_backward_args *args);
/* y [rows.total, columns] (storage) += b [columns] (real), over live rows; dead rows become zero. */
void kernel_add_bias(cudaStream_t stream, enum precision precision, void *y, const void *b, struct rows rows,
                     int32_t columns);
/* sums [columns] (real) += column sums of x's live rows. */
void kernel_column_sums(cudaStream_t stream, enum precision precision, void *sums, const void *x, struct rows rows,
                        int32_t columns, void *scratch);
/* y [count] (real) += x [count] (real). */
void kernel_add(cudaStream_t stream, void *y, const void *x, size_t count);

void kernel_dropout(cudaStream_t stream, enum precision precision, const struct dropout_args *args);
void kernel_embed(cudaStream_t stream, enum precision precision, const struct embed_args *args);
void kernel_embed_backward(cudaStream_t stream, enum precision precision, const struct embed_backward_args *args);
void kernel_norm(cudaStream_t stream, enum precision precision, const struct norm_args *args);
void kernel_norm_backward(cudaStream_t stream, enum precision precision, const struct norm_backward_args *args);

void kernel_glu(cudaStream_t stream, enum precision precision, const struct glu_args *args);
void kernel_glu_backward(cudaStream_t stream, enum precision precision, const struct glu_backward_args *args);
void kernel_rotate(cudaStream_t stream, enum precision precision, const struct rotate_args *args);
void kernel_sequence_mean(cudaStream_t stream, enum precision precision, const struct sequence_mean_args *args);
void kernel_sequence_mean_backward(cudaStream_t stream, enum precision precision,
                                   const struct sequence_mean_backward_args *args);

/* Heads have CUDA_HEAD_SIZE (cuda.h); the caller refuses others (exit 2). */
void kernel_attention(cudaStream_t stream, enum precision precision, const struct attention_args *args);
void kernel_attention_backward(cudaStream_t stream, enum precision precision,
                               const struct attention_backward_args *args);

void kernel_loss(cudaStream_t stream, enum precision precision, const struct loss_args *args);

void kernel_squares(cudaStream_t stream, const struct squares_args *args);
void kernel_factors(cudaStream_t stream, const struct factors_args *args);
void kernel_adam(cudaStream_t stream, const struct adam_args *args);
void kernel_moments(cudaStream_t stream, const struct moments_args *args);
void kernel_shares(cudaStream_t stream, const struct shares_args *args);
void kernel_apply(cudaStream_t stream, const struct apply_args *args);

/* The operands of struct onebit_pass; chunks and `at` are in device memory, arrays flat. */
struct bits_operands {
    const struct param_chunk *chunks;
    const size_t *at;
    float *params, *first;
    const float *second, *gradients;
    float factor, beta, share;                         /* of gradients and momentum */
    float rate, epsilon, matrix_shrink, vector_shrink; /* of parameters */
};
void kernel_compress(cudaStream_t stream, const struct bits_operands *operands, size_t chunks, float *errors,
                     uint8_t *bits, float *alphas);
/* The part that this process serves: chunks [first, first + count), compact elements [from, from + elements), summed
 * over `size` processes. */
struct served_part {
    size_t first, count, from, elements;
    uint32_t size;
};
void kernel_serve(cudaStream_t stream, const struct bits_operands *operands, const struct served_part *part,
                  const struct serve_args *args);
void kernel_decompress(cudaStream_t stream, const struct bits_operands *operands, size_t chunks, const uint8_t *bits,
                       const float *sigmas);

void kernel_momentum(cudaStream_t stream, const struct momentum_args *args);
void kernel_direction(cudaStream_t stream, enum precision precision, const struct direction_args *args);
void kernel_combine(cudaStream_t stream, enum precision precision, const struct combine_args *args);
void kernel_shift(cudaStream_t stream, enum precision precision, const struct shift_args *args);

void kernel_fixed_add(cudaStream_t stream, const struct fixed_add_args *args);
void kernel_fixed_take(cudaStream_t stream, const struct fixed_take_args *args);

#ifdef __cplusplus
}
#endif
