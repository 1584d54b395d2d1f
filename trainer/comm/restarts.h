/* The rules of --restarts: which failures are worth another start, how long to wait before it, and when to give up.
 * Pure. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <time.h>

/* One start that failed. */
struct failure {
    uint32_t rank; /* that was lost, or that reported the error */
    uint64_t step; /* in which it was; 0: before its first one */
    int signal;    /* that ended it; 0: `kind` and `cause` say what happened */
    enum error_kind kind;
    uint64_t cause; /* restarts_cause of the error's text */
    time_t when;
};

/* Whether the same command may end otherwise when it starts again:
 *
 *     ERR_PEER       yes, also where one was ended by a signal
 *     ERR_RESOURCE   yes (a GPU, memory, I/O), except a full disk or a limit of what may be written
 *     all others     no: the command, its files or its numbers are wrong, or it was asked to stop */
bool restarts_mend(const struct error *err);

/* Equal for two texts with the same cause: a hash without what stands in parentheses (hosts, process ids) and without
 * numbers (seconds, steps), except those of ranks. */
uint64_t restarts_cause(const char *text);

/* The rank at the beginning of an error's text (rendezvous.h: "rank 2 (node7, pid 123) was lost …"), else `otherwise`.
 * */
uint32_t restarts_rank(const char *text, uint32_t otherwise);

/* The earlier one of `count` failures that is the same: same step, and same rank and signal, or same kind and cause.
 * NULL: there is none, so what happened may be chance, as the loss of a connection before the first step always may. */
const struct failure *restarts_same(const struct failure *earlier, uint64_t count, const struct failure *now);

/* Seconds before start `number` (from 1): first, 2 * first, 4 * first … at most RESTARTS_WAIT_MAX. */
#define RESTARTS_WAIT_MAX 60.0
double restarts_wait(uint64_t number, double first);

/* For messages: "step 10" in `out`, "the beginning" where no checkpoint is saved (0), or "the last checkpoint" where
 * another machine's command knows it. */
#define RESTARTS_FROM    48
#define RESTARTS_UNKNOWN UINT64_MAX
const char *restarts_from(uint64_t saved, char out[RESTARTS_FROM]);
/* Appends "in step 12: rank 1 was killed by signal 9 (Killed)", or the error's text in its place. */
void restarts_describe(const struct failure *failure, const struct error *err, struct buf *out);
/* Makes *err the error of a run that is not started again: after a failure that is the same as `earlier`, or, where
 * that is NULL, after all `most` restarts. `what` describes the last failure. */
void restarts_give_up(const struct failure *earlier, const struct failure *last, uint64_t most, uint64_t saved,
                      const char *what, struct error *err);
