/* A socket between each two processes of a run, for a library that cannot tell who is at the other end.
 *
 *     rank 2 connects to ranks 0 and 1, rank 1 to rank 0:
 *
 *     higher rank               lower rank
 *     CLAIM          ──►                    my rank, and a proof; a connection that sends anything else is closed
 *                    ◄──        ANSWER      another proof
 *
 * A proof is HMAC-SHA-256 with a secret of this run, of the direction, both ranks and a nonce of each process. So an
 * answer is no claim, and what was recorded elsewhere proves nothing. Where the processes listen, and their nonces, are
 * named values. A stranger that connects costs its own connection only: the others are made all the same. */
#pragma once

#include "trainer/comm/comm.h"

/* Every process calls it. Fills sockets[size] with connected, non-blocking sockets, which are the caller's; that of the
 * process itself is -1. Uses rank, size, timeout, address, store and secret. Listens at options->address only, and no
 * longer when it returns. ERR_PEER: a process cannot be reached, has not connected or did not prove who it is within
 * the timeout (at most 45 s); ERR_USAGE: the address is not of this machine; ERR_STOPPED; errors of the store. */
int mesh_connect(const struct comm_options *options, int *sockets, struct error *err);
