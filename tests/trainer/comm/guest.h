/* A guest at rank 0's door that speaks the rendezvous' protocol, and may lie: for test_handshake.c and
 * attack_rendezvous.c. With another struct line on each side it is also what stands between a worker and rank 0. */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "trainer/comm/handshake.h"
#include "trainer/comm/rendezvous_parts.h"

#define GUEST_QUEUE ((size_t)64 << 20)

struct guest {
    struct line line;
    struct hello hello, challenge;
    struct join join;
    struct job_key key;
};

static inline void guest_sleep(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A port at which nobody listens now. */
static inline uint16_t guest_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool bound = bind(fd, (const void *)&at, size) == 0 && getsockname(fd, (void *)&at, &size) == 0;
    close(fd);
    return bound ? ntohs(at.sin_port) : 0;
}

/* Connects, for up to 10 s; -1: nobody listens there. */
static inline int guest_dial(uint16_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int tries = 0; tries < 1000; tries++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (const void *)&at, sizeof at) == 0)
            return fd;
        close(fd);
        guest_sleep(10);
    }
    return -1;
}

static inline void guest_send(struct guest *guest, uint32_t kind, const void *bytes, size_t size)
{
    line_put(&guest->line, kind, bytes, size);
    (void)line_flush(&guest->line);
}

/* Waits for a frame. false: the line ended, or nothing came within 5 s. */
static inline bool guest_next(struct guest *guest, struct frame *frame)
{
    const double from = clock_now();
    int filled = 0, taken;
    while ((taken = line_take(&guest->line, frame)) == 0 && filled == 0 && clock_now() - from < 5) {
        struct pollfd wait = {.fd = guest->line.fd, .events = POLLIN};
        if (poll(&wait, 1, 100) > 0)
            filled = line_fill(&guest->line);
    }
    return taken > 0 || line_take(&guest->line, frame) > 0;
}

/* True if the next thing that comes is a frame of this kind. */
static inline bool guest_gets(struct guest *guest, uint32_t kind, struct frame *frame)
{
    return guest_next(guest, frame) && frame->kind == kind;
}

/* A process that has dialed and would join as this rank. */
static inline struct guest guest_of(uint16_t port, uint32_t rank, uint32_t size, const struct job_key *key)
{
    struct guest guest = {.join = {.rank = rank, .size = size, .pid = 4242, .host = "guest"}};
    if (key)
        guest.key = *key;
    const int fd = guest_dial(port);
    guest.line = LINE_CLOSED;
    if (fd >= 0)
        line_open(&guest.line, fd, 2u << 20, GUEST_QUEUE);
    hello_make(&guest.hello);
    return guest;
}

/* HELLO, and the CHALLENGE that follows. */
static inline bool guest_hello(struct guest *guest)
{
    struct frame frame;
    guest_send(guest, FRAME_HELLO, &guest->hello, sizeof guest->hello);
    return guest_gets(guest, FRAME_CHALLENGE, &frame) &&
           hello_read(frame.bytes, &guest->challenge) == RENDEZVOUS_PROTOCOL;
}

/* JOIN. What comes next is WELCOME, REFUSAL or AWAY. */
static inline void guest_join(struct guest *guest)
{
    handshake_seal(&guest->line, &guest->key, &guest->hello, &guest->challenge, false);
    guest->line.unsealed = FRAME_AWAY;
    guest_send(guest, FRAME_JOIN, &guest->join, sizeof guest->join);
}

static inline bool guest_is_welcome(struct guest *guest)
{
    struct frame frame;
    if (!guest_hello(guest))
        return false;
    guest_join(guest);
    return guest_gets(guest, FRAME_WELCOME, &frame);
}
