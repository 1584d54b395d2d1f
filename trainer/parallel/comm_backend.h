/* The library that carries numbers between processes: the one --comm names, or with auto the best that all have. NCCL
 * sends from GPU to GPU, with one GPU per process. All others send host memory, so --device cuda copies first. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/cuda/cuda.h"
#include "trainer/recipe/settings.h"

struct comm_backend {
    enum comm_kind kind;
    bool chosen;       /* by --comm */
    bool cuda;         /* this process computes on a GPU */
    bool able, shares; /* NCCL can be used here; also if processes share a GPU */
    unsigned char gpu[CUDA_UUID_BYTES];
    char why[COMM_TEXT_BYTES]; /* with auto on a GPU: why NCCL is not used, for the console; else "" */
};

/* What this process would choose, before the rendezvous: with auto, MPI if it started us and no rendezvous is given,
 * else gloo. ERR_USAGE: the library of --comm is not available, or NCCL with --device cpu; ERR_RESOURCE: there is no
 * GPU. */
int comm_backend_find(struct comm_backend *backend, const struct settings *settings, struct error *err);
/* Called by all processes: with auto switches to NCCL if all can use it and no two share a GPU (or sharing is allowed).
 * ERR_USAGE: two share one with --comm nccl; ERR_MISMATCH: the versions of NCCL differ. */
int comm_backend_agree(struct comm_backend *backend, struct rendezvous *rendezvous, uint32_t size, struct error *err);
/* "over gloo 0.5.0, through the host's memory: two processes share a GPU" */
void comm_backend_describe(const struct comm_backend *backend, char *out, size_t size);
