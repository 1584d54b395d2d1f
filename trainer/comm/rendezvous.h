/* Where processes find rank 0: HOST:PORT, or a FILE in which rank 0 says where it listens. */
#ifndef TRAINER_COMM_RENDEZVOUS_H
#define TRAINER_COMM_RENDEZVOUS_H

#include "base/error.h"
#include "base/str.h"

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT      64   /* bytes of an address as text */
#define RENDEZVOUS_BYTES  4096 /* of such a FILE */
#define RENDEZVOUS_PLACES 32   /* addresses of one rank 0 */

struct rendezvous {
    const char *path; /* of the FILE; NULL: host and port */
    char host[256];   /* a name or a number */
    char port[8];
};

/* Where rank 0 may be: an address each, and the number by which it must answer (0: none was made). */
struct places {
    struct sockaddr_storage at[RENDEZVOUS_PLACES];
    socklen_t size[RENDEZVOUS_PLACES];
    size_t count;
    uint64_t number;
};

/* "[::1]:29500", "node1:29500", "tcp://node1:29500"; everything else is a FILE. ERR_USAGE: it is empty, or port 0.
 * `text` stays. */
int rendezvous_parse(struct rendezvous *rendezvous, const char *text, struct error *err);

/* Rank 0. A socket that listens there, or, where `rendezvous` is NULL or a FILE, at any free port of every address. A
 * name is listened for at every address too, because a machine may know its own name as 127.0.1.1. ERR_USAGE: the port
 * is taken, or the host is not this one. */
int rendezvous_listen(const struct rendezvous *rendezvous, int *listener, struct error *err);
/* The same at a free port of the loopback address alone, written to `text` as HOST:PORT. */
int rendezvous_listen_here(int *listener, char text[ADDRESS_TEXT], struct error *err);
/* What the FILE says: the number, and every address of this machine with the listener's port, loopback last. */
void rendezvous_describe(int listener, uint64_t number, struct buf *text);
/* Writes the FILE, readable by its owner alone: temporary name, fsync, rename. */
int rendezvous_publish(const struct rendezvous *rendezvous, struct str text, struct error *err);
/* Removes it, if it still says the same. */
void rendezvous_withdraw(const struct rendezvous *rendezvous, struct str text);

/* The others. Where rank 0 may be now; fails while nobody knows (no such name, no FILE yet). A name is asked for again
 * each time, and a FILE read again. */
int rendezvous_look(const struct rendezvous *rendezvous, struct places *places, struct error *err);
int rendezvous_read(struct str text, struct places *places); /* what rendezvous_describe wrote; < 0: it did not */
/* A socket connected to one of them within `seconds`, with errno where it returns -1. */
int rendezvous_connect(const struct places *places, size_t i, double seconds);

/* A number other than 0 that nobody can guess. */
uint64_t rendezvous_number(void);
/* Settings of a connected socket: small frames leave at once, a machine that is gone is noticed. */
void socket_tune(int fd);
/* Its own address; an IPv4 address that travels as IPv6 is IPv4. */
void socket_address(int fd, char text[ADDRESS_TEXT]);
/* Do both ends have one address, or that of a loopback? Then they are on one machine. */
bool socket_is_here(int fd);

#endif
