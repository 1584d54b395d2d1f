#include "pipeline/input/workers.h"

#include "base/mem.h"

#include <assert.h>
#include <stdbool.h>

void workers_open(struct workers *workers, void *(*open)(const void *), void (*close)(void *), const void *options)
{
    *workers = (struct workers){.open = open, .close = close, .options = options};
    pthread_mutex_init(&workers->mutex, NULL);
}

/* Objects are few, as many as threads, and given back once a window. */
static bool is_idle(const struct workers *workers, const void *worker)
{
    bool idle = false;
    for (size_t i = 0; i < workers->idle_count; i++)
        idle |= workers->idle[i] == worker;
    return idle;
}

void *workers_take(struct workers *workers)
{
    void *worker = NULL;
    pthread_mutex_lock(&workers->mutex);
    workers->taken++;
    if (workers->idle_count > 0)
        worker = workers->idle[--workers->idle_count];
    pthread_mutex_unlock(&workers->mutex);
    if (!worker)
        worker = workers->open(workers->options);
    assert(worker); /* NULL means that none is idle */
    return worker;
}

void workers_give(struct workers *workers, void *worker)
{
    pthread_mutex_lock(&workers->mutex);
    assert(workers->taken > 0 && !is_idle(workers, worker));
    workers->taken--;
    workers->idle = mem_room(workers->idle, workers->idle_count + 1, &workers->capacity, sizeof *workers->idle);
    workers->idle[workers->idle_count++] = worker;
    pthread_mutex_unlock(&workers->mutex);
}

void workers_close(struct workers *workers)
{
    assert(workers->taken == 0);
    for (size_t i = 0; i < workers->idle_count; i++)
        workers->close(workers->idle[i]);
    mem_free(workers->idle);
    pthread_mutex_destroy(&workers->mutex);
}
