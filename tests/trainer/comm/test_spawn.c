/* The parent of --processes N. The test program starts itself; as a child it runs the action named by its first
 * argument. */
// labels: threads

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/progress.h"
#include "tests/unit.h"
#include "trainer/comm/board.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/comm/spawn.h"
#include "tests/needs_faults.h"

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

/* What the victim does, as a line of the plan for each start: "s9@5" a signal in step 5, "e7@5" an error of that kind,
 * "x77@0" an exit code without an error, "f@5" a full disk, "stop" until it is stopped, "dies …" until then, and by
 * SIGKILL, "ok" nothing. */
static int follow_plan(const char *plan, struct rendezvous *rendezvous, struct error *err)
{
    const struct board_start *start = board_start();
    for (uint32_t i = 0; start && i < start->number; i++)
        plan = strchr(plan, ' ') ? strchr(plan, ' ') + 1 : "ok";
    const int number = atoi(plan + 1);
    const char *at = strchr(plan, '@');
    if (at)
        rendezvous_progress(rendezvous, strtoull(at + 1, NULL, 10), "a place");
    switch (plan[0]) {
    case 's':
        if (plan[1] == 't')
            return until_stopped(err);
        raise(number);
        return 0;
    case 'd':
        until_stopped(err);
        raise(SIGKILL);
        return 0;
    case 'e':
        return (fail)(err, (enum error_kind)number, "the reason, after %d s", (int)getpid());
    case 'x':
        _exit(number);
    case 'f':
        errno = ENOSPC;
        return fail_errno(err, "file", "cannot be written");
    default:
        return 0;
    }
}

static int all_meet(const struct launch *launch, struct rendezvous *rendezvous, struct error *err)
{
    struct rendezvous_blocks blocks = {0};
    const int result = launch->size > 1 ? rendezvous_all_gather(rendezvous, str_of("block"), &blocks, err) : 0;
    rendezvous_blocks_release(&blocks);
    return result;
}

/* Rank 0 says which start this is; then the victim follows its plan, while the others wait for it. */
static int planned(const struct launch *launch, const char *plan, uint32_t victim, struct rendezvous *rendezvous,
                   struct error *err)
{
    if (launch->rank == 0) {
        printf("start %u%s\n", board_start() ? board_start()->number : 0,
               board_start() && board_start()->after[0] ? " after" : "");
        board_save(40);
        fflush(stdout);
    }
    if (all_meet(launch, rendezvous, err) < 0)
        return -1;
    if (launch->rank == victim && follow_plan(plan, rendezvous, err) < 0)
        return err->kind == ERR_STOPPED || !rendezvous ? -1 : rendezvous_fail(rendezvous, err);
    return all_meet(launch, rendezvous, err);
}

static int do_child(const struct launch *launch, const char *what, uint32_t victim, struct error *err)
{
    const struct rendezvous_options options = {.rank = launch->rank,
                                               .size = launch->size,
                                               .endpoint = launch->rendezvous,
                                               .listener = launch->listener,
                                               .key = &launch->key};
    struct rendezvous *rendezvous;
    struct rendezvous_blocks blocks;
    stop_on_signals();
    if (is(what, "early") && launch->rank == victim)
        return (fail)(err, ERR_USAGE, "nothing is right");
    if (is(what, "early kill") && launch->rank == victim)
        raise(SIGKILL);
    int result = rendezvous_open(&rendezvous, &options, err);
    if (result < 0)
        return -1;
    if (is(what, "stop"))
        result = until_stopped(err);
    else if (strncmp(what, "plan ", 5) == 0) {
        result = planned(launch, what + 5, victim, rendezvous, err);
        rendezvous_close(rendezvous);
        return result;
    } else if (launch->rank != victim)
        result = rendezvous_all_gather(rendezvous, str_of("block"), &blocks, err);
    else if (is(what, "fail"))
        result = ((fail)(err, ERR_RESOURCE, "the disk is full"), rendezvous_fail(rendezvous, err));
    else if (is(what, "kill"))
        raise(SIGKILL);
    else
        result = (fail)(err, ERR_BUG, "what is %s?", what);
    if (result == 0) {
        printf("rank %u of %u, local %u of %u\n", launch->rank, launch->size, launch->local_rank, launch->local_size);
        rendezvous_blocks_release(&blocks);
    }
    rendezvous_close(rendezvous);
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

TEST(children_are_ranks_that_meet)
{
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

/* Two commands with two processes each, which meet at one FILE, and succeed. */
static void run_two(uint64_t restarts, const char *what, uint32_t victim, struct outcome outcomes[2])
{
    struct parent parents[2];
    char place[] = "spawn_test.XXXXXX";
    const int fd = mkstemp(place);
    assert_true(fd >= 0);
    close(fd);
    for (uint32_t i = 0; i < 2; i++) {
        struct launch launch = {
            .kind = LAUNCH_COMMAND, .rank = 2 * i, .size = 4, .children = 2, .listener = -1, .restarts = restarts};
        strcpy(launch.rendezvous, place);
        start(&parents[i], launch, what, victim);
    }
    for (unsigned i = 0; i < 2; i++) {
        finish(&parents[i], &outcomes[i]);
        assert_int_equal(outcomes[i].code, 0);
    }
    assert_int_not_equal(access(place, F_OK), 0);
}

TEST(commands_of_several_machines_meet)
{
    struct outcome outcomes[2];
    run_two(0, "work", UINT32_MAX / 2, outcomes);
    for (unsigned i = 0; i < 2; i++)
        assert_string_equal(outcomes[i].err, "");
    assert_string_equal(outcomes[0].out, "rank 0 of 4, local 0 of 2\n");
    assert_string_equal(outcomes[1].out, "");
}

TEST(the_first_error_is_shown_once)
{
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        run(ranks(4), "fail", victim, &outcome);
        assert_int_equal(outcome.code, ERR_RESOURCE);
        says_once(outcome.err, "program: rank");
        says_once(outcome.err, "the disk is full");
    }
}

TEST(a_killed_child_is_named)
{
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        char words[80];
        run(ranks(3), "kill", victim, &outcome);
        assert_int_equal(outcome.code, ERR_PEER);
        snprintf(words, sizeof words, "program: rank %u (", victim);
        says_once(outcome.err, words);
        snprintf(words, sizeof words, "rank %u was killed by signal 9", victim);
        says_once(outcome.err, words);
    }
    struct outcome outcome;
    run(ranks(1), "kill", 0, &outcome); /* there is no other process to report it */
    assert_int_equal(outcome.code, ERR_PEER);
    says_once(outcome.err, "rank 0 was killed by signal 9");
}

/* The other processes are still waiting to meet. */
TEST(who_fails_before_the_rendezvous_ends_it)
{
    struct outcome outcome;
    const double from = clock_now();
    setenv("DS_WAITS", "0.2", 1);
    run(ranks(3), "early", 2, &outcome);
    unsetenv("DS_WAITS");
    assert_int_equal(outcome.code, ERR_USAGE);
    says_once(outcome.err, "program: nothing is right");
    assert_true(clock_now() - from < 20);
}

/* No process has joined the rendezvous yet. The others are asked to stop, which does not count as a stop of the run. */
TEST(who_is_killed_before_the_rendezvous_is_named)
{
    setenv("DS_WAITS", "0.2", 1); /* the others are asked to leave after a second */
    for (uint32_t victim = 0; victim < 3; victim += 2) {
        struct outcome outcome;
        char words[80];
        run(ranks(3), "early kill", victim, &outcome);
        snprintf(words, sizeof words, "program: rank %u was killed by signal 9", victim);
        says_once(outcome.err, words);
        assert_int_equal(outcome.code, ERR_PEER);
    }
    unsetenv("DS_WAITS");
}

static void await_ready(const struct parent *parent)
{
    char text[8];
    assert_int_equal(read(parent->out, text, 6), 6); /* then all have met */
    sleep_ms(200);
}

/* A run that waits, and gets a signal once all have met: the parent alone, or with `all` the whole group, as from a
 * terminal or Slurm. */
static void stop(uint32_t count, int number, bool all, struct outcome *outcome)
{
    struct parent parent;
    start(&parent, ranks(count), "stop", 0);
    await_ready(&parent);
    kill(all ? -parent.pid : parent.pid, number);
    finish(&parent, outcome);
}

TEST(a_stop_is_handed_on)
{
    const int numbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome;
        stop(3, numbers[i], false, &outcome);
        assert_int_equal(outcome.code, ERR_STOPPED);
        says_once(outcome.err, "stopped on request");
    }
}

/* It is one request and not a second one that ends processes at once. */
TEST(a_signal_to_all_counts_once)
{
    struct outcome outcome;
    stop(3, SIGTERM, true, &outcome);
    assert_int_equal(outcome.code, ERR_STOPPED);
    says_once(outcome.err, "stopped on request");
}

TEST(a_second_signal_leaves_at_once)
{
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

static struct launch ranks_again(uint32_t count, uint64_t restarts)
{
    struct launch launch = ranks(count);
    launch.restarts = restarts;
    return launch;
}

/* Every way in which a child can end, the exit code of its parent, and how often it starts its children. */
TEST(the_parent_ends_as_its_children_did)
{
    const struct {
        const char *plan;
        uint64_t restarts;
        int code;
        unsigned starts;
        const char *says;
    } cases[] = {
        {"ok", 3, 0, 1, ""},
        {"s9@5 ok", 0, 9, 1, "was killed by signal 9 (Killed)"},
        {"s9@5 ok", 3, 0, 2, "will start again in 0.01 s, from step 40 (restart 1 of 3)"},
        {"s6@0 ok", 3, 0, 2, "before the first step: rank 1 was killed by signal 6"},
        {"s9@5 s9@6 s6@6 ok", 3, 0, 4, "(restart 3 of 3)"},
        {"s9@5 s9@6 ok", 1, 9, 2, "again 1 time"},
        {"s9@5 s9@5 ok", 3, 9, 2, "failed twice in the same way"},
        {"s9@5 s9@6 s9@5 ok", 3, 9, 3, "in step 5: rank 1 was killed"},
        {"s9@5 s9 ok", 3, 0, 3, "before the first step: rank 1 was killed"},
        {"e9@4 ok", 3, 0, 2, "in step 4: "},
        {"e9@4 e9@4 ok", 3, 9, 2, "failed twice"},
        {"e7@4 ok", 3, 0, 2, "the reason"},
        {"e7@4 e7@4 ok", 3, 7, 2, "failed twice"},
        {"e7@4 s9@4 ok", 3, 0, 3, "(restart 2 of 3)"},
        {"f@4 ok", 3, 7, 1, "No space left"},
        {"e1@1", 3, 1, 1, "the reason"},
        {"e2@1", 3, 2, 1, "the reason"},
        {"e3@1", 3, 3, 1, "the reason"},
        {"e4@1", 3, 4, 1, "the reason"},
        {"e5@1", 3, 5, 1, "the reason"},
        {"e6@1", 3, 6, 1, "the reason"},
        {"e8@1", 3, 8, 1, "the reason"},
        {"e10@1", 3, 10, 1, "the reason"},
        {"s9@5 e3@5", 3, 3, 2, "the reason"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome;
        char plan[64];
        unsigned starts = 0;
        snprintf(plan, sizeof plan, "plan %s", cases[i].plan);
        run(ranks_again(2, cases[i].restarts), plan, 1, &outcome);
        for (const char *at = outcome.out; (at = strstr(at, "start ")); at++)
            starts++;
        if (outcome.code != cases[i].code || starts != cases[i].starts || !strstr(outcome.err, cases[i].says))
            fail_msg("%s: exit %d, %u starts, %s", cases[i].plan, outcome.code, starts, outcome.err);
    }
}

/* One process, which no other would miss. */
TEST(a_single_child_is_started_again)
{
    const struct {
        const char *plan;
        int code;
        const char *out;
    } cases[] = {
        {"plan s9@5 ok", 0, "start 0\nstart 1 after\n"},
        {"plan x77@1", 77, "start 0\n"},
        {"plan s9@5 x77@1", 77, "start 0\nstart 1 after\n"},
        {"plan e75@5", 75, "start 0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome;
        run(ranks_again(1, 3), cases[i].plan, 0, &outcome);
        assert_string_equal(outcome.out, cases[i].out);
        assert_int_equal(outcome.code, cases[i].code);
    }
}

/* A rank of the second command is lost: both start theirs again, and all meet a second time. */
TEST(commands_of_several_machines_start_again)
{
    struct outcome outcomes[2];
    run_two(3, "plan s9@5 ok", 3, outcomes);
    assert_string_equal(outcomes[0].out, "start 0\nstart 1 after\n");
    says_once(outcomes[0].err, "from step 40 (restart 1 of 3)");
    says_once(outcomes[1].err,
              "rank 3 was killed by signal 9 (Killed); 2 processes will start again in 0.01 s, from the "
              "last checkpoint (restart 1 of 3)");
}

TEST(a_stop_ends_the_wait)
{
    struct parent parent;
    struct outcome outcome;
    char text[4096];
    size_t used = 0;
    setenv("DS_RESTART_SECONDS", "1000", 1); /* the most is a minute, after which alarm() would have ended it */
    start(&parent, ranks_again(2, 3), "plan s9@5 ok", 1);
    setenv("DS_RESTART_SECONDS", "0.01", 1);
    for (text[0] = '\0'; !strstr(text, "(restart 1 of 3)"); text[used] = '\0') {
        const ssize_t got = read(parent.err, text + used, sizeof text - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
    }
    kill(parent.pid, SIGTERM);
    finish(&parent, &outcome);
    assert_int_equal(outcome.code, ERR_STOPPED);
    says_once(outcome.err, "stopped on request, before restart 1");
    says_once(outcome.err, "continues from step 40");
    assert_string_equal(outcome.out, "start 0\n");
}

/* What is lost while all stop is not started again: the user wants an end. */
TEST(a_loss_after_a_stop_is_an_end)
{
    struct parent parent;
    struct outcome outcome;
    start(&parent, ranks_again(3, 3), "plan dies when it is asked to stop", 0);
    char text[16];
    assert_int_equal(read(parent.out, text, 8), 8); /* "start 0\n" */
    await_ready(&parent);
    kill(parent.pid, SIGTERM);
    finish(&parent, &outcome);
    assert_int_equal(outcome.code, ERR_PEER);
    says_once(outcome.err, "rank 0 was killed by signal 9");
    assert_null(strstr(outcome.err, "start again"));
}

TEST(a_stop_of_a_later_start_is_a_stop)
{
    struct parent parent;
    struct outcome outcome;
    char text[64];
    start(&parent, ranks_again(1, 3), "plan s9@5 stop", 0);
    for (size_t used = 0; used < strlen("start 0\nstart 1 after\nready\n");) {
        const ssize_t got = read(parent.out, text, sizeof text);
        assert_true(got > 0);
        used += (size_t)got;
    }
    kill(parent.pid, SIGTERM);
    finish(&parent, &outcome);
    assert_int_equal(outcome.code, ERR_STOPPED);
}

TEST(children_die_with_their_parent)
{
    struct outcome outcome;
    const double from = clock_now();
    stop(3, SIGKILL, false, &outcome); /* reads until the last of them has closed its end */
    assert_int_equal(outcome.code, 128 + SIGKILL);
    assert_true(clock_now() - from < 10);
}

int main(int argc, char **argv)
{
    if (argc > 1 && getenv(LAUNCH_CHILD_VARIABLE))
        return child_main(argv);
    setenv("DS_RESTART_SECONDS", "0.01", 1);
    return unit_run();
}
