/* Every process but rank 0: how it finds rank 0, and its thread. A listener counts as rank 0 only when it greets as
 * rank 0 does, with the same key. A FILE that an earlier run left leads nowhere, and is read
 * again. */
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/rendezvous_parts.h"
#include "trainer/comm/owner.h"

#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_SECONDS 3.0
#define WELCOME_SECONDS fault_wait(5.0)
#define RETRY_NS        100000000
#define RETRY_NS_MAX    1000000000

/* An ABORT from rank 0, which has proven the key. */
static int read_abort(struct rendezvous *rendezvous, struct str bytes)
{
    struct rendezvous_failure failure;
    if (bytes.size != sizeof failure)
        return -1;
    memcpy(&failure, bytes.data, sizeof failure);
    struct error *err = &failure.error;
    err->text[sizeof err->text - 1] = err->file[sizeof err->file - 1] = err->hint[0] = '\0';
    if (err->kind != ERR_STOPPED && (err->kind < ERR_BUG || err->kind > ERR_LOCKED))
        err->kind = ERR_PEER;
    rendezvous_take_failure(rendezvous, &failure);
    return 0;
}

/* Receives a frame of the handshake; < 0: none came in time. */
static int next_frame(struct line *line, double until, struct frame *frame)
{
    int taken = line_take(line, frame);
    for (double left; taken == 0 && (left = until - clock_now()) > 0 && !stop_requested();) {
        struct pollfd wait = {.fd = line->fd, .events = POLLIN};
        if (poll(&wait, 1, left < 0.25 ? (int)(left * 1000) + 1 : 250) <= 0)
            continue;
        const int filled = line_fill(line);
        taken = line_take(line, frame);
        if (taken == 0 && filled < 0)
            return -1;
    }
    return taken > 0 ? 0 : -1;
}

/* How an attempt to join ended. A FILE that an earlier run left may lead to a port that another run has now, with
 * another key: that is no reason to give up. */
enum attempt { JOINED, NOT_THERE, SENT_AWAY };

static enum attempt not_rank_0(struct error *err)
{
    fail(err, ERR_PEER, "what answers there is not rank 0, or has another key");
    return NOT_THERE;
}

/* Takes an AWAY. It has no seal: whoever answers there can send it. */
static enum attempt sent_away(const struct rendezvous *rendezvous, const struct frame *frame, const char *where,
                              struct error *err)
{
    struct away away;
    if (away_read(frame->bytes, &away) == MISFIT_NONE)
        return not_rank_0(err);
    const bool key_given = rendezvous->options.key && rendezvous->options.key->given;
    away_fail(&away, where, rendezvous->key.given, err);
    return rendezvous->key.given && !key_given ? NOT_THERE : SENT_AWAY;
}

/* Without a key, checks whose process answers there. That is known once it has accepted the connection, and while it
 * holds it. A rank 0 with too many connections closes connections that it takes at the next attempt. */
static enum attempt check_user(const struct rendezvous *rendezvous, const char *where, struct error *err)
{
    uid_t uid;
    if (rendezvous_trusts(rendezvous, rendezvous->line.fd))
        return JOINED;
    if (!owner_of_peer(rendezvous->line.fd, &uid))
        return not_rank_0(err);
    away_fail(&(struct away){.misfit = MISFIT_USER}, where, false, err);
    return SENT_AWAY;
}

/* Says HELLO, and who we are, in a way that proves the key. JOINED: the next frame will have rank 0's seal. */
static enum attempt say_hello(struct rendezvous *rendezvous, const struct join *join, const char *where, double until,
                              struct error *err)
{
    struct line *line = &rendezvous->line;
    struct hello hello, challenge;
    struct frame frame;
    hello_make(&hello);
    line_put(line, FRAME_HELLO, &hello, sizeof hello);
    if (line_flush(line) < 0 || next_frame(line, until, &frame) < 0)
        return not_rank_0(err);
    if (frame.kind == FRAME_AWAY)
        return sent_away(rendezvous, &frame, where, err);
    if (frame.kind != FRAME_CHALLENGE || hello_read(frame.bytes, &challenge) != RENDEZVOUS_PROTOCOL)
        return not_rank_0(err);
    const enum attempt attempt =
        check_user(rendezvous, where, err); /* after a JOIN it may have closed the connection */
    if (attempt != JOINED)
        return attempt;
    handshake_seal(line, &rendezvous->key, &hello, &challenge, false);
    line->unsealed = FRAME_AWAY; /* rank 0 cannot seal it if it has another key */
    line_put(line, FRAME_JOIN, join, sizeof *join);
    return line_flush(line) < 0 ? not_rank_0(err) : JOINED;
}

static enum attempt take_answer(struct rendezvous *rendezvous, const struct join *join, const char *where, double until,
                                struct error *err)
{
    struct frame frame;
    struct welcome welcome;
    struct refusal refusal;
    if (next_frame(&rendezvous->line, until, &frame) < 0)
        return not_rank_0(err);
    if (frame.kind == FRAME_AWAY)
        return sent_away(rendezvous, &frame, where, err);
    if (frame.kind == FRAME_REFUSAL && refusal_read(frame.bytes, &refusal)) {
        refusal_fail(&refusal, join, where, err);
        return SENT_AWAY;
    }
    if (frame.kind != FRAME_WELCOME || !welcome_read(frame.bytes, &welcome))
        return not_rank_0(err);
    rendezvous->peers[0] = (struct peer){.pid = welcome.pid, .here = true};
    memcpy(rendezvous->peers[0].host, welcome.host, sizeof welcome.host);
    rendezvous_make_secret(rendezvous, welcome.nonce);
    return JOINED;
}

/* Joins the rendezvous at addresses->at[i]; otherwise *err says why not. */
static enum attempt try_place(struct rendezvous *rendezvous, const struct addresses *addresses, size_t i,
                              struct error *err)
{
    struct join join = {.rank = rendezvous->options.rank, .size = rendezvous->options.size, .pid = (uint32_t)getpid()};
    const double until = clock_now() + WELCOME_SECONDS;
    char where[ADDRESS_TEXT];
    const int fd = endpoint_connect(addresses, i, CONNECT_SECONDS);
    if (fd < 0) {
        fail_errno(err, "", "nothing there answered");
        return NOT_THERE;
    }
    memcpy(join.host, rendezvous->host, sizeof join.host);
    snprintf(join.run, sizeof join.run, "%s", rendezvous->options.run);
    socket_far_address(fd, where);
    socket_tune(fd);
    assert(rendezvous->line.fd < 0); /* the attempt before closed its own */
    line_open(&rendezvous->line, fd, rendezvous_frame_max(rendezvous->options.size, true),
              rendezvous_queue_max(rendezvous->options.size));
    enum attempt attempt = say_hello(rendezvous, &join, where, until, err);
    if (attempt == JOINED)
        attempt = take_answer(rendezvous, &join, where, until, err);
    if (attempt != JOINED)
        line_close(&rendezvous->line);
    return attempt;
}

/* Gets rank 0's addresses from `broadcast`. */
static int carried(struct rendezvous *rendezvous, struct addresses *addresses, struct error *err)
{
    char bytes[ENDPOINT_FILE_BYTES] = {0};
    TRY(rendezvous->options.broadcast(rendezvous->options.broadcast_context, bytes, sizeof bytes, err));
    bytes[sizeof bytes - 1] = '\0';
    if (endpoint_read(str_of(bytes), addresses) == 0)
        return 0;
    return fail(err, ERR_PEER, "rank 0 did not say where it listens");
}

/* Takes the key of a FILE or of `broadcast`, unless all processes were given theirs. A FILE that contradicts this
 * process may be one that an earlier run left. */
static int take_key(struct rendezvous *rendezvous, const struct job_key *key, struct error *why)
{
    const bool given = rendezvous->options.key && rendezvous->options.key->given;
    if (given && key->given)
        return fail(why, ERR_MISMATCH, "rank 0 made a key of its own, but this process was given one");
    if (!given && !key->given)
        return fail(why, ERR_MISMATCH, "rank 0 was given a key, but this process was not");
    if (!given)
        rendezvous->key = *key;
    return 0;
}

int worker_open(struct rendezvous *rendezvous, struct error *err)
{
    double reminded = clock_now();
    const double until = reminded + rendezvous->options.patience;
    const char *named = rendezvous->options.endpoint;
    struct endpoint endpoint = {0};
    struct addresses addresses = {0};
    struct error why = {0};
    long pause = RETRY_NS;
    if (named)
        TRY(endpoint_parse(&endpoint, named, err));
    else
        TRY(carried(rendezvous, &addresses, err));
    for (;;) {
        int result = named ? endpoint_resolve(&endpoint, &addresses, &why) : 0;
        if (result < 0 && endpoint_is_hidden(&endpoint)) {
            fail_at(err, ERR_USAGE, endpoint.path, ERROR_NO_OFFSET, "this user may not read it");
            return hint(err, "all processes of a run belong to the user who started rank 0");
        }
        if (result == 0 && (endpoint.path || !named))
            result = take_key(rendezvous, &addresses.key, &why);
        for (size_t i = 0; result == 0 && i < addresses.count && !stop_requested(); i++) {
            const enum attempt attempt = try_place(rendezvous, &addresses, i, &why);
            if (attempt == SENT_AWAY)
                *err = why;
            if (attempt != NOT_THERE)
                return attempt == JOINED ? 0 : -1;
        }
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped before rank 0 was found");
        if (clock_now() > until) {
            fail(err, ERR_PEER, "rank 0 was not found at %.200s within %.0f s: %.200s",
                 named ? named : "the address that MPI carried", rendezvous->options.patience, why.text);
            return hint(err, "is it started, and can this machine reach it?");
        }
        if (named && clock_now() - reminded >= rendezvous->options.remind) {
            log_warn("rank %u is waiting for rank 0 at %.200s: %.200s", rendezvous->options.rank, named, why.text);
            reminded = clock_now();
        }
        nanosleep(&(struct timespec){.tv_sec = pause / 1000000000, .tv_nsec = pause % 1000000000}, NULL);
        pause = pause * 3 / 2 < RETRY_NS_MAX ? pause * 3 / 2 : RETRY_NS_MAX;
    }
}

static void begin(struct rendezvous *rendezvous, struct str bytes)
{
    struct begin begin;
    assert(!rendezvous->leader);
    if (bytes.size != sizeof begin || rendezvous->begun)
        return;
    memcpy(&begin, bytes.data, sizeof begin);
    begin.outer[sizeof begin.outer - 1] = '\0';
    socket_address(rendezvous->line.fd, rendezvous->address);
    if (begin.outer[0] && socket_is_here(rendezvous->line.fd))
        memcpy(rendezvous->address, begin.outer, sizeof rendezvous->address);
    rendezvous->peers[0].heard = rendezvous->now;
    rendezvous->begun = true;
    pthread_cond_broadcast(&rendezvous->changed);
}

/* < 0: the frame is malformed. */
static int take_frame(struct rendezvous *rendezvous, uint32_t rank, const struct frame *frame)
{
    struct str key, bytes;
    (void)rank; /* 0 */
    switch ((enum frame_kind)frame->kind) {
    case FRAME_BEGIN:
        begin(rendezvous, frame->bytes);
        return 0;
    case FRAME_REPORT:
        rendezvous_take_report(rendezvous, &rendezvous->peers[0], frame->bytes);
        return 0;
    case FRAME_VALUE:
        TRY(value_read(frame->bytes, &key, &bytes));
        rendezvous_keep_value(rendezvous, key, bytes);
        return 0;
    case FRAME_BLOCKS:
        rendezvous_take_blocks(rendezvous, frame->bytes);
        return 0;
    case FRAME_STOP:
        rendezvous_stopped(rendezvous);
        return 0;
    case FRAME_ABORT:
        return read_abort(rendezvous, frame->bytes);
    case FRAME_BYE:
        rendezvous->peers[0].here = false;
        line_close(&rendezvous->line);
        pthread_cond_broadcast(&rendezvous->changed);
        return 0;
    default: /* rank 0 never sends it */
        return -1;
    }
}

/* The line ended without a BYE: rank 0 died. */
static void broken(struct rendezvous *rendezvous)
{
    struct error err;
    const char *fault = rendezvous->line.fault;
    line_close(&rendezvous->line);
    if (rendezvous->closing)
        return;
    fail_peer_lost(&rendezvous->peers[0], fault, &err);
    rendezvous_declare_failure(rendezvous, 0, &err);
}

static void send_line(struct rendezvous *rendezvous)
{
    if (rendezvous->line.fd < 0)
        return;
    if (rendezvous_is_due(rendezvous) && rendezvous->begun && line_is_empty(&rendezvous->line))
        line_put(&rendezvous->line, FRAME_REPORT, &rendezvous->report, sizeof rendezvous->report);
    if (rendezvous->closing && rendezvous->closing_since <= 0) {
        line_put(&rendezvous->line, FRAME_BYE, NULL, 0);
        rendezvous->closing_since = rendezvous->now;
    }
    if (line_flush(&rendezvous->line) < 0)
        broken(rendezvous);
}

static void watch_first(struct rendezvous *rendezvous)
{
    struct error err;
    const double timeout = rendezvous->options.peer_timeout;
    if (rendezvous->begun && !rendezvous->failed && !rendezvous->closing &&
        peer_is_silent(&rendezvous->peers[0], rendezvous->now, timeout)) {
        fail_peer_silent(&rendezvous->peers[0], rendezvous->now, timeout, &err);
        rendezvous_declare_failure(rendezvous, 0, &err);
    }
    rendezvous_leave_late(rendezvous);
}

void *worker_run(void *context)
{
    struct rendezvous *rendezvous = context;
    SCOPED(poll_release) struct poll_set set = {0};
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous->now = rendezvous->peers[0].heard = REPORT_SECONDS;
    while (!rendezvous->closing ||
           (rendezvous->line.fd >= 0 &&
            (rendezvous->closing_since <= 0 || rendezvous->now - rendezvous->closing_since < CLOSE_SECONDS))) {
        set.count = 0;
        if (rendezvous->line.fd >= 0)
            poll_add(&set, rendezvous->line.fd, &rendezvous->line);
        /* Frames that came with the welcome are here already. */
        if (rendezvous->line.fd >= 0 && rendezvous_read(rendezvous, &rendezvous->line, 0, take_frame) < 0)
            broken(rendezvous);
        send_line(rendezvous);
        rendezvous_poll(rendezvous, &set);
        watch_first(rendezvous);
    }
    pthread_mutex_unlock(&rendezvous->lock);
    return NULL;
}
