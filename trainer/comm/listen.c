#include "trainer/comm/listen.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BACKLOG     256
#define SOCKET_KIND (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

static int listen_at(const struct sockaddr *address, socklen_t size, struct listeners *listeners)
{
    const int fd = socket(address->sa_family, SOCKET_KIND, 0), on = 1, off = 0;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, size) < 0 || listen(fd, BACKLOG) < 0) {
        const int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    listeners->fds[listeners->count++] = fd;
    return 0;
}

/* Listens on every address: with IPv6, which takes IPv4 too, or with IPv4 where the system has no IPv6. */
static int listen_anywhere(const char *port, struct listeners *listeners)
{
    const uint16_t number = htons((uint16_t)strtoul(port, NULL, 10));
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = number, .sin6_addr = in6addr_any};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = number};
    if (listen_at((const struct sockaddr *)&six, sizeof six, listeners) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return -1;
    return listen_at((const struct sockaddr *)&four, sizeof four, listeners);
}

static struct addrinfo *resolve(const char *host, const char *port, int flags)
{
    struct addrinfo *found;
    char bare[256];
    const size_t size = strlen(host);
    if (size > 2 && size < sizeof bare && host[0] == '[' && host[size - 1] == ']') { /* [::1] */
        snprintf(bare, sizeof bare, "%.*s", (int)size - 2, host + 1);
        host = bare;
    }
    return address_find(host, port, flags, &found) == 0 ? found : NULL;
}

/* Whether the address is listed again further on. Resolvers give 127.0.0.1 twice where a table of hosts has ::1 too. */
static bool comes_again(const struct addrinfo *one)
{
    for (const struct addrinfo *next = one->ai_next; next; next = next->ai_next)
        if (next->ai_addrlen == one->ai_addrlen && memcmp(next->ai_addr, one->ai_addr, one->ai_addrlen) == 0)
            return true;
    return false;
}

/* Listens at those addresses that this machine has. *loopback: all of them are loopback. */
static int listen_on(const struct addrinfo *found, struct listeners *listeners, bool *loopback)
{
    *loopback = true;
    errno = EADDRNOTAVAIL;
    for (const struct addrinfo *one = found; one && listeners->count < LISTENERS_MAX; one = one->ai_next) {
        if (comes_again(one))
            continue;
        if (listen_at(one->ai_addr, one->ai_addrlen, listeners) == 0)
            *loopback &= address_is_loopback(one->ai_addr);
        else if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT)
            return -1;
    }
    return listeners->count > 0 ? 0 : -1;
}

/* Names that mean loopback on every machine. */
static bool is_local_name(const char *host)
{
    const struct str name = str_of(host);
    return str_starts(name, STR("localhost")) || str_ends(name, STR(".localhost")) ||
           str_equal(name, STR("ip6-localhost")) || str_equal(name, STR("ip6-loopback"));
}

/* "10.0.0.7, fd00::7": addresses of this machine at which others may reach it. */
static void own_addresses(char *text, size_t size)
{
    struct ifaddrs *all = NULL;
    char name[ADDRESS_TEXT];
    size_t used = 0;
    if (getifaddrs(&all) < 0)
        all = NULL;
    text[0] = '\0';
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (!address_is_usable(one->ifa_addr) || address_is_loopback(one->ifa_addr) || !(one->ifa_flags & IFF_UP))
            continue;
        address_text(one->ifa_addr, name);
        if (used + strlen(name) + 2 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
    freeifaddrs(all);
}

static int hint_bind(struct error *err)
{
    char own[160];
    own_addresses(own, sizeof own);
    return hint(err, "on rank 0, --bind ADDRESS says where to listen; this machine has %s, and '*' means all of them",
                own[0] ? own : "none but loopback");
}

static int fail_listen(const char *host, const char *port, struct error *err)
{
    const int number = errno;
    const bool absent = number == EADDRNOTAVAIL;
    if (absent)
        fail(err, ERR_USAGE, "rank 0 cannot listen on %.200s: that is no address of this machine", host);
    else
        fail_errno(err, "", "rank 0 cannot listen on %.200s, port %s", host, port);
    err->kind = ERR_USAGE;
    if (absent)
        return hint_bind(err);
    if (number == EADDRINUSE)
        return hint(err, "another program has the port, or this run was started twice: give another port");
    return hint(err, "--rendezvous names the machine of rank 0, and a port that its user may use");
}

static int listen_named(const char *host, const char *port, struct listeners *listeners, struct error *err)
{
    bool loopback;
    struct addrinfo *found = resolve(host, port, AI_NUMERICHOST);
    const bool says_what = found || is_local_name(host);
    if (!found)
        found = resolve(host, port, 0);
    if (!found) {
        fail(err, ERR_USAGE, "rank 0 cannot listen on %.200s: no such name", host);
        return hint_bind(err);
    }
    const int result = listen_on(found, listeners, &loopback);
    const int number = errno;
    freeaddrinfo(found);
    errno = number;
    if (result < 0)
        return fail_listen(host, port, err);
    if (!loopback || says_what)
        return 0;
    fail(err, ERR_USAGE, "%.200s is a loopback address on this machine: others would not reach rank 0", host);
    return hint_bind(err);
}

int listen_open(struct listeners *listeners, const struct endpoint *endpoint, const char *bind, struct error *err)
{
    const bool fixed = endpoint && !endpoint->path;
    const char *host = bind ? bind : fixed ? endpoint->host : BIND_ALL, *port = fixed ? endpoint->port : "0";
    *listeners = (struct listeners){0};
    int result = 0;
    if (strcmp(host, BIND_ALL) != 0)
        result = listen_named(host, port, listeners, err);
    else if (listen_anywhere(port, listeners) < 0)
        result = fail_listen("any address", port, err);
    if (result < 0)
        listen_close(listeners);
    return result;
}

void listen_close(struct listeners *listeners)
{
    while (listeners->count > 0)
        close(listeners->fds[--listeners->count]);
}

int listen_here(int *listener, char text[ADDRESS_TEXT], struct error *err)
{
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct listeners here = {0};
    struct sockaddr_in6 bound; /* of either family */
    socklen_t size = sizeof bound;
    if (listen_at((const struct sockaddr *)&four, sizeof four, &here) < 0 &&
        listen_at((const struct sockaddr *)&six, sizeof six, &here) < 0)
        return fail_errno(err, "", "cannot listen on any port of this machine");
    *listener = here.fds[0];
    const int failed = getsockname(*listener, (struct sockaddr *)&bound, &size);
    assert(!failed);
    snprintf(text, ADDRESS_TEXT, "%s:%u", bound.sin6_family == AF_INET6 ? "[::1]" : "127.0.0.1",
             ntohs(bound.sin6_port));
    return 0;
}

static bool is_local(const char *host)
{
    const bool all = strcmp(host, BIND_ALL) == 0; /* which the C library takes for loopback */
    struct addrinfo *found = all ? NULL : resolve(host, "1", is_local_name(host) ? 0 : AI_NUMERICHOST);
    bool local = found;
    for (const struct addrinfo *one = found; one; one = one->ai_next)
        local &= address_is_loopback(one->ai_addr);
    if (found)
        freeaddrinfo(found);
    return local;
}

bool listen_is_local(const struct endpoint *endpoint, const char *bind)
{
    assert(!endpoint->path);
    return is_local(endpoint->host) && (!bind || is_local(bind));
}
