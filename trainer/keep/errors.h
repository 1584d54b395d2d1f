/* What 1-bit Adam keeps beside moments (optim/onebit.h), in a checkpoint's directory:
 *
 *     errors/rank-00003-of-00008.safetensors   worker_error [count], server_error [its part]: of one process
 *     errors/mean.safetensors                  worker_error, server_error [whole]: the mean over processes, and all parts
 *
 * As many processes as before go on with their own, to the bit. Any other number goes on with the mean, which leaves
 * the sum that the average sees as it was. */
#ifndef TRAINER_KEEP_ERRORS_H
#define TRAINER_KEEP_ERRORS_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ERRORS_NAME "errors"

/* What is written. `read` gives those of a process, worker[count] and server[part[rank + 1] - part[rank]]. */
struct checkpoint_errors {
    uint32_t size;      /* processes */
    size_t count;       /* elements of a worker's */
    size_t whole;       /* of them, those that do not depend on the number of processes */
    const size_t *part; /* [size + 1] borders of the server's */
    int (*read)(void *context, uint32_t rank, float *worker, float *server, struct error *err);
    void *context;
};

/* Into a checkpoint's directory; `hashes` gets one for each file. */
int errors_write(const char *directory, const struct checkpoint_errors *errors, json_t *hashes, struct error *err);

/* Does a checkpoint have them: of one process of `size`, or any? */
bool errors_of(const char *directory, uint32_t size);
bool errors_any(const char *directory);
/* Of a verified checkpoint; ERR_MISMATCH: another count. */
int errors_read(const char *directory, uint32_t rank, uint32_t size, size_t count, float *worker, size_t part,
                float *server, struct error *err);
int errors_read_mean(const char *directory, size_t whole, float *worker, float *server, struct error *err);

#endif
