#include "trainer/comm/owner.h"

#include "base/file.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define TABLE_BYTES ((size_t)256 << 20) /* of some 10^6 connections */
#define ESTABLISHED 1u                  /* TCP_ESTABLISHED, the only state that counts */

/* An address as the kernel writes it: 32-bit words in the machine's byte order. IPv4 addresses become the last word of
 * IPv6 ones. */
struct end {
    uint32_t words[4];
    uint16_t port;
};

static bool end_of(int (*ask)(int fd, struct sockaddr *address, socklen_t *size), int fd, struct end *end)
{
    struct sockaddr_storage address = {0};
    const struct sockaddr_in *four = (const void *)&address;
    const struct sockaddr_in6 *six = (const void *)&address;
    socklen_t size = sizeof address;
    if (ask(fd, (struct sockaddr *)&address, &size) < 0)
        return false;
    *end = (struct end){.words = {0, 0, htonl(0xffff), four->sin_addr.s_addr}, .port = ntohs(four->sin_port)};
    if (address.ss_family == AF_INET6)
        memcpy(end->words, &six->sin6_addr, sizeof end->words);
    return address.ss_family == AF_INET6 || address.ss_family == AF_INET;
}

static int end_text(const struct end *end, bool six, char *text, size_t size)
{
    if (!six)
        return snprintf(text, size, "%08X:%04X", end->words[3], end->port);
    return snprintf(text, size, "%08X%08X%08X%08X:%04X", end->words[0], end->words[1], end->words[2], end->words[3],
                    end->port);
}

bool owner_in(struct str table, const char *ends, uid_t *uid)
{
    const size_t at = str_find(table, str_of(ends));
    char rest[160];
    unsigned state, user;
    unsigned long inode;
    if (at == SIZE_MAX)
        return false;
    const struct str after = {table.data + at + strlen(ends), table.size - at - strlen(ends)};
    snprintf(rest, sizeof rest, "%.*s", (int)(after.size < sizeof rest ? after.size : sizeof rest), after.data);
    /* st, tx_queue:rx_queue, tr:tm->when, retrnsmt, uid, timeout, inode */
    if (sscanf(rest, " %x %*s %*s %*s %u %*d %lu", &state, &user, &inode) != 3 || state != ESTABLISHED || inode == 0)
        return false;
    *uid = user;
    return true;
}

/* Whether it is an IPv4 address in the words of an IPv6 one. */
static bool is_four(const struct end *end)
{
    return end->words[0] == 0 && end->words[1] == 0 && end->words[2] == htonl(0xffff);
}

/* Asks for exactly this socket (sock_diag(7)). False: there is none, or the kernel cannot be asked. */
static bool ask_kernel(const struct end *theirs, const struct end *ours, uid_t *uid)
{
    const bool four = is_four(theirs) && is_four(ours);
    const size_t from = four ? 3 : 0, size = four ? sizeof theirs->words[0] : sizeof theirs->words;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 ask;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .ask = {.sdiag_family = four ? AF_INET : AF_INET6, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    struct inet_diag_sockid *id = &request.ask.id;
    id->idiag_sport = htons(theirs->port);
    id->idiag_dport = htons(ours->port);
    memcpy(id->idiag_src, theirs->words + from, size);
    memcpy(id->idiag_dst, ours->words + from, size);
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
        char attributes[4096];
    } reply;
    const int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    const ssize_t got =
        send(fd, &request, sizeof request, 0) == sizeof request ? recv(fd, &reply, sizeof reply, 0) : -1;
    close(fd);
    if (got < (ssize_t)offsetof(typeof(reply), attributes) || reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        reply.found.idiag_state != ESTABLISHED || reply.found.idiag_inode == 0)
        return false;
    *uid = reply.found.idiag_uid;
    return true;
}

/* A table that changes while it is read may lack a line, so it is only for kernels that cannot be asked. */
static bool look_up(const struct end *theirs, const struct end *ours, uid_t *uid)
{
    static const char *const tables[] = {"/proc/self/net/tcp", "/proc/self/net/tcp6"};
    for (int six = 0; six <= 1; six++) {
        char ends[OWNER_ENDS];
        struct buf table = {0};
        struct error ignored;
        int used = end_text(theirs, six, ends, sizeof ends);
        used += snprintf(ends + used, sizeof ends - (size_t)used, " ");
        end_text(ours, six, ends + used, sizeof ends - (size_t)used);
        const bool known =
            file_read_all(tables[six], TABLE_BYTES, &table, &ignored) == 0 && owner_in(buf_str(&table), ends, uid);
        buf_release(&table);
        if (known)
            return true;
    }
    return false;
}

bool owner_of_peer(int fd, uid_t *uid)
{
    struct end ours, theirs;
    if (!end_of(getsockname, fd, &ours) || !end_of(getpeername, fd, &theirs))
        return false;
    return ask_kernel(&theirs, &ours, uid) || look_up(&theirs, &ours, uid);
}

bool owner_is_trusted(int fd)
{
    uid_t uid;
    return owner_of_peer(fd, &uid) && (uid == geteuid() || uid == 0);
}
