/* What carries the numbers of several processes: what --comm says, or for auto the best that all have. NCCL carries
 * them between GPUs, one for each process; everything else carries the host's memory, and --device cuda copies. */
#ifndef TRAINER_CARRIER_H
#define TRAINER_CARRIER_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/cuda/cuda.h"
#include "trainer/settings.h"

struct carrier {
    enum comm_kind kind;
    bool chosen;       /* by --comm */
    bool cuda;         /* this process computes on a GPU */
    bool able, shares; /* NCCL could carry here; also where processes share a GPU */
    unsigned char gpu[CUDA_UUID_BYTES];
    char why[COMM_TEXT_BYTES]; /* auto on a GPU: why it is not NCCL, for the screen; else "" */
};

/* What this process says, before the meeting: with auto, MPI where it started us and nothing names a meeting place,
 * else gloo. ERR_USAGE: --comm is of what is not there, or NCCL with --device cpu; ERR_RESOURCE: there is no GPU. */
int carrier_find(struct carrier *carrier, const struct settings *settings, struct error *err);
/* Of all: with auto NCCL, where all are able and no two share a GPU unless they may. ERR_USAGE: with --comm nccl two
 * share one; ERR_MISMATCH: another version of NCCL. */
int carrier_agree(struct carrier *carrier, struct meet *meet, uint32_t size, struct error *err);
/* "over gloo 0.5.0, through the host's memory: two processes share a GPU" */
void carrier_say(const struct carrier *carrier, char *out, size_t size);

#endif
