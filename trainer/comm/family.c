#include "trainer/comm/family.h"

#include "base/faults.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/listen.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds from the first error until children that still run are asked to stop, and until they are killed: sooner where
 * a process was lost, because the others then leave by themselves, but the lost one may never. */
#define ASK_SECONDS  fault_wait(5.0)
#define KILL_SECONDS 75.0
#define LOST_SECONDS fault_wait(10.0)

static void become_silent(void)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        _exit(ERR_RESOURCE);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
}

/* In the child: becomes a rank. */
static void become(const struct family *family, uint32_t i, pid_t parent, char **argv)
{
    struct launch launch = family->launch;
    char text[LAUNCH_CHILD_BYTES], fds[48];
    struct error err;
    launch.rank += i;
    launch.local_rank = i;
    launch.local_size = launch.children;
    if (launch.rank > 0)
        launch.listener = -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before prctl */
        _exit(ERR_PEER);
    if (launch_key_write(&launch) < 0)
        _exit(ERR_RESOURCE);
    launch_child_text(&launch, text);
    snprintf(fds, sizeof fds, "%d %d %" PRIu32, family->errors[1], family->board.fd, i);
    setenv(LAUNCH_CHILD_VARIABLE, text, 1);
    setenv(FAMILY_VARIABLE, fds, 1);
    fcntl(family->errors[1], F_SETFD, 0);
    if (family->board.fd >= 0)
        fcntl(family->board.fd, F_SETFD, 0);
    if (launch.listener >= 0)
        fcntl(launch.listener, F_SETFD, 0);
    if (launch.rank > 0)
        become_silent();
    sigprocmask(SIG_SETMASK, &family->before, NULL);
    execv("/proc/self/exe", argv);
    error_report_to(family->errors[1], launch.rank);
    fail_errno(&err, "/proc/self/exe", "cannot be started");
    err.kind = ERR_RESOURCE;
    _exit(error_print(&err, "", 0));
}

static void signal_all(const struct family *family, int number, int count)
{
    for (uint32_t i = 0; i < family->launch.children; i++)
        if (family->children[i].pid > 0)
            sigqueue(family->children[i].pid, number, (union sigval){.sival_int = count});
}

static int start_all(struct family *family, char **argv, struct error *err)
{
    const pid_t parent = getpid();
    fflush(NULL);
    for (uint32_t i = 0; i < family->launch.children; i++) {
        const pid_t pid = fork();
        if (pid == 0)
            become(family, i, parent, argv);
        if (pid < 0) {
            fail_errno(err, "", "process %u of %u cannot be started", i, family->launch.children);
            signal_all(family, SIGKILL, 0);
            return -1;
        }
        family->children[i].pid = pid;
        family->alive++;
    }
    return 0;
}

/* How much an error says about why the run ended: a process's own error most, then the loss of another, then a stop. Of
 * equal ones, that of the lower rank counts. */
static int weight(const struct error *err)
{
    return err->kind == ERR_STOPPED ? 0 : err->kind == ERR_PEER ? 1 : 2;
}

static void read_errors(struct family *family)
{
    struct error_report report;
    while (read(family->errors[0], &report, sizeof report) == sizeof report)
        if (!family->has_error || weight(&report.error) > weight(&family->error) ||
            (weight(&report.error) == weight(&family->error) && report.who < family->who)) {
            family->error = report.error;
            family->who = report.who;
            family->has_error = true;
        }
}

static bool is_stop(int number)
{
    for (size_t i = 0; i < STOP_SIGNALS; i++)
        if (stop_signals[i] == number)
            return true;
    return false;
}

static void reap(struct family *family)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (uint32_t i = 0; i < family->launch.children; i++) {
            struct child *child = &family->children[i];
            if (child->pid != pid)
                continue;
            *child = (struct child){.status = status};
            family->alive--;
            if (WIFSIGNALED(status) && !family->has_lost && !family->ending) {
                family->has_lost = true;
                family->lost = family->launch.rank + i;
                family->lost_by = WTERMSIG(status);
            }
            if (status != 0 && family->failed <= 0)
                family->failed = clock_now();
        }
}

void family_signals(struct family *family)
{
    struct signalfd_siginfo info;
    while (read(family->signals, &info, sizeof info) == sizeof info)
        if (is_stop((int)info.ssi_signo))
            signal_all(family, (int)info.ssi_signo, ++family->asked + family->ending);
    reap(family); /* several ended children may cause one SIGCHLD */
}

/* Ends the children that the rendezvous does not reach, because they wait for a process that will not come. A stop
 * takes as long as a checkpoint: nobody is killed for that. */
static void end_the_rest(struct family *family)
{
    const double since = family->failed > 0 ? clock_now() - family->failed : 0;
    if (since > ASK_SECONDS && family->asked == 0 && !family->ending) {
        family->ending = true;
        signal_all(family, SIGTERM, 1);
    }
    const enum error_kind kind = family->has_error ? family->error.kind : ERR_NONE;
    if (kind == ERR_STOPPED || since <= (kind == ERR_PEER ? LOST_SECONDS : KILL_SECONDS))
        return;
    family->ending = true;
    signal_all(family, SIGKILL, 0);
}

static int outcome(const struct family *family, struct error *err)
{
    const bool stopped_by_us = family->has_error && family->error.kind == ERR_STOPPED && family->asked == 0;
    if (family->has_error && !(stopped_by_us && family->has_lost)) {
        *err = family->error;
        const size_t used = strlen(err->text);
        if (family->has_lost && err->kind == ERR_PEER)
            snprintf(err->text + used, sizeof err->text - used, "; rank %u was killed by signal %d (%s)", family->lost,
                     family->lost_by, strsignal(family->lost_by));
        return -1;
    }
    if (family->has_lost && family->asked > 0 && is_stop(family->lost_by))
        return fail(err, ERR_STOPPED, "stopped before the run began");
    if (family->has_lost)
        return fail(err, ERR_PEER, "rank %u was killed by signal %d (%s)", family->lost, family->lost_by,
                    strsignal(family->lost_by));
    for (uint32_t i = 0; i < family->launch.children; i++)
        if (family->children[i].status != 0)
            return WEXITSTATUS(family->children[i].status);
    return 0;
}

static void watch_all(struct family *family)
{
    while (family->alive > 0) {
        struct pollfd wait[] = {{.fd = family->signals, .events = POLLIN}, {.fd = family->errors[0], .events = POLLIN}};
        (void)poll(wait, 2, 500);
        read_errors(family);
        family_signals(family);
        end_the_rest(family);
    }
    read_errors(family);
}

int family_open(struct family *family, const struct launch *launch, struct error *err)
{
    sigset_t watched;
    *family = (struct family){.launch = *launch,
                              .place_given = launch->rendezvous[0] != '\0',
                              .key_given = launch->key.given,
                              .signals = -1,
                              .errors = {-1, -1},
                              .board = {.fd = -1}};
    family->children = mem_clear(launch->children, sizeof *family->children);
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    for (size_t i = 0; i < STOP_SIGNALS; i++)
        if (!stop_is_ignored(stop_signals[i]))
            sigaddset(&watched, stop_signals[i]);
    sigprocmask(SIG_BLOCK, &watched, &family->before);
    family->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (family->signals < 0 || pipe2(family->errors, O_CLOEXEC) < 0 ||
        fcntl(family->errors[0], F_SETFL, O_NONBLOCK) < 0)
        return fail_errno(err, "", "no processes can be started");
    return launch->restarts > 0 ? board_make(&family->board, launch->children, err) : 0;
}

/* Each start has a rendezvous place and a key of its own, so that nothing that is left of the one before can join. */
static int open_place(struct family *family, struct error *err)
{
    if (family->place_given)
        return 0;
    assert(family->launch.rank == 0 && family->launch.size == family->launch.children);
    if (!family->key_given)
        job_key_random(&family->launch.key);
    return listen_here(&family->launch.listener, family->launch.rendezvous, err);
}

static void forget_last_start(struct family *family)
{
    memset(family->children, 0, family->launch.children * sizeof *family->children);
    family->ending = family->has_lost = family->has_error = false;
    family->failed = 0;
}

int family_run(struct family *family, char **argv, struct error *err)
{
    forget_last_start(family);
    int result = open_place(family, err);
    if (result == 0)
        result = start_all(family, argv, err);
    family->whole = result == 0;
    if (family->launch.listener >= 0)
        close(family->launch.listener);
    family->launch.listener = -1;
    watch_all(family);
    if (family->failed > 0)
        log_status_left();
    return result == 0 ? outcome(family, err) : -1;
}

void family_close(struct family *family)
{
    for (int i = 0; i < 2; i++)
        if (family->errors[i] >= 0)
            close(family->errors[i]);
    if (family->signals >= 0)
        close(family->signals);
    board_remove(&family->board);
    sigprocmask(SIG_SETMASK, &family->before, NULL);
    mem_free(family->children);
}
