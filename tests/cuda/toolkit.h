/* What the stand-in for the CUDA runtime (toolkit.c) offers one for NCCL beside cuda_runtime_api.h. */
#ifndef TESTS_CUDA_TOOLKIT_H
#define TESTS_CUDA_TOOLKIT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* After what the stream has: `call`, again and again while somebody waits for it or asks, until it returns true. Device
 * memory is open to it. */
void toolkit_queue(cudaStream_t stream, bool (*call)(void *context), void *context);

#endif
