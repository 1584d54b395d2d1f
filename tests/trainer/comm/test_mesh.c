/* Sockets between processes, here threads: each leads to the right one, and strangers get none. */
// labels: threads

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "base/progress.h"
#include "tests/unit.h"
#include "trainer/comm/mesh.h"

enum { RANKS_MAX = 5, VALUES_MAX = 8, CLAIM_BYTES = 36, PORT_AT = 64, PLACE_BYTES = 104, FLOOD = 200 };

/* ---------------------------------------------------------------------------------- named values of one test */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        char name[32], bytes[256];
        size_t size;
    } values[VALUES_MAX];
    size_t count;
    bool failed;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int store_set(void *context, const char *name, const void *bytes, size_t size, struct error *err)
{
    (void)context, (void)err;
    pthread_mutex_lock(&store.lock);
    assert_true(store.count < VALUES_MAX && size <= sizeof store.values[0].bytes);
    snprintf(store.values[store.count].name, sizeof store.values[0].name, "%s", name);
    memcpy(store.values[store.count].bytes, bytes, size);
    store.values[store.count++].size = size;
    pthread_cond_broadcast(&store.changed);
    pthread_mutex_unlock(&store.lock);
    return 0;
}

static long store_get(void *context, const char *name, void *bytes, size_t room, double timeout, struct error *err)
{
    struct timespec until;
    (void)context;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)timeout + 1;
    int late = 0;
    pthread_mutex_lock(&store.lock);
    for (;;) {
        for (size_t i = 0; i < store.count; i++)
            if (strcmp(store.values[i].name, name) == 0) {
                const size_t size = store.values[i].size;
                memcpy(bytes, store.values[i].bytes, size < room ? size : room);
                pthread_mutex_unlock(&store.lock);
                return (long)size;
            }
        if (late)
            break;
        late = pthread_cond_timedwait(&store.changed, &store.lock, &until);
    }
    pthread_mutex_unlock(&store.lock);
    return (fail)(err, ERR_PEER, "nobody has set %s", name);
}

static int store_check(void *context, struct error *err)
{
    (void)context;
    pthread_mutex_lock(&store.lock);
    const bool failed = store.failed;
    pthread_mutex_unlock(&store.lock);
    return failed ? (fail)(err, ERR_STOPPED, "the meeting has failed") : 0;
}

/* ------------------------------------------------------------------------------------------------- processes */

static struct process {
    struct comm_options options;
    int sockets[RANKS_MAX], result;
    struct error err;
    pthread_t thread;
} processes[RANKS_MAX];

static int set_up(void **state)
{
    (void)state;
    store.count = 0;
    store.failed = false;
    return 0;
}

static void *run(void *process)
{
    struct process *one = process;
    one->result = mesh_connect(&one->options, one->sockets, &one->err);
    return NULL;
}

static struct process *start(uint32_t rank, uint32_t size, const char *address, double timeout, unsigned char secret)
{
    struct process *one = &processes[rank];
    *one = (struct process){.options = {.rank = rank,
                                        .size = size,
                                        .address = address,
                                        .timeout = timeout,
                                        .store = {store_set, store_get, store_check, NULL},
                                        .secret = {secret}}};
    assert_int_equal(pthread_create(&one->thread, NULL, run, one), 0);
    return one;
}

static void join(uint32_t rank, int result)
{
    pthread_join(processes[rank].thread, NULL);
    if (processes[rank].result != result)
        fail_msg("process %u: %s", rank, processes[rank].err.text);
}

static void says(uint32_t rank, enum error_kind kind, const char *words)
{
    join(rank, -1);
    if (processes[rank].err.kind != kind || !strstr(processes[rank].err.text, words))
        fail_msg("process %u: \"%s\" does not hold \"%s\"", rank, processes[rank].err.text, words);
}

/* Sends each process its number and the sender's, both ways of each socket. */
static void all_are_connected(uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            const uint32_t sent[] = {i, j};
            if (i == j)
                assert_int_equal(processes[i].sockets[j], -1);
            else
                assert_int_equal(send(processes[i].sockets[j], sent, sizeof sent, 0), sizeof sent);
        }
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t j = 0; j < size; j++) {
            uint32_t got[2] = {0};
            if (i == j)
                continue;
            poll(&(struct pollfd){.fd = processes[i].sockets[j], .events = POLLIN}, 1, 10000);
            assert_int_equal(recv(processes[i].sockets[j], got, sizeof got, 0), sizeof got);
            assert_true(got[0] == j && got[1] == i);
            close(processes[i].sockets[j]);
        }
}

/* ------------------------------------------------------------------------------------------------- strangers */

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Connects to the port that the process has published, at its address or another of this machine. -1: refused. */
static int visit_at(uint32_t rank, in_addr_t address)
{
    char name[32], place[PLACE_BYTES];
    struct error err;
    snprintf(name, sizeof name, "mesh/%u", rank);
    assert_int_equal(store_get(NULL, name, place, sizeof place, 10, &err), sizeof place);
    struct sockaddr_in at = loopback((uint16_t)atoi(place + PORT_AT));
    at.sin_addr.s_addr = htonl(address);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

static int visit(uint32_t rank)
{
    const int fd = visit_at(rank, INADDR_LOOPBACK);
    assert_true(fd >= 0);
    return fd;
}

/* Publishes a port of the test as that of process 0, and returns its listener. */
static int pose_as_rank_0(void)
{
    char place[PLACE_BYTES] = "127.0.0.1";
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    snprintf(place + PORT_AT, 8, "%u", ntohs(at.sin_port));
    store_set(NULL, "mesh/0", place, sizeof place, NULL);
    return listener;
}

static int take_claim(int listener, char claim[CLAIM_BYTES])
{
    const int fd = accept(listener, NULL, NULL);
    assert_int_equal(recv(fd, claim, CLAIM_BYTES, MSG_WAITALL), CLAIM_BYTES);
    return fd;
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) <= 0;
}

/* ----------------------------------------------------------------------------------------------------- tests */

TEST_WITH(each_socket_leads_to_its_process, set_up, NULL)
{
    for (uint32_t size = 1; size <= RANKS_MAX; size++) {
        set_up(NULL);
        for (uint32_t i = 0; i < size; i++)
            start(i, size, "127.0.0.1", 60, 1);
        for (uint32_t i = 0; i < size; i++)
            join(i, 0);
        all_are_connected(size);
    }
}

TEST_WITH(works_over_ipv6, set_up, NULL)
{
    const struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    const int fd = socket(AF_INET6, SOCK_STREAM, 0);
    const bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    if (!has)
        skip();
    for (uint32_t i = 0; i < 2; i++)
        start(i, 2, "::1", 60, 1);
    for (uint32_t i = 0; i < 2; i++)
        join(i, 0);
    all_are_connected(2);
}

/* They come before the process that is waited for: more than are kept, some with a claim of its rank. */
TEST_WITH(strangers_cost_nothing, set_up, NULL)
{
    static int strangers[FLOOD];
    const uint32_t claim[CLAIM_BYTES / 4] = {1};
    start(0, 2, "127.0.0.1", 60, 1);
    assert_int_equal(visit_at(0, INADDR_LOOPBACK + 1), -1); /* it listens at its address only */
    for (int i = 0; i < FLOOD; i++) {
        strangers[i] = visit(0);
        if (i % 3 > 0)
            send(strangers[i], claim, i % 3 == 1 ? sizeof claim : sizeof claim / 2, MSG_NOSIGNAL);
    }
    start(1, 2, "127.0.0.1", 60, 1);
    join(0, 0);
    join(1, 0);
    for (int i = 0; i < FLOOD; i++) {
        assert_true(is_closed(strangers[i]));
        close(strangers[i]);
    }
    all_are_connected(2);
}

TEST_WITH(a_process_without_the_secret_gets_nothing, set_up, NULL)
{
    start(0, 2, "127.0.0.1", 2, 1);
    start(1, 2, "127.0.0.1", 0.5, 2);
    says(0, ERR_PEER, "process 1 of 2 did not connect to 127.0.0.1:");
    assert_non_null(strstr(processes[0].err.text, "did not prove to belong to this run, the last from 127.0.0.1:"));
    says(1, ERR_PEER, "process 0 of 2 at 127.0.0.1:");
    assert_non_null(strstr(processes[1].err.text, ": it closes the connection"));
}

/* What a process sends proves nothing when it is sent back, or to another. */
TEST_WITH(proofs_cannot_be_used_again, set_up, NULL)
{
    char claims[2][CLAIM_BYTES];
    const int listener = pose_as_rank_0();
    start(1, 3, "127.0.0.1", 1, 1);
    start(2, 3, "127.0.0.1", 1, 1);
    int lines[2];
    for (int i = 0; i < 2; i++) {
        lines[i] = take_claim(listener, claims[i]);
        assert_int_equal(send(lines[i], claims[i], CLAIM_BYTES, MSG_NOSIGNAL), CLAIM_BYTES);
    }
    for (int i = 0; i < 2; i++) {
        const int other = visit(1);
        memcpy(claims[i], &(uint32_t){2}, sizeof(uint32_t));
        send(other, claims[i], CLAIM_BYTES, MSG_NOSIGNAL);
        assert_true(is_closed(other) && is_closed(lines[i]));
        close(other);
        close(lines[i]);
    }
    close(listener);
    says(1, ERR_PEER, "process 0 of 3 at 127.0.0.1:");
    says(2, ERR_PEER, "process 0 of 3 at 127.0.0.1:");
}

TEST_WITH(a_port_that_is_not_the_process_is_named, set_up, NULL)
{
    static const char *const words[] = {"it does not answer", "does not prove that it belongs to this run",
                                        "Connection refused"};
    for (int i = 0; i < 3; i++) {
        char claim[CLAIM_BYTES];
        int line = -1;
        set_up(NULL);
        const int listener = pose_as_rank_0();
        start(1, 2, "127.0.0.1", 0.5, 1);
        if (i == 1) {
            line = take_claim(listener, claim);
            send(line, claim, CLAIM_BYTES, MSG_NOSIGNAL);
        }
        if (i > 0)
            close(listener);
        says(1, ERR_PEER, i == 1 ? "process 0 of 2 at 127.0.0.1:" : words[i]);
        close(i > 0 ? line : listener);
    }
}

TEST_WITH(values_that_are_no_place_are_refused, set_up, NULL)
{
    char place[PLACE_BYTES];
    memset(place, 'x', sizeof place);
    store_set(NULL, "mesh/0", place, sizeof place, NULL);
    start(1, 2, "127.0.0.1", 0.3, 1);
    says(1, ERR_PEER, "at no address was not reached");
    set_up(NULL);
    store_set(NULL, "mesh/0", place, sizeof place - 1, NULL);
    start(1, 2, "127.0.0.1", 0.3, 1);
    says(1, ERR_PEER, "process 0 does not say where it listens");
}

TEST_WITH(a_failure_of_the_rendezvous_ends_the_wait, set_up, NULL)
{
    const int listener = pose_as_rank_0();
    char claim[CLAIM_BYTES];
    start(1, 2, "127.0.0.1", 600, 1);
    const int line = take_claim(listener, claim);
    pthread_mutex_lock(&store.lock);
    store.failed = true;
    pthread_mutex_unlock(&store.lock);
    says(1, ERR_STOPPED, "the meeting has failed");
    close(line);
    close(listener);
}

TEST_WITH(an_address_of_another_machine_is_refused, set_up, NULL)
{
    start(0, 2, "192.0.2.1", 1, 1);
    says(0, ERR_USAGE, "this process cannot listen at 192.0.2.1");
    start(0, 2, "node1", 1, 1);
    says(0, ERR_USAGE, "node1 is not an address");
}

/* The last: nothing takes the stop back. */
TEST_WITH(a_stop_ends_the_wait, set_up, NULL)
{
    const int listener = pose_as_rank_0();
    stop_request();
    start(1, 2, "127.0.0.1", 600, 1);
    says(1, ERR_STOPPED, "stopped before all processes were connected");
    close(listener);
}
