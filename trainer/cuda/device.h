/* The state of the backend, and what its host files share. One stream computes; a second one uploads batches. An error
 * of CUDA at work is fatal: CHECK (op_trace.h) exits with code 7. */
#pragma once

#include "trainer/cuda/op_trace.h"

#include <assert.h>

struct uploader; /* batch.c */
struct products; /* product.c */
struct staging;  /* staging.c */

#define CONVERSIONS 8

struct device {
    struct ops ops; /* first: close_cuda casts its address */
    cudaStream_t stream;
    struct uploader *uploader;
    struct products *products;
    struct staging *staging;
    struct sent { /* slots of send: pinned memory, and the event of its copy */
        char *host;
        cudaEvent_t there;
    } sent[2];
    cudaEvent_t *marks; /* [mark_count] events of mark, created when first asked for */
    size_t mark_count;
    /* Conversions whose memory still exists: biases are vectors of `real`, and products add their rounded copies. */
    struct conversion {
        const char *real;
        char *stored;
        size_t count; /* 0: free */
    } conversions[CONVERSIONS];
    char processor[64], library[32]; /* of ops.facts */
};

/* Queues the kernel of an op with `args` on `device`; the arguments after its name are its sizes, for messages. */
#define KERNEL(name, ...)   QUEUE(name, kernel_##name(device->stream, device->ops.precision, args), __VA_ARGS__)
#define UPDATE_KERNEL(name) QUEUE(name, kernel_##name(device->stream, args), args->work)
#define QUEUE(name, call, ...)                                                                                         \
    do {                                                                                                               \
        OP(#name, __VA_ARGS__);                                                                                        \
        call;                                                                                                          \
        op_queued(device->stream);                                                                                     \
    } while (0)

/* batch.c */
struct uploader *uploader_open(void);
void uploader_close(struct uploader *uploader);
const struct batch *upload(struct device *device, const struct batch *batch);

/* staging.c: copies in the order of the stream. The bytes are in `host` when staging_out returns, and in `memory` when
 * staging_in returns. */
struct staging *staging_open(void);
void staging_close(struct staging *staging);
void staging_out(struct staging *staging, cudaStream_t stream, char *host, const char *memory, size_t bytes);
void staging_in(struct staging *staging, cudaStream_t stream, char *memory, const char *host, size_t bytes);

/* Each op, in the file of its kind. */
#define OP_DECLARE(op) void op(struct device *device, const struct op##_args *args);
OPS_COMPUTING(OP_DECLARE)
#undef OP_DECLARE
