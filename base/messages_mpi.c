/* Messages over MPI. No call waits inside the library, because it would spin. */
#include "base/messages.h"

#ifdef DS_MPI

#include <assert.h>
#include <limits.h>
#include <mpi.h>
#include <time.h>

#define ASLEEP_NS 1000000 /* between two polls for a message */

static int mpi_open(uint32_t *rank, uint32_t *count, uint32_t *here)
{
    int provided, number, processes, local;
    MPI_Comm machine;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED)
        return -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_rank(MPI_COMM_WORLD, &number) || MPI_Comm_size(MPI_COMM_WORLD, &processes) ||
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) ||
        MPI_Comm_size(machine, &local) || MPI_Comm_free(&machine))
        return -1;
    *rank = (uint32_t)number;
    *count = (uint32_t)processes;
    *here = (uint32_t)local;
    return 0;
}

static void mpi_close(void)
{
    MPI_Finalize();
}

static int wait_for(MPI_Request *request, struct patience patience)
{
    for (int done = 0;;) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
            (!done && patience.given_up(patience.context)))
            return -1;
        if (done)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = ASLEEP_NS}, NULL);
    }
}

static int mpi_all_reduce(uint64_t *values, size_t count, struct patience patience)
{
    MPI_Request request;
    assert(count <= INT_MAX);
    if (MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request) !=
        MPI_SUCCESS)
        return -1;
    return wait_for(&request, patience);
}

static int mpi_broadcast(uint32_t from, void *bytes, size_t size, struct patience patience)
{
    MPI_Request request;
    assert(size <= INT_MAX);
    if (MPI_Ibcast(bytes, (int)size, MPI_BYTE, (int)from, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return -1;
    return wait_for(&request, patience);
}

const struct messages *messages_mpi(void)
{
    static const struct messages mpi = {
        .name = "MPI", .open = mpi_open, .close = mpi_close, .all_reduce = mpi_all_reduce, .broadcast = mpi_broadcast};
    return &mpi;
}

#else

const struct messages *messages_mpi(void)
{
    return NULL;
}

#endif
