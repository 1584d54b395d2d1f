#include "trainer/comm/mesh.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "trainer/comm/endpoint.h"

#define PROOF_BYTES     HMAC_BYTES
#define NONCE_BYTES     32
#define PENDING_MAX     64   /* connections without a proof of the key; one more closes the oldest */
#define PENDING_SECONDS 5.0  /* after which such a connection is closed */
#define PATIENCE        45.0 /* seconds, at most: all processes are there; below --peer-timeout's default */
#define LONGER          3.0  /* more for processes that connect to this one: they can say why it fails */
#define REMIND_SECONDS  10.0 /* after which the user is told what the run waits for */
#define RETRY_SECONDS   0.1
#define TICK_MS         100
#define BACKLOG         1024
#define SOCKET_KIND     (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* A process's named value: where it listens. */
struct place {
    char address[ADDRESS_TEXT], port[8];
    unsigned char nonce[NONCE_BYTES];
};

struct claim {
    uint32_t rank;
    unsigned char proof[PROOF_BYTES];
};
_Static_assert(sizeof(struct claim) == 36 && sizeof(struct place) == 104, "their bytes travel");

/* A connection that somebody made to this process. */
struct pending {
    int fd;
    char from[ADDRESS_TEXT];
    double since;
    size_t got;
    struct claim claim;
};

/* The connection to a process of a lower rank. */
struct dial {
    int fd;       /* -1: none */
    double again; /* when it is tried next */
    bool claimed;
    size_t got;
    unsigned char answer[PROOF_BYTES];
    char why[160]; /* why the last attempt failed; "": there was none */
};

struct mesh {
    const struct comm_options *options;
    int *sockets;
    struct place *addresses; /* [size] */
    struct dial *dials;      /* [rank] */
    int listener;
    struct pending pending[PENDING_MAX];
    uint32_t pending_count;
    uint64_t strangers; /* connections that proved nothing */
    char stranger[ADDRESS_TEXT];
    struct pollfd *fds; /* [1 + PENDING_MAX + size] */
};

static struct addrinfo *resolve(const char *address, const char *port)
{
    struct addrinfo *found;
    return address_find(address, port, AI_NUMERICHOST, &found) == 0 ? found : NULL;
}

static const char *place_name(const struct place *place, char out[ADDRESS_TEXT])
{
    struct addrinfo *at = resolve(place->address, place->port);
    if (!at)
        return strcpy(out, "no address");
    address_name(at->ai_addr, out);
    freeaddrinfo(at);
    return out;
}

/* Listens at a port that the system chooses, and writes where. */
static int listen_there(struct mesh *mesh, struct place *mine, struct error *err)
{
    const char *address = mesh->options->address;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    struct addrinfo *at = resolve(address, "0");
    if (!at)
        return fail(err, ERR_USAGE, "%.64s is not an address at which processes can meet", address);
    mesh->listener = socket(at->ai_family, SOCKET_KIND, 0);
    const bool listens = mesh->listener >= 0 && bind(mesh->listener, at->ai_addr, at->ai_addrlen) == 0 &&
                         listen(mesh->listener, BACKLOG) == 0 &&
                         getsockname(mesh->listener, (struct sockaddr *)&bound, &size) == 0;
    const int number = errno;
    freeaddrinfo(at);
    errno = number;
    if (!listens) {
        fail_errno(err, "", "this process cannot listen at %.64s for the others", address);
        err->kind = number == EADDRNOTAVAIL ? ERR_USAGE : err->kind;
        return -1;
    }
    return getnameinfo((struct sockaddr *)&bound, size, mine->address, sizeof mine->address, mine->port,
                       sizeof mine->port, NI_NUMERICHOST | NI_NUMERICSERV) == 0
               ? 0
               : fail(err, ERR_RESOURCE, "the system does not say at which port this process listens");
}

/* Sets where this process listens, and waits for the same of all others. */
static int exchange_places(struct mesh *mesh, struct error *err)
{
    const struct comm_options *options = mesh->options;
    struct place *mine = &mesh->addresses[options->rank];
    char name[32];
    TRY(listen_there(mesh, mine, err));
    if (getrandom(mine->nonce, sizeof mine->nonce, 0) != sizeof mine->nonce)
        return fail(err, ERR_RESOURCE, "the system gives no random numbers");
    snprintf(name, sizeof name, "mesh/%" PRIu32, options->rank);
    TRY(options->store.set(options->store.context, name, mine, sizeof *mine, err));
    for (uint32_t i = 0; i < options->size; i++) {
        struct place *place = &mesh->addresses[i];
        snprintf(name, sizeof name, "mesh/%" PRIu32, i);
        const long size = options->store.get(options->store.context, name, place, sizeof *place, options->timeout, err);
        if (size < 0)
            return -1;
        if (size != sizeof *place)
            return fail(err, ERR_PEER, "process %" PRIu32 " does not say where it listens", i);
        place->address[sizeof place->address - 1] = place->port[sizeof place->port - 1] = '\0';
    }
    return 0;
}

/* The proof that the process of rank `high` sends to that of rank `low`, or gets from it. */
static void prove(const struct mesh *mesh, const char *direction, uint32_t high, uint32_t low,
                  unsigned char proof[PROOF_BYTES])
{
    struct {
        char direction[8];
        uint32_t high, low;
        unsigned char high_nonce[NONCE_BYTES], low_nonce[NONCE_BYTES];
    } message = {.high = high, .low = low};
    snprintf(message.direction, sizeof message.direction, "%s", direction);
    memcpy(message.high_nonce, mesh->addresses[high].nonce, NONCE_BYTES);
    memcpy(message.low_nonce, mesh->addresses[low].nonce, NONCE_BYTES);
    hmac_sha256((struct str){(const char *)mesh->options->secret, COMM_SECRET_BYTES},
                (struct str){(const char *)&message, sizeof message}, proof);
}

static bool is_proved(const struct mesh *mesh, const char *direction, uint32_t high, uint32_t low,
                      const unsigned char proof[PROOF_BYTES])
{
    unsigned char right[PROOF_BYTES];
    prove(mesh, direction, high, low, right);
    return hmac_same(right, proof);
}

/* Reads until `size` bytes are there. 1: they are; 0: not yet; -1: the other end closed. */
static int fill(int fd, void *bytes, size_t size, size_t *got)
{
    while (*got < size) {
        const ssize_t more = recv(fd, (char *)bytes + *got, size - *got, 0);
        if (more < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (more <= 0)
            return -1;
        *got += (size_t)more;
    }
    return 1;
}

static void take(struct mesh *mesh, uint32_t rank, int fd)
{
    socket_tune(fd);
    if (mesh->sockets[rank] >= 0) /* that process lost the connection before it got the answer, and made another */
        close(mesh->sockets[rank]);
    mesh->sockets[rank] = fd;
}

static void send_away(struct mesh *mesh, uint32_t i)
{
    close(mesh->pending[i].fd);
    memcpy(mesh->stranger, mesh->pending[i].from, sizeof mesh->stranger);
    mesh->strangers++;
    mesh->pending[i] = mesh->pending[--mesh->pending_count];
}

/* At most PENDING_MAX at a time, so that each is heard once before it may have to give way. */
static void accept_pending(struct mesh *mesh, double now)
{
    struct sockaddr_storage from;
    for (uint32_t count = 0; count < PENDING_MAX; count++) {
        socklen_t size = sizeof from;
        const int fd = accept4(mesh->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        uint32_t oldest = 0;
        if (fd < 0)
            return;
        for (uint32_t i = 1; i < mesh->pending_count; i++)
            oldest = mesh->pending[i].since < mesh->pending[oldest].since ? i : oldest;
        if (mesh->pending_count == PENDING_MAX)
            send_away(mesh, oldest);
        struct pending *one = &mesh->pending[mesh->pending_count++];
        *one = (struct pending){.fd = fd, .since = now};
        address_name((const struct sockaddr *)&from, one->from);
    }
}

/* false: the claim is wrong, or the answer does not leave. */
static bool answer(struct mesh *mesh, const struct pending *one)
{
    const uint32_t me = mesh->options->rank, rank = one->claim.rank;
    unsigned char proof[PROOF_BYTES];
    if (rank <= me || rank >= mesh->options->size || !is_proved(mesh, "claim", rank, me, one->claim.proof))
        return false;
    prove(mesh, "answer", rank, me, proof);
    if (send(one->fd, proof, sizeof proof, MSG_NOSIGNAL) != sizeof proof) /* a new socket takes that much at once */
        return false;
    take(mesh, rank, one->fd);
    return true;
}

static void serve_pending(struct mesh *mesh, double now)
{
    for (uint32_t i = mesh->pending_count; i-- > 0;) {
        struct pending *one = &mesh->pending[i];
        const int filled = fill(one->fd, &one->claim, sizeof one->claim, &one->got);
        if (filled > 0 && answer(mesh, one))
            *one = mesh->pending[--mesh->pending_count];
        else if (filled != 0 || now - one->since > PENDING_SECONDS)
            send_away(mesh, i);
    }
}

static void dial_fails(struct dial *dial, double now, const char *why)
{
    if (dial->fd >= 0)
        close(dial->fd);
    *dial = (struct dial){.fd = -1, .again = now + RETRY_SECONDS};
    snprintf(dial->why, sizeof dial->why, "%s", why);
}

static void dial_begin(struct dial *dial, const struct place *place, double now)
{
    struct addrinfo *at = resolve(place->address, place->port);
    dial->fd = at ? socket(at->ai_family, SOCKET_KIND, 0) : -1;
    if (!at)
        dial_fails(dial, now, "that is no address");
    else if (dial->fd < 0 || (connect(dial->fd, at->ai_addr, at->ai_addrlen) < 0 && errno != EINPROGRESS))
        dial_fails(dial, now, strerror(errno));
    if (at)
        freeaddrinfo(at);
}

/* Sends the claim once the connection is there. */
static void dial_claim(struct mesh *mesh, struct dial *dial, uint32_t to, double now)
{
    struct claim claim = {.rank = mesh->options->rank};
    prove(mesh, "claim", claim.rank, to, claim.proof);
    const ssize_t sent = send(dial->fd, &claim, sizeof claim, MSG_NOSIGNAL);
    if (sent == sizeof claim)
        dial->claimed = true;
    else if (sent >= 0 || (errno != EAGAIN && errno != EINTR))
        dial_fails(dial, now, sent < 0 ? strerror(errno) : "the connection takes nothing");
}

static void dial_hear(struct mesh *mesh, struct dial *dial, uint32_t to, double now)
{
    const int filled = fill(dial->fd, dial->answer, sizeof dial->answer, &dial->got);
    if (filled < 0) {
        dial_fails(dial, now, "it closes the connection");
    } else if (filled > 0 && !is_proved(mesh, "answer", mesh->options->rank, to, dial->answer)) {
        dial_fails(dial, now, "what answers there does not prove that it belongs to this run");
    } else if (filled > 0) {
        take(mesh, to, dial->fd);
        dial->fd = -1;
    }
}

static void serve_dials(struct mesh *mesh, double now)
{
    for (uint32_t i = 0; i < mesh->options->rank; i++) {
        struct dial *dial = &mesh->dials[i];
        if (mesh->sockets[i] >= 0)
            continue;
        if (dial->fd < 0 && now >= dial->again)
            dial_begin(dial, &mesh->addresses[i], now);
        if (dial->fd >= 0 && !dial->claimed)
            dial_claim(mesh, dial, i, now);
        if (dial->fd >= 0 && dial->claimed)
            dial_hear(mesh, dial, i, now);
    }
}

static void sleep_until_ready(struct mesh *mesh)
{
    nfds_t count = 0;
    mesh->fds[count++] = (struct pollfd){.fd = mesh->listener, .events = POLLIN};
    for (uint32_t i = 0; i < mesh->pending_count; i++)
        mesh->fds[count++] = (struct pollfd){.fd = mesh->pending[i].fd, .events = POLLIN};
    for (uint32_t i = 0; i < mesh->options->rank; i++)
        if (mesh->dials[i].fd >= 0)
            mesh->fds[count++] =
                (struct pollfd){.fd = mesh->dials[i].fd, .events = mesh->dials[i].claimed ? POLLIN : POLLOUT};
    poll(mesh->fds, count, TICK_MS);
}

/* The first process that is missing; `size`: none is. */
static uint32_t missing(const struct mesh *mesh)
{
    uint32_t i = 0;
    while (i < mesh->options->size && (i == mesh->options->rank || mesh->sockets[i] >= 0))
        i++;
    return i;
}

static const char *say_strangers(const struct mesh *mesh, char out[192])
{
    out[0] = '\0';
    if (mesh->strangers > 0)
        snprintf(out, 192, "%" PRIu64 " connection%s did not prove to belong to this run, the last from %s",
                 mesh->strangers, mesh->strangers == 1 ? "" : "s", mesh->stranger);
    return out;
}

static int say_missing(const struct mesh *mesh, uint32_t rank, double seconds, struct error *err)
{
    const struct comm_options *options = mesh->options;
    char name[ADDRESS_TEXT], strangers[192];
    if (rank < options->rank) {
        const char *why = mesh->dials[rank].why;
        return fail(err, ERR_PEER, "process %" PRIu32 " of %" PRIu32 " at %s was not reached for %.0f s: %s", rank,
                    options->size, place_name(&mesh->addresses[rank], name), seconds,
                    *why ? why : "it does not answer");
    }
    say_strangers(mesh, strangers);
    return fail(err, ERR_PEER, "process %" PRIu32 " of %" PRIu32 " did not connect to %s for %.0f s%s%s", rank,
                options->size, place_name(&mesh->addresses[options->rank], name), seconds, *strangers ? "; " : "",
                strangers);
}

static int connect_all(struct mesh *mesh, struct error *err)
{
    const struct comm_store *store = &mesh->options->store;
    const double began = clock_now(), patience = fmin(mesh->options->timeout, PATIENCE);
    bool reminded = false;
    for (;;) {
        const double now = clock_now();
        accept_pending(mesh, now);
        serve_pending(mesh, now);
        serve_dials(mesh, now);
        const uint32_t absent = missing(mesh);
        if (absent == mesh->options->size)
            return 0;
        if (store->check)
            TRY(store->check(store->context, err));
        if (stop_requested())
            return fail(err, ERR_STOPPED, "stopped before all processes were connected");
        if (now - began > patience + (absent > mesh->options->rank ? fmin(patience, LONGER) : 0)) {
            say_missing(mesh, absent, now - began, err);
            return hint(err, "every port between the machines of a run must be open, for connections both ways");
        }
        if (!reminded && now - began > REMIND_SECONDS) {
            say_missing(mesh, absent, now - began, err);
            log_say("waiting: %s", err->text);
            reminded = true;
        }
        sleep_until_ready(mesh);
    }
}

static void release(struct mesh *mesh, int result)
{
    for (uint32_t i = 0; i < mesh->pending_count; i++)
        close(mesh->pending[i].fd);
    for (uint32_t i = 0; i < mesh->options->rank; i++)
        if (mesh->dials[i].fd >= 0)
            close(mesh->dials[i].fd);
    for (uint32_t i = 0; result < 0 && i < mesh->options->size; i++)
        if (mesh->sockets[i] >= 0)
            close(mesh->sockets[i]);
    if (mesh->listener >= 0)
        close(mesh->listener);
    mem_free(mesh->addresses);
    mem_free(mesh->dials);
    mem_free(mesh->fds);
}

int mesh_connect(const struct comm_options *options, int *sockets, struct error *err)
{
    char strangers[192];
    struct mesh mesh = {.options = options, .sockets = sockets, .listener = -1};
    mesh.addresses = mem_clear(options->size, sizeof *mesh.addresses);
    mesh.dials = mem_clear(options->size, sizeof *mesh.dials);
    mesh.fds = mem_array(1 + PENDING_MAX + options->size, sizeof *mesh.fds);
    for (uint32_t i = 0; i < options->size; i++)
        mesh.dials[i].fd = sockets[i] = -1;
    int result = exchange_places(&mesh, err);
    if (result == 0)
        result = connect_all(&mesh, err);
    if (result == 0 && mesh.strangers > 0)
        log_say("%s; they were closed", say_strangers(&mesh, strangers));
    release(&mesh, result);
    return result;
}
