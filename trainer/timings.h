/* Where the time of a run goes (--timings): a backend that measures another. It hands every op on, waits for it, and
 * keeps its calls, seconds, floating-point operations and bytes. */
#ifndef TRAINER_TIMINGS_H
#define TRAINER_TIMINGS_H

#include "trainer/gradient_sum.h"
#include "trainer/ops.h"

/* Takes over `ops`: closing what comes back closes it too. */
struct ops *timings_open(struct ops *ops);
/* Ends the measuring alone and gives `ops` back. */
struct ops *timings_end(struct ops *timed);

void timings_clear(struct ops *timed); /* as just opened */

/* What else a run spent its time on. */
struct timings_beside {
    const char *name; /* NULL ends the list */
    double seconds;
};
/* What this machine can do at most, each a second; 0: not known. */
struct timings_limits {
    double flops, bytes;
};
/* The table, to standard error: ops by time, a product's by its shape too, with the rate of what limits each
 * (operations or bytes) beside that limit; then `beside`, then what is left of `seconds`. */
void timings_say(const struct ops *timed, double seconds, const struct timings_limits *limits,
                 const struct timings_beside *beside);
/* A row for each sum of a bucket of gradients over processes: bytes, how long it took and how long it was waited
 * for. */
void timings_say_buckets(const struct bucket_times *buckets, size_t count);

#endif
