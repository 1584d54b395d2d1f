/* In: calls of the trainer. Out: what all processes know. This file has what rank 0 and the others share: opening, the
 * verdict, places and stops. values.c has values and blocks, hub.c rank 0's thread, member.c that of every other
 * process. */
#include "trainer/comm/meet.h"

#include "base/faults.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "trainer/comm/board.h"
#include "trainer/comm/meet_parts.h"
#include "trainer/comm/owner.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define AWAKE_SECONDS_MAX 1.0 /* between two polls; a longer gap means that this process was stopped, or got no core */
#define BEGIN_SECONDS     5.0 /* rank 0 gives up this much earlier than the others, because it knows who is missing */

/* ---------------------------------------------------------------------------------------------------- the thread */

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

void meet_rest(struct meet *meet, struct poll_set *set)
{
    uint64_t woken;
    poll_add(set, meet->wake, NULL);
    pthread_mutex_unlock(&meet->lock);
    const int ready = poll(set->fds, set->count, TICK_MS);
    pthread_mutex_lock(&meet->lock);
    for (size_t i = 0; ready < 0 && i < set->count; i++)
        set->fds[i].revents = 0;
    const ssize_t drained = read(meet->wake, &woken, sizeof woken);
    (void)drained; /* it may have been empty */
    /* Time in which this process could hear nothing counts against nobody: a machine that was suspended goes on. */
    const double clock = clock_now();
    meet->now += fmin(clock - meet->clock, AWAKE_SECONDS_MAX);
    meet->clock = clock;
}

uint32_t meet_frame_max(uint32_t size, bool from_first)
{
    const size_t blocks = from_first ? (MEET_BLOCK_MAX + sizeof(uint32_t)) * size : 0;
    const size_t value = MEET_VALUE_MAX + MEET_KEY_MAX + sizeof(uint32_t);
    return (uint32_t)(blocks > value ? blocks : value);
}

size_t meet_queue_max(uint32_t size)
{
    return QUEUE_BYTES + meet_frame_max(size, true);
}

void meet_make_secret(struct meet *meet, const unsigned char nonce[NONCE_BYTES])
{
    struct buf message = {0};
    buf_add_text(&message, "dstrain meeting 2, secrets");
    buf_add(&message, nonce, NONCE_BYTES);
    hmac_sha256((struct str){(const char *)meet->key.bytes, sizeof meet->key.bytes}, buf_str(&message), meet->secret);
    buf_release(&message);
}

void meet_secret(const struct meet *meet, const char *label, unsigned char secret[MEET_SECRET_BYTES])
{
    static const unsigned char alone[HMAC_BYTES];
    const unsigned char *key = meet ? meet->secret : alone;
    hmac_sha256((struct str){(const char *)key, HMAC_BYTES}, str_of(label), secret);
}

bool meet_trusts(const struct meet *meet, int fd)
{
    return meet->key.given || meet->options.admits_all || owner_is_trusted(fd);
}

void meet_wake(struct meet *meet)
{
    const uint64_t one = 1;
    const ssize_t written = write(meet->wake, &one, sizeof one);
    assert(written == sizeof one);
}

void meet_take_verdict(struct meet *meet, const struct meet_verdict *verdict)
{
    assert(verdict->error.kind != ERR_NONE);
    if (meet->failed)
        return;
    meet->verdict = *verdict;
    meet->failed_since = meet->now;
    meet->failed = true;
    if (meet->hub)
        hub_put_verdict_all(meet);
    pthread_cond_broadcast(&meet->changed);
    if (meet->options.failed)
        meet->options.failed(meet->options.failed_context, &meet->verdict.error);
}

void meet_judge(struct meet *meet, uint32_t lost, const struct error *err)
{
    meet_take_verdict(meet, &(struct meet_verdict){.lost = lost, .error = *err});
}

void meet_leave_late(struct meet *meet)
{
    const double patience = meet->options.leave_timeout;
    if (!meet->failed || meet->failure_seen || patience <= 0 || meet->now - meet->failed_since < patience)
        return;
    if (meet_speaks(meet))
        error_leave(&meet->verdict.error);
    _exit((int)meet->verdict.error.kind);
}

void meet_stopped(struct meet *meet)
{
    if (atomic_exchange(&meet->stop, true))
        return;
    if (meet->hub)
        hub_put_all(meet, FRAME_STOP, NULL, 0);
    if (meet->begun_step > 0)
        value_go_on(meet, meet->begun_step);
}

void meet_hear(struct meet *meet, struct peer *peer, struct str bytes)
{
    struct rank_report report;
    if (bytes.size != sizeof report)
        return;
    memcpy(&report, bytes.data, sizeof report);
    report.place[PLACE_TEXT - 1] = '\0';
    if (report.moves != peer->report.moves)
        peer->moved = meet->now;
    peer->heard = meet->now;
    peer->report = report;
}

bool meet_is_due(struct meet *meet)
{
    if (meet->now - meet->reported < REPORT_SECONDS)
        return false;
    meet->reported = meet->now;
    meet->report.waits = meet->waits > 0;
    meet->report.moves += meet->works > 0;
    return true;
}

/* -------------------------------------------------------------------------------------------------- open and close */

static struct meet *meet_make(const struct meet_options *options)
{
    struct meet *meet = mem_clear(1, sizeof *meet);
    pthread_condattr_t monotonic;
    meet->options = *options;
    if (options->key)
        meet->key = *options->key;
    if (!options->run)
        meet->options.run = "";
    if (meet->options.patience <= 0)
        meet->options.patience = 600;
    if (meet->options.remind <= 0)
        meet->options.remind = 30;
    meet->line = LINE_CLOSED;
    meet->clock = clock_now();
    meet->verdict.lost = NOBODY;
    if (gethostname(meet->host, sizeof meet->host - 1) < 0)
        snprintf(meet->host, sizeof meet->host, "unknown");
    pthread_mutex_init(&meet->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meet->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    meet->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (meet->wake < 0)
        die(ERR_RESOURCE, "no file descriptor is left");
    const uint32_t peers = options->rank == 0 ? options->size : 1;
    meet->peers = mem_clear(peers, sizeof *meet->peers);
    for (uint32_t i = 0; i < peers; i++)
        meet->peers[i].rank = i;
    return meet;
}

static void meet_free(struct meet *meet)
{
    if (meet->hub)
        hub_close(meet);
    line_close(&meet->line);
    for (size_t i = 0; i < meet->values_count; i++) {
        mem_free(meet->values[i].key);
        buf_release(&meet->values[i].bytes);
    }
    mem_free(meet->values);
    mem_free(meet->peers);
    buf_release(&meet->given);
    pthread_cond_destroy(&meet->changed);
    pthread_mutex_destroy(&meet->lock);
    close(meet->wake);
    mem_free(meet);
}

void meet_await(struct meet *meet)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&meet->changed, &meet->lock, &until);
}

int meet_tell(struct meet *meet, struct error *err)
{
    assert(meet->failed);
    meet->failure_seen = true;
    *err = meet->verdict.error;
    return -1;
}

static int await_begin(struct meet *meet, struct error *err)
{
    const double from = clock_now();
    while (!meet->begun && !meet->failed) {
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped before all processes were there");
        if (clock_now() - from > meet->options.patience + BEGIN_SECONDS)
            return fail(err, ERR_PEER, "rank 0 was there, but the others were not within %.0f s",
                        meet->options.patience);
        meet_await(meet);
    }
    return meet->failed ? meet_tell(meet, err) : 0;
}

int meet_open(struct meet **out, const struct meet_options *options, struct error *err)
{
    *out = NULL;
    assert(options->size > 0 && options->rank < options->size);
    if (options->size == 1) {
        if (options->listener >= 0)
            close(options->listener);
        return 0;
    }
    const bool first = options->rank == 0;
    struct meet *meet = meet_make(options);
    int result = first ? hub_open(meet, err) : member_open(meet, err);
    if (result < 0) {
        meet_free(meet);
        return -1;
    }
    if (thread_start(&meet->thread, first ? hub_run : member_run, meet) != 0)
        die(ERR_RESOURCE, "no more threads can be created");
    pthread_mutex_lock(&meet->lock);
    result = first ? hub_await(meet, err) : await_begin(meet, err);
    pthread_mutex_unlock(&meet->lock);
    if (result < 0)
        meet_close(meet);
    else
        *out = meet;
    return result;
}

void meet_close(struct meet *meet)
{
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    meet->closing = true;
    meet->failure_seen = true;
    meet_wake(meet);
    pthread_mutex_unlock(&meet->lock);
    pthread_join(meet->thread, NULL);
    meet_free(meet);
}

uint32_t meet_rank(const struct meet *meet)
{
    return meet ? meet->options.rank : 0;
}

uint32_t meet_size(const struct meet *meet)
{
    return meet ? meet->options.size : 1;
}

const char *meet_address(const struct meet *meet)
{
    return meet ? meet->address : "127.0.0.1";
}

/* ------------------------------------------------------------------------------------------- where, failure, stop */

void meet_move(struct meet *meet, uint64_t step, const char *place, ...)
{
    va_list args;
    board_move(step);
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    va_start(args, place);
    vsnprintf(meet->report.place, sizeof meet->report.place, place, args);
    va_end(args);
    if (step > 0 && !meet->report.begun) {
        meet->reported = -REPORT_SECONDS; /* report the first step at once, not up to a second late */
        meet_wake(meet);
    }
    meet->report.step = step;
    meet->report.begun = step > 0;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    fault_place(meet->options.rank, step, meet->report.place, !board_start() || board_start()->number == 0);
}

void meet_wait(struct meet *meet, bool waits)
{
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    assert(waits || meet->waits > 0);
    meet->waits += waits ? 1u : -1u;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
}

void meet_work(struct meet *meet, bool works)
{
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    assert(works || meet->works > 0);
    meet->works += works ? 1u : -1u;
    pthread_mutex_unlock(&meet->lock);
}

bool meet_has_failed(const struct meet *meet)
{
    return meet && atomic_load_explicit(&meet->failed, memory_order_relaxed);
}

int meet_failed(struct meet *meet, struct error *err)
{
    if (!meet || !meet->failed)
        return 0;
    pthread_mutex_lock(&meet->lock);
    meet_tell(meet, err);
    pthread_mutex_unlock(&meet->lock);
    return -1;
}

/* Puts "rank 2 (node7): " before the text, once. */
static void put_name(const struct meet *meet, struct error *err)
{
    struct error named = *err;
    char name[HOST_TEXT + 32];
    snprintf(name, sizeof name, "rank %u (%s): ", meet->options.rank, meet->host);
    if (str_starts(str_of(err->text), str_of(name)))
        return;
    snprintf(named.text, sizeof named.text, "%s%.400s", name, err->text);
    *err = named;
}

/* Tells rank 0, in one sentence. Of a long path the end is kept. */
static void put_failed(struct meet *meet, const struct error *err)
{
    struct said said = {.stopped = err->kind == ERR_STOPPED};
    char file[160], byte[40] = "";
    const size_t size = strlen(err->file), from = size < sizeof file - 4 ? 0 : size - (sizeof file - 5);
    snprintf(file, sizeof file, "%s%s%s", from ? "..." : "", err->file + from, size ? ": " : "");
    if (err->offset != ERROR_NO_OFFSET)
        snprintf(byte, sizeof byte, "byte %" PRIu64 ": ", err->offset);
    snprintf(said.text, sizeof said.text, "%s%s%.200s", file, byte, err->text);
    line_put(&meet->line, FRAME_FAILED, &said, sizeof said);
}

int meet_fail(struct meet *meet, struct error *err)
{
    if (!meet)
        return -1;
    pthread_mutex_lock(&meet->lock);
    const bool own = err->kind != ERR_PEER && err->kind != ERR_STOPPED;
    if (!meet->failed) {
        if (!meet->hub)
            put_failed(meet, err);
        put_name(meet, err);
        meet_judge(meet, NOBODY, err);
        meet_wake(meet);
    } else if (meet->verdict.said && own) {
        put_name(meet, err); /* what this process knows counts more than what another one says */
    } else {
        *err = meet->verdict.error;
    }
    meet->failure_seen = true;
    pthread_mutex_unlock(&meet->lock);
    return -1;
}

/* Rank 0 speaks, or rank 1 where rank 0 is lost. A rank 0 that failed by itself is not lost: it waits in meet_close
 * until the others know. */
bool meet_speaks(const struct meet *meet)
{
    return !meet || meet->options.rank == (meet->failed && meet->verdict.lost == 0 ? 1 : 0);
}

void meet_ask_stop(struct meet *meet)
{
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    if (!meet->stop && !meet->hub)
        line_put(&meet->line, FRAME_STOP, NULL, 0);
    meet_stopped(meet);
    meet_wake(meet);
    pthread_mutex_unlock(&meet->lock);
}

bool meet_stop_asked(const struct meet *meet)
{
    return meet && atomic_load_explicit(&meet->stop, memory_order_relaxed);
}
