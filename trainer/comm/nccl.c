/* dstrain_nccl.so: NCCL's collectives on the GPU, in a stream of their own, after the event that says that an array is
 * ready. The calling thread polls between sleeps: an event, NCCL's own error, an abort or the timeout ends a call, so
 * no call of NCCL or CUDA may itself wait. NCCL 2.18 or later.
 *
 * Arrays of the host go through `scratch`, memory of the GPU: sums and broadcasts in chunks, the parts of an all-gather
 * or all-to-all as groups of send and receive, because the parts differ in size.
 *
 * It has not run on a GPU yet; tests use tests/cuda/nccl.c in place of NCCL. */
#include "trainer/comm/library.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/poll_pause.h"

#if NCCL_VERSION_CODE < 21800
#error "NCCL 2.18 is the minimum: communicators that do not block"
#endif

#define VERSION_LEAST   21800 /* 10000 * major + 100 * minor + patch */
#define VERSION_SHARING 23000 /* from here on ranks may share a GPU, if NCCL_MULTI_RANK_GPU_ENABLE is 1 */
#define CHUNK_BYTES     ((size_t)16 << 20)
#define CLOSE_SECONDS   5.0 /* within which all processes close */
#define ID_NAME         "nccl/id"

struct processes {
    uint32_t rank, size;
    double timeout; /* seconds */
    size_t chunk_bytes;
    ncclComm_t comm;         /* NULL: aborted */
    cudaStream_t stream;     /* of all calls */
    cudaEvent_t done;        /* recorded after the call under way */
    char *scratch;           /* memory of the GPU */
    size_t scratch_bytes;    /* at least chunk_bytes */
    struct comm_store store; /* used while the processes connect; its check is NULL afterwards */
    atomic_bool aborted;
};

/* A call under way. */
struct call {
    double began;      /* clock_now() from which the timeout counts */
    cudaEvent_t ready; /* the call cannot begin before this event; NULL: it can */
};

static int fail_nccl(const struct processes *all, ncclResult_t code, struct error *err)
{
    const char *more = all->comm ? ncclGetLastError(all->comm) : NULL;
    const bool says = more && more[0] != '\0';
    const bool ours = code == ncclInvalidArgument || code == ncclInvalidUsage;
    return fail(err, ours ? ERR_USAGE : ERR_PEER, "NCCL: %s%s%.200s", ncclGetErrorString(code), says ? ": " : "",
                says ? more : "");
}

#define TRY_CUDA(call)                                                                                                 \
    do {                                                                                                               \
        const cudaError_t code_ = (call);                                                                              \
        if (code_ != cudaSuccess)                                                                                      \
            return fail(err, ERR_RESOURCE, "CUDA: %s, in %s", cudaGetErrorString(code_), #call);                       \
    } while (0)

/* Aborts the communicator, and with it work on the GPU that waits for a lost process: freeing memory would wait for
 * that work. */
static void give_up(struct processes *all)
{
    if (all->comm)
        ncclCommAbort(all->comm);
    all->comm = NULL;
}

/* Polls once. -1: the call has failed. Otherwise sleeps, and *state is what NCCL says. */
static int poll_once(struct processes *all, struct call *call, ncclResult_t *state, struct error *err)
{
    if (all->aborted)
        return fail(err, ERR_PEER, "a message was given up (NCCL)");
    if (all->store.check && all->store.check(all->store.context, err) < 0)
        return -1;
    const ncclResult_t code = ncclCommGetAsyncError(all->comm, state);
    if (code != ncclSuccess)
        *state = code;
    if (*state != ncclSuccess && *state != ncclInProgress)
        return fail_nccl(all, *state, err);
    if (call->ready && cudaEventQuery(call->ready) == cudaErrorNotReady)
        call->began = clock_now();
    const double waited = clock_now() - call->began;
    if (waited > all->timeout)
        return fail(err, ERR_PEER, "the other processes did not answer for %g s (NCCL)", all->timeout);
    pause_between_polls(waited);
    return 0;
}

/* Waits until NCCL has queued the call that returned `code`, which may take a while. */
static int queued(struct processes *all, struct call *call, ncclResult_t code, struct error *err)
{
    if (code != ncclSuccess && code != ncclInProgress)
        return fail_nccl(all, code, err);
    while (code == ncclInProgress)
        TRY(poll_once(all, call, &code, err));
    return 0;
}

static int finished(struct processes *all, struct call *call, struct error *err)
{
    ncclResult_t state;
    TRY_CUDA(cudaEventRecord(all->done, all->stream));
    cudaError_t status = cudaEventQuery(all->done);
    for (; status == cudaErrorNotReady; status = cudaEventQuery(all->done))
        TRY(poll_once(all, call, &state, err));
    TRY_CUDA(status);
    return 0;
}

/* Waits until the call that returned `code` is complete. */
static int complete(struct processes *all, cudaEvent_t ready, ncclResult_t code, struct error *err)
{
    struct call call = {.began = clock_now(), .ready = ready};
    if (queued(all, &call, code, err) == 0 && finished(all, &call, err) == 0)
        return 0;
    give_up(all);
    return -1;
}

static int version(void)
{
    int number = 0;
    return ncclGetVersion(&number) == ncclSuccess ? number : 0;
}

static const char *nccl_version(void)
{
    static char text[32];
    const int number = version();
    snprintf(text, sizeof text, "NCCL %d.%d.%d", number / 10000, number / 100 % 100, number % 100);
    return text;
}

static bool nccl_shares_gpu(void)
{
    const char *wish = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return version() >= VERSION_SHARING && wish && strcmp(wish, "1") == 0;
}

/* Rank 0 makes the id by which the processes find each other. */
static int exchange_id(const struct comm_options *options, ncclUniqueId *id, struct error *err)
{
    const struct comm_store *store = &options->store;
    if (options->rank == 0) {
        const ncclResult_t code = ncclGetUniqueId(id);
        if (code != ncclSuccess)
            return fail(err, ERR_RESOURCE, "NCCL: %s", ncclGetErrorString(code));
        return store->set(store->context, ID_NAME, id, sizeof *id, err);
    }
    const long size = store->get(store->context, ID_NAME, id, sizeof *id, options->timeout, err);
    if (size >= 0 && size != (long)sizeof *id)
        return fail(err, ERR_MISMATCH, "rank 0 has another NCCL than this process");
    return size < 0 ? -1 : 0;
}

static int connect(struct processes *all, const struct comm_options *options, struct error *err)
{
    struct call call = {0};
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    TRY_CUDA(cudaStreamCreateWithFlags(&all->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaEventCreateWithFlags(&all->done, cudaEventDisableTiming));
    TRY_CUDA(cudaMalloc((void **)&all->scratch, all->scratch_bytes));
    TRY(exchange_id(options, &id, err));
    call.began = clock_now();
    all->store = options->store;
    TRY(queued(all, &call, ncclCommInitRankConfig(&all->comm, (int)all->size, id, (int)all->rank, &config), err));
    all->store.check = NULL;
    return 0;
}

static void release(struct processes *all)
{
    give_up(all);
    if (all->scratch)
        cudaFree(all->scratch);
    if (all->done)
        cudaEventDestroy(all->done);
    if (all->stream)
        cudaStreamDestroy(all->stream);
    mem_free(all);
}

static void *nccl_open(const struct comm_options *options, struct error *err)
{
    if (version() < VERSION_LEAST) {
        fail(err, ERR_USAGE, "--comm nccl: %s is installed, 2.18 is the minimum", nccl_version());
        return NULL;
    }
    struct processes *all = mem_clear(1, sizeof *all);
    all->rank = options->rank;
    all->size = options->size;
    all->timeout = options->timeout;
    all->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : CHUNK_BYTES;
    all->scratch_bytes = all->chunk_bytes;
    if (connect(all, options, err) == 0)
        return all;
    release(all);
    return NULL;
}

/* All processes finalize; one that does not is waited for only as long as CLOSE_SECONDS. */
static void nccl_close(void *opened, bool well)
{
    struct processes *all = opened;
    struct call call = {.began = clock_now()};
    struct error ignored;
    all->timeout = CLOSE_SECONDS;
    if (well && queued(all, &call, ncclCommFinalize(all->comm), &ignored) == 0) {
        ncclCommDestroy(all->comm);
        all->comm = NULL;
    }
    release(all);
}

static void nccl_abort(void *opened)
{
    ((struct processes *)opened)->aborted = true;
}

static int given_up(const struct processes *all, struct error *err)
{
    return all->aborted || !all->comm ? fail(err, ERR_PEER, "a message was given up (NCCL)") : 0;
}

static ncclDataType_t number_of(enum comm_type type)
{
    return type == COMM_FLOAT ? ncclFloat32 : type == COMM_DOUBLE ? ncclFloat64 : ncclInt64;
}

static int nccl_reduce_device(void *opened, enum comm_type type, void *data, size_t count, void *ready,
                              struct error *err)
{
    struct processes *all = opened;
    TRY(given_up(all, err));
    if (ready)
        TRY_CUDA(cudaStreamWaitEvent(all->stream, ready, 0));
    return complete(all, ready, ncclAllReduce(data, data, count, number_of(type), ncclSum, all->comm, all->stream),
                    err);
}

/* A copy from pageable memory returns when it has read the memory. A copy to it waits for the stream, which is done by
 * then. */
static int to_scratch(struct processes *all, size_t at, const void *data, size_t bytes, struct error *err)
{
    if (bytes > 0)
        TRY_CUDA(cudaMemcpyAsync(all->scratch + at, data, bytes, cudaMemcpyHostToDevice, all->stream));
    return 0;
}

static int from_scratch(struct processes *all, size_t at, void *data, size_t bytes, struct error *err)
{
    if (bytes > 0)
        TRY_CUDA(cudaMemcpyAsync(data, all->scratch + at, bytes, cudaMemcpyDeviceToHost, all->stream));
    TRY_CUDA(cudaStreamSynchronize(all->stream));
    return 0;
}

static int nccl_reduce(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                       struct error *err)
{
    struct processes *all = opened;
    const size_t element = type == COMM_FLOAT ? sizeof(float) : sizeof(int64_t), most = all->chunk_bytes / element;
    for (size_t at = 0; at < count; at += most) {
        const size_t n = count - at < most ? count - at : most;
        char *chunk = (char *)data + at * element;
        TRY(given_up(all, err));
        TRY(to_scratch(all, 0, chunk, n * element, err));
        TRY(complete(all, NULL,
                     ncclAllReduce(all->scratch, all->scratch, n, number_of(type),
                                   operation == COMM_SUM ? ncclSum : ncclMax, all->comm, all->stream),
                     err));
        TRY(from_scratch(all, 0, chunk, n * element, err));
    }
    return 0;
}

static int nccl_barrier(void *opened, struct error *err)
{
    int64_t number = 0;
    return nccl_reduce(opened, COMM_SUM, COMM_INT64, &number, 1, err);
}

static int nccl_broadcast(void *opened, uint32_t root, void *data, size_t bytes, struct error *err)
{
    struct processes *all = opened;
    for (size_t at = 0; at < bytes; at += all->chunk_bytes) {
        const size_t n = bytes - at < all->chunk_bytes ? bytes - at : all->chunk_bytes;
        char *chunk = (char *)data + at;
        TRY(given_up(all, err));
        TRY(to_scratch(all, 0, chunk, n, err));
        TRY(complete(all, NULL,
                     ncclBroadcast(all->scratch, all->scratch, n, ncclInt8, (int)root, all->comm, all->stream), err));
        TRY(from_scratch(all, 0, chunk, n, err));
    }
    return 0;
}

static size_t sum_of(const size_t *sizes, uint32_t count)
{
    size_t sum = 0;
    for (uint32_t r = 0; r < count; r++)
        sum += sizes[r];
    return sum;
}

static int scratch_for(struct processes *all, size_t bytes, struct error *err)
{
    if (bytes <= all->scratch_bytes)
        return 0;
    TRY_CUDA(cudaFree(all->scratch));
    all->scratch = NULL;
    TRY_CUDA(cudaMalloc((void **)&all->scratch, bytes));
    all->scratch_bytes = bytes;
    return 0;
}

/* Within a group: sends a part to process r, and receives one from it. */
static ncclResult_t pair(struct processes *all, uint32_t r, const char *in, size_t in_bytes, char *out,
                         size_t out_bytes)
{
    ncclResult_t code = ncclSuccess;
    if (in_bytes > 0)
        code = ncclSend(in, in_bytes, ncclInt8, (int)r, all->comm, all->stream);
    if (out_bytes > 0 && (code == ncclSuccess || code == ncclInProgress))
        code = ncclRecv(out, out_bytes, ncclInt8, (int)r, all->comm, all->stream);
    return code == ncclInProgress ? ncclSuccess : code;
}

/* Each process's part goes to its place in `out`; our own is there already. */
static int gather_parts(struct processes *all, char *out, const size_t *sizes, struct error *err)
{
    const char *own = out + sum_of(sizes, all->rank);
    ncclResult_t code = ncclGroupStart();
    for (uint32_t r = 0; r < all->size && code == ncclSuccess; out += sizes[r++])
        if (r != all->rank)
            code = pair(all, r, own, sizes[all->rank], out, sizes[r]);
    const ncclResult_t ended = ncclGroupEnd();
    return complete(all, NULL, code == ncclSuccess ? ended : code, err);
}

static int exchange_parts(struct processes *all, const char *in, const size_t *in_sizes, char *out,
                          const size_t *out_sizes, struct error *err)
{
    ncclResult_t code = ncclGroupStart();
    for (uint32_t r = 0; r < all->size && code == ncclSuccess; r++) {
        code = pair(all, r, in, in_sizes[r], out, out_sizes[r]);
        in += in_sizes[r];
        out += out_sizes[r];
    }
    const ncclResult_t ended = ncclGroupEnd();
    return complete(all, NULL, code == ncclSuccess ? ended : code, err);
}

static int nccl_gather(void *opened, void *out, const size_t *sizes, struct error *err)
{
    struct processes *all = opened;
    const size_t at = sum_of(sizes, all->rank), bytes = sum_of(sizes, all->size);
    TRY(given_up(all, err));
    TRY(scratch_for(all, bytes, err));
    TRY(to_scratch(all, at, (char *)out + at, sizes[all->rank], err));
    TRY(gather_parts(all, all->scratch, sizes, err));
    return from_scratch(all, 0, out, bytes, err);
}

static int nccl_exchange(void *opened, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                         struct error *err)
{
    struct processes *all = opened;
    const size_t sent = sum_of(in_sizes, all->size), received = sum_of(out_sizes, all->size);
    TRY(given_up(all, err));
    TRY(scratch_for(all, sent + received, err));
    TRY(to_scratch(all, 0, in, sent, err));
    TRY(exchange_parts(all, all->scratch, in_sizes, all->scratch + sent, out_sizes, err));
    return from_scratch(all, sent, out, received, err);
}

const struct comm_library dstrain_comm = {
    .interface = COMM_INTERFACE,
    .waits = true,
    .version = nccl_version,
    .shares_gpu = nccl_shares_gpu,
    .open = nccl_open,
    .barrier = nccl_barrier,
    .reduce = nccl_reduce,
    .reduce_device = nccl_reduce_device,
    .broadcast = nccl_broadcast,
    .gather = nccl_gather,
    .exchange = nccl_exchange,
    .abort = nccl_abort,
    .close = nccl_close,
};
