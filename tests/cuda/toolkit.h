/* What the files that stand in for CUDA's libraries share beside cuda_runtime_api.h. */
#ifndef TESTS_CUDA_TOOLKIT_H
#define TESTS_CUDA_TOOLKIT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* After what the stream has: `call`, again and again while somebody waits for any stream, until it returns true. Device
 * memory is open to it. */
void toolkit_queue(cudaStream_t stream, bool (*call)(void *context), void *context);

/* Milliseconds that products took so far; all else takes none. */
extern float toolkit_clock;

/* The number that the environment says, or -1. */
long toolkit_wish(const char *name);

#ifdef __cplusplus
}
#endif

#endif
