#include "trainer/comm/restarts.h"

#include "base/hash.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* fail_errno appends strerror(errno) to its text. */
static bool says(const struct error *err, int number)
{
    return strstr(err->text, strerror(number)) != NULL;
}

bool restarts_mend(const struct error *err)
{
    if (err->kind == ERR_PEER)
        return true;
    return err->kind == ERR_RESOURCE && !says(err, ENOSPC) && !says(err, EDQUOT) && !says(err, EFBIG);
}

uint64_t restarts_cause(const char *text)
{
    SCOPED(buf_release) struct buf words = {0};
    unsigned inside = 0;
    bool rank = false; /* in the digits of a rank */
    for (const char *at = text; *at; at++) {
        inside += *at == '(';
        rank = isdigit((unsigned char)*at) ? rank || (at - text >= 5 && memcmp(at - 5, "rank ", 5) == 0) : false;
        if (inside == 0 && (rank || !isdigit((unsigned char)*at)))
            buf_add_byte(&words, (unsigned char)*at);
        inside -= *at == ')' && inside > 0;
    }
    return hash64(words.data, words.size);
}

uint32_t restarts_rank(const char *text, uint32_t otherwise)
{
    uint32_t rank;
    return sscanf(text, "rank %" SCNu32, &rank) == 1 ? rank : otherwise;
}

static bool is_same(const struct failure *a, const struct failure *b)
{
    if (a->step != b->step || a->signal != b->signal)
        return false;
    return a->signal != 0 ? a->rank == b->rank : a->kind == b->kind && a->cause == b->cause;
}

/* After the next wait the network, or the processes of another machine, may be back: it is always worth another try. */
static bool is_connection_at_start(const struct failure *failure)
{
    return failure->step == 0 && failure->signal == 0 && failure->kind == ERR_PEER;
}

const struct failure *restarts_same(const struct failure *earlier, uint64_t count, const struct failure *now)
{
    for (uint64_t i = 0; i < count && !is_connection_at_start(now); i++)
        if (is_same(&earlier[i], now))
            return &earlier[i];
    return NULL;
}

double restarts_wait(uint64_t number, double first)
{
    return fmin(RESTARTS_WAIT_MAX, ldexp(first, number <= 64 ? (int)number - 1 : 64));
}

const char *restarts_from(uint64_t saved, char out[RESTARTS_FROM])
{
    char step[32];
    if (saved == 0)
        return "the beginning";
    if (saved == RESTARTS_UNKNOWN)
        return "the last checkpoint";
    snprintf(out, RESTARTS_FROM, "step %s", format_count(saved, step));
    return out;
}

void restarts_describe(const struct failure *failure, const struct error *err, struct buf *out)
{
    char step[32];
    if (failure->step > 0)
        buf_addf(out, "in step %s: ", format_count(failure->step, step));
    else
        buf_add_text(out, "before the first step: ");
    if (failure->signal != 0)
        buf_addf(out, "rank %" PRIu32 " was killed by signal %d (%s)", failure->rank, failure->signal,
                 strsignal(failure->signal));
    else
        buf_addf(out, "%.300s", err->text);
}

static char *time_text(time_t when, char out[32])
{
    struct tm local;
    strftime(out, 32, "%Y-%m-%d %H:%M:%S", localtime_r(&when, &local));
    return out;
}

void restarts_give_up(const struct failure *earlier, const struct failure *last, uint64_t most, uint64_t saved,
                      const char *what, struct error *err)
{
    const struct error was = *err;
    char first[32], second[32], count[56], from[RESTARTS_FROM];
    if (earlier)
        fail_at(err, was.kind, was.file, was.offset, "failed twice in the same way, at %s and at %s, %.400s",
                time_text(earlier->when, first), time_text(last->when, second), what);
    else
        fail_at(err, was.kind, was.file, was.offset, "%.400s; it has been started again %s, as --restarts allows", what,
                format_counted(most, "time", count));
    hint(err,
         earlier ? "another start would fail again; once the cause is fixed, the same command continues from %s"
                 : "the same command continues from %s",
         restarts_from(saved, from));
}
