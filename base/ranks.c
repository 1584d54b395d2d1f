/* Liveness: process r holds byte ALIVE + r of the directory's lock as long as it lives, and byte GOES_ON + r until it
 * stops or fails. The first process watches all others, and they watch the first, so all know within two looks what
 * happened to one. Each process holds and releases byte BEATS + r in turn. A process whose beat stops is reported. It
 * may only have been suspended, so it is given until the peer timeout before it counts as dead. */
#include "base/ranks.h"

#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ALIVE         0u
#define GOES_ON       (1u << 20)
#define BEATS         (2u << 20)
#define RANKS_MAX     GOES_ON
#define NOBODY        UINT32_MAX
#define LOOK_SECONDS  1.0
#define BEAT_LOOKS    2u  /* long enough that another process's looks miss no beat */
#define STILL_LOOKS   10u /* without a beat: then it is reported */
#define CLOSE_SECONDS 5.0
#define TICK_NS       50000000

/* What is known about a process that is watched. */
struct pulse {
    bool held;
    unsigned looks; /* since `held` changed; not seconds, because we may have been suspended ourselves */
};

struct ranks {
    const struct messages *messages;
    uint32_t rank, count, here;
    struct lock *lock;
    char *directory; /* NULL: nobody is watched yet */
    pthread_t watcher;
    unsigned looks;
    unsigned patient_looks; /* without a beat until a process is given up; 0: never */
    struct pulse *pulses;   /* [count] */
    atomic_bool ending;     /* others may leave now */
    atomic_bool stops;      /* this process stops, and has announced it */
    atomic_uint lost;       /* the process that has died or hangs, or NOBODY */
    atomic_bool hangs;      /* it hangs rather than died */
    double waiting;         /* clock: when waiting for a message began */
};

int ranks_open(struct ranks **ranks, const struct messages *messages, uint64_t timeout, struct error *err)
{
    const char *variable;
    const unsigned long announced = launcher_processes(&variable);
    *ranks = NULL;
    if (announced <= 1)
        return 0;
    if (!messages) {
        fail(err, ERR_USAGE, "a launcher started %lu processes (%s), but this program was built without MPI", announced,
             variable);
        return hint(err, "start it once, or build it where Open MPI is installed (Debian: libopenmpi-dev)");
    }
    struct ranks *opened = mem_clear(1, sizeof *opened);
    opened->messages = messages;
    opened->lost = NOBODY;
    opened->patient_looks = timeout < UINT32_MAX ? (unsigned)((double)timeout / LOOK_SECONDS) : 0;
    const int result = messages->open(&opened->rank, &opened->count, &opened->here);
    if (result == 0 && opened->count == announced && announced < RANKS_MAX) {
        assert(opened->rank < opened->count && opened->here >= 1 && opened->here <= opened->count);
        *ranks = opened;
        return 0;
    }
    mem_free(opened);
    fail(err, ERR_USAGE, "a launcher started %lu processes (%s), but they do not find each other by %s", announced,
         variable, messages->name);
    return hint(err, "start them with mpirun, or with srun --mpi=pmix");
}

uint32_t ranks_rank(const struct ranks *ranks)
{
    return ranks ? ranks->rank : 0;
}

uint32_t ranks_count(const struct ranks *ranks)
{
    return ranks ? ranks->count : 1;
}

uint32_t ranks_here(const struct ranks *ranks)
{
    return ranks ? ranks->here : 1;
}

/* ------------------------------------------------------------------------------------------------------ watch */

static int fail_lost(struct ranks *ranks, struct error *err)
{
    const unsigned lost = ranks->lost;
    if (lost == NOBODY)
        fail(err, ERR_PEER, "the processes of this job have lost each other");
    else if (ranks->hangs)
        fail(err, ERR_PEER,
             "process %u of %u has made no progress for %.0f s (--peer-timeout): it was stopped, or its machine hangs",
             lost, ranks->count, ranks->patient_looks * LOOK_SECONDS);
    else
        fail(err, ERR_PEER, "process %u of %u has died", lost, ranks->count);
    if (ranks->directory)
        return hint(err,
                    "what was done is safe in %s; the same command continues from there, with any number of processes",
                    ranks->directory);
    return -1;
}

bool ranks_speaks(const struct ranks *ranks)
{
    return !ranks || ranks->rank == (ranks->lost == 0 ? 1 : 0);
}

/* Exits at once: work that cannot be interrupted takes too long, or the launcher is about to kill us. */
static void leave(struct ranks *ranks)
{
    struct error err = {0};
    fail_lost(ranks, &err);
    if (ranks_speaks(ranks))
        error_leave(&err);
    _exit(ERR_PEER);
}

static void stop_all(struct ranks *ranks)
{
    stop_request();
    if (!atomic_exchange(&ranks->stops, true))
        lock_let_go(ranks->lock, GOES_ON + ranks->rank);
}

static void feel_pulse(struct ranks *ranks, uint32_t other)
{
    assert(other < ranks->count && other != ranks->rank);
    struct pulse *pulse = &ranks->pulses[other];
    const bool held = lock_is_held(ranks->lock, BEATS + other);
    if (held != pulse->held) {
        *pulse = (struct pulse){held, 0};
        return;
    }
    pulse->looks++;
    if (pulse->looks == STILL_LOOKS && ranks->rank <= 1) /* rank 0 and, for rank 0, rank 1 report it */
        log_warn(
            "process %u of %u has made no progress for %.0f s: it was stopped, or its machine hangs; waiting for it",
            other, ranks->count, STILL_LOOKS * LOOK_SECONDS);
    if (pulse->looks == ranks->patient_looks) {
        ranks->hangs = true;
        ranks->lost = other;
        stop_all(ranks);
    }
}

static void beat(struct ranks *ranks)
{
    struct error ignored = {0};
    const unsigned turn = ranks->looks++ % (2 * BEAT_LOOKS);
    if (turn == 0)
        (void)lock_hold(ranks->lock, BEATS + ranks->rank, &ignored);
    else if (turn == BEAT_LOOKS)
        lock_let_go(ranks->lock, BEATS + ranks->rank);
}

/* Checks the processes that this one watches. */
static void look(struct ranks *ranks)
{
    beat(ranks);
    const uint32_t from = ranks->rank == 0 ? 1 : 0, to = ranks->rank == 0 ? ranks->count : 1;
    for (uint32_t other = from; other < to && !ranks->ending; other++) {
        const bool goes_on = lock_is_held(ranks->lock, GOES_ON + other);
        feel_pulse(ranks, other);
        if (goes_on)
            continue;
        if (!lock_is_held(ranks->lock, ALIVE + other) && !ranks->ending)
            ranks->lost = other;
        stop_all(ranks);
    }
}

/* The watching thread. When one process has died, mpirun ends all others: first by SIGTERM, and a second later by
 * SIGKILL. So on a signal it looks at once, and leaves if a process is lost. */
static void *watch(void *context)
{
    struct ranks *ranks = context;
    double looked = 0, found = 0;
    bool asked = false;
    while (!ranks->ending) {
        nanosleep(&(struct timespec){.tv_nsec = TICK_NS}, NULL);
        const double now = clock_now();
        const bool killed = stop_requested() && !asked;
        if (now - looked >= LOOK_SECONDS || killed) {
            look(ranks);
            looked = now;
            asked = stop_requested();
        }
        if (ranks->lost == NOBODY || ranks->ending)
            continue;
        if (found == 0)
            found = now;
        if (killed || now - found > LOST_SECONDS)
            leave(ranks);
    }
    return NULL;
}

int ranks_watch(struct ranks *ranks, const char *directory, struct lock *lock, struct error *err)
{
    if (!ranks)
        return 0;
    assert(!ranks->directory); /* one directory for each job */
    int result = ranks->rank == 0 ? lock_admit(lock, err) : 0;
    TRY(ranks_barrier(ranks, result, err));
    if (ranks->rank > 0) {
        result = lock_enter(lock, directory, err);
        if (result == 0)
            result = lock_hold(lock, ALIVE + ranks->rank, err);
    }
    if (result == 0)
        result = lock_hold(lock, GOES_ON + ranks->rank, err);
    TRY(ranks_barrier(ranks, result, err));
    ranks->lock = lock;
    ranks->pulses = mem_clear(ranks->count, sizeof *ranks->pulses);
    ranks->directory = mem_copy_text(directory);
    if (thread_start(&ranks->watcher, watch, ranks) != 0)
        die(ERR_RESOURCE, "cannot create a thread");
    return 0;
}

/* --------------------------------------------------------------------------------------------------- messages */

/* Before the watch begins only the clock can tell; nothing takes long until then. */
static bool is_lost(void *context)
{
    const struct ranks *ranks = context;
    const double patience = ranks->patient_looks * LOOK_SECONDS;
    return ranks->lost != NOBODY || (!ranks->directory && patience > 0 && clock_now() - ranks->waiting > patience);
}

static bool is_late(void *context)
{
    const struct ranks *ranks = context;
    return clock_now() - ranks->waiting > CLOSE_SECONDS;
}

int ranks_all_reduce(struct ranks *ranks, uint64_t *values, size_t count, struct error *err)
{
    if (!ranks)
        return 0;
    assert(!ranks->ending);
    ranks->waiting = clock_now();
    return ranks->messages->all_reduce(values, count, (struct patience){is_lost, ranks}) < 0 ? fail_lost(ranks, err)
                                                                                             : 0;
}

/* Chooses among several errors: a failure before a stop, then the lowest rank. */
int ranks_barrier(struct ranks *ranks, int result, struct error *err)
{
    assert(result <= 0);
    if (!ranks)
        return result;
    assert(result == 0 || err->kind != ERR_NONE);
    enum { WELL, STOPPED, FAILED };
    if (result < 0 && ranks->directory)
        stop_all(ranks);
    SCOPED(mem_free_at) uint64_t *ends = mem_clear(ranks->count, sizeof *ends);
    ends[ranks->rank] = result == 0 ? WELL : err->kind == ERR_STOPPED ? STOPPED : FAILED;
    TRY(ranks_all_reduce(ranks, ends, ranks->count, err));
    uint32_t worst = 0;
    for (uint32_t i = 1; i < ranks->count; i++)
        if (ends[i] > ends[worst])
            worst = i;
    if (ends[worst] == WELL)
        return 0;
    ranks->waiting = clock_now();
    if (ranks->messages->broadcast(worst, err, sizeof *err, (struct patience){is_lost, ranks}) < 0)
        return fail_lost(ranks, err);
    return -1;
}

int ranks_broadcast(struct ranks *ranks, struct buf *bytes, struct error *err)
{
    if (!ranks)
        return 0;
    uint64_t size = ranks->rank == 0 ? bytes->size : 0;
    TRY(ranks_all_reduce(ranks, &size, 1, err));
    if (ranks->rank > 0) {
        buf_reset(bytes);
        buf_reserve(bytes, size);
        bytes->size = size;
    }
    ranks->waiting = clock_now();
    if (size > 0 && ranks->messages->broadcast(0, bytes->data, size, (struct patience){is_lost, ranks}) < 0)
        return fail_lost(ranks, err);
    return 0;
}

void ranks_close(struct ranks *ranks, struct lock *lock)
{
    if (!ranks) {
        lock_release(lock);
        return;
    }
    ranks->ending = true;
    if (ranks->directory)
        pthread_join(ranks->watcher, NULL);
    /* A process that holds no lock looks dead, so wait until all have stopped watching. */
    uint64_t nothing = 0;
    ranks->waiting = clock_now();
    const bool all =
        ranks->lost == NOBODY && ranks->messages->all_reduce(&nothing, 1, (struct patience){is_late, ranks}) == 0;
    if (!all) { /* keep the file: others may still hold it */
        mem_free(lock->path);
        lock->path = NULL;
    }
    lock_release(lock);
    if (all)
        ranks->messages->close();
    mem_free(ranks->directory);
    mem_free(ranks->pulses);
    mem_free(ranks);
}
