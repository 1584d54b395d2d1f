/* Operations end in the order in which they were started, so two counters say who owns a slot: slot n % COMM_QUEUE
 * belongs to the thread while done <= n < started, and to the caller otherwise. */
#include "trainer/comm/work.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"
#include "base/thread.h"

struct slot {
    struct comm_work work;
    struct comm_times times;
};

struct comm {
    const struct comm_library *library;
    struct comm_options options; /* its strings are the caller's, and only open reads them */
    void *opened;                /* the library's handle, set before the first operation */
    struct work_scratch scratch; /* used by the communication thread only */
    pthread_t thread;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t changed;
    enum { OPENING, OPEN, CLOSING } state;
    uint64_t started, done;
    bool failed;
    struct error failure; /* the first one */
    struct slot slots[COMM_QUEUE];
};

uint32_t comm_rank(const struct comm *comm)
{
    return comm->options.rank;
}

uint32_t comm_size(const struct comm *comm)
{
    return comm->options.size;
}

bool comm_takes_device(const struct comm *comm)
{
    return !comm->library->waits || comm->library->reduce_device;
}

/* Adds to the library's message which operation it was. */
static void say_where(struct error *err, const struct comm_work *work, uint64_t number, uint32_t size)
{
    char bytes[32];
    const size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ", in %s of %s (operation %" PRIu64 ")",
             work_name(work->operation), format_bytes(work_bytes(work, size), bytes), number);
}

/* Called without the lock: the slot belongs to this thread. */
static int do_work(struct comm *comm, uint64_t number, struct error *err)
{
    struct slot *slot = &comm->slots[number % COMM_QUEUE];
    const double began = clock_now();
    const int result =
        work_do(&slot->work, comm->library, comm->opened, comm->options.rank, comm->options.size, &comm->scratch, err);
    slot->times.taken = clock_now() - began;
    if (result < 0) {
        say_where(err, &slot->work, number, comm->options.size);
        comm->library->abort(comm->opened);
    }
    return result;
}

/* Called with the lock held. */
static void set_failure(struct comm *comm, const struct error *err)
{
    assert(err->kind != ERR_NONE);
    if (!comm->failed) {
        comm->failure = *err;
        comm->failed = true;
    }
    pthread_cond_broadcast(&comm->changed);
}

static void serve(struct comm *comm)
{
    struct error err;
    for (;;) {
        while (comm->done == comm->started && comm->state != CLOSING)
            pthread_cond_wait(&comm->changed, &comm->lock);
        if (comm->done == comm->started)
            return;
        if (!comm->failed) {
            pthread_mutex_unlock(&comm->lock);
            const int result = do_work(comm, comm->done, &err);
            pthread_mutex_lock(&comm->lock);
            if (result < 0)
                set_failure(comm, &err);
        }
        comm->done++;
        pthread_cond_broadcast(&comm->changed);
    }
}

static void *run(void *context)
{
    struct comm *comm = context;
    struct error err;
    void *opened = comm->library->open(&comm->options, &err);
    pthread_mutex_lock(&comm->lock);
    comm->opened = opened;
    if (!opened)
        set_failure(comm, &err);
    comm->state = OPEN;
    pthread_cond_broadcast(&comm->changed);
    if (opened)
        serve(comm);
    const bool well = !comm->failed;
    pthread_mutex_unlock(&comm->lock);
    if (opened)
        comm->library->close(opened, well);
    return NULL;
}

/* Blocks all signals in this thread and, by inheritance, in those that the library starts, so that the main thread gets
 * them. */
static int start_thread(struct comm *comm, struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = thread_start(&comm->thread, run, comm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result == 0 ? 0 : fail(err, ERR_RESOURCE, "cannot create a thread: %s", strerror(result));
}

static void release(struct comm *comm)
{
    assert(comm->done == comm->started); /* the library no longer uses any array */
    pthread_cond_destroy(&comm->changed);
    pthread_mutex_destroy(&comm->lock);
    work_scratch_release(&comm->scratch);
    mem_free(comm);
}

static int open_thread(struct comm *comm, struct error *err)
{
    TRY(start_thread(comm, err));
    pthread_mutex_lock(&comm->lock);
    while (comm->state == OPENING)
        pthread_cond_wait(&comm->changed, &comm->lock);
    const bool failed = comm->failed;
    pthread_mutex_unlock(&comm->lock);
    if (!failed)
        return 0;
    pthread_join(comm->thread, NULL);
    *err = comm->failure;
    return -1;
}

struct comm *comm_open_library(const struct comm_library *library, const struct comm_options *options,
                               struct error *err)
{
    assert(options->size > 0 && options->rank < options->size && options->chunk_bytes % 8 == 0);
    struct comm *comm = mem_clear(1, sizeof *comm);
    comm->library = library;
    comm->options = *options;
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->changed, NULL);
    work_scratch_init(&comm->scratch, options->size);
    int result;
    if (library->waits) {
        result = open_thread(comm, err);
    } else {
        comm->opened = library->open(options, err);
        comm->state = OPEN;
        result = comm->opened ? 0 : -1;
    }
    if (result == 0)
        return comm;
    release(comm);
    return NULL;
}

void comm_close(struct comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    assert(comm->state == OPEN);
    const bool under_way = comm->done < comm->started && !comm->failed;
    pthread_mutex_unlock(&comm->lock);
    if (under_way) {
        struct error err;
        fail(&err, ERR_PEER, "this process ends while others still wait for it");
        comm_abort(comm, &err);
    }
    pthread_mutex_lock(&comm->lock);
    comm->state = CLOSING;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    if (comm->library->waits)
        pthread_join(comm->thread, NULL);
    release(comm);
}

uint64_t comm_start(struct comm *comm, struct comm_work work)
{
    work_check(&work, comm->options.rank, comm->options.size);
    assert(!work.on_device || comm_takes_device(comm));
    pthread_mutex_lock(&comm->lock);
    assert(comm->state == OPEN);
    while (comm->started - comm->done == COMM_QUEUE)
        pthread_cond_wait(&comm->changed, &comm->lock);
    assert(comm->started - comm->done < COMM_QUEUE); /* the slot is the caller's */
    const uint64_t number = comm->started++;
    comm->slots[number % COMM_QUEUE] = (struct slot){.work = work};
    const bool now = !comm->library->waits;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    if (now) {
        struct error err;
        const int result = comm->failed ? 0 : do_work(comm, number, &err);
        assert(result == 0 && comm->done == number); /* with one process no operation can fail or be in flight */
        comm->done++;
    }
    return number;
}

static void tell_waiting(const struct comm *comm, bool waits)
{
    if (comm->options.waiting)
        comm->options.waiting(comm->options.waiting_context, waits);
}

int comm_wait(struct comm *comm, uint64_t number, struct error *err)
{
    const double began = clock_now();
    tell_waiting(comm, true);
    pthread_mutex_lock(&comm->lock);
    assert(number < comm->started);
    while (!comm->failed && comm->done <= number)
        pthread_cond_wait(&comm->changed, &comm->lock);
    const bool failed = comm->failed;
    if (failed)
        *err = comm->failure;
    else if (comm->started - number <= COMM_QUEUE)
        comm->slots[number % COMM_QUEUE].times.waited += clock_now() - began;
    pthread_mutex_unlock(&comm->lock);
    tell_waiting(comm, false);
    return failed ? -1 : 0;
}

int comm_run(struct comm *comm, struct comm_work work, struct error *err)
{
    return comm_wait(comm, comm_start(comm, work), err);
}

void comm_abort(struct comm *comm, const struct error *why)
{
    pthread_mutex_lock(&comm->lock);
    set_failure(comm, why);
    pthread_mutex_unlock(&comm->lock);
    if (comm->library->waits)
        comm->library->abort(comm->opened);
}

struct comm_times comm_timed(const struct comm *comm, uint64_t number)
{
    assert(number < comm->started && comm->started - number <= COMM_QUEUE);
    return comm->slots[number % COMM_QUEUE].times;
}
