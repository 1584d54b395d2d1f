/* Which addresses rank 0 listens on, and which of them other machines can reach. */
#include <netinet/in.h>

#include "tests/unit.h"
#include "trainer/comm/listen.h"

/* "127.0.0.1 ::1": the addresses that are listened on at `port`; another port fails. */
static const char *addresses(const struct listeners *listeners, uint16_t port)
{
    static char text[400];
    text[0] = '\0';
    for (size_t i = 0; i < listeners->count; i++) {
        struct sockaddr_in6 bound;
        socklen_t size = sizeof bound;
        const size_t used = strlen(text);
        int listens = 0;
        char name[ADDRESS_TEXT];
        assert_int_equal(getsockname(listeners->fds[i], (struct sockaddr *)&bound, &size), 0);
        assert_true(port == 0 || ntohs(bound.sin6_port) == port); /* at the same place in both families */
        size = sizeof listens;
        assert_int_equal(getsockopt(listeners->fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
        assert_true(listens);
        address_text((struct sockaddr *)&bound, name);
        snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", name);
    }
    return text;
}

static struct endpoint place_of(const char *host, uint16_t port)
{
    struct endpoint place = {0};
    snprintf(place.host, sizeof place.host, "%s", host);
    snprintf(place.port, sizeof place.port, "%u", port);
    return place;
}

static uint16_t free_port(void)
{
    int listener;
    char text[ADDRESS_TEXT];
    struct error err;
    assert_int_equal(listen_here(&listener, text, &err), 0);
    close(listener);
    return (uint16_t)atoi(strrchr(text, ':') + 1);
}

static bool has_six(void)
{
    struct listeners listeners;
    struct error err;
    const struct endpoint place = place_of("::1", free_port());
    const bool has = listen_open(&listeners, &place, NULL, &err) == 0;
    listen_close(&listeners);
    return has;
}

TEST(only_what_was_named_is_listened_on)
{
    static const struct {
        const char *host, *bind, *listens;
    } cases[] = {
        {"127.0.0.1", NULL, "127.0.0.1"},
        {"127.0.0.2", NULL, "127.0.0.2"},
        {"127.0.0.1", "127.0.0.3", "127.0.0.3"},
        {"localhost", "127.0.0.1", "127.0.0.1"},
        {"192.0.2.77", "127.0.0.1", "127.0.0.1"}, /* of another machine that passes connections on */
        {"0.0.0.0", NULL, "0.0.0.0"},
        {"127.0.0.1", "0.0.0.0", "0.0.0.0"},
        {"::1", NULL, "::1"},
        {"::", NULL, "::"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct listeners listeners;
        struct error err = {0};
        const uint16_t port = free_port();
        const struct endpoint place = place_of(cases[i].host, port);
        if (strchr(cases[i].host, ':') && !has_six())
            continue;
        if (listen_open(&listeners, &place, cases[i].bind, &err) < 0)
            fail_msg("%s: %s", cases[i].host, err.text);
        assert_string_equal(addresses(&listeners, port), cases[i].listens);
        listen_close(&listeners);
        assert_int_equal(listeners.count, 0);
    }
}

TEST(a_name_of_loopback_listens_there_alone)
{
    static const char *const names[] = {"localhost", "ip6-localhost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct listeners listeners;
        struct error err;
        const uint16_t port = free_port();
        const struct endpoint place = place_of(names[i], port);
        if (listen_open(&listeners, &place, NULL, &err) < 0) {
            assert_int_equal(i, 1); /* not every system has this name */
            continue;
        }
        for (char *name = strtok((char *)addresses(&listeners, port), " "); name; name = strtok(NULL, " "))
            assert_true(strcmp(name, "127.0.0.1") == 0 || strcmp(name, "::1") == 0);
        assert_true(listen_is_local(&place, NULL));
        listen_close(&listeners);
    }
}

TEST(all_addresses_only_where_they_are_asked_for)
{
    struct listeners listeners;
    struct error err;
    const uint16_t port = free_port();
    const struct endpoint place = place_of("127.0.0.1", port), file = {.path = "f"};
    const char *const any = has_six() ? "::" : "0.0.0.0";
    assert_int_equal(listen_open(&listeners, &place, BIND_ALL, &err), 0);
    assert_string_equal(addresses(&listeners, port), any);
    listen_close(&listeners);
    assert_int_equal(listen_open(&listeners, &file, NULL, &err), 0);
    assert_string_equal(addresses(&listeners, 0), any);
    listen_close(&listeners);
    assert_int_equal(listen_open(&listeners, NULL, NULL, &err), 0);
    assert_string_equal(addresses(&listeners, 0), any);
    listen_close(&listeners);
    assert_int_equal(listen_open(&listeners, &file, "127.0.0.1", &err), 0);
    assert_string_equal(addresses(&listeners, 0), "127.0.0.1");
    listen_close(&listeners);
}

TEST(what_cannot_be_listened_on_is_said)
{
    char own[256];
    struct listeners listeners, other;
    struct error err;
    const struct endpoint absent = place_of("192.0.2.77", free_port()), one = place_of("127.0.0.1", free_port());
    const struct endpoint unknown = place_of("no.such.name.invalid", free_port());
    assert_int_equal(listen_open(&listeners, &absent, NULL, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "192.0.2.77"));
    assert_non_null(strstr(err.hint, "--bind"));
    assert_int_equal(listeners.count, 0);
    assert_int_equal(listen_open(&listeners, &unknown, NULL, &err), -1);
    assert_non_null(strstr(err.hint, "--bind"));
    assert_int_equal(listen_open(&listeners, &one, "no.such.name.invalid", &err), -1);
    assert_int_equal(listen_open(&listeners, &one, NULL, &err), 0);
    assert_int_equal(listen_open(&other, &one, NULL, &err), -1);
    assert_non_null(strstr(err.hint, "another port"));
    listen_close(&listeners);

    /* This machine's own name, where a table of hosts makes it a loopback address: others see another one. */
    assert_int_equal(gethostname(own, sizeof own), 0);
    const struct endpoint named = place_of(own, free_port());
    assert_false(listen_is_local(&named, NULL));
    if (listen_open(&listeners, &named, NULL, &err) < 0)
        assert_non_null(strstr(err.hint, "--bind"));
    else
        assert_null(strstr(addresses(&listeners, 0), "0.0.0.0"));
    listen_close(&listeners);
}

TEST(loopback_is_known)
{
    static const struct {
        const char *host, *bind;
        bool local;
    } cases[] = {
        {"127.0.0.1", NULL, true},
        {"127.8.9.10", NULL, true},
        {"::1", NULL, true},
        {"::ffff:127.0.0.1", NULL, true},
        {"127.0.0.1", "::1", true},
        {"0.0.0.0", NULL, false},
        {"::", NULL, false},
        {"::ffff:192.0.2.1", NULL, false},
        {"192.0.2.1", NULL, false},
        {"192.0.2.1", "127.0.0.1", false},
        {"127.0.0.1", BIND_ALL, false},
        {"127.0.0.1", "0.0.0.0", false},
        {"no.such.name.invalid", NULL, false},
        {"no.such.name.localhost.example", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct endpoint place = place_of(cases[i].host, 7);
        if (listen_is_local(&place, cases[i].bind) != cases[i].local)
            fail_msg("%s, bound to %s", cases[i].host, cases[i].bind ? cases[i].bind : "the same");
    }
}
