/* A socket between every two processes of a run, for a library that cannot authenticate its peers.
 *
 *     rank 2 connects to ranks 0 and 1, rank 1 to rank 0:
 *
 *     higher rank               lower rank
 *     CLAIM          ──►                    my rank, and a proof; a connection that sends anything else is closed
 *                    ◄──        ANSWER      another proof
 *
 * A proof is HMAC-SHA-256, keyed with the run's secret, over the direction, both ranks and a nonce of each process. So
 * an answer cannot be reused as a claim, and a replayed proof fails. Addresses and nonces are exchanged as named values
 * of the rendezvous. The connection of a stranger is closed; the others are not affected. */
#pragma once

#include "trainer/comm/comm.h"

/* Every process calls it. Fills sockets[size] with connected, non-blocking sockets, which are the caller's; that of the
 * process itself is -1. Uses rank, size, timeout, address, store and secret. Listens at options->address only, and
 * closes the listener before it returns. ERR_PEER: a process cannot be reached, has not connected or did not prove who
 * it is within the timeout (at most 45 s); ERR_USAGE: the address is not of this machine; ERR_STOPPED; errors of the
 * store. */
int mesh_connect(const struct comm_options *options, int *sockets, struct error *err);
