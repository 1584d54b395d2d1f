/* How the gradients of a step become an update: in one process, or by what the processes of a run send each other. The
 * engine calls this and knows none of the ways.
 *
 *     exchange_open → exchange_join
 *       → { exchange_begin → { exchange_listener → exchange_pass } … → exchange_finish → exchange_update } …
 *     exchange_close
 *
 *     alone        the model's own gradients
 *     all_reduce   sums over the processes, or over parts with --same-bits (gradient_sum.h)
 *     zero1        the same for the own slices only; each process updates those (zero.h)
 *     zero2        the same, and other gradients are not kept (zero2.h)
 *     onebit       all_reduce until second moments are frozen, then one bit per parameter (onebit_exchange.h)
 *
 * Gradients belong to the model, except with zero2, which owns those of its slices; moments belong to the caller,
 * except with zero1 and zero2. "Collective": all processes call it in the same order. On errors (of comm) gradients are
 * undefined, and the process can only leave. One thread. */
#pragma once

#include "trainer/parallel/zero2.h"
#include "trainer/recipe/recipe.h"

/* What decides the way and its memory; all of it outlives the exchange. */
struct exchange_options {
    const struct recipe *recipe;
    const struct params *params;
    const struct ops *ops;
    const struct partition *partition; /* size 0: nothing is divided */
    uint32_t rank, size;
    size_t tokens; /* maximum of a pass */
};

struct gradient_exchange;

/* Bytes of the device's memory, beside the model's. */
struct exchange_bytes {
    uint64_t moments, gradients; /* for updates; for gradients that the model does not hold, and for sums */
};
struct exchange_bytes exchange_bytes(const struct exchange_options *options);

/* Allocates what the update needs. `model` outlives the exchange; options->params are its own. */
struct gradient_exchange *exchange_open(const struct exchange_options *options, struct model *model);
void exchange_close(struct gradient_exchange *exchange); /* NULL is fine */

/* Before the first step, in all processes; allocates what sums need. `borders`: with --same-bits process r has the
 * parts [borders[r], borders[r + 1]) of a batch; copied. `on_hosts`: every process has its gradients in host memory. */
void exchange_join(struct gradient_exchange *exchange, struct comm *comm, struct rendezvous *rendezvous,
                   const uint64_t *borders, bool on_hosts);
/* Between steps: changes the borders of parts. */
void exchange_redivide(struct gradient_exchange *exchange, const uint64_t *borders);

/* Begins step `number`, from 1. */
void exchange_begin(struct gradient_exchange *exchange, uint64_t number, double loss_scale);
/* Collective with zero2. Before a pass over `batch`: the listener for it, or NULL; `last`: it is the step's last of
 * this process. */
const struct gradient_listener *exchange_listener(struct gradient_exchange *exchange, const struct batch *batch,
                                                  bool last);
/* After a pass. `sums`: its losses with --same-bits; else NULL, and the model adds them up. */
void exchange_pass(struct gradient_exchange *exchange, const double sums[STEP_SUMS]);
/* Collective: gradients and losses become those of the whole batch. */
int exchange_finish(struct gradient_exchange *exchange, struct error *err);
/* Collective: makes the update. `update` may leave `sums` NULL. `memory` has the caller's moments. *frozen becomes true
 * in the update after which second moments are frozen. */
int exchange_update(struct gradient_exchange *exchange, const struct optimizer *optimizer,
                    const struct update_memory *memory, const struct update_work *work, const struct update *update,
                    bool *frozen, struct error *err);

/* The listener for a pass between steps, whose gradients are not summed. If gradients are divided, they are passed to
 * `observer` (may be NULL); else NULL is returned and the model has them, as where there is no exchange (NULL). */
const struct gradient_listener *exchange_pass_alone(struct gradient_exchange *exchange, const struct batch *batch,
                                                    const struct gradient_observer *observer);

double exchange_waited(const struct gradient_exchange *exchange);       /* seconds, in the passes of this step */
uint64_t exchange_wire_bytes(const struct gradient_exchange *exchange); /* sent in the last step, computed */
/* Times of each bucket, in the order in which they are summed; NULL with *count 0: none. */
const struct bucket_times *exchange_times(const struct gradient_exchange *exchange, size_t *count);
bool exchange_sums(const struct gradient_exchange *exchange);             /* whether it sums over processes or parts */
bool exchange_sends_every_pass(const struct gradient_exchange *exchange); /* else only in the last one */

/* Second moments that freeze: the state after the last update. exchange_freeze sets that of a run after `updates`
 * updates, after exchange_join in all processes. */
struct freeze_state exchange_frozen(const struct gradient_exchange *exchange);
void exchange_freeze(struct gradient_exchange *exchange, const struct freeze_state *freeze, uint64_t updates);

/* State that no process has as a whole. Collective: distributes rank 0's flat arrays (the arguments of other ranks are
 * ignored). Only with divided moments. */
int exchange_scatter(struct gradient_exchange *exchange, const float *params, const float *first, const float *second,
                     struct error *err);
/* From what rank 0 writes a checkpoint, beside the caller's own memory: false: nothing of that kind. Meanwhile all
 * others call exchange_serve, which returns when rank 0 calls exchange_end_serving, also if writing has failed. */
bool exchange_source(struct gradient_exchange *exchange, struct checkpoint_source *source);
bool exchange_errors(struct gradient_exchange *exchange, struct checkpoint_errors *errors);
int exchange_serve(struct gradient_exchange *exchange, struct error *err);
int exchange_end_serving(struct gradient_exchange *exchange, struct error *err);
/* Collective, once second moments are frozen: see onebit_take_errors. Else nothing, with *mean false. */
int exchange_take_errors(struct gradient_exchange *exchange, const char *directory, bool *mean, struct error *err);
