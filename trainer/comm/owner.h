/* Which user owns the other end of a connection inside this machine. Where the processes of a run have no key, this
 * tells those of the run's user from those of others. */
#pragma once

#include "base/str.h"

#include <sys/types.h>

#define OWNER_ENDS 96 /* bytes of two ends as the table writes them */

/* The table is /proc/net/tcp or tcp6 (proc(5)), and `ends` what it writes for one socket: "ADDRESS:PORT ADDRESS:PORT",
 * its own end first. False: no process holds such a connection. The kernel shows those that nobody holds as root's. */
bool owner_in(struct str table, const char *ends, uid_t *uid);

/* Of the socket to which `fd` is connected: the kernel is asked for it (sock_diag(7)), or the tables are read. False:
 * it is on another machine, or closed. */
bool owner_of_peer(int fd, uid_t *uid);
/* True for a socket of this process's user, or of root. */
bool owner_is_trusted(int fd);
