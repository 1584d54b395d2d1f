/* Rank 0's door: who joins the meeting. Unknown connections get little memory and little time, and nobody waits for
 * one. */
#include "trainer/comm/hub.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

int door_announce(struct meet *meet, struct error *err)
{
    struct hub *hub = meet->hub;
    char bytes[RENDEZVOUS_BYTES] = {0};
    if (meet->options.rendezvous && !hub->rendezvous.path)
        return 0;
    const bool given = meet->key.given;
    if (!given)
        job_key_random(&meet->key);
    rendezvous_describe(hub->listener, given ? NULL : &meet->key, &hub->description);
    if (meet->options.rendezvous)
        return rendezvous_publish(&hub->rendezvous, buf_str(&hub->description), err);
    assert(hub->description.size < sizeof bytes);
    memcpy(bytes, hub->description.data, hub->description.size);
    return meet->options.give(meet->options.give_context, bytes, sizeof bytes, err);
}

void door_shut(struct meet *meet)
{
    struct hub *hub = meet->hub;
    for (uint32_t i = 0; i < hub->strangers_count; i++)
        line_close(&hub->strangers[i].line);
    hub->strangers_count = 0;
    if (hub->listener >= 0)
        close(hub->listener);
    hub->listener = -1;
    if (hub->rendezvous.path && hub->description.size > 0)
        rendezvous_withdraw(&hub->rendezvous, buf_str(&hub->description));
    buf_reset(&hub->description);
}

void door_begin(struct meet *meet)
{
    struct begin begin = {0};
    struct hub *hub = meet->hub;
    for (uint32_t i = 0; i < meet->options.size; i++)
        if (!meet->peers[i].here)
            return;
    socket_address(hub->seats[1].line.fd, meet->address);
    for (uint32_t i = meet->options.size - 1; i > 0; i--)
        if (!socket_is_here(hub->seats[i].line.fd))
            socket_address(hub->seats[i].line.fd, begin.outer);
    if (begin.outer[0])
        memcpy(meet->address, begin.outer, sizeof meet->address);
    hub_put_all(meet, FRAME_BEGIN, &begin, sizeof begin);
    for (uint32_t i = 0; i < meet->options.size; i++)
        meet->peers[i].heard = meet->peers[i].moved = meet->now;
    meet->begun = true;
    door_shut(meet);
    pthread_cond_broadcast(&meet->changed);
}

/* Fails if a hello contradicts this meeting; that ends the meeting for all. */
static int check_hello(struct meet *meet, const struct hello *hello, struct error *err)
{
    const struct peer guest = {.rank = hello->rank, .pid = hello->pid};
    struct peer named = guest;
    char name[PEER_TEXT], other[PEER_TEXT];
    memcpy(named.host, hello->host, sizeof named.host);
    peer_text(&named, name);
    if (hello->protocol != MEET_PROTOCOL)
        return fail(err, ERR_MISMATCH, "program versions differ: protocol %u on rank 0 (%s), %u on %s", MEET_PROTOCOL,
                    meet->host, hello->protocol, hello->host);
    if (hello->size != meet->options.size)
        return fail(err, ERR_MISMATCH, "the number of processes differs: %u on rank 0 (%s), %u on %s",
                    meet->options.size, meet->host, hello->size, name);
    const struct peer *there = &meet->peers[hello->rank];
    if (!there->here || (hello->pid == there->pid && strcmp(hello->host, there->host) == 0))
        return 0;
    fail(err, ERR_USAGE, "rank %u was given twice: %s and %s", hello->rank, peer_text(there, other), name);
    return hint(err, "each process needs a --rank of its own, from 0 to %u", meet->options.size - 1);
}

/* Makes the stranger's line a rank's. */
static void take_seat(struct meet *meet, struct stranger *stranger, const struct hello *hello)
{
    struct seat *seat = &meet->hub->seats[hello->rank];
    struct peer *peer = &meet->peers[hello->rank];
    struct welcome welcome = {.magic = MEET_MAGIC, .protocol = MEET_PROTOCOL, .pid = (uint32_t)getpid()};
    welcome.number = meet_number(meet);
    memcpy(welcome.host, meet->host, sizeof welcome.host);
    seat_clear(seat);
    seat->line = stranger->line;
    seat->line.size_max = (uint32_t)(MEET_VALUE_MAX + MEET_KEY_MAX + sizeof(uint32_t));
    stranger->line = LINE_CLOSED;
    *peer = (struct peer){.rank = hello->rank, .pid = hello->pid, .here = true, .heard = meet->now};
    memcpy(peer->host, hello->host, sizeof peer->host);
    line_put(&seat->line, FRAME_WELCOME, &welcome, sizeof welcome);
}

/* false: the stranger is unknown, or was sent away with the verdict. */
static bool admit(struct meet *meet, struct stranger *stranger, const struct frame *frame)
{
    struct hello hello;
    struct error err;
    if (frame->kind != FRAME_HELLO || frame->bytes.size != sizeof hello)
        return false;
    memcpy(&hello, frame->bytes.data, sizeof hello);
    hello.host[sizeof hello.host - 1] = '\0';
    if (memcmp(hello.magic, MEET_MAGIC, sizeof hello.magic) != 0 || hello.number != meet_number(meet))
        return false;
    if (hello.size == meet->options.size && hello.rank >= hello.size)
        return false;
    if (!meet->failed && check_hello(meet, &hello, &err) < 0)
        meet_judge(meet, NOBODY, &err);
    if (meet->failed) {
        line_put(&stranger->line, FRAME_VERDICT, &meet->verdict, sizeof meet->verdict);
        line_flush(&stranger->line); /* a new socket takes that much at once */
        return false;
    }
    take_seat(meet, stranger, &hello);
    return true;
}

void door_read(struct meet *meet, const struct poll_set *set)
{
    struct hub *hub = meet->hub;
    for (uint32_t i = hub->strangers_count; i-- > 0;) {
        struct stranger *stranger = &hub->strangers[i];
        struct frame frame;
        int filled = 0, taken = 0;
        if (poll_is_ready(set, &stranger->line)) {
            filled = line_fill(&stranger->line);
            taken = line_take(&stranger->line, &frame);
        }
        bool stays = filled == 0 && taken == 0 && meet->now - stranger->since < HELLO_SECONDS;
        if (taken > 0)
            (void)admit(meet, stranger, &frame);
        if (stays)
            continue;
        line_close(&stranger->line);
        hub->strangers[i] = hub->strangers[--hub->strangers_count];
    }
}

void door_accept(struct meet *meet)
{
    struct hub *hub = meet->hub;
    for (int fd; hub->listener >= 0 && (fd = accept4(hub->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
        if (hub->strangers_count == STRANGERS_MAX) {
            uint32_t oldest = 0;
            for (uint32_t i = 1; i < STRANGERS_MAX; i++)
                if (hub->strangers[i].since < hub->strangers[oldest].since)
                    oldest = i;
            line_close(&hub->strangers[oldest].line);
            hub->strangers[oldest] = hub->strangers[--hub->strangers_count];
        }
        struct stranger *stranger = &hub->strangers[hub->strangers_count++];
        socket_tune(fd);
        line_open(&stranger->line, fd, sizeof(struct hello), LINE_OUT_MAX);
        stranger->since = meet->now;
    }
}
