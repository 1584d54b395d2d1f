/* 1-bit Adam among the processes of a run: each has its own sums of gradients, and what travels in an update is a bit
 * for each parameter, twice (optim/onebit.h).
 *
 *     onebit_open, when v is frozen → { onebit_update } … → onebit_close
 *
 * Calls that say "of all" are made by all processes in the same order. The host computes. */
#ifndef TRAINER_ONEBIT_EXCHANGE_H
#define TRAINER_ONEBIT_EXCHANGE_H

#include "base/error.h"
#include "trainer/comm.h"
#include "trainer/comm/meet.h"
#include "trainer/keep/errors.h"
#include "trainer/optim/onebit.h"
#include "trainer/optim/optimizer.h"

struct onebit;

/* Errors are zero. Takes 4 bytes a parameter, 4 over the number of processes for what it serves, and less than one for
 * what travels. `params`, `comm` and `meet` are borrowed. */
struct onebit *onebit_open(const struct params *params, bool group, struct comm *comm, struct meet *meet);
void onebit_close(struct onebit *onebit); /* NULL is fine */

/* Of all: an update by gradients that are own sums, those of `memory`. work->record says what it came to: its norm is
 * sqrt((1 / N) sum of |h_i|^2) with h_i = N times own sums, by which all are clipped alike. A step that is not finite
 * anywhere changes nothing anywhere. */
int onebit_update(struct onebit *onebit, const struct optimizer *optimizer, const struct ops *ops,
                  const struct update_memory *memory, const struct update_work *work, const struct update *update,
                  struct error *err);
/* Bytes that this process sends in an update, by the arithmetic of the algorithm. */
uint64_t onebit_wire_bytes(const struct onebit *onebit);

/* How rank 0 writes the errors of all; meanwhile the others serve, until rank 0 ends it, whatever failed there. */
struct checkpoint_errors onebit_errors(struct onebit *onebit);
int onebit_serve_errors(struct onebit *onebit, struct error *err);
int onebit_end_errors(struct onebit *onebit, struct error *err);
/* Of all: rank 0 has errors of a verified checkpoint in `directory`; each process gets its own, or where another number
 * of processes wrote them the mean (*mean, in all). Where there are none they stay zero. */
int onebit_take_errors(struct onebit *onebit, const char *directory, bool *mean, struct error *err);

#endif
