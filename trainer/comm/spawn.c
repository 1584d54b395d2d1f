#include "trainer/comm/spawn.h"

#include "base/faults.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/family.h"
#include "trainer/comm/restarts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_WAIT 1.0 /* seconds before the first restart */

/* The starts that failed. */
struct past {
    struct failure *failures; /* [launch.restarts + 1] */
    uint64_t count;
};

int spawn_child_open(struct launch *launch, struct error *err)
{
    const char *fds = getenv(FAMILY_VARIABLE);
    int errors, board;
    uint32_t place;
    if (launch->kind != LAUNCH_CHILD || !fds || sscanf(fds, "%d %d %" SCNu32, &errors, &board, &place) != 3)
        return 0;
    error_report_to(errors, launch->rank);
    fcntl(errors, F_SETFD, FD_CLOEXEC);
    if (board >= 0)
        board_take(board, place);
    if (launch->listener >= 0)
        fcntl(launch->listener, F_SETFD, FD_CLOEXEC);
    unsetenv(FAMILY_VARIABLE); /* a program that we start is not a rank */
    unsetenv(LAUNCH_CHILD_VARIABLE);
    if (launch_key_read(launch) < 0)
        return fail(err, ERR_PEER, "the command that started this process gave it no key: %s", strerror(errno));
    return 0;
}

/* Whose failure it is, counted from launch.rank on; one of another machine's processes counts as ours that reported
 * it. */
static uint32_t child_of(const struct family *family, bool lost, const struct error *err)
{
    const uint32_t rank = lost ? family->lost : restarts_rank(err->text, family->who);
    const uint32_t child = rank - family->launch.rank;
    return rank >= family->launch.rank && child < family->launch.children ? child : family->who - family->launch.rank;
}

static struct failure failure_of(const struct family *family, const struct error *err)
{
    const bool lost = family->has_lost && err->kind == ERR_PEER;
    const uint32_t child = child_of(family, lost, err);
    return (struct failure){
        .rank = family->launch.rank + child,
        .step = board_step(&family->board, child),
        .signal = lost ? family->lost_by : 0,
        .kind = err->kind,
        .cause = restarts_cause(err->text),
        .when = time(NULL),
    };
}

static uint64_t saved_step(const struct family *family)
{
    return family->launch.rank == 0 ? board_saved(&family->board) : RESTARTS_UNKNOWN;
}

/* Says what happened (*err, described by `what`), and waits. ERR_STOPPED: a signal came meanwhile. */
static int wait_for_next(struct family *family, uint64_t number, const char *what, struct error *err)
{
    const uint64_t saved = saved_step(family);
    const double wait = restarts_wait(number, fault_restart_seconds(FIRST_WAIT)), until = clock_now() + wait;
    const uint32_t children = family->launch.children;
    char from[RESTARTS_FROM];
    log_warn("%s%s%s; %" PRIu32 " process%s will start again in %.3g s, from %s (restart %" PRIu64 " of %" PRIu64 ")",
             err->file, err->file[0] ? ": " : "", what, children, children == 1 ? "" : "es", wait,
             restarts_from(saved, from), number, family->launch.restarts);
    for (double left; family->asked == 0 && (left = until - clock_now()) > 0;) {
        (void)poll(&(struct pollfd){.fd = family->signals, .events = POLLIN}, 1, (int)(left * 1000) + 1);
        family_signals(family);
    }
    if (family->asked == 0)
        return 0;
    fail(err, ERR_STOPPED, "stopped on request, before restart %" PRIu64 "; %.300s", number, what);
    return hint(err, "the same command continues from %s", restarts_from(saved, from));
}

/* After a start that failed with *err: whether there is another one, for which it has waited. */
static bool goes_on(struct family *family, struct past *past, struct error *err)
{
    if (family->launch.restarts == 0 || !family->whole || family->asked > 0)
        return false;
    if (!restarts_mend(err))
        return false;
    const struct failure now = failure_of(family, err);
    SCOPED(buf_release) struct buf what = {0};
    const struct failure *same = restarts_same(past->failures, past->count, &now);
    restarts_describe(&now, err, &what);
    bool again = !same && past->count < family->launch.restarts;
    if (again) {
        past->failures[past->count++] = now;
        again = wait_for_next(family, past->count, buf_text(&what), err) == 0;
    } else {
        restarts_give_up(same, &now, family->launch.restarts, saved_step(family), buf_text(&what), err);
    }
    if (again)
        board_next(&family->board, buf_text(&what));
    return again;
}

int spawn_run(const struct launch *launch, char **argv, struct error *err)
{
    struct family family;
    struct past past = {.failures = mem_clear(launch->restarts + 1, sizeof *past.failures)};
    int result = family_open(&family, launch, err);
    if (result == 0)
        do
            result = family_run(&family, argv, err);
        while (result < 0 && goes_on(&family, &past, err));
    family_close(&family);
    mem_free(past.failures);
    return result;
}
