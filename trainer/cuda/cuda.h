/* The CUDA backend behind struct ops: products by cuBLASLt, everything else by our own kernels. It is a module,
 * dstrain_cuda.so, loaded by trainer/device/backend.c; it exports only what is declared here, and code compiled against
 * this header needs no CUDA. Precisions fp32 (without TF32), bf16 and fp16; one GPU, the first that CUDA shows. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "trainer/backend/ops.h"

#define CUDA_HEAD_SIZE  64 /* the only head size that attention supports */
#define CUDA_UUID_BYTES 16

/* What was found, for doctor and for a plan. */
struct cuda_facts {
    int count;     /* GPUs that this process may use; the other fields describe the first */
    char name[64]; /* "NVIDIA H200" */
    unsigned char uuid[CUDA_UUID_BYTES];
    int major, minor;  /* compute capability */
    int processors;    /* multiprocessors */
    uint64_t memory;   /* bytes in all */
    int driver;        /* highest CUDA version that it supports, 1000 * major + 10 * minor; 0: no driver */
    int runtime;       /* CUDA version the module was built with */
    uint64_t products; /* version of cuBLASLt, 10000 * major + 100 * minor + patch */
};

/* What decides the shapes of a model's products. */
struct tune_sizes {
    int32_t rows, masked_rows, sequences; /* of a full micro-batch */
    int32_t hidden, intermediate, vocabulary;
    enum gelu gelu;
    bool gated;                                                            /* the feed-forward part is a gated unit */
    bool attention_biases, inner_biases, transform_biases, decoder_biases; /* which products have one */
};
#define TUNE_SECONDS 3

/* Bumped with every change of ops.h, ops_args.h, batch.h or this file, so that a module of another version is
 * refused. */
#define CUDA_INTERFACE (19 + 0x1000 * HEAD_KINDS) /* which is a size in struct batch */
#define SHARED_BYTES   3228 /* sizes of what is shared, summed below: if it changes, so must CUDA_INTERFACE */

struct cuda_module {
    int interface; /* CUDA_INTERFACE; the first member in every version */
    /* ERR_RESOURCE: no driver or no GPU; *facts has what was found all the same. */
    int (*probe)(struct cuda_facts *facts, struct error *err);
    /* `tune` is a table of product algorithms (product.h), or NULL: the library's first choices. */
    struct ops *(*open)(enum precision precision, const char *tune, struct error *err);
    /* Times the ways to compute a model's products, uses the fastest from now on, and appends them to `table`, which
     * open reads. `all`: times everything that the library offers, which takes minutes. Otherwise only its epilogues,
     * each against a plain product and a kernel after it: about TUNE_SECONDS at most. */
    void (*tune)(struct ops *ops, const struct tune_sizes *sizes, bool all, struct buf *table);
};

#ifndef __cplusplus
#define ADD_SIZE(op) +sizeof(struct op##_args)
_Static_assert(sizeof(struct cuda_module) + sizeof(struct cuda_facts) + sizeof(struct tune_sizes) + sizeof(struct ops) +
                       sizeof(struct batch) - HEAD_KINDS * sizeof(struct head_batch) +
                       sizeof(struct update_step) OPS_COMPUTING(ADD_SIZE) ==
                   SHARED_BYTES,
               "what the module shares has changed: raise CUDA_INTERFACE");
#undef ADD_SIZE
#endif

#define TUNE_BYTES_MAX ((size_t)1 << 20) /* of a table */

#define CUDA_MODULE_NAME   "dstrain_cuda.so"
#define CUDA_MODULE_SYMBOL "dstrain_cuda"
