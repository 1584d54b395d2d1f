/* Scratch objects that parallel steps of a belt take and give back. There are as many as threads that ever work at
 * once; caches in an object never change a result. Any thread. */
#pragma once

#include <pthread.h>
#include <stddef.h>

struct workers {
    pthread_mutex_t mutex;
    void **idle; /* objects not in use */
    size_t idle_count, capacity;
    size_t taken;                       /* those that somebody holds */
    void *(*open)(const void *options); /* called when none is idle */
    void (*close)(void *worker);
    const void *options;
};

void workers_open(struct workers *workers, void *(*open)(const void *), void (*close)(void *), const void *options);
void *workers_take(struct workers *workers);
void workers_give(struct workers *workers, void *worker);
void workers_close(struct workers *workers); /* all must have been given back */
