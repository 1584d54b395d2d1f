/* The compression errors that 1-bit Adam keeps besides its moments (optim/onebit.h), in a checkpoint's directory:
 *
 *     errors/rank-00003-of-00008.safetensors   worker_error [count], server_error [its part] of one process
 *     errors/mean.safetensors                  worker_error [whole]: the mean over processes
 *                                              server_error [whole]: the parts of all processes, concatenated
 *
 * With the same number of processes each one resumes from its own file, bit-exactly. With any other number all of them
 * resume from the mean, which preserves the average of the worker errors over processes. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define ERRORS_NAME "errors"

/* What is written. `read` fetches the errors of one process, worker[count] and server[part[rank + 1] - part[rank]]. */
struct checkpoint_errors {
    uint32_t size;      /* processes */
    size_t count;       /* elements of one process's worker errors, padding included */
    size_t whole;       /* the same without the padding, which depends on the number of processes */
    const size_t *part; /* [size + 1] borders of the parts that the processes serve */
    int (*read)(void *context, uint32_t rank, float *worker, float *server, struct error *err);
    void *context;
};

/* Writes all files into a checkpoint's directory; `hashes` gets an entry for each. */
int errors_write(const char *directory, const struct checkpoint_errors *errors, json_t *hashes, struct error *err);

/* Whether a checkpoint has the errors of `size` processes, or of any number. */
bool errors_of(const char *directory, uint32_t size);
bool errors_any(const char *directory);
/* Read from a verified checkpoint into worker[count] and server[part], or [whole] both; ERR_MISMATCH: it has other
 * counts. */
int errors_read(const char *directory, uint32_t rank, uint32_t size, size_t count, float *worker, size_t part,
                float *server, struct error *err);
int errors_read_mean(const char *directory, size_t whole, float *worker, float *server, struct error *err);
