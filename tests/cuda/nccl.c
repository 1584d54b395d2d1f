/* NCCL on the host, as far as trainer/comm/nccl.c uses it, between processes of one machine with emulated device memory
 * (memory.c). They meet in a file that all map and that the unique id names. As with non-blocking communicators of
 * NCCL, a call only begins an operation: it enters the stream after a few calls of ncclCommGetAsyncError, and completes
 * when the stream or a later event is waited for. Wrong use ends the process with a message. Sums are in rank order. It
 * does not show speed, networks, or whether NCCL behaves as documented.
 *
 *     EMULATED_NCCL=VERSION     what ncclGetVersion returns
 *     EMULATED_NCCL_FAIL=N      the N-th collective of a process fails later, as if a peer were gone */
#include <assert.h>
#include <fcntl.h>
#include <nccl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/cuda/memory.h"
#include "tests/cuda/toolkit.h"

#define RANKS_MAX  8
#define AREA_BYTES ((size_t)80 << 20) /* per process; the file is sparse */
#define LOOKS      3                  /* calls of ncclCommGetAsyncError until a call is done */

/* The input of a process to operation n; its data follows. */
struct gift {
    enum { SUM, BROADCAST, GROUP } kind;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;
    size_t count;
    size_t sizes[RANKS_MAX]; /* GROUP: bytes for each process */
};

struct meeting {
    atomic_int joined;
    struct {
        atomic_size_t wrote, read; /* operations whose input is written; that were read */
    } ranks[RANKS_MAX];
};

struct operation {
    struct ncclComm *comm;
    size_t number; /* from 1 */
    bool written;
    struct gift gift;
    const void *in, *ins[RANKS_MAX];
    void *out, *outs[RANKS_MAX];
    size_t out_bytes[RANKS_MAX];
    cudaStream_t stream;
};

struct ncclComm {
    int rank, size;
    char path[NCCL_UNIQUE_ID_BYTES];
    struct meeting *meeting; /* NULL: it is being opened */
    char *areas;
    size_t operations;
    int looks;                /* left until the last call is done */
    struct operation *queued; /* enters the stream then; or NULL */
    bool closing, aborted, failed;
};

static struct operation *group; /* between ncclGroupStart and ncclGroupEnd */
static bool grouping;

static void misused(const char *what)
{
    fprintf(stderr, "NCCL is misused: %s\n", what);
    abort();
}

static long wish(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* ---- opening and closing ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = (int)wish("EMULATED_NCCL", NCCL_VERSION_CODE);
    return ncclSuccess;
}

static size_t file_bytes(void)
{
    return 4096 + RANKS_MAX * AREA_BYTES;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    snprintf(id->internal, sizeof id->internal, "%s/nccl-XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(id->internal);
    assert(file >= 0 && ftruncate(file, (off_t)file_bytes()) == 0);
    close(file);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int size, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    if (config->blocking != 0)
        misused("the communicator blocks");
    assert(size <= RANKS_MAX && rank >= 0 && rank < size);
    struct ncclComm *comm = *made = mem_clear(1, sizeof *comm);
    comm->rank = rank;
    comm->size = size;
    memcpy(comm->path, id.internal, sizeof comm->path);
    return ncclInProgress;
}

static void join(struct ncclComm *comm)
{
    const int file = open(comm->path, O_RDWR);
    assert(file >= 0);
    char *all = mmap(NULL, file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert(all != MAP_FAILED);
    close(file);
    comm->meeting = (struct meeting *)all;
    comm->areas = all + 4096;
    if (atomic_fetch_add(&comm->meeting->joined, 1) + 1 == comm->size)
        unlink(comm->path);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (comm->looks > 0)
        misused("a call is in progress");
    comm->closing = true;
    comm->looks = LOOKS;
    return ncclInProgress;
}

static void forget(struct ncclComm *comm)
{
    if (comm->meeting)
        munmap(comm->meeting, file_bytes());
    comm->meeting = NULL;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm->closing || comm->looks > 0)
        misused("it is destroyed before it is finalized");
    forget(comm);
    mem_free(comm);
    return ncclSuccess;
}

/* The struct is not freed: operations in a stream still read `aborted`. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    device_lock();
    comm->aborted = true;
    forget(comm);
    device_unlock();
    return ncclSuccess;
}

/* ---- operations in a stream ---- */

static char *area_of(const struct operation *op, int rank)
{
    return op->comm->areas + (size_t)rank * AREA_BYTES;
}

static size_t element_bytes(ncclDataType_t type)
{
    return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

static void write_gift(const struct operation *op)
{
    const struct gift *gift = &op->gift;
    char *to = area_of(op, op->comm->rank);
    size_t bytes = gift->count * element_bytes(gift->type);
    memcpy(to, gift, sizeof *gift);
    to += sizeof *gift;
    assert(bytes + sizeof *gift <= AREA_BYTES);
    if (gift->kind == SUM || (gift->kind == BROADCAST && gift->root == op->comm->rank))
        memcpy(to, op->in, bytes);
    for (int r = 0; gift->kind == GROUP && r < op->comm->size; to += gift->sizes[r++]) {
        assert(to + gift->sizes[r] <= area_of(op, op->comm->rank) + AREA_BYTES);
        if (gift->sizes[r] > 0)
            memcpy(to, op->ins[r], gift->sizes[r]);
    }
}

#define ADD(number)                                                                                                    \
    for (size_t i = 0; i < count; i++)                                                                                 \
    ((number *)out)[i] =                                                                                               \
        largest ? (((const number *)in)[i] > ((number *)out)[i] ? ((const number *)in)[i] : ((number *)out)[i])        \
                : ((number *)out)[i] + ((const number *)in)[i]

static void add(void *out, const void *in, size_t count, ncclDataType_t type, bool largest)
{
    if (type == ncclFloat32)
        ADD(float);
    else if (type == ncclFloat64)
        ADD(double);
    else
        ADD(int64_t);
}

static void read_parts(const struct operation *op)
{
    for (int r = 0; r < op->comm->size; r++) {
        const struct gift *gift = (const struct gift *)area_of(op, r);
        const char *from = (const char *)(gift + 1);
        for (int before = 0; before < op->comm->rank; before++)
            from += gift->sizes[before];
        if (gift->kind != GROUP || gift->sizes[op->comm->rank] != op->out_bytes[r])
            misused("what is received is not what is sent");
        if (op->out_bytes[r] > 0)
            memcpy(op->outs[r], from, op->out_bytes[r]);
    }
}

static void read_gifts(const struct operation *op)
{
    const struct gift *own = &op->gift;
    const size_t bytes = own->count * element_bytes(own->type);
    if (own->kind == GROUP) {
        read_parts(op);
        return;
    }
    for (int r = 0; r < op->comm->size; r++) {
        const struct gift *gift = (const struct gift *)area_of(op, r);
        if (memcmp(gift, own, sizeof *own) != 0)
            misused("the processes do different things");
        if (own->kind == BROADCAST ? r == own->root : r == 0)
            memcpy(op->out, gift + 1, bytes);
        else if (own->kind == SUM)
            add(op->out, gift + 1, own->count, own->type, own->op == ncclMax);
    }
}

/* Whether every process has written (or else read) operation n. */
static bool all_did(const struct operation *op, size_t n, bool wrote)
{
    struct meeting *meeting = op->comm->meeting;
    for (int r = 0; r < op->comm->size; r++)
        if ((wrote ? meeting->ranks[r].wrote : meeting->ranks[r].read) < n)
            return false;
    return true;
}

static bool proceed(void *context)
{
    struct operation *op = context;
    struct ncclComm *comm = op->comm;
    if (!comm->aborted) {
        if (!op->written && !all_did(op, op->number - 1, false))
            return false;
        if (!op->written) {
            write_gift(op);
            comm->meeting->ranks[comm->rank].wrote = op->number;
            op->written = true;
        }
        if (comm->failed || !all_did(op, op->number, true))
            return false;
        read_gifts(op);
        comm->meeting->ranks[comm->rank].read = op->number;
    }
    mem_free(op);
    return true;
}

/* ---- calls ---- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    if (!comm->meeting)
        join(comm);
    *state = ncclInProgress;
    if (comm->meeting->joined < comm->size || (comm->looks > 0 && --comm->looks > 0))
        return ncclSuccess;
    if (comm->queued)
        toolkit_queue(comm->queued->stream, proceed, comm->queued);
    comm->queued = NULL;
    *state = comm->failed ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}

static ncclResult_t begin(struct operation *op)
{
    struct ncclComm *comm = op->comm;
    if (comm->looks > 0 || !comm->meeting || comm->aborted)
        misused("a call is in progress, or it was aborted");
    op->number = ++comm->operations;
    comm->failed = (long)op->number == wish("EMULATED_NCCL_FAIL", -1);
    comm->queued = op;
    comm->looks = LOOKS;
    return ncclInProgress;
}

static void of_the_device(const void *memory, size_t bytes)
{
    if (!device_holds(memory, bytes))
        misused("an array is not the GPU's");
}

static struct operation *operation_of(ncclComm_t comm, cudaStream_t stream)
{
    struct operation *op = mem_clear(1, sizeof *op);
    op->comm = comm;
    op->stream = stream;
    return op;
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct operation *op = operation_of(comm, stream);
    of_the_device(in, count * element_bytes(type));
    of_the_device(out, count * element_bytes(type));
    op->gift = (struct gift){.kind = SUM, .type = type, .op = how, .count = count};
    op->in = in;
    op->out = out;
    return begin(op);
}

ncclResult_t ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream)
{
    struct operation *op = operation_of(comm, stream);
    of_the_device(in, count * element_bytes(type));
    of_the_device(out, count * element_bytes(type));
    op->gift = (struct gift){.kind = BROADCAST, .type = type, .root = root, .count = count};
    op->in = in;
    op->out = out;
    return begin(op);
}

ncclResult_t ncclGroupStart(void)
{
    grouping = true;
    return ncclSuccess;
}

static struct operation *grouped(ncclComm_t comm, cudaStream_t stream)
{
    if (!grouping)
        misused("a send or receive outside a group waits for ever");
    if (!group)
        group = operation_of(comm, stream);
    group->gift.kind = GROUP;
    return group;
}

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct operation *op = grouped(comm, stream);
    of_the_device(in, count * element_bytes(type));
    op->ins[peer] = in;
    op->gift.sizes[peer] = count * element_bytes(type);
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct operation *op = grouped(comm, stream);
    of_the_device(out, count * element_bytes(type));
    op->outs[peer] = out;
    op->out_bytes[peer] = count * element_bytes(type);
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    struct operation *op = group;
    group = NULL;
    grouping = false;
    return op ? begin(op) : ncclSuccess;
}

/* ---- names and texts ---- */

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "a peer is gone" : "a failure";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}
