/* Decides which process is lost: a pure function of the reports that rank 0 received and of the time. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define HOST_TEXT  64 /* bytes of a host's name */
#define PLACE_TEXT 46
#define NOBODY     UINT32_MAX

/* What a process reports once a second. */
struct rank_report {
    uint64_t step;
    uint64_t moves; /* calls of rendezvous_progress and ends of waiting */
    uint8_t waits;  /* 1: it waits for others */
    uint8_t begun;  /* 1: it has reached its first step */
    char place[PLACE_TEXT];
};
_Static_assert(sizeof(struct rank_report) == 64, "a report's bytes travel");

struct peer {
    uint32_t rank, pid;
    bool here; /* has joined, and its line has not ended */
    char host[HOST_TEXT];
    struct rank_report report;
    double heard; /* when its last report came, in seconds in which the failure detector was awake */
    double moved; /* when a report last showed that it had moved */
};

/* "rank 2 (node7, pid 123)" */
#define PEER_TEXT (HOST_TEXT + 48)
char *peer_text(const struct peer *peer, char text[PEER_TEXT]);

/* The error of a process whose line broke, by a fault ("it sent …") or, with NULL, because the process ended:
 * ERR_PEER. */
int fail_peer_lost(const struct peer *peer, const char *fault, struct error *err);
/* Whether it has sent nothing for `timeout` seconds. fail_peer_silent: the error of such a process, ERR_PEER. */
bool peer_is_silent(const struct peer *peer, double now, double timeout);
int fail_peer_silent(const struct peer *peer, double now, double timeout, struct error *err);
/* 0: nobody is lost. ERR_PEER: process *who is silent, or has not moved for `timeout` seconds while others have waited
 * for as long; with *who NOBODY, all have waited for each other for as long. `timeout` 0: never. */
int detect_failure(const struct peer *peers, uint32_t count, double now, double timeout, uint32_t *who,
                   struct error *err);

/* Lists the missing ones of `count` ranks as "2, 5-7" in `text`, cut where it is full. */
void list_missing_peers(const struct peer *peers, uint32_t count, char *text, size_t size);
