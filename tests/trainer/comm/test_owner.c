/* Whose socket is at the other end of a connection: from tables as Linux writes them, and of real sockets. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit.h"
#include "trainer/comm/listen.h"
#include "trainer/comm/owner.h"

/* Lines of Linux 6.18. */
#define HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define TAIL " 1 000000007cfb6f84 20 4 30 10 -1\n"
static const char table[] = HEAD
    "   0: 0100007F:E93F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 4919016" TAIL
    "   1: 0100007F:CDDE 0100007F:E93F 01 00000000:00000000 00:00000000 00000000  1000        0 4919017" TAIL
    "   2: 0100007F:E93F 0100007F:CDDE 01 00000000:00000000 00:00000000 00000000     8        0 4919018" TAIL
    "   3: 0100007F:CDE0 0100007F:E93F 06 00000000:00000000 03:00000A2B 00000000     0        0 0 3 0000000000000000\n"
    "   4: 0100007F:CDE2 0100007F:E93F 05 00000000:00000000 02:0000012C 00000000     0        0 0 2 0000000000000000\n"
    "   5: 0100007F:CDE4 0100007F:E93F 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000\n"
    "   6: 0100007F:CDE6 0100007F:E93F 01 00000000:00000000 02:0000012C 00000000     0        0 4919019" TAIL;
static const char table_six[] =
    HEAD "   0: 00000000000000000000000001000000:A001 00000000000000000000000001000000:E93F 01 00000000:00000000 "
         "00:00000000 00000000  1001        0 77" TAIL;

TEST(lines_of_tables)
{
    static const struct {
        const char *ends;
        int uid; /* -1: unknown */
    } cases[] = {
        {"0100007F:CDDE 0100007F:E93F", 1000},
        {"0100007F:E93F 0100007F:CDDE", 8},
        {"0100007F:CDE6 0100007F:E93F", 0},
        {"0100007F:CDE0 0100007F:E93F", -1}, /* closed: the kernel writes 0 for a user that it does not know */
        {"0100007F:CDE2 0100007F:E93F", -1},
        {"0100007F:CDE4 0100007F:E93F", -1},
        {"0100007F:E93F 00000000:0000", -1}, /* listens */
        {"0200007F:CDDE 0100007F:E93F", -1},
        {"0100007F:CDDE 0100007F:E93E", -1},
    };
    uid_t uid = 99;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool known = owner_in(STR(table), cases[i].ends, &uid);
        if (known != (cases[i].uid >= 0) || (known && (int)uid != cases[i].uid))
            fail_msg("%s: %d, user %u", cases[i].ends, known, uid);
    }
    assert_true(
        owner_in(STR(table_six), "00000000000000000000000001000000:A001 00000000000000000000000001000000:E93F", &uid));
    assert_int_equal(uid, 1001);
    for (size_t cut = strlen(HEAD); cut < sizeof table - 1; cut += 7) /* a table that ends anywhere */
        (void)owner_in((struct str){table, cut}, "0100007F:CDDE 0100007F:E93F", &uid);
}

/* Connects to a listener; returns the end that it accepts, and the other in *far. */
static int connect_to(int listener, int family, int *far)
{
    struct sockaddr_in6 at;
    socklen_t size = sizeof at;
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    if (family == AF_INET6 && at.sin6_family == AF_INET) { /* a socket of IPv6 may connect to IPv4 */
        at = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = at.sin6_port};
        inet_pton(AF_INET6, "::ffff:127.0.0.1", &at.sin6_addr);
        size = sizeof at;
    }
    *far = socket(family, SOCK_STREAM, 0);
    if (*far < 0 || connect(*far, (struct sockaddr *)&at, size) < 0)
        return -1;
    return accept(listener, NULL, NULL);
}

static int listen_for(const char *host)
{
    struct endpoint place = {.port = "0"};
    struct listeners listeners;
    struct error err;
    snprintf(place.host, sizeof place.host, "%s", host);
    return listen_open(&listeners, &place, NULL, &err) == 0 ? listeners.fds[0] : -1;
}

TEST(real_sockets)
{
    static const struct {
        const char *host;
        int family;
    } cases[] = {{"127.0.0.1", AF_INET}, {"127.0.0.1", AF_INET6}, {"::1", AF_INET6}, {"::", AF_INET6}};
    if (access("/proc/self/net/tcp", R_OK) < 0)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uid_t uid = 12345;
        int far;
        const int listener = listen_for(cases[i].host);
        const int near = listener < 0 ? -1 : connect_to(listener, cases[i].family, &far);
        if (near < 0) {
            assert_int_not_equal(i, 0); /* IPv6 may be missing */
            continue;
        }
        assert_true(owner_of_peer(near, &uid));
        assert_int_equal(uid, geteuid());
        assert_true(owner_is_trusted(near));
        close(far);
        assert_false(owner_is_trusted(near)); /* nobody holds it any more */
        close(near);
        close(listener);
    }
}

TEST(a_stranger_is_not_trusted)
{
    uid_t uid = 0;
    int far;
    if (geteuid() != 0 || access("/proc/self/net/tcp", R_OK) < 0)
        skip();
    const int listener = listen_for("127.0.0.1");
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (setuid(65534) < 0 || (far = socket(AF_INET, SOCK_STREAM, 0)) < 0 ||
            connect(far, (struct sockaddr *)&at, size) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    const int ready = poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 5000);
    const int near = accept(listener, NULL, NULL);
    const bool known = owner_of_peer(near, &uid), trusted = owner_is_trusted(near);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(ready, 1);
    assert_true(known);
    assert_int_equal(uid, 65534);
    assert_false(trusted);
    assert_false(owner_is_trusted(near));
    close(near);
    close(listener);
}
