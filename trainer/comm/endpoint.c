#include "trainer/comm/endpoint.h"

#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_WORDS "dstrain meeting "
#define FIRST_LINE  FIRST_WORDS "2\n"
#define NO_KEY      "given" /* stands where the key would, if all processes were given theirs */
#define SOCKET_KIND (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* A name with a colon, an address, or the name of loopback: whoever types that means a host, not a FILE in the current
 * directory. */
static bool seems_address(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    return strchr(text, ':') || strcmp(text, "localhost") == 0 || inet_pton(AF_INET, text, address) == 1;
}

int endpoint_parse(struct endpoint *endpoint, const char *text, struct error *err)
{
    *endpoint = (struct endpoint){0};
    if (str_starts(str_of(text), STR("file://"))) {
        endpoint->path = text + 7;
        return 0;
    }
    const char *from = str_starts(str_of(text), STR("tcp://")) ? text + 6 : text;
    const char *colon = strrchr(from, ':');
    const size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    struct str host = colon ? str_range(from, colon) : str_of(from);
    if (text[0] == '\0')
        return fail(err, ERR_USAGE, "the rendezvous is empty");
    if (memchr(from, '/', strlen(from)) || !seems_address(from)) {
        endpoint->path = text;
        return 0;
    }
    const bool bare = host.data[0] != '[' && memchr(host.data, ':', host.size); /* an IPv6 address without brackets */
    if (!colon || digits == 0 || digits > 5 || colon[1 + digits] || bare) {
        fail(err, ERR_USAGE, "the rendezvous %.80s is neither HOST:PORT nor a FILE", text);
        return hint(err, "HOST:PORT or [::1]:PORT names a host; a FILE of such a name is ./NAME");
    }
    if (str_equal(host, STR("*"))) {
        fail(err, ERR_USAGE, "the rendezvous %.80s names no host: the others would not find rank 0", text);
        return hint(err,
                    "--rendezvous HOST:PORT names rank 0's machine; --bind '*' there listens on all its addresses");
    }
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = str_range(host.data + 1, host.data + host.size - 1);
    const unsigned long port = strtoul(colon + 1, NULL, 10);
    if (port == 0 || port > 65535 || host.size == 0 || host.size >= sizeof endpoint->host) {
        fail(err, ERR_USAGE, "the rendezvous %.80s is not a host and port", text);
        return hint(err, "HOST:PORT with a port of 1 to 65535, [::1]:PORT, or a FILE");
    }
    memcpy(endpoint->host, host.data, host.size);
    snprintf(endpoint->port, sizeof endpoint->port, "%lu", port);
    return 0;
}

static void describe_at(const struct sockaddr *address, uint16_t port, bool loopback, struct buf *text, size_t *count)
{
    char name[ADDRESS_TEXT];
    if (*count == ADDRESSES_MAX || !address_is_usable(address) || address_is_loopback(address) != loopback)
        return;
    address_text(address, name);
    buf_addf(text, "at %s %u\n", name, ntohs(port));
    (*count)++;
}

/* The address of one listener, or those of the machine where it listens on all of them. */
static void describe_one(const struct ifaddrs *all, int listener, bool loopback, struct buf *text, size_t *count)
{
    struct sockaddr_in6 bound; /* of either family: the port is at the same place */
    _Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "one place");
    socklen_t size = sizeof bound;
    const int failed = getsockname(listener, (struct sockaddr *)&bound, &size);
    assert(!failed);
    if (!address_is_any((const struct sockaddr *)&bound)) {
        describe_at((const struct sockaddr *)&bound, bound.sin6_port, loopback, text, count);
        return;
    }
    for (const struct ifaddrs *one = all; one; one = one->ifa_next)
        if (one->ifa_flags & IFF_UP && one->ifa_addr &&
            (one->ifa_addr->sa_family == AF_INET || bound.sin6_family == AF_INET6))
            describe_at(one->ifa_addr, bound.sin6_port, loopback, text, count);
}

void endpoint_describe(const struct listeners *listeners, const struct job_key *key, struct buf *text)
{
    struct ifaddrs *all = NULL;
    char digits[2 * JOB_KEY_BYTES + 1];
    size_t count = 0;
    buf_addf(text, FIRST_LINE "key %s\n", key ? hex_write(key->bytes, sizeof key->bytes, digits) : NO_KEY);
    if (getifaddrs(&all) < 0)
        all = NULL;
    for (int loopback = 0; loopback <= 1; loopback++)
        for (size_t i = 0; i < listeners->count; i++)
            describe_one(all, listeners->fds[i], loopback, text, &count);
    freeifaddrs(all);
}

/* A file of that name may be one that a killed process left, or empty. Others are not replaced. */
static int check_free(const char *path, struct error *err)
{
    struct error ignored;
    SCOPED(buf_release) struct buf there = {0};
    const bool ours = !path_exists(path) || (file_read_all(path, ENDPOINT_FILE_BYTES, &there, &ignored) == 0 &&
                                             (there.size == 0 || str_starts(buf_str(&there), STR(FIRST_WORDS))));
    if (ours)
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "exists and is not a rendezvous file: it is not replaced");
    return hint(err, "--rendezvous HOST:PORT, or the name of a file that does not exist");
}

int endpoint_publish(const struct endpoint *endpoint, struct str text, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    TRY(check_free(endpoint->path, err));
    TRY(file_create(&file, endpoint->path, err));
    if (fchmod(file.fd, S_IRUSR | S_IWUSR) < 0)
        return fail_errno(err, endpoint->path, "cannot be made");
    TRY(file_write(&file, text.data, text.size, err));
    return file_commit(&file, err);
}

void endpoint_withdraw(const struct endpoint *endpoint, struct str text)
{
    struct error ignored;
    SCOPED(buf_release) struct buf now = {0};
    if (file_read_all(endpoint->path, ENDPOINT_FILE_BYTES, &now, &ignored) == 0 && str_equal(buf_str(&now), text))
        (void)path_remove(endpoint->path, &ignored);
}

int address_find(const char *host, const char *port, int flags, struct addrinfo **found)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    *found = NULL;
    return getaddrinfo(host, port, &wanted, found);
}

/* Returns 0 or the error of getaddrinfo. */
static int add_all(struct addresses *addresses, const char *host, const char *port, int flags)
{
    struct addrinfo *found;
    const int reason = address_find(host, port, flags, &found);
    for (const struct addrinfo *one = found; one && addresses->count < ADDRESSES_MAX; one = one->ai_next) {
        memcpy(&addresses->at[addresses->count], one->ai_addr, one->ai_addrlen);
        addresses->size[addresses->count++] = one->ai_addrlen;
    }
    if (found)
        freeaddrinfo(found);
    return reason;
}

/* Reads the key's line; returns what follows, or NULL. */
static const char *read_key(const char *text, struct job_key *key)
{
    char word[2 * JOB_KEY_BYTES + 1];
    int used = 0;
    if (sscanf(text, "key %64s %n", word, &used) != 1 || used == 0)
        return NULL;
    if (strcmp(word, NO_KEY) == 0)
        return text + used;
    key->given = strlen(word) == sizeof word - 1 && hex_read(str_of(word), key->bytes);
    return key->given ? text + used : NULL;
}

int endpoint_read(struct str text, struct addresses *addresses)
{
    char copy[ENDPOINT_FILE_BYTES + 1], host[ADDRESS_TEXT], port[8];
    int used = 0;
    *addresses = (struct addresses){0};
    if (text.size >= sizeof copy)
        return -1;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (!str_starts(text, STR(FIRST_LINE)))
        return -1;
    const char *at = read_key(copy + strlen(FIRST_LINE), &addresses->key);
    for (; at && *at && addresses->count < ADDRESSES_MAX; at += used) {
        used = 0;
        if (sscanf(at, "at %63s %5[0-9] %n", host, port, &used) != 2 || used == 0)
            return -1;
        (void)add_all(addresses, host, port, AI_NUMERICHOST);
    }
    return at ? 0 : -1;
}

int endpoint_resolve(const struct endpoint *endpoint, struct addresses *addresses, struct error *err)
{
    SCOPED(buf_release) struct buf text = {0};
    *addresses = (struct addresses){0};
    if (!endpoint->path) {
        const int reason = add_all(addresses, endpoint->host, endpoint->port, 0);
        return reason ? fail(err, ERR_USAGE, "%s is not known: %s", endpoint->host, gai_strerror(reason)) : 0;
    }
    TRY(file_read_all(endpoint->path, ENDPOINT_FILE_BYTES, &text, err));
    if (endpoint_read(buf_str(&text), addresses) == 0)
        return 0;
    return fail_at(err, ERR_USAGE, endpoint->path, ERROR_NO_OFFSET, "does not describe a meeting of processes");
}

bool endpoint_is_hidden(const struct endpoint *endpoint)
{
    return endpoint->path && access(endpoint->path, R_OK) < 0 && errno == EACCES;
}

/* Whether the socket has connected to itself, as it may where nobody listens at a port of the range that the system
 * assigns. */
static bool is_own_end(int fd)
{
    struct sockaddr_storage near = {0}, far = {0};
    socklen_t size = sizeof near;
    if (getsockname(fd, (struct sockaddr *)&near, &size) < 0)
        return false;
    size = sizeof far;
    return getpeername(fd, (struct sockaddr *)&far, &size) == 0 && memcmp(&near, &far, sizeof near) == 0;
}

int endpoint_connect(const struct addresses *addresses, size_t i, double seconds)
{
    const int fd = socket(addresses->at[i].ss_family, SOCKET_KIND, 0);
    int wrong = 0;
    socklen_t size = sizeof wrong;
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&addresses->at[i], addresses->size[i]) < 0)
        wrong = errno;
    if (wrong == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (poll(&wait, 1, (int)(seconds * 1000)) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &wrong, &size) < 0)
            wrong = ETIMEDOUT;
    }
    if (wrong == 0 && !is_own_end(fd))
        return fd;
    wrong = wrong ? wrong : ECONNREFUSED;
    close(fd);
    errno = wrong;
    return -1;
}

bool address_is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    if (address->sa_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

bool address_is_any(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    return address->sa_family == AF_INET ? four->sin_addr.s_addr == htonl(INADDR_ANY)
                                         : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

bool address_is_usable(const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const void *)address;
    return address && (address->sa_family == AF_INET ||
                       (address->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)));
}

void address_text(const struct sockaddr *address, char text[ADDRESS_TEXT])
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    text[0] = '\0';
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &four->sin_addr, text, ADDRESS_TEXT);
    else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, text, ADDRESS_TEXT);
    else
        inet_ntop(AF_INET6, &six->sin6_addr, text, ADDRESS_TEXT);
}

void address_name(const struct sockaddr *address, char text[ADDRESS_TEXT])
{
    const struct sockaddr_in6 *either = (const void *)address; /* of either family the port is at the same place */
    char at[ADDRESS_TEXT];
    address_text(address, at);
    snprintf(text, ADDRESS_TEXT, strchr(at, ':') ? "[%.50s]:%u" : "%.50s:%u", at, ntohs(either->sin6_port));
}

void socket_tune(int fd)
{
    const int on = 1, seconds = 15, times = 4;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

void socket_address(int fd, char text[ADDRESS_TEXT])
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    text[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
        address_text((const struct sockaddr *)&address, text);
}

void socket_far_address(int fd, char text[ADDRESS_TEXT])
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    text[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&address, &size) == 0)
        address_name((const struct sockaddr *)&address, text);
}

bool socket_is_here(int fd)
{
    struct sockaddr_storage mine = {0}, theirs = {0};
    socklen_t size = sizeof mine;
    char my_text[ADDRESS_TEXT], their_text[ADDRESS_TEXT];
    if (getsockname(fd, (struct sockaddr *)&mine, &size) < 0)
        return false;
    size = sizeof theirs;
    if (getpeername(fd, (struct sockaddr *)&theirs, &size) < 0)
        return false;
    address_text((const struct sockaddr *)&mine, my_text);
    address_text((const struct sockaddr *)&theirs, their_text);
    return address_is_loopback((const struct sockaddr *)&mine) || strcmp(my_text, their_text) == 0;
}
