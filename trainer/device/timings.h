/* Where the time of a run goes (--timings): a backend that measures another one. It forwards every op, waits for it,
 * and records calls, seconds, floating-point operations and bytes. */
#pragma once

#include "trainer/backend/ops.h"

/* Takes ownership of `ops`: closing the result closes it too. */
struct ops *timings_open(struct ops *ops);
/* Ends the measuring and returns the inner `ops`, which stay open. */
struct ops *timings_end(struct ops *timed);

void timings_clear(struct ops *timed); /* forgets all measurements */

/* Something other than ops that a run spent its time on. */
struct timings_beside {
    const char *name; /* NULL ends the list */
    double seconds;
};
/* The machine's limits, per second; 0: not known. */
struct timings_limits {
    double flops, bytes;
};
/* Logs the table: ops by time, products separately for each shape, each with its rate of operations or bytes, whichever
 * limits it, and that limit; then `beside`; then the rest of `seconds`. */
void timings_say(const struct ops *timed, double seconds, const struct timings_limits *limits,
                 const struct timings_beside *beside);
