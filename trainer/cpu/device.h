/* What the CPU backend keeps between calls, and what all its files see. */
#ifndef TRAINER_CPU_DEVICE_H
#define TRAINER_CPU_DEVICE_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/parallel.h"
#include "trainer/cpu/bf16.h"
#include "trainer/cpu/cpu.h"
#include "trainer/cpu/fp16.h"
#include "trainer/ops.h"

#define BLOCK_ROWS 64  /* rows of one task of row-wise work, and of one part of a sum over rows */
#define KEEP_PIECE 256 /* columns whose dropout is worked out at once (keep.h) */
#define STRIP      6   /* rows of A that a product takes at once (product.h) */
#define PANEL_MAX  64  /* and columns of B, at most */
#define AHEAD      8   /* units of a matrix are asked for so long before they are laid */

struct onednn;

struct device {
    struct onednn *onednn; /* NULL: products by our own loops */
    int threads;           /* of the process when the backend was opened; scratch memory is for so many */
    char *work;            /* of products: a piece for each thread */
    size_t work_thread;    /* its bytes */
    char sent[2][SENT_BYTES_MAX];
};

static inline size_t padded(size_t count, size_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

#endif
