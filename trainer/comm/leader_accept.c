/* Who joins the rendezvous, at rank 0. A process that does not fit is told why and sent away, and the rendezvous
 * goes on waiting. Unknown connections get little memory and little time, nobody waits for one, and nothing that one
 * says is believed or printed before it has proven the key. */
#include "base/log.h"
#include "trainer/comm/leader.h"
#include "trainer/comm/listen.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

int leader_announce(struct rendezvous *rendezvous, struct error *err)
{
    struct leader *leader = rendezvous->leader;
    char bytes[ENDPOINT_FILE_BYTES] = {0};
    if (rendezvous->options.endpoint && !leader->endpoint.path)
        return 0;
    const bool given = rendezvous->key.given;
    if (!given)
        job_key_random(&rendezvous->key);
    endpoint_describe(&leader->listeners, given ? NULL : &rendezvous->key, &leader->description);
    if (rendezvous->options.endpoint)
        return endpoint_publish(&leader->endpoint, buf_str(&leader->description), err);
    assert(leader->description.size < sizeof bytes);
    memcpy(bytes, leader->description.data, leader->description.size);
    return rendezvous->options.broadcast(rendezvous->options.broadcast_context, bytes, sizeof bytes, err);
}

void leader_stop_listening(struct rendezvous *rendezvous)
{
    struct leader *leader = rendezvous->leader;
    if (leader->unlogged > 0)
        log_warn("connections that were sent away and are not listed: %u", leader->unlogged);
    leader->unlogged = 0;
    for (uint32_t i = 0; i < leader->strangers_count; i++)
        line_close(&leader->strangers[i].line);
    leader->strangers_count = 0;
    listen_close(&leader->listeners);
    if (leader->endpoint.path && leader->description.size > 0)
        endpoint_withdraw(&leader->endpoint, buf_str(&leader->description));
    buf_reset(&leader->description);
}

void leader_begin(struct rendezvous *rendezvous)
{
    struct begin begin = {0};
    struct leader *leader = rendezvous->leader;
    for (uint32_t i = 0; i < rendezvous->options.size; i++)
        if (!rendezvous->peers[i].here)
            return;
    socket_address(leader->seats[1].line.fd, rendezvous->address);
    for (uint32_t i = rendezvous->options.size - 1; i > 0; i--)
        if (!socket_is_here(leader->seats[i].line.fd))
            socket_address(leader->seats[i].line.fd, begin.outer);
    if (begin.outer[0])
        memcpy(rendezvous->address, begin.outer, sizeof rendezvous->address);
    leader_put_all(rendezvous, FRAME_BEGIN, &begin, sizeof begin);
    for (uint32_t i = 0; i < rendezvous->options.size; i++)
        rendezvous->peers[i].heard = rendezvous->peers[i].moved = rendezvous->now;
    rendezvous->begun = true;
    leader_stop_listening(rendezvous);
    pthread_cond_broadcast(&rendezvous->changed);
}

/* Logs at most one line a second: whoever can reach the port could fill a disk. */
void leader_log_refused(struct rendezvous *rendezvous, int fd, const char *why)
{
    struct leader *leader = rendezvous->leader;
    char address[ADDRESS_TEXT], others[64] = "";
    if (leader->logged > 0 && rendezvous->now - leader->logged < 1) {
        leader->unlogged++;
        return;
    }
    socket_far_address(fd, address);
    if (leader->unlogged > 0)
        snprintf(others, sizeof others, " (not listed since the last such line: %u)", leader->unlogged);
    log_warn("a process at %s was sent away: %s%s", address[0] ? address : "an unknown address", why, others);
    leader->logged = fmax(rendezvous->now, 1e-9);
    leader->unlogged = 0;
}

/* Tells a stranger why it does not fit. It has not proven the key, so it learns nothing else. */
static void send_away(struct rendezvous *rendezvous, struct stranger *stranger, enum misfit misfit)
{
    const struct away away = {.magic = RENDEZVOUS_MAGIC, .protocol = RENDEZVOUS_PROTOCOL, .misfit = misfit};
    char text[MISFIT_TEXT];
    leader_log_refused(rendezvous, stranger->line.fd, misfit_text(misfit, NULL, NULL, text));
    stranger->line.seal_out.on = false;
    stranger->line.fault = NULL; /* it has just been told */
    if (misfit <= MISFIT_USER)
        line_put(&stranger->line, FRAME_AWAY, &away, sizeof away);
    line_flush(&stranger->line); /* a new socket takes that much at once */
}

/* Tells a worker that has proven the key why it does not fit. */
static void refuse(struct rendezvous *rendezvous, struct stranger *stranger, const struct join *join,
                   const struct refusal *refusal)
{
    char text[MISFIT_TEXT];
    leader_log_refused(rendezvous, stranger->line.fd, misfit_text((enum misfit)refusal->misfit, join, refusal, text));
    line_put(&stranger->line, FRAME_REFUSAL, refusal, sizeof *refusal);
    line_flush(&stranger->line);
}

/* Whether the rank is free, or held by an earlier connection of the same process. */
static bool is_free(const struct rendezvous *rendezvous, const struct join *join, struct refusal *refusal)
{
    const struct peer *there = &rendezvous->peers[join->rank];
    if (!there->here || (join->pid == there->pid && strcmp(join->host, there->host) == 0 && join->rank > 0))
        return true;
    refusal->misfit = MISFIT_RANK;
    refusal->pid = there->pid;
    memcpy(refusal->host, there->host, sizeof refusal->host);
    return false;
}

/* Makes the stranger's line a rank's. */
static void take_seat(struct rendezvous *rendezvous, struct stranger *stranger, const struct join *join)
{
    struct seat *seat = &rendezvous->leader->seats[join->rank];
    struct peer *peer = &rendezvous->peers[join->rank];
    struct welcome welcome = {.pid = (uint32_t)getpid()};
    memcpy(welcome.host, rendezvous->host, sizeof welcome.host);
    memcpy(welcome.nonce, rendezvous->leader->nonce, sizeof welcome.nonce);
    seat_clear(seat);
    seat->line = stranger->line;
    seat->line.size_max = rendezvous_frame_max(rendezvous->options.size, false);
    seat->line.out_max = rendezvous_queue_max(rendezvous->options.size);
    stranger->line = LINE_CLOSED;
    *peer = (struct peer){.rank = join->rank, .pid = join->pid, .here = true, .heard = rendezvous->now};
    memcpy(peer->host, join->host, sizeof peer->host);
    line_put(&seat->line, FRAME_WELCOME, &welcome, sizeof welcome);
    if (rendezvous->failed)
        leader_put_failure(rendezvous, &seat->line);
}

/* Answers a HELLO. MISFIT_NONE: the stranger stays, and must prove the key. */
static enum misfit greet(struct rendezvous *rendezvous, struct stranger *stranger, const struct frame *frame)
{
    struct hello hello, challenge;
    const uint32_t protocol = frame->kind == FRAME_HELLO ? hello_read(frame->bytes, &hello) : 0;
    if (protocol != RENDEZVOUS_PROTOCOL)
        return protocol == 0 ? MISFIT_SPEECH : MISFIT_PROTOCOL;
    hello_make(&challenge);
    line_put(&stranger->line, FRAME_CHALLENGE, &challenge, sizeof challenge);
    handshake_seal(&stranger->line, &rendezvous->key, &hello, &challenge, true);
    stranger->line.size_max = sizeof(struct join);
    stranger->greeted = true;
    return line_flush(&stranger->line) < 0 ? MISFIT_SPEECH : MISFIT_NONE;
}

/* Takes the JOIN of a worker that has proven the key. */
static enum misfit admit(struct rendezvous *rendezvous, struct stranger *stranger, const struct frame *frame)
{
    struct join join;
    struct refusal refusal = {0};
    if (frame->kind != FRAME_JOIN || !join_read(frame->bytes, &join))
        return MISFIT_SPEECH;
    if (!rendezvous_trusts(rendezvous, stranger->line.fd))
        return MISFIT_USER;
    if (join_check(&join, rendezvous->options.size, rendezvous->options.run, &refusal) == MISFIT_NONE &&
        is_free(rendezvous, &join, &refusal))
        take_seat(rendezvous, stranger, &join);
    else
        refuse(rendezvous, stranger, &join, &refusal);
    return MISFIT_NONE;
}

/* Hears a stranger. false: it has joined or was sent away. */
static bool hear_stranger(struct rendezvous *rendezvous, struct stranger *stranger)
{
    struct frame frame;
    enum misfit misfit = MISFIT_NONE;
    const int filled = line_fill(&stranger->line);
    for (int taken = 0; misfit == MISFIT_NONE && (taken = line_take(&stranger->line, &frame)) != 0;) {
        if (taken > 0 && stranger->greeted) {
            misfit = admit(rendezvous, stranger, &frame);
            if (misfit == MISFIT_NONE)
                return false;
        } else {
            misfit = taken > 0 ? greet(rendezvous, stranger, &frame) : stranger->greeted ? MISFIT_KEY : MISFIT_SPEECH;
        }
    }
    if (misfit == MISFIT_NONE && filled < 0)
        return false; /* it has left by itself */
    if (misfit != MISFIT_NONE)
        send_away(rendezvous, stranger, misfit);
    return misfit == MISFIT_NONE;
}

static void drop_stranger(struct leader *leader, uint32_t i)
{
    line_close(&leader->strangers[i].line);
    leader->strangers[i] = leader->strangers[--leader->strangers_count];
}

void leader_read_strangers(struct rendezvous *rendezvous, const struct poll_set *set)
{
    struct leader *leader = rendezvous->leader;
    for (uint32_t i = leader->strangers_count; i-- > 0;) {
        struct stranger *stranger = &leader->strangers[i];
        bool stays = true;
        if (poll_is_ready(set, &stranger->line))
            stays = hear_stranger(rendezvous, stranger);
        if (stays && rendezvous->now - stranger->since >= HELLO_SECONDS) {
            send_away(rendezvous, stranger, MISFIT_SILENCE);
            stays = false;
        }
        if (!stays)
            drop_stranger(leader, i);
    }
}

/* Whether `one` has to leave before `other`. A connection that has just come could not be heard yet, so it stays. Of
 * the others those leave first that have not said HELLO, and the one that came first. */
static bool leaves_before(const struct stranger *one, const struct stranger *other, double now)
{
    const bool one_is_new = one->since >= now, other_is_new = other->since >= now;
    if (one_is_new != other_is_new)
        return other_is_new;
    if (one->greeted != other->greeted)
        return other->greeted;
    return one->since < other->since;
}

/* Makes room for one more. */
static void make_room(struct rendezvous *rendezvous)
{
    struct leader *leader = rendezvous->leader;
    uint32_t worst = 0;
    if (leader->strangers_count < STRANGERS_MAX)
        return;
    for (uint32_t i = 1; i < STRANGERS_MAX; i++)
        if (leaves_before(&leader->strangers[i], &leader->strangers[worst], rendezvous->now))
            worst = i;
    send_away(rendezvous, &leader->strangers[worst], MISFIT_CROWD);
    drop_stranger(leader, worst);
}

static void accept_at(struct rendezvous *rendezvous, int listener)
{
    struct leader *leader = rendezvous->leader;
    for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        make_room(rendezvous);
        struct stranger *stranger = &leader->strangers[leader->strangers_count++];
        *stranger = (struct stranger){.since = rendezvous->now};
        socket_tune(fd);
        line_open(&stranger->line, fd, HELLO_MAX, STRANGER_QUEUE);
    }
}

void leader_accept(struct rendezvous *rendezvous)
{
    for (size_t i = 0; i < rendezvous->leader->listeners.count; i++)
        accept_at(rendezvous, rendezvous->leader->listeners.fds[i]);
}
