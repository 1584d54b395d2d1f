/* Injects faults and checks the errors that the surviving processes get. The last process fails; each of the others
 * prints its error and exits with 0 if the error is the expected one. No time is asserted: a killed process is noticed
 * by its closed connection, long before the timeout, and the error says which of the two it was. */
#include "tests/comm/rank.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

enum { FLOATS = 1 << 21 };
static float values[FLOATS];

static bool is_last(const struct rank *rank)
{
    return rank->options.rank == rank->options.size - 1;
}

static void nap(double seconds)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)},
        NULL);
}

static struct comm_work sum(size_t count)
{
    return (struct comm_work){.operation = COMM_SUM, .type = COMM_FLOAT, .out = values, .count = count};
}

static struct comm_work broadcast(uint32_t root)
{
    return (struct comm_work){
        .operation = COMM_BROADCAST, .type = COMM_FLOAT, .out = values, .count = FLOATS, .root = root};
}

/* Repeats the operation until it fails: ERR_PEER with `words` in its text. Every later operation must fail with the
 * same text. */
static void fails(const struct rank *rank, struct comm *comm, struct comm_work work, const char *words)
{
    struct error err, again;
    double began;
    do
        began = clock_now();
    while (comm_run(comm, work, &err) == 0);
    printf("rank %u: after %.2f s: %s\n", rank->options.rank, clock_now() - began, err.text);
    CHECK(err.kind == ERR_PEER && strstr(err.text, words), "%s", err.text);
    CHECK(strstr(err.text, " of 8.39 MB (operation "), "%s", err.text);
    const uint64_t number = comm_start(comm, sum(1));
    CHECK(comm_wait(comm, number, &again) < 0, "it goes on");
    CHECK(again.kind == ERR_PEER && strcmp(again.text, err.text) == 0, "%s", again.text);
    comm_close(comm);
}

static void some_sums(struct comm *comm)
{
    struct error err;
    for (int i = 0; i < 3; i++)
        CHECK(comm_run(comm, sum(FLOATS), &err) == 0, "%s", err.text);
}

/* ------------------------------------------------------------------------------------------------------- faults */

static void killed(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    some_sums(comm);
    if (is_last(rank))
        raise(SIGKILL);
    fails(rank, comm, sum(FLOATS), "onnection");
}

static void killed_inside(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    some_sums(comm);
    if (is_last(rank)) {
        comm_start(comm, sum(FLOATS));
        nap(0.001);
        raise(SIGKILL);
    }
    fails(rank, comm, sum(FLOATS), "onnection");
}

/* Kills the sender of a broadcast, while the others only receive. */
static void killed_root(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    some_sums(comm);
    if (is_last(rank)) {
        comm_start(comm, broadcast(rank->options.rank));
        nap(0.001);
        raise(SIGKILL);
    }
    fails(rank, comm, broadcast(rank->options.size - 1), "onnection");
}

static void stopped(const struct rank *rank)
{
    struct rank patient = *rank;
    patient.options.timeout = 1;
    struct comm *comm = open_rank(&patient);
    some_sums(comm);
    if (is_last(rank))
        raise(SIGSTOP);
    fails(rank, comm, sum(FLOATS), rank->options.size == 2 ? "nothing came from the other processes for 1 s" : "");
}

static void leaves(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    some_sums(comm);
    if (is_last(rank)) {
        struct error why;
        fail(&why, ERR_RESOURCE, "the disk is full");
        comm_abort(comm, &why);
        comm_close(comm);
    } else {
        fails(rank, comm, sum(FLOATS), "onnection");
    }
}

/* A process closes comm while an operation is under way. */
static void leaves_inside(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    some_sums(comm);
    comm_start(comm, sum(FLOATS));
    if (is_last(rank)) {
        comm_start(comm, sum(FLOATS));
        comm_start(comm, (struct comm_work){.operation = COMM_BARRIER});
        comm_close(comm);
    } else {
        fails(rank, comm, sum(FLOATS), "onnection");
    }
}

static void *abort_later(void *comm)
{
    struct error why;
    nap(0.1);
    fail(&why, ERR_STOPPED, "somebody else knows");
    comm_abort(comm, &why);
    return NULL;
}

/* Another thread aborts an operation that the last process never begins; the other processes get an error too. */
static void aborted(const struct rank *rank)
{
    struct comm *comm = open_rank(rank);
    struct error err;
    some_sums(comm);
    if (is_last(rank))
        raise(SIGSTOP);
    if (rank->options.rank > 0) {
        fails(rank, comm, sum(FLOATS), "onnection");
        return;
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, abort_later, comm) == 0, "no thread");
    CHECK(comm_run(comm, sum(FLOATS), &err) < 0, "it goes on");
    CHECK(err.kind == ERR_STOPPED && strcmp(err.text, "somebody else knows") == 0, "%s", err.text);
    pthread_join(thread, NULL);
    comm_close(comm);
    puts("rank 0: aborted");
}

static void absent(const struct rank *rank)
{
    struct rank patient = *rank;
    struct error err;
    patient.options.timeout = 0.5;
    if (is_last(rank))
        return;
    CHECK(!comm_open(rank->kind, &patient.options, &err), "it opens");
    printf("rank %u: %s\n", rank->options.rank, err.text);
    CHECK(err.kind == ERR_PEER, "%s", err.text);
}

/* Under mpirun, which ends all processes when one exits, the last process is only late. */
static void late(const struct rank *rank)
{
    struct rank patient = *rank;
    patient.options.timeout = 0.5;
    struct comm *comm = open_rank(&patient);
    some_sums(comm);
    if (is_last(rank))
        nap(20);
    else
        fails(rank, comm, sum(FLOATS), "did not answer for 0.5 s");
}

static void unstarted(const struct rank *rank)
{
    struct error err;
    CHECK(!comm_open(rank->kind, &rank->options, &err), "it opens");
    CHECK(err.kind == ERR_USAGE && strstr(err.text, "but for MPI it is process 0 of 1"), "%s", err.text);
    puts(err.text);
}

bool test_fault(const struct rank *rank, const char *fault)
{
    static const struct {
        const char *name;
        void (*test)(const struct rank *rank);
    } faults[] = {
        {"killed", killed}, {"killed-inside", killed_inside}, {"killed-root", killed_root}, {"stopped", stopped},
        {"leaves", leaves}, {"leaves-inside", leaves_inside}, {"aborted", aborted},         {"absent", absent},
        {"late", late},     {"unstarted", unstarted},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (strcmp(faults[i].name, fault) == 0) {
            faults[i].test(rank);
            return true;
        }
    }
    return false;
}
