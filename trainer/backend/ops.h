/* The boundary between the model and a backend. The model (model/, optim/) says what is computed and plans every
 * buffer; a backend (cpu/, cuda/) says how. Ops own nothing and allocate nothing: what they need beyond their
 * operands is `scratch`, lent by the model and sized once by scratch_bytes.
 *
 * Two number types. STORAGE is for activations, their gradients, and tables and matrices of weights (float, bf16, fp16,
 * double). REAL is for master parameters, gradients of parameters, bias and LayerNorm vectors, and statistics (float;
 * double if storage is double). Pointers are void; a comment beside each gives its type. All matrices are row-major and
 * dense; weights are [out, in] as in PyTorch.
 *
 * Dead rows (struct rows) are zero in everything an op writes, forward and backward, so that a product may run over all
 * rows. "+=" outputs are only ever added to, so micro-batches of a step need no division afterwards (Law 4). Results
 * are bit-exact for any number of threads. One thread calls; the backend distributes the work, and may still be working
 * when an op returns. The host gets results with map or wait, which drain the device, or with send and receive, which
 * do not. Operands are in the device's memory, batches are what `upload` returned. */
#pragma once

#include "trainer/backend/ops_args.h"

enum precision {
    PRECISION_FP32 = 0,
    PRECISION_BF16 = 1,
    PRECISION_FP16 = 2,
    PRECISION_FP64 = 3, /* for tests with finite differences */
    PRECISION_KINDS,
};

struct precision_facts {
    const char *name;    /* "fp32" */
    size_t storage_size; /* bytes of a STORAGE number */
    size_t real_size;    /* bytes of a REAL number */
    bool offered;        /* by --precision; else only for tests */
};
extern const struct precision_facts precision_kinds[]; /* [PRECISION_KINDS], by enum */
const char *precision_name(enum precision precision);
enum precision precision_named(const char *name); /* fp32 if there is none of that name */
/* Element i of an array in STORAGE of that precision. */
float precision_load(enum precision precision, const void *stored, size_t i);

struct device; /* a backend's own state */

/* The largest operands that any call will have, for scratch_bytes. */
struct ops_limits {
    int32_t rows_max;            /* rows of any operand */
    int32_t columns_max;         /* columns of any operand, except those with a column per piece */
    int32_t vocabulary_rows_max; /* rows of an operand with a column per piece */
    int32_t vocabulary;
    int32_t length_max; /* of one sequence */
    int32_t head_size;
};

/* How the host wants to access the device's memory. */
enum map_mode {
    MAP_READ,   /* read only */
    MAP_FILL,   /* write only; if it is a copy, it is cleared first */
    MAP_CHANGE, /* read and write */
};

/* What computes. Another kind, processor or library may change the last bits; another number of units does not. */
struct ops_facts {
    const char *kind;      /* "cpu", "cuda" */
    const char *processor; /* instruction set or card: "avx512_bf16", "NVIDIA H200" */
    const char *library;   /* that computes products: "cuBLASLt 13.1.0", "own products" */
    const char *unit;      /* "thread", "multiprocessor" */
    int units;             /* their number */
};
#define OPS_NAME_SIZE 192

/* All ops that compute. An op X is a function of the device and one struct X_args (ops_args.h),
 *
 *     ops->adam(ops->device, &(struct adam_args){.memory = memory, .work = work, .step = &step});
 *
 * which is CALL(ops, adam, .memory = memory, .work = work, .step = &step).
 *
 * This list generates the members of struct ops, enum op and its names, and the tables of all backends and wrappers;
 * one that lacks an op does not compile. */
#define OPS_COMPUTING(OP)                                                                                              \
    OP(clear)                                                                                                          \
    OP(convert)                                                                                                        \
    OP(embed)                                                                                                          \
    OP(embed_backward)                                                                                                 \
    OP(dropout)                                                                                                        \
    OP(linear)                                                                                                         \
    OP(linear_gelu)                                                                                                    \
    OP(linear_backward_input)                                                                                          \
    OP(linear_backward_weight)                                                                                         \
    OP(norm)                                                                                                           \
    OP(norm_backward)                                                                                                  \
    OP(attention)                                                                                                      \
    OP(attention_backward)                                                                                             \
    OP(gather)                                                                                                         \
    OP(scatter)                                                                                                        \
    OP(sequence_mean)                                                                                                  \
    OP(sequence_mean_backward)                                                                                         \
    OP(tanh_rows)                                                                                                      \
    OP(tanh_backward)                                                                                                  \
    OP(gelu_backward)                                                                                                  \
    OP(glu)                                                                                                            \
    OP(glu_backward)                                                                                                   \
    OP(rotate)                                                                                                         \
    OP(loss)                                                                                                           \
    OP(square_loss)                                                                                                    \
    OP(bits_loss)                                                                                                      \
    OP(span_loss)                                                                                                      \
    OP(squares)                                                                                                        \
    OP(factors)                                                                                                        \
    OP(adam)                                                                                                           \
    OP(moments)                                                                                                        \
    OP(shares)                                                                                                         \
    OP(apply)                                                                                                          \
    OP(momentum)                                                                                                       \
    OP(direction)                                                                                                      \
    OP(combine)                                                                                                        \
    OP(shift)                                                                                                          \
    OP(compress)                                                                                                       \
    OP(serve)                                                                                                          \
    OP(decompress)                                                                                                     \
    OP(fixed_add)                                                                                                      \
    OP(fixed_take)

#define OP_NUMBER(op) OP_##op,
enum op { OPS_COMPUTING(OP_NUMBER) OP_KINDS };
#undef OP_NUMBER
extern const char *const op_names[]; /* [OP_KINDS], by enum: "adam" */

#define CALL(ops, op, ...) (ops)->op((ops)->device, &(const struct op##_args){__VA_ARGS__})

struct ops {
    struct device *device;
    enum precision precision;
    size_t storage_size; /* bytes of one stored number */
    size_t real_size;
    struct ops_facts facts;   /* its strings live as long as the backend */
    char name[OPS_NAME_SIZE]; /* ops_describe: "cpu bf16 (avx512_bf16, own products), 2 threads" */
    uint64_t memory;          /* total bytes of the device's memory; 0: it uses the host's */
    uint64_t free_bytes;      /* the part of it that allocate can give; other programs may use the device too */
    int32_t wave_rows;        /* products are fastest with multiples of this many rows; 0: any */
    bool late;                /* ops return before they are done; read a step's results one step later */

    void (*close)(struct ops *ops); /* closes the backend; frees ops */

    /* Allocates memory of the device, 64-byte aligned and cleared. */
    void *(*allocate)(struct device *device, size_t bytes);
    void (*release)(struct device *device, void *memory);
    /* Gives the host access to memory until unmap: the memory itself, or a copy. */
    void *(*map)(struct device *device, void *memory, size_t bytes, enum map_mode mode);
    void (*unmap)(struct device *device, void *memory, void *host, size_t bytes, enum map_mode mode);
    void (*wait)(struct device *device);                      /* until all ops so far are done */
    void (*begin_step)(struct device *device, uint64_t step); /* names the step in messages; may be NULL */
    /* Queues a copy of a few bytes to slot 0 or 1 for the host; receive waits only for that copy. A slot must be
     * received before it is sent again. */
    void (*send)(struct device *device, int slot, const void *memory, size_t bytes);
    void (*receive)(struct device *device, int slot, void *host, size_t bytes);
    /* Records event n of the backend's library, for another stream to wait for: it occurs when all ops so far are done.
     * n may be used again after that. NULL if the device's memory is the host's. */
    void *(*mark)(struct device *device, size_t n);
    /* Uploads a batch for the ops below. The result is valid until the next call; the host's batch may change at
     * once. */
    const struct batch *(*upload)(struct device *device, const struct batch *batch);
    size_t (*scratch_bytes)(struct device *device, const struct ops_limits *limits);

#define OP_MEMBER(op) void (*op)(struct device * device, const struct op##_args *args);
    OPS_COMPUTING(OP_MEMBER)
#undef OP_MEMBER
};

#define SENT_BYTES_MAX 128 /* of one slot */

/* The device as a run records it, without the number of units: "cpu bf16 (avx512_bf16, own products)". */
char *ops_device(const struct ops *ops, char out[OPS_NAME_SIZE]);
/* Of such a text: whether with --same-bits all such devices give the same bits, whatever the level
 * (docs/ARITHMETIC.md). */
bool ops_same_everywhere(const char *device);
/* Makes ops->name from precision and facts. */
void ops_describe(struct ops *ops);
