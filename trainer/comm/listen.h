/* Where rank 0 listens. Only the addresses that the user named are listened on: a port that is open to more networks
 * than the run needs invites strangers. */
#pragma once

#include "trainer/comm/endpoint.h"

#define BIND_ALL "*" /* every address of the machine */

/* Listens at the addresses of `bind`, a name, an address or BIND_ALL; where it is NULL, at those of the endpoint's
 * host, and for a FILE or no endpoint (NULL) at every address, because any machine may be told of it and the FILE has
 * a key. The port is that of the endpoint, else any free one. Of a name, the addresses that this machine has count.
 * ERR_USAGE: the port is taken, the name is not one of this machine, or it means loopback here and something else on
 * other machines. */
int listen_open(struct listeners *listeners, const struct endpoint *endpoint, const char *bind, struct error *err);
void listen_close(struct listeners *listeners); /* safe on one that has none */
/* Listens at a free port of the loopback address only; writes HOST:PORT to `text`. */
int listen_here(int *listener, char text[ADDRESS_TEXT], struct error *err);

/* Whether only processes of one machine can meet there: both the endpoint and `bind` (unless NULL) are loopback
 * addresses, or names such as localhost that mean them on every machine. Not for a FILE. */
bool listen_is_local(const struct endpoint *endpoint, const char *bind);
