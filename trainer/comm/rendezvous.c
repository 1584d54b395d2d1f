/* Opening and closing, and what the threads of rank 0 (leader.c) and of the others (worker.c) share. liveness.c has
 * reports and failures, values.c values and blocks, stop_protocol.c stops. */
#include "trainer/comm/rendezvous.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "trainer/comm/rendezvous_parts.h"
#include "trainer/comm/owner.h"

#include <assert.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define AWAKE_SECONDS_MAX 1.0 /* between two polls; a longer gap means that this process was stopped, or got no core */
#define BEGIN_SECONDS     5.0 /* rank 0 gives up this much earlier than the others, because it knows who is missing */

void poll_add(struct poll_set *set, int fd, struct line *line)
{
    if (set->count == set->capacity) {
        set->capacity = set->capacity ? 2 * set->capacity : 16;
        set->fds = mem_grow(set->fds, set->capacity, sizeof *set->fds);
        set->lines = mem_grow(set->lines, set->capacity, sizeof *set->lines);
    }
    const short events = (short)(line && !line_is_empty(line) ? POLLIN | POLLOUT : POLLIN);
    set->fds[set->count] = (struct pollfd){.fd = fd, .events = events};
    set->lines[set->count++] = line;
}

bool poll_is_ready(const struct poll_set *set, const struct line *line)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->lines[i] == line)
            return set->fds[i].revents & (POLLIN | POLLHUP | POLLERR);
    return false;
}

void poll_release(struct poll_set *set)
{
    mem_free(set->fds);
    mem_free(set->lines);
}

void rendezvous_poll(struct rendezvous *rendezvous, struct poll_set *set)
{
    uint64_t woken;
    poll_add(set, rendezvous->wake, NULL);
    pthread_mutex_unlock(&rendezvous->lock);
    const int ready = poll(set->fds, set->count, TICK_MS);
    pthread_mutex_lock(&rendezvous->lock);
    for (size_t i = 0; ready < 0 && i < set->count; i++)
        set->fds[i].revents = 0;
    const ssize_t drained = read(rendezvous->wake, &woken, sizeof woken);
    (void)drained; /* it may have been empty */
    /* Time in which this process could hear nothing counts against nobody: a machine that was suspended goes on. */
    const double clock = clock_now();
    rendezvous->now += fmin(clock - rendezvous->clock, AWAKE_SECONDS_MAX);
    rendezvous->clock = clock;
}

int rendezvous_read(struct rendezvous *rendezvous, struct line *line, uint32_t rank,
                    int (*take)(struct rendezvous *rendezvous, uint32_t rank, const struct frame *frame))
{
    struct frame frame;
    int taken = 0;
    const int filled = line_fill(line);
    while (line->fd >= 0 && (taken = line_take(line, &frame)) > 0)
        if (take(rendezvous, rank, &frame) < 0) {
            line->fault = MALFORMED;
            return -1;
        }
    return line->fd >= 0 && (filled < 0 || taken < 0) ? -1 : 0;
}

uint32_t rendezvous_frame_max(uint32_t size, bool from_first)
{
    const size_t blocks = from_first ? (RENDEZVOUS_BLOCK_MAX + sizeof(uint32_t)) * size : 0;
    const size_t value = RENDEZVOUS_VALUE_MAX + RENDEZVOUS_KEY_MAX + sizeof(uint32_t);
    return (uint32_t)(blocks > value ? blocks : value);
}

size_t rendezvous_queue_max(uint32_t size)
{
    return QUEUE_BYTES + rendezvous_frame_max(size, true);
}

void rendezvous_make_secret(struct rendezvous *rendezvous, const unsigned char nonce[NONCE_BYTES])
{
    SCOPED(buf_release) struct buf message = {0};
    buf_add_text(&message, "dstrain meeting 2, secrets");
    buf_add(&message, nonce, NONCE_BYTES);
    hmac_sha256((struct str){(const char *)rendezvous->key.bytes, sizeof rendezvous->key.bytes}, buf_str(&message),
                rendezvous->secret);
}

void rendezvous_secret(const struct rendezvous *rendezvous, const char *label,
                       unsigned char secret[RENDEZVOUS_SECRET_BYTES])
{
    static const unsigned char alone[HMAC_BYTES];
    const unsigned char *key = rendezvous ? rendezvous->secret : alone;
    hmac_sha256((struct str){(const char *)key, HMAC_BYTES}, str_of(label), secret);
}

bool rendezvous_trusts(const struct rendezvous *rendezvous, int fd)
{
    return rendezvous->key.given || rendezvous->options.admits_all || owner_is_trusted(fd);
}

void rendezvous_wake(struct rendezvous *rendezvous)
{
    const uint64_t one = 1;
    const ssize_t written = write(rendezvous->wake, &one, sizeof one);
    assert(written == sizeof one);
}

static struct rendezvous *rendezvous_make(const struct rendezvous_options *options)
{
    struct rendezvous *rendezvous = mem_clear(1, sizeof *rendezvous);
    pthread_condattr_t monotonic;
    rendezvous->options = *options;
    if (options->key)
        rendezvous->key = *options->key;
    if (!options->run)
        rendezvous->options.run = "";
    if (rendezvous->options.patience <= 0)
        rendezvous->options.patience = 600;
    if (rendezvous->options.remind <= 0)
        rendezvous->options.remind = 30;
    rendezvous->line = LINE_CLOSED;
    rendezvous->clock = clock_now();
    rendezvous->failure.lost = NOBODY;
    if (gethostname(rendezvous->host, sizeof rendezvous->host - 1) < 0)
        snprintf(rendezvous->host, sizeof rendezvous->host, "unknown");
    pthread_mutex_init(&rendezvous->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&rendezvous->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rendezvous->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (rendezvous->wake < 0)
        die(ERR_RESOURCE, "no file descriptor is left");
    const uint32_t peers = options->rank == 0 ? options->size : 1;
    rendezvous->peers = mem_clear(peers, sizeof *rendezvous->peers);
    for (uint32_t i = 0; i < peers; i++)
        rendezvous->peers[i].rank = i;
    return rendezvous;
}

static void rendezvous_free(struct rendezvous *rendezvous)
{
    if (rendezvous->leader)
        leader_close(rendezvous);
    line_close(&rendezvous->line);
    for (size_t i = 0; i < rendezvous->values_count; i++) {
        mem_free(rendezvous->values[i].key);
        buf_release(&rendezvous->values[i].bytes);
    }
    mem_free(rendezvous->values);
    mem_free(rendezvous->peers);
    buf_release(&rendezvous->given);
    pthread_cond_destroy(&rendezvous->changed);
    pthread_mutex_destroy(&rendezvous->lock);
    close(rendezvous->wake);
    mem_free(rendezvous);
}

void rendezvous_await(struct rendezvous *rendezvous)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&rendezvous->changed, &rendezvous->lock, &until);
}

static int await_begin(struct rendezvous *rendezvous, struct error *err)
{
    const double from = clock_now();
    while (!rendezvous->begun && !rendezvous->failed) {
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped before all processes were there");
        if (clock_now() - from > rendezvous->options.patience + BEGIN_SECONDS)
            return fail(err, ERR_PEER, "rank 0 was there, but the others were not within %.0f s",
                        rendezvous->options.patience);
        rendezvous_await(rendezvous);
    }
    return rendezvous->failed ? rendezvous_report_failure(rendezvous, err) : 0;
}

int rendezvous_open(struct rendezvous **out, const struct rendezvous_options *options, struct error *err)
{
    *out = NULL;
    assert(options->size > 0 && options->rank < options->size);
    if (options->size == 1) {
        if (options->listener >= 0)
            close(options->listener);
        return 0;
    }
    const bool first = options->rank == 0;
    struct rendezvous *rendezvous = rendezvous_make(options);
    int result = first ? leader_open(rendezvous, err) : worker_open(rendezvous, err);
    if (result < 0) {
        rendezvous_free(rendezvous);
        return -1;
    }
    if (thread_start(&rendezvous->thread, first ? leader_run : worker_run, rendezvous) != 0)
        die(ERR_RESOURCE, "cannot create a thread");
    pthread_mutex_lock(&rendezvous->lock);
    result = first ? leader_await(rendezvous, err) : await_begin(rendezvous, err);
    pthread_mutex_unlock(&rendezvous->lock);
    if (result < 0)
        rendezvous_close(rendezvous);
    else
        *out = rendezvous;
    return result;
}

void rendezvous_close(struct rendezvous *rendezvous)
{
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous->closing = true;
    rendezvous->failure_seen = true;
    rendezvous_wake(rendezvous);
    pthread_mutex_unlock(&rendezvous->lock);
    pthread_join(rendezvous->thread, NULL);
    rendezvous_free(rendezvous);
}

uint32_t rendezvous_size(const struct rendezvous *rendezvous)
{
    return rendezvous ? rendezvous->options.size : 1;
}

const char *rendezvous_address(const struct rendezvous *rendezvous)
{
    return rendezvous ? rendezvous->address : "127.0.0.1";
}
