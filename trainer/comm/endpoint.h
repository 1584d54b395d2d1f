/* Where processes find rank 0: at HOST:PORT, or through a FILE in which rank 0 says where it listens. */
#pragma once

#include "base/job_key.h"

#include <netdb.h>
#include <sys/socket.h>

#define ADDRESS_TEXT        64   /* bytes of an address as text */
#define ENDPOINT_FILE_BYTES 4096 /* of a FILE, at most */
#define LISTENERS_MAX       8
#define ADDRESSES_MAX       32 /* addresses of rank 0, at most */

struct endpoint {
    const char *path; /* of the FILE; NULL: host and port count */
    char host[256];   /* a name or a numeric address */
    char port[8];
};

/* Sockets at which rank 0 listens. A zeroed one has none. */
struct listeners {
    int fds[LISTENERS_MAX];
    size_t count;
};

/* Addresses where rank 0 may be, and the key that the FILE has (not given: each process was given one). */
struct addresses {
    struct sockaddr_storage at[ADDRESSES_MAX];
    socklen_t size[ADDRESSES_MAX];
    size_t count;
    struct job_key key;
};

/* "[::1]:29500", "node1:29500", "tcp://node1:29500"; everything else is a FILE. ERR_USAGE: it is empty, or no valid
 * host and port. `text` must outlive *endpoint. */
int endpoint_parse(struct endpoint *endpoint, const char *text, struct error *err);

/* The content of the FILE: the key (NULL: all processes were given theirs), and the addresses at which rank 0 listens,
 * loopback last. */
void endpoint_describe(const struct listeners *listeners, const struct job_key *key, struct buf *text);
/* Writes the FILE, readable only by its owner: temporary name, fsync, rename. ERR_USAGE: a file of something else has
 * that name. */
int endpoint_publish(const struct endpoint *endpoint, struct str text, struct error *err);
/* Removes the FILE if it still says `text`. */
void endpoint_withdraw(const struct endpoint *endpoint, struct str text);

/* For the others: where rank 0 may be now; < 0 while that is unknown (no such name, no FILE yet). Each call resolves
 * the name, or reads the FILE, again. */
int endpoint_resolve(const struct endpoint *endpoint, struct addresses *addresses, struct error *err);
/* Whether there is a FILE that this user may not read: then waiting does not help. */
bool endpoint_is_hidden(const struct endpoint *endpoint);
/* Parses what endpoint_describe wrote; < 0: malformed. */
int endpoint_read(struct str text, struct addresses *addresses);
/* A socket connected to addresses->at[i] within `seconds`, or -1 with errno. */
int endpoint_connect(const struct addresses *addresses, size_t i, double seconds);

/* getaddrinfo for a TCP socket, with these flags and AI_NUMERICSERV; 0 or its error. The caller frees *found. */
int address_find(const char *host, const char *port, int flags, struct addrinfo **found);
/* Addresses of IPv4 or IPv6. address_text writes an IPv4 address mapped into IPv6 as IPv4. */
bool address_is_loopback(const struct sockaddr *address);
/* Whether it means the same on every machine. A link-local one needs the name of an interface. NULL is not usable. */
bool address_is_usable(const struct sockaddr *address);
bool address_is_any(const struct sockaddr *address); /* 0.0.0.0 or :: */
void address_text(const struct sockaddr *address, char text[ADDRESS_TEXT]);
void address_name(const struct sockaddr *address, char text[ADDRESS_TEXT]); /* "10.0.0.2:51234", "[::1]:51234" */
/* Sets options of a connected socket: small frames leave at once, and a machine that is gone is noticed. */
void socket_tune(int fd);
/* The socket's own address. */
void socket_address(int fd, char text[ADDRESS_TEXT]);
/* The other end's address_name; "" if it is gone. */
void socket_far_address(int fd, char text[ADDRESS_TEXT]);
/* True if both ends are on one machine: they have the same address, or a loopback address. */
bool socket_is_here(int fd);
