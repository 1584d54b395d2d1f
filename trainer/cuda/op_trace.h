/* What the backend is doing, for its error messages: the last op queued, its sizes and its step. CUDA reports an error
 * in a kernel only when something waits, so the op named is the one that failed or a later one; with
 * DSTRAIN_CUDA_SYNC=1 in the environment every op is waited for, and the op named is the one that failed.
 *
 *     OP("gather", args->rows, args->hidden)     before: its sizes, which get the names of their fields
 *     kernel_gather(stream, …, args)
 *     op_queued(stream)                          after: checks the launch, and waits if asked to
 *
 * One thread calls. An error exits with code 7. */
#pragma once

#include "trainer/cuda/kernels.h"

#define CHECK(call) cuda_check((call), #call)
void cuda_check(cudaError_t status, const char *call);

void op_trace_step(uint64_t step);
/* "linear (rows 512, out 64, in 64), step 3"; cut to size. */
void op_trace_text(char *out, size_t size);
void op_queued(cudaStream_t stream);

#define OP(name, ...) (op_begin(name), EACH_SIZE(__VA_ARGS__))
#define OP_SIZE(x)                                                                                                     \
    _Generic((x),                                                                                                      \
        int32_t: op_number,                                                                                            \
        size_t: op_number,                                                                                             \
        struct rows: op_rows,                                                                                          \
        const struct batch *: op_batch,                                                                                \
        const struct attention_shape *: op_shape,                                                                      \
        const struct update_work *: op_work)(#x, x)

void op_begin(const char *name);
void op_number(const char *name, int64_t value);
void op_rows(const char *name, struct rows rows);
void op_batch(const char *name, const struct batch *batch); /* may be NULL */
void op_shape(const char *name, const struct attention_shape *shape);
void op_work(const char *name, const struct update_work *work);

/* OP_SIZE of each of 1 to 4 sizes, as one expression. */
#define EACH_SIZE(...)                SIZE_5(__VA_ARGS__, EACH_4, EACH_3, EACH_2, EACH_1, )(__VA_ARGS__)
#define SIZE_5(a, b, c, d, each, ...) each
#define EACH_1(x)                     OP_SIZE(x)
#define EACH_2(x, ...)                (OP_SIZE(x), EACH_1(__VA_ARGS__))
#define EACH_3(x, ...)                (OP_SIZE(x), EACH_2(__VA_ARGS__))
#define EACH_4(x, ...)                (OP_SIZE(x), EACH_3(__VA_ARGS__))
