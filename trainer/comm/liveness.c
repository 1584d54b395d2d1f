/* Where this process is, as it reports it once a second, and what happens when a process has failed.
 *
 * Every process has one failure, the first that it learns of, and keeps it. What rank 0 finds it tells to all (ABORT).
 * What another process finds by itself it tells rank 0 (FAILED), which passes it on as what that process says. */
#include "trainer/comm/board.h"
#include "trainer/comm/rendezvous_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void rendezvous_progress(struct rendezvous *rendezvous, uint64_t step, const char *place, ...)
{
    va_list args;
    board_move(step);
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    va_start(args, place);
    vsnprintf(rendezvous->report.place, sizeof rendezvous->report.place, place, args);
    va_end(args);
    if (step > 0 && !rendezvous->report.begun) {
        rendezvous->reported = -REPORT_SECONDS; /* report the first step at once, not up to a second late */
        rendezvous_wake(rendezvous);
    }
    rendezvous->report.step = step;
    rendezvous->report.begun = step > 0;
    rendezvous->report.moves++;
    pthread_mutex_unlock(&rendezvous->lock);
    fault_place(rendezvous->options.rank, step, rendezvous->report.place, !board_start() || board_start()->number == 0);
}

void rendezvous_set_waiting(struct rendezvous *rendezvous, bool waits)
{
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    assert(waits || rendezvous->waits > 0);
    rendezvous->waits += waits ? 1u : -1u;
    rendezvous->report.moves++;
    pthread_mutex_unlock(&rendezvous->lock);
}

void rendezvous_set_working(struct rendezvous *rendezvous, bool works)
{
    if (!rendezvous)
        return;
    pthread_mutex_lock(&rendezvous->lock);
    assert(works || rendezvous->works > 0);
    rendezvous->works += works ? 1u : -1u;
    pthread_mutex_unlock(&rendezvous->lock);
}

bool rendezvous_is_due(struct rendezvous *rendezvous)
{
    if (rendezvous->now - rendezvous->reported < REPORT_SECONDS)
        return false;
    rendezvous->reported = rendezvous->now;
    rendezvous->report.waits = rendezvous->waits > 0;
    rendezvous->report.moves += rendezvous->works > 0;
    return true;
}

void rendezvous_take_report(struct rendezvous *rendezvous, struct peer *peer, struct str bytes)
{
    struct rank_report report;
    if (bytes.size != sizeof report)
        return;
    memcpy(&report, bytes.data, sizeof report);
    report.place[PLACE_TEXT - 1] = '\0';
    if (report.moves != peer->report.moves)
        peer->moved = rendezvous->now;
    peer->heard = rendezvous->now;
    peer->report = report;
}

void rendezvous_take_failure(struct rendezvous *rendezvous, const struct rendezvous_failure *failure)
{
    assert(failure->error.kind != ERR_NONE);
    if (rendezvous->failed)
        return;
    rendezvous->failure = *failure;
    rendezvous->failed_since = rendezvous->now;
    rendezvous->failed = true;
    if (rendezvous->leader)
        leader_put_failure_all(rendezvous);
    pthread_cond_broadcast(&rendezvous->changed);
    if (rendezvous->options.failed)
        rendezvous->options.failed(rendezvous->options.failed_context, &rendezvous->failure.error);
}

void rendezvous_declare_failure(struct rendezvous *rendezvous, uint32_t lost, const struct error *err)
{
    rendezvous_take_failure(rendezvous, &(struct rendezvous_failure){.lost = lost, .error = *err});
}

void rendezvous_leave_late(struct rendezvous *rendezvous)
{
    const double patience = rendezvous->options.leave_timeout;
    if (!rendezvous->failed || rendezvous->failure_seen || patience <= 0 ||
        rendezvous->now - rendezvous->failed_since < patience)
        return;
    if (rendezvous_reports_errors(rendezvous))
        error_leave(&rendezvous->failure.error);
    _exit((int)rendezvous->failure.error.kind);
}

int rendezvous_report_failure(struct rendezvous *rendezvous, struct error *err)
{
    assert(rendezvous->failed);
    rendezvous->failure_seen = true;
    *err = rendezvous->failure.error;
    return -1;
}

bool rendezvous_has_failed(const struct rendezvous *rendezvous)
{
    return rendezvous && atomic_load_explicit(&rendezvous->failed, memory_order_relaxed);
}

int rendezvous_failed(struct rendezvous *rendezvous, struct error *err)
{
    if (!rendezvous || !rendezvous->failed)
        return 0;
    pthread_mutex_lock(&rendezvous->lock);
    rendezvous_report_failure(rendezvous, err);
    pthread_mutex_unlock(&rendezvous->lock);
    return -1;
}

/* Puts "rank 2 (node7): " before the text, once. */
static void put_name(const struct rendezvous *rendezvous, struct error *err)
{
    struct error named = *err;
    char name[HOST_TEXT + 32];
    snprintf(name, sizeof name, "rank %u (%s): ", rendezvous->options.rank, rendezvous->host);
    if (str_starts(str_of(err->text), str_of(name)))
        return;
    snprintf(named.text, sizeof named.text, "%s%.400s", name, err->text);
    *err = named;
}

/* Tells rank 0, in one sentence. Of a long path the end is kept. */
static void put_failed(struct rendezvous *rendezvous, const struct error *err)
{
    struct said said = {.stopped = err->kind == ERR_STOPPED};
    char file[160], byte[40] = "";
    const size_t size = strlen(err->file), from = size < sizeof file - 4 ? 0 : size - (sizeof file - 5);
    snprintf(file, sizeof file, "%s%s%s", from ? "..." : "", err->file + from, size ? ": " : "");
    if (err->offset != ERROR_NO_OFFSET)
        snprintf(byte, sizeof byte, "byte %" PRIu64 ": ", err->offset);
    snprintf(said.text, sizeof said.text, "%s%s%.200s", file, byte, err->text);
    line_put(&rendezvous->line, FRAME_FAILED, &said, sizeof said);
}

int rendezvous_fail(struct rendezvous *rendezvous, struct error *err)
{
    if (!rendezvous)
        return -1;
    pthread_mutex_lock(&rendezvous->lock);
    const bool own = err->kind != ERR_PEER && err->kind != ERR_STOPPED;
    if (!rendezvous->failed) {
        if (!rendezvous->leader)
            put_failed(rendezvous, err);
        put_name(rendezvous, err);
        rendezvous_declare_failure(rendezvous, NOBODY, err);
        rendezvous_wake(rendezvous);
    } else if (rendezvous->failure.said && own) {
        put_name(rendezvous, err); /* what this process knows counts more than what another one says */
    } else {
        *err = rendezvous->failure.error;
    }
    rendezvous->failure_seen = true;
    pthread_mutex_unlock(&rendezvous->lock);
    return -1;
}

/* Rank 0 speaks, or rank 1 where rank 0 is lost. A rank 0 that failed by itself is not lost: it waits in
 * rendezvous_close until the others know. */
bool rendezvous_reports_errors(const struct rendezvous *rendezvous)
{
    return !rendezvous || rendezvous->options.rank == (rendezvous->failed && rendezvous->failure.lost == 0 ? 1 : 0);
}
