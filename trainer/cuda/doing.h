/* What the backend is at, for its error messages: the op queued last, its sizes and its step. CUDA reports what went
 * wrong in a kernel when something waits, so the op named is the one that failed or one after it; with
 * DSTRAIN_CUDA_SYNC=1 in the environment every op is waited for, and the op named is the one that failed.
 *
 *     OP("gather", args->rows, args->hidden)     before: its sizes, which go by the names of their fields
 *     kernel_gather(stream, …, args)
 *     op_queued(stream)                          after: did the launch fail? Waits where that is wanted
 *
 * One thread calls. An error leaves with exit code 7. */
#ifndef TRAINER_CUDA_DOING_H
#define TRAINER_CUDA_DOING_H

#include "trainer/cuda/kernels.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

#define CHECK(call) cuda_check((call), #call)
void cuda_check(cudaError_t status, const char *call);

void doing_step(uint64_t step);
/* "linear (rows 512, out 64, in 64), step 3"; cut to size. */
void doing_say(char *out, size_t size);
void op_queued(cudaStream_t stream);

#define OP(name, ...) (op_begin(name), EACH_ARGUMENT(OP_SIZE, __VA_ARGS__))
#define OP_SIZE(x)                                                                                                     \
    _Generic((x),                                                                                                      \
        int32_t: op_number,                                                                                            \
        size_t: op_number,                                                                                             \
        struct rows: op_rows,                                                                                          \
        const struct batch *: op_batch,                                                                                \
        const struct cuda_batch *: op_cuda_batch,                                                                           \
        const struct attention_shape *: op_shape,                                                                      \
        const struct update_work *: op_work,                                                                           \
        unsigned: op_choice,                                                                                           \
        double: op_factor,                                                                                             \
        default: op_pointer)(#x, x)

void op_begin(const char *name);
void op_number(const char *name, int64_t value);
void op_rows(const char *name, struct rows rows);
void op_batch(const char *name, const struct batch *batch); /* may be NULL */
static inline void op_cuda_batch(const char *name, const struct cuda_batch *batch)
{
    op_batch(name, (const struct batch *)batch);
}
void op_shape(const char *name, const struct attention_shape *shape);
void op_work(const char *name, const struct update_work *work);

/* What says nothing of a size: enums, factors, pointers to numbers. */
static inline void op_choice(const char *name, unsigned value)
{
    (void)name;
    (void)value;
}
static inline void op_factor(const char *name, double value)
{
    (void)name;
    (void)value;
}
static inline void op_pointer(const char *name, const void *value)
{
    (void)name;
    (void)value;
}

/* f(x) for each of 1 to 16 arguments, as one expression. */
#define EACH_ARGUMENT(f, ...)                                                                                          \
    ARGUMENT_17(__VA_ARGS__, EACH_16, EACH_15, EACH_14, EACH_13, EACH_12, EACH_11, EACH_10, EACH_9, EACH_8, EACH_7,    \
                EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )                                                      \
    (f, __VA_ARGS__)
#define ARGUMENT_17(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, ...) q
#define EACH_1(f, x)                                                        f(x)
#define EACH_2(f, x, ...)                                                   (f(x), EACH_1(f, __VA_ARGS__))
#define EACH_3(f, x, ...)                                                   (f(x), EACH_2(f, __VA_ARGS__))
#define EACH_4(f, x, ...)                                                   (f(x), EACH_3(f, __VA_ARGS__))
#define EACH_5(f, x, ...)                                                   (f(x), EACH_4(f, __VA_ARGS__))
#define EACH_6(f, x, ...)                                                   (f(x), EACH_5(f, __VA_ARGS__))
#define EACH_7(f, x, ...)                                                   (f(x), EACH_6(f, __VA_ARGS__))
#define EACH_8(f, x, ...)                                                   (f(x), EACH_7(f, __VA_ARGS__))
#define EACH_9(f, x, ...)                                                   (f(x), EACH_8(f, __VA_ARGS__))
#define EACH_10(f, x, ...)                                                  (f(x), EACH_9(f, __VA_ARGS__))
#define EACH_11(f, x, ...)                                                  (f(x), EACH_10(f, __VA_ARGS__))
#define EACH_12(f, x, ...)                                                  (f(x), EACH_11(f, __VA_ARGS__))
#define EACH_13(f, x, ...)                                                  (f(x), EACH_12(f, __VA_ARGS__))
#define EACH_14(f, x, ...)                                                  (f(x), EACH_13(f, __VA_ARGS__))
#define EACH_15(f, x, ...)                                                  (f(x), EACH_14(f, __VA_ARGS__))
#define EACH_16(f, x, ...)                                                  (f(x), EACH_15(f, __VA_ARGS__))

#endif
