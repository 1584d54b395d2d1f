/* The parent of --processes N. The test program starts itself; as a child it runs the action named by its first
 * argument. */
// labels: threads
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "trainer/comm/meet.h"
#include "trainer/comm/spawn.h"

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------------------ as a child */

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Reports that it is ready, and continues until a signal comes; a second one ends it. */
static int until_stopped(struct error *err)
{
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < 3000 && !stop_requested(); i++)
        sleep_ms(10);
    sleep_ms(500);
    return (fail)(err, ERR_STOPPED, "stopped on request");
}

static int do_child(const struct launch *launch, const char *what, uint32_t victim, struct error *err)
{
    const struct meet_options options = {.rank = launch->rank,
                                         .size = launch->size,
                                         .rendezvous = launch->rendezvous,
                                         .listener = launch->listener,
                                         .key = &launch->key};
    struct meet *meet;
    struct meet_blocks blocks;
    stop_on_signals();
    if (is(what, "early") && launch->rank == victim)
        return (fail)(err, ERR_USAGE, "nothing is right");
    if (is(what, "early kill") && launch->rank == victim)
        raise(SIGKILL);
    int result = meet_open(&meet, &options, err);
    if (result < 0)
        return -1;
    if (is(what, "stop"))
        result = until_stopped(err);
    else if (launch->rank != victim)
        result = meet_exchange(meet, str_of("block"), &blocks, err);
    else if (is(what, "fail"))
        result = ((fail)(err, ERR_RESOURCE, "the disk is full"), meet_fail(meet, err));
    else if (is(what, "kill"))
        raise(SIGKILL);
    else
        result = (fail)(err, ERR_BUG, "what is %s?", what);
    if (result == 0) {
        printf("rank %u of %u, local %u of %u\n", launch->rank, launch->size, launch->local_rank, launch->local_size);
        meet_blocks_release(&blocks);
    }
    meet_close(meet);
    return result;
}

static int child_main(char **argv)
{
    struct launch launch;
    struct error err = {0};
    const struct launch_flags flags = {0};
    signal(SIGPIPE, SIG_IGN);
    alarm(60);
    int result = launch_find(&launch, &flags, (struct environment){0}, &err);
    if (result == 0)
        result = spawn_child_open(&launch, &err);
    if (result == 0)
        result = do_child(&launch, argv[1], (uint32_t)atoi(argv[2]), &err);
    return result < 0 ? error_print(&err, "child", 0) : 0;
}

/* ----------------------------------------------------------------------------------------------------- as a parent */

struct parent {
    pid_t pid;
    int out, err; /* stdout and stderr of all of them */
};

static void start(struct parent *parent, struct launch launch, const char *what, uint32_t victim)
{
    int out[2], err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    fflush(NULL);
    parent->pid = fork();
    assert_true(parent->pid >= 0);
    if (parent->pid == 0) {
        char rank[16];
        struct error error = {0};
        char *argv[] = {(char *)"program", (char *)what, rank, NULL};
        snprintf(rank, sizeof rank, "%u", victim);
        setpgid(0, 0); /* so that a signal can be sent to all of them */
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        alarm(60);
        const int result = spawn_run(&launch, argv, &error);
        _exit(result < 0 ? error_print(&error, "program", 0) : result);
    }
    close(out[1]);
    close(err[1]);
    parent->out = out[0];
    parent->err = err[0];
}

static void read_text(int fd, char text[4096])
{
    size_t used = 0;
    for (ssize_t got; used < 4095 && (got = read(fd, text + used, 4095 - used)) > 0;)
        used += (size_t)got;
    text[used] = '\0';
    close(fd);
}

struct outcome {
    int code; /* or 128 + signal */
    char out[4096], err[4096];
};

static void finish(struct parent *parent, struct outcome *outcome)
{
    int status;
    assert_int_equal(waitpid(parent->pid, &status, 0), parent->pid);
    outcome->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_text(parent->out, outcome->out);
    read_text(parent->err, outcome->err);
}

static void run(struct launch launch, const char *what, uint32_t victim, struct outcome *outcome)
{
    struct parent parent;
    start(&parent, launch, what, victim);
    finish(&parent, outcome);
}

static struct launch ranks(uint32_t count)
{
    return (struct launch){.kind = LAUNCH_COMMAND, .size = count, .children = count, .listener = -1};
}

static void says_once(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at || strstr(at + 1, words))
        fail_msg("\"%s\" should hold \"%s\" once", text, words);
}

static void children_are_ranks_that_meet(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 5; count += 2) {
        struct outcome outcome;
        char words[80];
        run(ranks(count), "work", UINT32_MAX / 2, &outcome);
        snprintf(words, sizeof words, "rank 0 of %u, local 0 of %u\n", count, count);
        assert_string_equal(outcome.err, "");
        assert_string_equal(outcome.out, words); /* the others are silent */
        assert_int_equal(outcome.code, 0);
    }
}

/* Two commands with two processes each meet at one FILE. */
static void commands_of_several_machines_meet(void **state)
{
    (void)state;
    struct parent parents[2];
    struct outcome outcomes[2];
    char place[] = "spawn_test.XXXXXX";
    const int fd = mkstemp(place);
    assert_true(fd >= 0);
    close(fd);
    for (uint32_t i = 0; i < 2; i++) {
        struct launch launch = {.kind = LAUNCH_COMMAND, .rank = 2 * i, .size = 4, .children = 2, .listener = -1};
        strcpy(launch.rendezvous, place);
        start(&parents[i], launch, "work", UINT32_MAX / 2);
    }
    for (unsigned i = 0; i < 2; i++) {
        finish(&parents[i], &outcomes[i]);
        assert_string_equal(outcomes[i].err, "");
        assert_int_equal(outcomes[i].code, 0);
    }
    assert_string_equal(outcomes[0].out, "rank 0 of 4, local 0 of 2\n");
    assert_string_equal(outcomes[1].out, "");
    assert_int_not_equal(access(place, F_OK), 0);
}

static void the_first_error_is_shown_once(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        run(ranks(4), "fail", victim, &outcome);
        assert_int_equal(outcome.code, ERR_RESOURCE);
        says_once(outcome.err, "program: rank");
        says_once(outcome.err, "the disk is full");
    }
}

static void a_killed_child_is_named(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        char words[80];
        run(ranks(3), "kill", victim, &outcome);
        assert_int_equal(outcome.code, ERR_PEER);
        snprintf(words, sizeof words, "program: rank %u (", victim);
        says_once(outcome.err, words);
        snprintf(words, sizeof words, "rank %u was ended by signal 9", victim);
        says_once(outcome.err, words);
    }
    struct outcome outcome;
    run(ranks(1), "kill", 0, &outcome); /* there is no other process to report it */
    assert_int_equal(outcome.code, ERR_PEER);
    says_once(outcome.err, "rank 0 was ended by signal 9");
}

/* The other processes are still waiting to meet. */
static void who_fails_before_the_meeting_ends_it(void **state)
{
    (void)state;
    struct outcome outcome;
    const double from = clock_now();
    run(ranks(3), "early", 2, &outcome);
    assert_int_equal(outcome.code, ERR_USAGE);
    says_once(outcome.err, "program: nothing is right");
    assert_true(clock_now() - from < 20);
}

/* No process has joined the meeting yet. The others are asked to stop, which does not count as a stop of the run. */
static void who_is_killed_before_the_meeting_is_named(void **state)
{
    (void)state;
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        char words[80];
        run(ranks(3), "early kill", victim, &outcome);
        snprintf(words, sizeof words, "program: rank %u was ended by signal 9", victim);
        says_once(outcome.err, words);
        assert_int_equal(outcome.code, ERR_PEER);
    }
}

static void await_ready(const struct parent *parent)
{
    char text[8];
    assert_int_equal(read(parent->out, text, 6), 6); /* then all have met */
    sleep_ms(200);
}

static void a_stop_is_handed_on(void **state)
{
    (void)state;
    const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t i = 0; i < 3; i++) {
        struct parent parent;
        struct outcome outcome;
        start(&parent, ranks(3), "stop", 0);
        await_ready(&parent);
        kill(parent.pid, numbers[i]);
        finish(&parent, &outcome);
        assert_int_equal(outcome.code, ERR_STOPPED);
        says_once(outcome.err, "stopped on request");
    }
}

/* A signal to the whole group, as from a terminal or Slurm, is one request and not a second one that ends processes at
 * once. */
static void a_signal_to_all_counts_once(void **state)
{
    (void)state;
    struct parent parent;
    struct outcome outcome;
    start(&parent, ranks(3), "stop", 0);
    await_ready(&parent);
    kill(-parent.pid, SIGTERM);
    finish(&parent, &outcome);
    assert_int_equal(outcome.code, ERR_STOPPED);
    says_once(outcome.err, "stopped on request");
}

static void a_second_signal_leaves_at_once(void **state)
{
    (void)state;
    struct parent parent;
    struct outcome outcome;
    start(&parent, ranks(2), "stop", 0);
    await_ready(&parent);
    kill(parent.pid, SIGTERM);
    sleep_ms(100);
    kill(parent.pid, SIGTERM);
    finish(&parent, &outcome);
    assert_int_equal(outcome.code, ERR_STOPPED);
    assert_string_equal(outcome.err, ""); /* no process had time to report it */
}

static void children_die_with_their_parent(void **state)
{
    (void)state;
    struct parent parent;
    struct outcome outcome;
    start(&parent, ranks(3), "stop", 0);
    await_ready(&parent);
    const double from = clock_now();
    kill(parent.pid, SIGKILL);
    finish(&parent, &outcome); /* reads until the last of them has closed its end */
    assert_int_equal(outcome.code, 128 + SIGKILL);
    assert_true(clock_now() - from < 10);
}

int main(int argc, char **argv)
{
    if (argc > 1 && getenv(LAUNCH_CHILD_VARIABLE))
        return child_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_ranks_that_meet),
        cmocka_unit_test(commands_of_several_machines_meet),
        cmocka_unit_test(the_first_error_is_shown_once),
        cmocka_unit_test(a_killed_child_is_named),
        cmocka_unit_test(who_fails_before_the_meeting_ends_it),
        cmocka_unit_test(who_is_killed_before_the_meeting_is_named),
        cmocka_unit_test(a_stop_is_handed_on),
        cmocka_unit_test(a_signal_to_all_counts_once),
        cmocka_unit_test(a_second_signal_leaves_at_once),
        cmocka_unit_test(children_die_with_their_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
