/* dstrain_mpi.so: MPI's non-blocking collectives, polled between sleeps, so that an abort and the timeout can end them.
 * For Open MPI 4 and MPICH 4: only calls of MPI 3.
 *
 * MPI's counts are ints, so arrays are cut into chunks of at most chunk_bytes. The parts of an all-to-all are described
 * by datatypes, which hold addresses, because each process knows only its own parts: the processes could not agree on a
 * cut. */
#include "trainer/comm/library.h"

#include <assert.h>
#include <mpi.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/poll_pause.h"

#define CHUNK_BYTES   ((size_t)1 << 30)
#define CLOSE_SECONDS 5.0 /* within which all processes close */

struct processes {
    uint32_t size;
    double timeout; /* seconds */
    size_t chunk_bytes;
    atomic_bool aborted;
};

static int fail_mpi(int code, struct error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return fail(err, ERR_PEER, "the processes have lost each other (MPI: %s)", text);
}

#define TRY_MPI(call)                                                                                                  \
    do {                                                                                                               \
        const int code = (call);                                                                                       \
        if (code != MPI_SUCCESS)                                                                                       \
            return fail_mpi(code, err);                                                                                \
    } while (0)

static int wait_until(struct processes *all, MPI_Request *request, double timeout, struct error *err)
{
    const double began = clock_now();
    for (;;) {
        int done = 0;
        TRY_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return 0;
        if (all->aborted)
            return fail(err, ERR_PEER, "a message was given up (MPI)");
        const double waited = clock_now() - began;
        if (waited > timeout)
            return fail(err, ERR_PEER, "the other processes did not answer for %g s (MPI)", timeout);
        pause_between_polls(waited);
    }
}

static int wait_for(struct processes *all, MPI_Request *request, struct error *err)
{
    return wait_until(all, request, all->timeout, err);
}

/* "Open MPI v4.1.4": the text after the first comma says how it was built. */
static const char *mpi_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (text[0] == '\0' && MPI_Get_library_version(text, &length) == MPI_SUCCESS)
        text[strcspn(text, ",\n")] = '\0';
    return text;
}

static int start(const struct comm_options *options, struct error *err)
{
    int provided, rank, size;
    TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    TRY_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (provided < MPI_THREAD_FUNNELED)
        return fail(err, ERR_USAGE, "--comm mpi: this MPI was built without threads");
    if ((uint32_t)rank != options->rank || (uint32_t)size != options->size) {
        fail(err, ERR_USAGE, "--comm mpi: this is process %u of %u, but for MPI it is process %d of %d", options->rank,
             options->size, rank, size);
        return hint(err, "start the processes with mpirun, or with srun --mpi=pmix; --comm gloo needs neither");
    }
    return 0;
}

static void *mpi_open(const struct comm_options *options, struct error *err)
{
    if (start(options, err) < 0)
        return NULL;
    struct processes *all = mem_clear(1, sizeof *all);
    all->size = options->size;
    all->timeout = options->timeout;
    all->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : CHUNK_BYTES;
    return all;
}

static int barrier(struct processes *all, double timeout, struct error *err)
{
    MPI_Request request;
    TRY_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    return wait_until(all, &request, timeout, err);
}

/* Without the others MPI_Finalize would wait forever: then it is not called. */
static void mpi_close(void *opened, bool well)
{
    struct error ignored;
    if (well && barrier(opened, CLOSE_SECONDS, &ignored) == 0)
        MPI_Finalize();
    mem_free(opened);
}

static void mpi_abort(void *opened)
{
    ((struct processes *)opened)->aborted = true;
}

static int mpi_barrier(void *opened, struct error *err)
{
    struct processes *all = opened;
    return barrier(all, all->timeout, err);
}

static int mpi_reduce(void *opened, enum comm_operation operation, enum comm_type type, void *data, size_t count,
                      struct error *err)
{
    struct processes *all = opened;
    MPI_Request request;
    const MPI_Datatype number = type == COMM_FLOAT ? MPI_FLOAT : type == COMM_DOUBLE ? MPI_DOUBLE : MPI_INT64_T;
    const MPI_Op op = operation == COMM_SUM ? MPI_SUM : MPI_MAX;
    const size_t element = type == COMM_FLOAT ? sizeof(float) : sizeof(int64_t), most = all->chunk_bytes / element;
    for (size_t at = 0; at < count; at += most) {
        const size_t n = count - at < most ? count - at : most;
        TRY_MPI(
            MPI_Iallreduce(MPI_IN_PLACE, (char *)data + at * element, (int)n, number, op, MPI_COMM_WORLD, &request));
        TRY(wait_for(all, &request, err));
    }
    return 0;
}

static int mpi_broadcast(void *opened, uint32_t root, void *data, size_t bytes, struct error *err)
{
    struct processes *all = opened;
    MPI_Request request;
    for (size_t at = 0; at < bytes; at += all->chunk_bytes) {
        const size_t n = bytes - at < all->chunk_bytes ? bytes - at : all->chunk_bytes;
        TRY_MPI(MPI_Ibcast((char *)data + at, (int)n, MPI_BYTE, (int)root, MPI_COMM_WORLD, &request));
        TRY(wait_for(all, &request, err));
    }
    return 0;
}

/* All processes know all sizes, so what is too long for ints goes as one broadcast per process. */
static int gather_long(struct processes *all, char *out, const size_t *sizes, struct error *err)
{
    for (uint32_t i = 0; i < all->size; i++) {
        TRY(mpi_broadcast(all, i, out, sizes[i], err));
        out += sizes[i];
    }
    return 0;
}

static int gather_short(struct processes *all, void *out, const int *sizes, const int *offsets, struct error *err)
{
    MPI_Request request;
    TRY_MPI(
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, sizes, offsets, MPI_BYTE, MPI_COMM_WORLD, &request));
    return wait_for(all, &request, err);
}

static int mpi_gather(void *opened, void *out, const size_t *sizes, struct error *err)
{
    struct processes *all = opened;
    size_t total = 0;
    int *counts = mem_array(2 * (size_t)all->size, sizeof *counts), *offsets = counts + all->size;
    for (uint32_t i = 0; i < all->size; i++) {
        offsets[i] = (int)total;
        counts[i] = (int)sizes[i];
        total += sizes[i];
        if (total > all->chunk_bytes)
            break;
    }
    const int result =
        total > all->chunk_bytes ? gather_long(all, out, sizes, err) : gather_short(all, out, counts, offsets, err);
    mem_free(counts);
    return result;
}

/* Makes a datatype for each process: bytes [offset, offset + size) after a pointer, in chunks. */
static int describe(const struct processes *all, const size_t *sizes, MPI_Datatype *types, int *counts,
                    struct error *err)
{
    size_t offset = 0;
    for (uint32_t i = 0; i < all->size; i++) {
        enum { CHUNKS_MAX = 4096 };
        int lengths[CHUNKS_MAX], chunks = 0;
        MPI_Aint offsets[CHUNKS_MAX];
        for (size_t at = 0; at < sizes[i]; at += all->chunk_bytes) {
            assert(chunks < CHUNKS_MAX);
            lengths[chunks] = (int)(sizes[i] - at < all->chunk_bytes ? sizes[i] - at : all->chunk_bytes);
            offsets[chunks++] = (MPI_Aint)(offset + at);
        }
        TRY_MPI(MPI_Type_create_hindexed(chunks, lengths, offsets, MPI_BYTE, &types[i]));
        TRY_MPI(MPI_Type_commit(&types[i]));
        counts[i] = chunks > 0;
        offset += sizes[i];
    }
    return 0;
}

/* Each array has [size] entries for `in`, then [size] for `out`. */
struct description {
    MPI_Datatype *types;
    int *counts, *zeros;
};

static int exchange(struct processes *all, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                    const struct description *parts, struct error *err)
{
    const uint32_t n = all->size;
    MPI_Request request;
    TRY(describe(all, in_sizes, parts->types, parts->counts, err));
    TRY(describe(all, out_sizes, parts->types + n, parts->counts + n, err));
    TRY_MPI(MPI_Ialltoallw(in, parts->counts, parts->zeros, parts->types, out, parts->counts + n, parts->zeros,
                           parts->types + n, MPI_COMM_WORLD, &request));
    return wait_for(all, &request, err);
}

static int mpi_exchange(void *opened, const void *in, const size_t *in_sizes, void *out, const size_t *out_sizes,
                        struct error *err)
{
    struct processes *all = opened;
    const size_t n = 2 * (size_t)all->size;
    const struct description parts = {
        .types = mem_array(n, sizeof(MPI_Datatype)),
        .counts = mem_clear(n, sizeof(int)),
        .zeros = mem_clear(n, sizeof(int)),
    };
    for (size_t i = 0; i < n; i++)
        parts.types[i] = MPI_DATATYPE_NULL;
    const int result = exchange(all, in, in_sizes, out, out_sizes, &parts, err);
    for (size_t i = 0; i < n; i++)
        if (result == 0 && parts.types[i] != MPI_DATATYPE_NULL) /* after a failure a message may still use them */
            MPI_Type_free(&parts.types[i]);
    if (result == 0) {
        mem_free(parts.types);
        mem_free(parts.counts);
        mem_free(parts.zeros);
    }
    return result;
}

const struct comm_library dstrain_comm = {
    .interface = COMM_INTERFACE,
    .waits = true,
    .version = mpi_version,
    .open = mpi_open,
    .barrier = mpi_barrier,
    .reduce = mpi_reduce,
    .broadcast = mpi_broadcast,
    .gather = mpi_gather,
    .exchange = mpi_exchange,
    .abort = mpi_abort,
    .close = mpi_close,
};
