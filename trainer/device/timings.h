/* --timings: a backend that wraps another one and measures it. It forwards every op, waits for it, and records calls,
 * seconds, floating-point operations and bytes. */
#pragma once

#include "trainer/backend/ops.h"

/* Takes ownership of `ops`: closing the result closes it too. */
struct ops *timings_open(struct ops *ops);
/* Ends the measuring and returns the inner `ops`, which stay open. */
struct ops *timings_end(struct ops *timed);

void timings_clear(struct ops *timed); /* forgets all measurements */

/* Time that a run spent outside of ops. */
struct timings_beside {
    const char *name; /* NULL ends the list */
    double seconds;
};
/* The machine's limits, per second; 0: not known. */
struct timings_limits {
    double flops, bytes;
};
/* Logs a table: ops sorted by time, products by shape. Each row has its rate, of operations or of bytes, whichever is
 * closer to the machine's limit, and that limit. Then `beside`, then the rest of `seconds`. */
void timings_say(const struct ops *timed, double seconds, const struct timings_limits *limits,
                 const struct timings_beside *beside);
