/* In: calls of the trainer. Out: what all processes know. Here stands what rank 0 and the others share; hub.c is rank
 * 0's thread, member.c that of every other. */
#include "trainer/comm/meet.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "trainer/comm/meet_parts.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define AWAKE_SECONDS_MAX 1.0 /* between two looks; more means that this process was stopped, or had no core */
#define BEGIN_SECONDS     5.0 /* rank 0 gives up before the others do, because it knows who is missing */

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
    /* Time in which we could hear nobody is nobody's fault: a machine that was suspended goes on. */
    const double clock = clock_now();
    meet->now += fmin(clock - meet->clock, AWAKE_SECONDS_MAX);
    meet->clock = clock;
}

static void wake(struct meet *meet)
{
    const uint64_t one = 1;
    const ssize_t written = write(meet->wake, &one, sizeof one);
    assert(written == sizeof one);
}

void meet_judge(struct meet *meet, uint32_t lost, const struct error *err)
{
    if (meet->failed)
        return;
    meet->verdict.lost = lost;
    meet->verdict.error = *err;
    meet->failed_since = meet->now;
    meet->failed = true;
    if (meet->hub)
        hub_put_all(meet, FRAME_VERDICT, &meet->verdict, sizeof meet->verdict);
    pthread_cond_broadcast(&meet->changed);
}

void meet_leave_late(struct meet *meet)
{
    const double patience = meet->options.leave_timeout;
    if (!meet->failed || meet->told || patience <= 0 || meet->now - meet->failed_since < patience)
        return;
    if (meet_speaks(meet))
        error_leave(&meet->verdict.error);
    _exit((int)meet->verdict.error.kind);
}

void meet_stopped(struct meet *meet)
{
    if (!atomic_exchange(&meet->stop, true) && meet->hub)
        hub_put_all(meet, FRAME_STOP, NULL, 0);
}

void meet_hear(struct meet *meet, struct peer *peer, struct str bytes)
{
    struct report report;
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
    return true;
}

/* -------------------------------------------------------------------------------------------------- open and close */

static struct meet *meet_make(const struct meet_options *options)
{
    struct meet *meet = mem_clear(1, sizeof *meet);
    pthread_condattr_t monotonic;
    meet->options = *options;
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
    meet->told = true;
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
        die(ERR_RESOURCE, "no further thread can be made");
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
    meet->told = true;
    wake(meet);
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

/* ------------------------------------------------------------------------------------------------------- values */

int value_read(struct str frame, struct str *key, struct str *bytes)
{
    uint32_t size;
    if (frame.size < sizeof size)
        return -1;
    memcpy(&size, frame.data, sizeof size);
    frame = (struct str){frame.data + sizeof size, frame.size - sizeof size};
    if (size == 0 || size > MEET_KEY_MAX || size > frame.size || memchr(frame.data, '\0', size))
        return -1;
    *key = (struct str){frame.data, size};
    *bytes = (struct str){frame.data + size, frame.size - size};
    return bytes->size <= MEET_VALUE_MAX ? 0 : -1;
}

void value_write(struct buf *frame, struct str key, struct str bytes)
{
    const uint32_t size = (uint32_t)key.size;
    buf_add(frame, &size, sizeof size);
    buf_add_str(frame, key);
    buf_add_str(frame, bytes);
}

const struct value *meet_find(const struct meet *meet, struct str key)
{
    for (size_t i = 0; i < meet->values_count; i++)
        if (str_equal(str_of(meet->values[i].key), key))
            return &meet->values[i];
    return NULL;
}

void meet_keep(struct meet *meet, struct str key, struct str bytes)
{
    struct error err;
    struct buf name = {0};
    if (meet_find(meet, key))
        return;
    meet->values_bytes += key.size + bytes.size;
    if (meet->values_bytes > VALUES_BYTES) {
        fail(&err, ERR_RESOURCE, "the processes told each other more than %zu bytes", VALUES_BYTES);
        meet_judge(meet, NOBODY, &err);
        return;
    }
    if ((meet->values_count & (meet->values_count - 1)) == 0) /* full at each power of two */
        meet->values = mem_grow(meet->values, meet->values_count ? 2 * meet->values_count : 1, sizeof *meet->values);
    struct value *value = &meet->values[meet->values_count++];
    *value = (struct value){0};
    buf_add_str(&name, key);
    value->key = mem_copy_text(buf_text(&name));
    buf_release(&name);
    buf_add_str(&value->bytes, bytes);
    pthread_cond_broadcast(&meet->changed);
}

int meet_set(struct meet *meet, const char *key, struct str value, struct error *err)
{
    const struct str name = str_of(key);
    struct buf frame = {0};
    assert(meet && name.size > 0 && name.size <= MEET_KEY_MAX);
    if (value.size > MEET_VALUE_MAX)
        return fail(err, ERR_RESOURCE, "the value of %s has %zu bytes, at most %zu are allowed", key, value.size,
                    MEET_VALUE_MAX);
    pthread_mutex_lock(&meet->lock);
    if (meet->hub) {
        hub_set(meet, name, value);
    } else {
        value_write(&frame, name, value);
        line_put(&meet->line, FRAME_SET, frame.data, frame.size);
    }
    wake(meet);
    const int result = meet->failed ? meet_tell(meet, err) : 0;
    pthread_mutex_unlock(&meet->lock);
    buf_release(&frame);
    return result;
}

/* Whoever waits here for rank 0 waits for nothing when that has left. */
static int check_line(struct meet *meet, struct error *err)
{
    if (meet->failed)
        return meet_tell(meet, err);
    if (!meet->hub && meet->line.fd < 0)
        return fail(err, ERR_PEER, "rank 0 has left already");
    return 0;
}

int meet_get(struct meet *meet, const char *key, double seconds, struct buf *out, struct error *err)
{
    const double from = clock_now();
    const struct str name = str_of(key);
    const struct value *found;
    int result = 0;
    assert(meet && name.size > 0 && name.size <= MEET_KEY_MAX);
    pthread_mutex_lock(&meet->lock);
    meet->waits++;
    found = meet_find(meet, name);
    if (!found && !meet->hub) {
        struct buf frame = {0};
        value_write(&frame, name, (struct str){0});
        line_put(&meet->line, FRAME_GET, frame.data, frame.size);
        buf_release(&frame);
        wake(meet);
    }
    while (!found && result == 0) {
        result = check_line(meet, err);
        if (result == 0 && clock_now() - from > seconds)
            result = fail(err, ERR_PEER, "%s was not set within %.0f s", key, seconds);
        if (result == 0)
            meet_await(meet);
        found = meet_find(meet, name);
    }
    if (found) {
        buf_add_str(out, buf_str(&found->bytes));
        result = 0;
    }
    meet->waits--;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    return result;
}

/* ---------------------------------------------------------------------------------------------------- exchange */

void meet_given(struct meet *meet, struct str bytes)
{
    buf_reset(&meet->given);
    buf_add_str(&meet->given, bytes);
    meet->exchanges++;
    pthread_cond_broadcast(&meet->changed);
}

/* < 0: the sizes do not fit the bytes. */
static int cut_blocks(struct meet_blocks *blocks, uint32_t count)
{
    size_t at = count * sizeof(uint32_t);
    blocks->of = mem_array(count, sizeof *blocks->of);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        if (blocks->bytes.size < at)
            return -1;
        memcpy(&size, blocks->bytes.data + i * sizeof size, sizeof size);
        if (size > blocks->bytes.size - at)
            return -1;
        blocks->of[i] = (struct str){blocks->bytes.data + at, size};
        at += size;
    }
    return at == blocks->bytes.size ? 0 : -1;
}

static void give_alone(struct str block, struct meet_blocks *blocks)
{
    buf_add_str(&blocks->bytes, block);
    blocks->of = mem_array(1, sizeof *blocks->of);
    blocks->of[0] = buf_str(&blocks->bytes);
}

int meet_exchange(struct meet *meet, struct str block, struct meet_blocks *blocks, struct error *err)
{
    int result = 0;
    *blocks = (struct meet_blocks){0};
    assert(block.size <= MEET_BLOCK_MAX);
    if (!meet) {
        give_alone(block, blocks);
        return 0;
    }
    pthread_mutex_lock(&meet->lock);
    meet->waits++;
    const uint64_t before = meet->exchanges;
    if (meet->hub)
        hub_give(meet, 0, block);
    else
        line_put(&meet->line, FRAME_GIVE, block.data, block.size);
    wake(meet);
    while (meet->exchanges == before && result == 0) {
        result = check_line(meet, err);
        if (result == 0)
            meet_await(meet);
    }
    if (meet->exchanges > before) {
        buf_add_str(&blocks->bytes, buf_str(&meet->given));
        result = 0;
    }
    meet->waits--;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
    if (result == 0 && cut_blocks(blocks, meet->options.size) < 0)
        result = fail(err, ERR_PEER, "rank 0 sent what is not its processes' blocks");
    if (result < 0)
        meet_blocks_release(blocks);
    return result;
}

void meet_blocks_release(struct meet_blocks *blocks)
{
    buf_release(&blocks->bytes);
    mem_free(blocks->of);
    *blocks = (struct meet_blocks){0};
}

/* ------------------------------------------------------------------------------------------- where, failure, stop */

void meet_move(struct meet *meet, uint64_t step, const char *place, ...)
{
    va_list args;
    if (!meet)
        return;
    pthread_mutex_lock(&meet->lock);
    va_start(args, place);
    vsnprintf(meet->report.place, sizeof meet->report.place, place, args);
    va_end(args);
    meet->report.step = step;
    meet->report.begun = true;
    meet->report.moves++;
    pthread_mutex_unlock(&meet->lock);
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

/* "rank 2 (node7): " before the text. */
static void put_name(const struct meet *meet, struct error *err)
{
    struct error named = *err;
    snprintf(named.text, sizeof named.text, "rank %u (%s): %.400s", meet->options.rank, meet->host, err->text);
    *err = named;
}

int meet_fail(struct meet *meet, struct error *err)
{
    if (!meet)
        return -1;
    pthread_mutex_lock(&meet->lock);
    if (!meet->failed) {
        put_name(meet, err);
        if (!meet->hub)
            line_put(&meet->line, FRAME_FAILED, err, sizeof *err);
        meet_judge(meet, NOBODY, err);
        wake(meet);
    }
    meet->told = true;
    pthread_mutex_unlock(&meet->lock);
    return -1;
}

/* Rank 0 speaks, and rank 1 where it is rank 0 that cannot. One that failed by itself is not lost: it waits in
 * meet_close until the others know. */
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
    wake(meet);
    pthread_mutex_unlock(&meet->lock);
}

bool meet_stop_asked(const struct meet *meet)
{
    return meet && atomic_load_explicit(&meet->stop, memory_order_relaxed);
}
