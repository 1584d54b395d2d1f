/* A process that waits for others cannot be what they wait for. So among those that do not move, the one that does not
 * wait is the culprit. */
#include "trainer/comm/failure_detector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAITING_SHOWN 4u /* waiting ranks that a message names, at most */

char *peer_text(const struct peer *peer, char text[PEER_TEXT])
{
    snprintf(text, PEER_TEXT, "rank %u (%s, pid %u)", peer->rank, peer->host, peer->pid);
    return text;
}

#define WHERE_TEXT (PLACE_TEXT + 48)

/* "at step 41 in bucket 3" */
static const char *where(const struct peer *peer, char text[WHERE_TEXT])
{
    if (!peer->report.begun)
        return "before the first step";
    snprintf(text, WHERE_TEXT, "at step %" PRIu64 " in %s", peer->report.step, peer->report.place);
    return text;
}

int fail_peer_lost(const struct peer *peer, const char *fault, struct error *err)
{
    char name[PEER_TEXT], place[WHERE_TEXT];
    if (fault) {
        fail(err, ERR_PEER, "the line to %s was cut %s: %s", peer_text(peer, name), where(peer, place), fault);
        return hint(err, "something between the two machines interferes, or it is not the process that it seems to be");
    }
    fail(err, ERR_PEER, "%s was lost %s", peer_text(peer, name), where(peer, place));
    return hint(err, "it was killed, or failed, or its machine went away");
}

bool peer_is_silent(const struct peer *peer, double now, double timeout)
{
    return peer->here && timeout > 0 && now - peer->heard >= timeout;
}

int fail_peer_silent(const struct peer *peer, double now, double timeout, struct error *err)
{
    char name[PEER_TEXT], place[WHERE_TEXT];
    fail(err, ERR_PEER, "%s has said nothing for %.0f s (--peer-timeout %.0fs), last %s", peer_text(peer, name),
         now - peer->heard, timeout, where(peer, place));
    return hint(err, "it was stopped, or its machine or the network hangs");
}

/* Appends "; rank 0 waits in bucket 3, rank 1 …" to the text, without `culprit`. */
static void add_waiting(const struct peer *peers, uint32_t count, const struct peer *culprit, struct error *err)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(err->text);
        if (!peers[i].here || !peers[i].report.waits || &peers[i] == culprit)
            continue;
        if (shown++ == WAITING_SHOWN) {
            snprintf(err->text + used, sizeof err->text - used, ", and others");
            break;
        }
        snprintf(err->text + used, sizeof err->text - used, "%s rank %u waits in %s", shown == 1 ? ";" : ",",
                 peers[i].rank, peers[i].report.place);
    }
}

static int still(const struct peer *peers, uint32_t count, const struct peer *one, double now, struct error *err)
{
    char name[PEER_TEXT], place[WHERE_TEXT];
    fail(err, ERR_PEER, "%s is alive but has made no progress for %.0f s, %s", peer_text(one, name), now - one->moved,
         where(one, place));
    add_waiting(peers, count, one, err);
    return hint(err, "its disk or its device hangs; --peer-timeout sets how long the others wait");
}

static int deadlock(const struct peer *peers, uint32_t count, double timeout, struct error *err)
{
    fail(err, ERR_PEER, "all processes have waited for each other for %.0f s", timeout);
    add_waiting(peers, count, NULL, err);
    return hint(err, "the network between two of them hangs; --peer-timeout sets how long they wait");
}

int detect_failure(const struct peer *peers, uint32_t count, double now, double timeout, uint32_t *who,
                   struct error *err)
{
    uint32_t here = 0, waiting = 0, culprit = NOBODY;
    *who = NOBODY;
    if (timeout <= 0)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct peer *one = &peers[i];
        const bool is_still = now - one->moved >= timeout;
        if (peer_is_silent(one, now, timeout)) {
            *who = i;
            fail_peer_silent(one, now, timeout, err);
            add_waiting(peers, count, one, err);
            return -1;
        }
        here += one->here;
        waiting += one->here && is_still && one->report.waits;
        if (one->here && is_still && !one->report.waits && culprit == NOBODY)
            culprit = i;
    }
    if (waiting > 0 && waiting == here)
        return deadlock(peers, count, timeout, err);
    if (waiting == 0 || culprit == NOBODY)
        return 0;
    *who = culprit;
    return still(peers, count, &peers[culprit], now, err);
}

void list_missing_peers(const struct peer *peers, uint32_t count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0, to; i < count; i = to + 1) {
        to = i;
        if (peers[i].here)
            continue;
        while (to + 1 < count && !peers[to + 1].here)
            to++;
        const char *comma = used ? ", " : "";
        const int more = to > i ? snprintf(text + used, size - used, "%s%u-%u", comma, i, to)
                                : snprintf(text + used, size - used, "%s%u", comma, i);
        if (more < 0 || (size_t)more >= size - used)
            return;
        used += (size_t)more;
    }
}
