/* The rendezvous: how processes find each other and exchange values, and the error that all get when one is killed,
 * hangs, fails or never comes. Each test forks its processes; their results are in shared memory. */
// labels: threads

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/file.h"
#include "base/progress.h"
#include "tests/unit.h"
#include "trainer/comm/failure_detector.h"
#include "trainer/comm/listen.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/comm/rendezvous_parts.h"
#include "trainer/comm/endpoint.h"
#include "tests/needs_faults.h"

#define RANKS_MAX 9

/* Memory that the processes of a test share. */
static struct shared {
    struct error errors[RANKS_MAX]; /* kind ERR_NONE: success */
    int codes[RANKS_MAX];           /* exit code, or 128 + signal */
    double seconds[RANKS_MAX];      /* from `event` to the end */
    _Atomic double event;
    char carried[ENDPOINT_FILE_BYTES];
    _Atomic int is_carried, has_begun;
} * shared;

static char directory[] = "meet_test.XXXXXX";
static char file_name[64];
static pid_t pids[RANKS_MAX];
static unsigned started;
static uid_t user; /* that the next process becomes; 0: it stays */

typedef int body(struct rendezvous *rendezvous, uint32_t rank, struct error *err);

static int set_up(void **state)
{
    (void)state;
    memset(shared, 0, sizeof *shared);
    started = 0;
    return 0;
}

static void start_with(struct rendezvous_options options, body *run)
{
    fflush(NULL);
    const unsigned slot = started++;
    assert_true(slot < RANKS_MAX);
    pids[slot] = fork();
    assert_true(pids[slot] >= 0);
    if (pids[slot] > 0)
        return;
    struct rendezvous *rendezvous;
    struct error *err = &shared->errors[slot];
    alarm(60);
    if (user && setuid(user) < 0)
        _exit(ERR_BUG);
    int result = rendezvous_open(&rendezvous, &options, err);
    if (result == 0) {
        result = run ? run(rendezvous, options.rank, err) : 0;
        shared->seconds[slot] = clock_now() - shared->event;
        rendezvous_close(rendezvous);
    } else {
        shared->seconds[slot] = clock_now() - shared->event;
    }
    _exit(result < 0 ? (int)err->kind : 0);
}

static struct rendezvous_options options_of(uint32_t rank, uint32_t size, const char *endpoint)
{
    return (struct rendezvous_options){.rank = rank, .size = size, .endpoint = endpoint, .listener = -1};
}

static void join(void)
{
    for (unsigned i = 0; i < started; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        shared->codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static void all_are(int code)
{
    join();
    for (unsigned i = 0; i < started; i++)
        if (shared->codes[i] != code)
            fail_msg("process %u of %u ended with %d, not %d: %s", i, started, shared->codes[i], code,
                     shared->errors[i].text);
}

static void says(unsigned slot, const char *words)
{
    if (!strstr(shared->errors[slot].text, words))
        fail_msg("process %u: \"%s\" does not hold \"%s\"", slot, shared->errors[slot].text, words);
}

/* Starts N processes that run the same body at one rendezvous. */
static void start_all(uint32_t size, const char *endpoint, body *run)
{
    for (uint32_t rank = 0; rank < size; rank++)
        start_with(options_of(rank, size, endpoint), run);
}

static uint16_t free_port(int family)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(family, SOCK_STREAM, 0);
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    uint16_t port = 0;
    if (fd >= 0 && bind(fd, address, size) == 0 && getsockname(fd, address, &size) == 0)
        port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
    close(fd);
    return port;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------- meeting and exchange */

static char pattern(uint32_t rank, size_t i)
{
    return (char)(rank * 31 + i * 7 + i / 251);
}

static size_t value_bytes(uint32_t rank)
{
    return rank == 0 ? 0 : rank == 1 ? RENDEZVOUS_VALUE_MAX : 20000 * rank;
}

static int value_is(struct str value, uint32_t rank, size_t bytes, struct error *err)
{
    bool same = value.size == bytes;
    for (size_t i = 0; same && i < bytes; i++)
        same = value.data[i] == pattern(rank, i);
    return same ? 0 : (fail)(err, ERR_BUG, "rank %u's bytes are wrong", rank);
}

static int exchange_some(struct rendezvous *rendezvous, uint32_t rank, unsigned turn, struct error *err)
{
    struct rendezvous_blocks blocks;
    char block[4000];
    int result = 0;
    const size_t size = (rank * 500 + turn) % sizeof block;
    for (size_t i = 0; i < size; i++)
        block[i] = pattern(rank, i);
    TRY(rendezvous_all_gather(rendezvous, (struct str){block, size}, &blocks, err));
    for (uint32_t i = 0; i < rendezvous_size(rendezvous) && result == 0; i++)
        result = value_is(blocks.of[i], i, (i * 500 + turn) % sizeof block, err);
    rendezvous_blocks_release(&blocks);
    return result;
}

/* Blocks of one size; a process that gives another size is named. */
static int exchange_equal(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    uint64_t numbers[RANKS_MAX + 1], mine = rank + 100;
    const uint32_t last = rendezvous_size(rendezvous) - 1;
    TRY(rendezvous_all_gather_equal(rendezvous, &mine, sizeof mine, numbers, err));
    for (uint32_t i = 0; i <= last; i++)
        if (numbers[i] != i + 100)
            return (fail)(err, ERR_BUG, "the number of rank %u is %ju", i, (uintmax_t)numbers[i]);
    if (last == 0)
        return 0;
    if (rendezvous_all_gather_equal(rendezvous, &mine, rank == last ? 4 : sizeof mine, numbers, err) == 0 ||
        err->kind != ERR_PEER)
        return (fail)(err, ERR_BUG, "another size is accepted");
    return 0;
}

/* Every process sets a value, reads those of all others and exchanges blocks. The last one sets its value late, so that
 * the others wait. */
static int talk(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    const uint32_t size = rendezvous_size(rendezvous);
    struct buf value = {0};
    char key[32];
    int result = 0;
    if (rendezvous_address(rendezvous)[0] == '\0')
        return (fail)(err, ERR_BUG, "rank or address is wrong");
    for (unsigned turn = 0; turn < 3; turn++)
        TRY(exchange_some(rendezvous, rank, turn, err));
    TRY(exchange_equal(rendezvous, rank, err));
    if (path_exists(file_name))
        return (fail)(err, ERR_BUG, "the file is still there, and all have met");
    if (!rendezvous)
        return 0;
    if (rank + 1 == size)
        sleep_ms(100);
    for (size_t i = 0; i < value_bytes(rank); i++)
        buf_add_byte(&value, pattern(rank, i));
    snprintf(key, sizeof key, "value/%u", rank);
    result = rendezvous_set(rendezvous, key, buf_str(&value), err);
    for (uint32_t i = 0; i < size && result == 0; i++) {
        buf_reset(&value);
        snprintf(key, sizeof key, "value/%u", i);
        result = rendezvous_get(rendezvous, key, 10, &value, err);
        if (result == 0)
            result = value_is(buf_str(&value), i, value_bytes(i), err);
    }
    buf_release(&value);
    TRY(result);
    return exchange_some(rendezvous, rank, 7, err);
}

TEST_WITH(they_meet_by_file, set_up, NULL)
{
    for (uint32_t size = 1; size <= 8; size++) {
        set_up(state);
        start_all(size, file_name, talk);
        all_are(0);
        assert_false(path_exists(file_name)); /* removed once all have joined */
    }
}

static void rendezvous_at(const char *host, int family, uint32_t size)
{
    char place[64];
    const uint16_t port = free_port(family);
    if (port == 0) {
        print_message("no such address here: %s\n", host);
        return;
    }
    set_up(NULL);
    snprintf(place, sizeof place, "%s:%u", host, port);
    start_all(size, place, talk);
    all_are(0);
}

TEST_WITH(they_meet_at_an_address, set_up, NULL)
{
    rendezvous_at("127.0.0.1", AF_INET, 3);
    rendezvous_at("[::1]", AF_INET6, 2);
    rendezvous_at("localhost", AF_INET, 4);
    rendezvous_at("tcp://127.0.0.1", AF_INET, 2);
}

TEST_WITH(children_get_a_socket_and_a_key, set_up, NULL)
{
    int listener;
    char place[ADDRESS_TEXT];
    struct error err;
    assert_int_equal(listen_here(&listener, place, &err), 0);
    struct job_key key;
    job_key_random(&key);
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct rendezvous_options options = options_of(rank, 4, place);
        options.key = &key;
        options.listener = rank == 0 ? listener : -1;
        start_with(options, talk);
    }
    close(listener);
    all_are(0);
}

/* Stands for a broadcast of MPI. */
static int carry(void *context, void *bytes, size_t size, struct error *err)
{
    (void)err;
    if (*(const uint32_t *)context == 0) {
        memcpy(shared->carried, bytes, size);
        shared->is_carried = 1;
    }
    while (!shared->is_carried)
        sleep_ms(5);
    memcpy(bytes, shared->carried, size);
    return 0;
}

TEST_WITH(what_started_us_may_carry_the_address, set_up, NULL)
{
    static uint32_t ranks[3] = {0, 1, 2};
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct rendezvous_options options = options_of(rank, 3, NULL);
        options.broadcast = carry;
        options.broadcast_context = &ranks[rank];
        start_with(options, talk);
    }
    all_are(0);
}

/* -------------------------------------------------------------------------------------------------- unusual starts */

/* `digit`: of the key, which consists of it. */
static void write_file(char digit, unsigned port)
{
    char text[200], key[2 * JOB_KEY_BYTES + 1] = {0};
    struct error err;
    memset(key, digit, sizeof key - 1);
    snprintf(text, sizeof text, "dstrain meeting 2\nkey %s\nat 127.0.0.1 %u\n", key, port);
    assert_int_equal(file_write_all(file_name, text, strlen(text), &err), 0);
}

TEST_WITH(a_stale_file_is_waited_over, set_up, NULL)
{
    write_file('1', free_port(AF_INET)); /* no process listens there */
    start_with(options_of(1, 3, file_name), talk);
    sleep_ms(300);
    start_with(options_of(2, 3, file_name), talk);
    start_with(options_of(0, 3, file_name), talk);
    all_are(0);

    /* rank 0 of another run answers, with another key */
    set_up(NULL);
    char other[80], *text;
    struct buf says_other = {0};
    struct error err;
    snprintf(other, sizeof other, "%s/other", directory);
    struct rendezvous_options impatient = options_of(0, 3, other);
    impatient.patience = 2;
    start_with(impatient, NULL);
    while (!path_exists(other))
        sleep_ms(10);
    assert_int_equal(file_read_all(other, 4096, &says_other, &err), 0);
    text = strstr(buf_text(&says_other), "key ");
    text[4] = text[4] == '0' ? '1' : '0';
    assert_int_equal(file_write_all(file_name, says_other.data, says_other.size, &err), 0);
    buf_release(&says_other);
    start_with(options_of(1, 3, file_name), talk);
    start_with(options_of(2, 3, file_name), talk);
    sleep_ms(500);
    start_with(options_of(0, 3, file_name), talk);
    join();
    assert_int_equal(shared->codes[0], ERR_PEER); /* no process came to that rendezvous */
    says(0, "rank 1-2 of 3");
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(shared->codes[i], 0);
}

/* The impostor speaks as rank 0 does, but has another key. */
TEST_WITH(an_impostor_is_not_trusted, set_up, NULL)
{
    int listener;
    char place[ADDRESS_TEXT];
    struct error err;
    struct line line;
    struct frame frame;
    struct hello hello, challenge;
    struct job_key key;
    const struct welcome welcome = {.host = "false"};
    job_key_random(&key);
    assert_int_equal(listen_here(&listener, place, &err), 0);
    write_file('5', (unsigned)atoi(strrchr(place, ':') + 1));
    setenv("DS_WAITS", "0.1", 1); /* it gives up on the impostor after half a second */
    start_with(options_of(1, 2, file_name), talk);
    unsetenv("DS_WAITS");
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 5000), 1);
    line_open(&line, accept(listener, NULL, NULL), HELLO_MAX, 4096);
    while (line_take(&line, &frame) == 0)
        assert_int_equal((sleep_ms(5), line_fill(&line)), 0);
    assert_int_equal(hello_read(frame.bytes, &hello), RENDEZVOUS_PROTOCOL);
    hello_make(&challenge);
    line_put(&line, FRAME_CHALLENGE, &challenge, sizeof challenge);
    handshake_seal(&line, &key, &hello, &challenge, true);
    line_put(&line, FRAME_WELCOME, &welcome, sizeof welcome);
    assert_int_equal(line_flush(&line), 0);
    sleep_ms(200);
    line_close(&line);
    close(listener);
    start_with(options_of(0, 2, file_name), talk);
    all_are(0);
}

static int dial(uint16_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int tries = 0; tries < 200 && connect(fd, (const void *)&at, sizeof at) < 0; tries++)
        sleep_ms(10);
    return fd;
}

/* More strangers than rank 0 keeps connections for; their input is never trusted. */
TEST_WITH(strangers_cannot_block_it, set_up, NULL)
{
    char place[64];
    const uint16_t port = free_port(AF_INET);
    int fds[200];
    snprintf(place, sizeof place, "127.0.0.1:%u", port);
    start_with(options_of(0, 3, place), talk);
    for (int i = 0; i < 200; i++) {
        fds[i] = dial(port);
        static const char http[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
        static const char giant[] = "\x01\0\0\0\xff\xff\xff\xff";
        static const char hello[] = "\x01\0\0\0\x30\0\0\0dsmeet\r\n\x02\0\0\0"; /* incomplete */
        const char *text[] = {http, giant, hello, ""};
        const size_t size[] = {sizeof http - 1, sizeof giant - 1, sizeof hello - 1, 0};
        const int which = i % 2 + (i < 100 ? 0 : 2); /* those that stay connected come last */
        if (size[which])
            (void)!send(fds[i], text[which], size[which], MSG_NOSIGNAL);
    }
    const double from = clock_now();
    start_with(options_of(1, 3, place), talk);
    start_with(options_of(2, 3, place), talk);
    all_are(0);
    assert_true(clock_now() - from < 8);
    for (int i = 0; i < 200; i++)
        close(fds[i]);
}

/* Those that do not fit learn why; the others wait for the right ones, and meet. */
TEST_WITH(who_does_not_fit_is_sent_away, set_up, NULL)
{
    struct rendezvous_options other_run = options_of(2, 3, file_name);
    other_run.run = "job 7";
    start_with(options_of(0, 3, file_name), talk);
    start_with(options_of(1, 3, file_name), talk);
    sleep_ms(300);
    start_with(options_of(1, 3, file_name), talk);
    start_with(options_of(1, 4, file_name), talk);
    start_with(other_run, talk);
    sleep_ms(300);
    start_with(options_of(2, 3, file_name), talk);
    join();
    const int codes[] = {0, 0, ERR_USAGE, ERR_MISMATCH, ERR_MISMATCH, 0};
    for (unsigned i = 0; i < started; i++)
        assert_int_equal(shared->codes[i], codes[i]);
    says(2, "rank 1 was given twice: to rank 1 (");
    says(3, "3 on rank 0");
    says(3, "4 on rank 1");
    says(4, "another run meets at");
    says(4, "job 7");
}

/* Redirects standard error to a file, *said; returns the old one for errors_restore. */
static int errors_redirect(const char *name, int *said)
{
    const int saved = dup(STDERR_FILENO);
    *said = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
    dup2(*said, STDERR_FILENO);
    return saved;
}

static void errors_restore(int saved)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* What the processes wrote must hold `words`. */
static void was_said(int said, const char *words)
{
    char text[2000] = "";
    assert_true(pread(said, text, sizeof text - 1, 0) >= 0);
    close(said);
    assert_non_null(strstr(text, words));
}

TEST_WITH(a_process_of_another_user_is_sent_away, set_up, NULL)
{
    char place[64];
    if (geteuid() != 0)
        skip();
    snprintf(place, sizeof place, "127.0.0.1:%u", free_port(AF_INET));
    start_with(options_of(0, 2, place), talk);
    user = 65534;
    start_with(options_of(1, 2, place), talk);
    user = 0;
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)pids[1], &ended, WEXITED | WNOWAIT), 0); /* before the right one comes */
    start_with(options_of(1, 2, place), talk);
    join();
    assert_int_equal(shared->codes[0], 0);
    assert_int_equal(shared->codes[1], ERR_MISMATCH);
    says(1, "another user");
    assert_int_equal(shared->codes[2], 0);

    /* Nor does one join the rank 0 of another user. */
    set_up(NULL);
    struct rendezvous_options open = options_of(0, 2, place);
    open.admits_all = true;
    open.patience = 2;
    user = 65534;
    start_with(open, talk);
    user = 1;
    start_with(options_of(1, 2, place), talk);
    user = 0;
    join();
    assert_int_equal(shared->codes[1], ERR_MISMATCH);
    says(1, "another user");

    /* --key none */
    set_up(NULL);
    open.patience = 0;
    start_with(open, talk);
    open.rank = 1;
    user = 65534;
    start_with(open, talk);
    user = 0;
    all_are(0);
}

TEST_WITH(absent_processes_are_named, set_up, NULL)
{
    struct rendezvous_options options = options_of(0, 4, file_name);
    options.patience = 1;
    options.remind = 0.3;
    char name[80];
    int said;
    snprintf(name, sizeof name, "%s/said", directory);
    int saved = errors_redirect(name, &said);
    start_with(options, talk);
    options.rank = 2;
    start_with(options, talk);
    errors_restore(saved);
    all_are(ERR_PEER);
    for (unsigned i = 0; i < 2; i++)
        says(i, "rank 1, 3 of 4");
    assert_false(path_exists(file_name));
    was_said(said, "waiting for rank 1, 3 of 4");

    set_up(NULL); /* rank 0 never comes */
    saved = errors_redirect(name, &said);
    start_with(options, talk);
    errors_restore(saved);
    all_are(ERR_PEER);
    says(0, "rank 0 was not found");
    was_said(said, "rank 2 is waiting for rank 0");
}

TEST_WITH(a_place_that_cannot_be_had_is_a_usage_error, set_up, NULL)
{
    char place[64];
    struct error err;
    int listener;
    struct rendezvous *rendezvous;
    assert_int_equal(listen_here(&listener, place, &err), 0);
    const char *const addresses[] = {place, "no/such/directory/file", directory, "192.0.2.1:29500", "host:0", ""};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        const struct rendezvous_options options = options_of(0, 2, addresses[i]);
        assert_int_equal(rendezvous_open(&rendezvous, &options, &err), -1);
        if (err.kind != ERR_USAGE)
            fail_msg("%s: kind %d: %s", addresses[i], err.kind, err.text);
    }
    close(listener);
}

static int ask_often(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    SCOPED(buf_release) struct buf value = {0};
    for (int i = 0; i < 100 && rank == 1; i++)
        if (rendezvous_get(rendezvous, "never", 0, &value, err) == 0 || err->kind != ERR_PEER)
            return (fail)(err, ERR_BUG, "nobody set that");
    return exchange_some(rendezvous, rank, 0, err);
}

TEST_WITH(who_asks_again_is_no_nuisance, set_up, NULL)
{
    start_all(2, file_name, ask_often);
    all_are(0);
}

/* ---------------------------------------------------------------------------------------------------- failures */

/* Continues until a failure is reported. */
static int work(struct rendezvous *rendezvous, struct error *err)
{
    for (uint64_t i = 0; i < 2000 && !rendezvous_has_failed(rendezvous); i++) {
        rendezvous_progress(rendezvous, 41, "bucket %u", 3u);
        sleep_ms(10);
    }
    return rendezvous_failed(rendezvous, err);
}

static uint32_t victim;

static int be_killed(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    rendezvous_progress(rendezvous, 41, "bucket %u", 3u);
    TRY(exchange_some(rendezvous, rank, 0, err));
    sleep_ms(600); /* so that the report is sent */
    if (rank == victim) {
        shared->event = clock_now();
        raise(SIGKILL);
    }
    return work(rendezvous, err);
}

TEST_WITH(a_killed_process_is_named, set_up, NULL)
{
    setenv("DS_WAITS", "0.2", 1); /* reports come more often */
    for (victim = 0; victim <= 2; victim += 2) {
        char words[80];
        set_up(NULL);
        start_all(4, file_name, be_killed);
        join();
        snprintf(words, sizeof words, "rank %u (", victim);
        for (unsigned i = 0; i < 4; i++) {
            if (i == victim)
                continue;
            assert_int_equal(shared->codes[i], ERR_PEER);
            says(i, words);
            says(i, "was lost at step 41 in bucket 3");
            assert_true(shared->seconds[i] < 2);
        }
        snprintf(words, sizeof words, "pid %d", pids[victim]);
        says(3, words);
    }
    unsetenv("DS_WAITS");
}

static int be_stopped(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    rendezvous_progress(rendezvous, 7, "forward");
    sleep_ms(600);
    if (rank == victim)
        raise(SIGSTOP);
    return work(rendezvous, err);
}

TEST_WITH(a_stopped_process_is_named, set_up, NULL)
{
    setenv("DS_WAITS", "0.2", 1); /* reports come more often, and no farewell of the stopped process is waited for */
    for (victim = 0; victim <= 2; victim += 2) {
        set_up(NULL);
        for (uint32_t rank = 0; rank < 3; rank++) {
            struct rendezvous_options options = options_of(rank, 3, file_name);
            options.peer_timeout = 2;
            start_with(options, be_stopped);
        }
        for (unsigned i = 0; i < 3; i++)
            if (i != victim) {
                int status;
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(WEXITSTATUS(status), ERR_PEER);
                says(i, victim == 0 ? "rank 0 (" : "rank 2 (");
                says(i, "has said nothing for");
                says(i, "at step 7 in forward");
            }
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
    }
    unsetenv("DS_WAITS");
}

static int stand_still(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    rendezvous_progress(rendezvous, 9, rank == victim ? "data" : "bucket 5");
    if (rank != victim)
        rendezvous_set_waiting(rendezvous, true);
    for (int i = 0; i < 1000 && !rendezvous_has_failed(rendezvous); i++)
        sleep_ms(10);
    return rendezvous_failed(rendezvous, err);
}

TEST_WITH(one_that_lives_and_does_not_move_is_named, set_up, NULL)
{
    victim = 1;
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct rendezvous_options options = options_of(rank, 3, file_name);
        options.peer_timeout = 2;
        start_with(options, stand_still);
    }
    all_are(ERR_PEER);
    for (unsigned i = 0; i < 3; i++) {
        says(i, "rank 1 (");
        says(i, "at step 9 in data");
        says(i, "rank 0 waits in bucket 5, rank 2 waits");
    }
}

static int fail_one(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    if (rank != victim)
        return work(rendezvous, err);
    fail_at(err, ERR_RESOURCE, "shard-7", 99, "the disk is full");
    return rendezvous_fail(rendezvous, err);
}

/* Rank 0's error is that of all. Of another's they learn what that process says; it exits with its own. */
TEST_WITH(an_error_of_one_reaches_all, set_up, NULL)
{
    for (victim = 0; victim < 2; victim++) {
        set_up(NULL);
        start_all(3, file_name, fail_one);
        join();
        for (unsigned i = 0; i < 3; i++) {
            const bool own = victim == 0 || i == victim;
            assert_int_equal(shared->codes[i], own ? ERR_RESOURCE : ERR_PEER);
            assert_string_equal(shared->errors[i].file, own ? "shard-7" : "");
            says(i, victim == 0 ? "rank 0 (" : "rank 1 (");
            says(i, own ? "): the disk is full" : ") says: shard-7: byte 99: the disk is full");
            assert_true(i == victim || shared->errors[i].hint[0] == '\0');
        }
    }
}

/* Two fail at the same time: each keeps what it knows itself. Rank 1 waits until rank 0 has begun, because one that
 * learns of a failure before that has no error of its own. */
static int fail_both(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    if (rank == 0)
        shared->has_begun = 1;
    while (rank == 0 ? !rendezvous_has_failed(rendezvous) : !shared->has_begun)
        sleep_ms(5);
    (fail)(err, rank == 0 ? ERR_USAGE : ERR_RESOURCE, "the error of %u", rank);
    rendezvous_fail(rendezvous, err);
    return rendezvous_fail(rendezvous, err); /* as callers do who do not know that it is told already */
}

TEST_WITH(an_own_error_counts_more_than_what_another_says, set_up, NULL)
{
    shared->has_begun = 0;
    start_all(2, file_name, fail_both);
    join();
    assert_int_equal(shared->codes[0], ERR_USAGE);
    assert_int_equal(shared->codes[1], ERR_RESOURCE);
    says(0, "): the error of 0");
    assert_null(strstr(strstr(shared->errors[0].text, "rank 0") + 1, "rank 0"));
}

static const char *given, *follows; /* what rank 1 says of facts that must be given, and that may be followed */

static int compare_facts(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    const struct rendezvous_fact facts[] = {
        {.name = "program version", .value = "1"},
        {.name = "precision", .value = rank == 1 ? follows : "bf16", .follows = true},
        {.name = "dataset", .value = rank == 1 ? given : "cafe"},
    };
    return rendezvous_compare(rendezvous, facts, 3, err);
}

TEST_WITH(a_difference_is_named_by_all, set_up, NULL)
{
    static const struct {
        const char *given, *follows, *first, *other;
    } cases[] = {
        {"cafe", "", NULL, NULL},
        {"cafe", "fp16", "precision differs: bf16 on rank 0 (", "), fp16 on rank 1 ("},
        {"beef", "bf16", "dataset differs: cafe on rank 0 (", "), beef on rank 1 ("},
        {"", "", "dataset differs: cafe on rank 0 (", "), nothing on rank 1 ("},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        set_up(NULL);
        given = cases[k].given;
        follows = cases[k].follows;
        start_all(3, file_name, compare_facts);
        all_are(cases[k].first ? ERR_MISMATCH : 0);
        for (unsigned i = 0; i < 3 && cases[k].first; i++) {
            says(i, cases[k].first);
            says(i, cases[k].other);
        }
    }
}

static int ask_stop(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    if (rank == victim) {
        shared->event = clock_now();
        rendezvous_request_stop(rendezvous);
    }
    for (int i = 0; i < 300 && !rendezvous_stop_asked(rendezvous); i++)
        sleep_ms(10);
    return rendezvous_stop_asked(rendezvous) ? 0 : (fail)(err, ERR_BUG, "it did not hear of the stop");
}

TEST_WITH(a_stop_asked_of_one_reaches_all, set_up, NULL)
{
    for (victim = 0; victim < 3; victim += 2) {
        set_up(NULL);
        start_all(3, file_name, ask_stop);
        all_are(0);
        for (unsigned i = 0; i < 3; i++)
            assert_true(shared->seconds[i] < 1);
    }
}

static int hang(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    (void)err;
    sleep_ms(200);
    if (rank == victim)
        raise(SIGKILL);
    rendezvous_set_waiting(rendezvous, true);
    sleep_ms(30000);
    return 0;
}

TEST_WITH(who_takes_no_note_is_ended, set_up, NULL)
{
    victim = 1;
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct rendezvous_options options = options_of(rank, 3, file_name);
        options.leave_timeout = 1;
        start_with(options, hang);
    }
    join();
    assert_int_equal(shared->codes[0], ERR_PEER);
    assert_int_equal(shared->codes[2], ERR_PEER);
}

static int leave_early(struct rendezvous *rendezvous, uint32_t rank, struct error *err)
{
    if (rank == 1) {
        sleep_ms(victim ? 0 : 400); /* before or after the others contribute */
        return 0;
    }
    sleep_ms(victim ? 400 : 0);
    return exchange_some(rendezvous, rank, 0, err);
}

TEST_WITH(who_left_is_not_waited_for, set_up, NULL)
{
    for (victim = 0; victim < 2; victim++) {
        set_up(NULL);
        start_all(3, file_name, leave_early);
        join();
        assert_int_equal(shared->codes[0], ERR_PEER);
        assert_int_equal(shared->codes[1], 0);
        assert_int_equal(shared->codes[2], ERR_PEER);
        says(0, "has left");
    }
}

/* --------------------------------------------------------------------------------------------------- pure functions */

TEST(who_waits_is_not_to_blame)
{
    struct error err;
    uint32_t who;
    struct peer peers[3];
    for (uint32_t i = 0; i < 3; i++)
        peers[i] =
            (struct peer){.rank = i, .here = true, .host = "h", .heard = 100, .report = {.begun = true, .place = "p"}};
    /* All make progress. Then none does and none waits: a long computation. */
    assert_int_equal(detect_failure(peers, 3, 101, 60, &who, &err), 0);
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), 0);
    peers[2].report.waits = true;
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), -1);
    assert_int_equal(who, 0);
    peers[0].moved = 99;
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), -1);
    assert_int_equal(who, 1);
    peers[1].here = false; /* it left */
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), 0);
    peers[0].moved = 0;
    peers[0].report.waits = true;
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), -1);
    assert_int_equal(who, NOBODY);
    assert_non_null(strstr(err.text, "for each other"));
    assert_int_equal(detect_failure(peers, 3, 100, 0, &who, &err), 0); /* 0: never */
    peers[2].heard = 40;                                               /* silent; it waited when it was last heard */
    assert_int_equal(detect_failure(peers, 3, 100, 60, &who, &err), -1);
    assert_int_equal(who, 2);
    assert_non_null(strstr(err.text, "has said nothing for 60 s"));
    assert_non_null(strstr(err.text, "; rank 0 waits in p"));
    assert_null(strstr(err.text, "rank 2 waits"));
}

TEST(four_that_wait_are_named)
{
    struct error err;
    uint32_t who;
    struct peer peers[6];
    for (uint32_t i = 0; i < 6; i++)
        peers[i] = (struct peer){.rank = i,
                                 .here = true,
                                 .host = "h",
                                 .heard = 100,
                                 .report = {.begun = true, .place = "p", .waits = i > 0}};
    assert_int_equal(detect_failure(peers, 6, 100, 60, &who, &err), -1);
    assert_int_equal(who, 0);
    assert_non_null(strstr(err.text, ", rank 4 waits in p, and others"));
    peers[5].report.waits = false;
    assert_int_equal(detect_failure(peers, 6, 100, 60, &who, &err), -1);
    assert_null(strstr(err.text, "others"));
}

/* A socket that connects to a port of its own range may get that port, and then is its own other end. Linux tries the
 * ports in turn, so that one of this many does. */
TEST(a_process_does_not_meet_itself)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct addresses addresses = {.count = 1, .size = {sizeof at}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    uint16_t port = 40000; /* Linux prefers even ports for connections; the loop finds one that is free */
    do
        at.sin_port = htons(port += 2);
    while (bind(fd, (const struct sockaddr *)&at, sizeof at) < 0);
    close(fd);
    memcpy(&addresses.at[0], &at, sizeof at);
    for (unsigned i = 0; i < 30000; i++)
        assert_int_equal(endpoint_connect(&addresses, 0, 1), -1);
}

TEST(missing_ranks_are_ranges)
{
    struct peer peers[9] = {[1].here = true, [3].here = true};
    char text[40], small[6];
    list_missing_peers(peers, 9, text, sizeof text);
    assert_string_equal(text, "0, 2, 4-8");
    list_missing_peers(peers, 9, small, sizeof small);
    assert_true(strlen(small) < sizeof small);
}

TEST(a_value_has_a_key_of_its_size)
{
    SCOPED(buf_release) struct buf frame = {0};
    struct str key, bytes;
    value_write(&frame, STR("a/b"), STR("xy"));
    assert_int_equal(value_read(buf_str(&frame), &key, &bytes), 0);
    assert_true(str_equal(key, STR("a/b")) && str_equal(bytes, STR("xy")));
    for (size_t size = 0; size < frame.size; size++) /* cut in its size, in its key, in its value */
        assert_int_equal(value_read((struct str){frame.data, size}, &key, &bytes), size < frame.size - 2 ? -1 : 0);
    frame.data[sizeof(uint32_t)] = '\0'; /* a key is a word */
    assert_int_equal(value_read(buf_str(&frame), &key, &bytes), -1);
    memset(frame.data, 0, sizeof(uint32_t));
    assert_int_equal(value_read(buf_str(&frame), &key, &bytes), -1);
}

TEST(places_are_read)
{
    static const struct {
        const char *text, *host, *port, *path;
    } good[] = {
        {"node1:29500", "node1", "29500", NULL},
        {"[::1]:1", "::1", "1", NULL},
        {"tcp://a.b:65535", "a.b", "65535", NULL},
        {"file:///shared/f", "", "", "/shared/f"},
        {"/a:b/c", "", "", "/a:b/c"},
        {"./x:12/y", "", "", "./x:12/y"},
        {"name", "", "", "name"},
        {"dir/x:12", "", "", "dir/x:12"},
    };
    static const char *const bad[] = {"",         "host:0",    "host:65536",  "host:", ":29500",     "localhost",
                                      "10.0.0.7", "[::1]:80x", "node1:2950O", "::1",   "host:123456"};
    struct endpoint place;
    struct error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(endpoint_parse(&place, good[i].text, &err), 0);
        assert_string_equal(place.host, good[i].host);
        assert_string_equal(place.port, good[i].port);
        assert_true(!place.path == !good[i].path);
        if (place.path)
            assert_string_equal(place.path, good[i].path);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(endpoint_parse(&place, bad[i], &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
    }
}

#define KEY_DIGITS_BUT_ONE "555555555555555555555555555555555555555555555555555555555555555"
#define KEY_DIGITS         KEY_DIGITS_BUT_ONE "a"
#define KEY_LINE           "key " KEY_DIGITS "\n"

TEST(a_file_of_something_else_is_not_read)
{
    static const char *const bad[] = {
        "",
        "dstrain meeting 2\n",
        "dstrain meeting 2\nkey x\n",
        "dstrain meeting 2\nkey none\n",
        "dstrain meeting 1\n" KEY_LINE,
        "dstrain meeting 2\n" KEY_LINE "at 127.0.0.1\n",
        "dstrain meeting 2\n" KEY_LINE "at 127.0.0.1 port\n",
        "dstrain meeting 2\nkey 5555\n",
        "dstrain meeting 2\nkey " KEY_DIGITS "5\n",
        "dstrain meeting 2\nkey " KEY_DIGITS_BUT_ONE "x\n",
    };
    struct addresses addresses;
    SCOPED(buf_release) struct buf text = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(endpoint_read(str_of(bad[i]), &addresses), -1);
    assert_int_equal(endpoint_read(STR("dstrain meeting 2\n" KEY_LINE "at 127.0.0.1 7\nat ::1 7\n"), &addresses), 0);
    assert_int_equal(addresses.count, 2);
    assert_true(addresses.key.given);
    assert_int_equal(addresses.key.bytes[0], 0x55);
    assert_int_equal(addresses.key.bytes[JOB_KEY_BYTES - 1], 0x5a);
    buf_add_text(&text, "dstrain meeting 2\nkey given\n");
    for (int i = 0; i < 100; i++)
        buf_add_text(&text, "at 127.0.0.1 7\n");
    assert_int_equal(endpoint_read(buf_str(&text), &addresses), 0);
    assert_int_equal(addresses.count, ADDRESSES_MAX);
    assert_false(addresses.key.given);
}

TEST(a_file_of_something_else_is_not_replaced)
{
    char folder[] = "/tmp/meet-XXXXXX";
    assert_non_null(mkdtemp(folder));
    SCOPED(mem_free_at) char *path = path_join(folder, "place");
    const struct endpoint place = {.path = path};
    struct error err;
    SCOPED(buf_release) struct buf there = {0};
    assert_int_equal(file_write_all(path, "precious", 8, &err), 0);
    assert_int_equal(endpoint_publish(&place, STR("dstrain meeting 1\n"), &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(file_read_all(path, 100, &there, &err), 0);
    assert_string_equal(buf_text(&there), "precious");
    assert_int_equal(file_write_all(path, "", 0, &err), 0);
    assert_int_equal(endpoint_publish(&place, STR("dstrain meeting 1\n"), &err), 0);
    assert_int_equal(endpoint_publish(&place, STR("dstrain meeting 2\n" KEY_LINE), &err), 0); /* a stale one */
    assert_int_equal(path_remove(path, &err), 0);
    assert_int_equal(path_remove(folder, &err), 0);
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    assert_non_null(mkdtemp(directory));
    snprintf(file_name, sizeof file_name, "%s/place", directory);
    const int result = unit_run();
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0 ? result : 1;
}
