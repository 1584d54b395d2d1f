/* What the files that emulate CUDA's libraries share besides cuda_runtime_api.h. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Queues `call` in the stream. It is called repeatedly, while the host waits for any stream, until it returns true.
 * Device memory is accessible to it. */
void toolkit_queue(cudaStream_t stream, bool (*call)(void *context), void *context);

/* Milliseconds that all products took so far; nothing else takes time. */
extern float toolkit_clock;

/* The number in an environment variable, or -1. */
long toolkit_wish(const char *name);

#ifdef __cplusplus
}
#endif
