/* Who is lost, of those whose reports rank 0 hears: a pure function of these and the time. */
#ifndef TRAINER_COMM_JUDGE_H
#define TRAINER_COMM_JUDGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_TEXT  64 /* bytes of a host's name */
#define PLACE_TEXT 46
#define NOBODY     UINT32_MAX

/* What a process says once a second. */
struct rank_report {
    uint64_t step;
    uint64_t moves; /* calls of meet_move and ends of waiting */
    uint8_t waits;  /* for others */
    uint8_t begun;  /* meet_move was called */
    char place[PLACE_TEXT];
};
_Static_assert(sizeof(struct rank_report) == 64, "a report's bytes travel");

struct peer {
    uint32_t rank, pid;
    bool here; /* has come, and has not left in good order */
    char host[HOST_TEXT];
    struct rank_report report;
    double heard; /* when the last report came. Seconds in which the judge was awake */
    double moved; /* when one said that it moves */
};

/* "rank 2 (node7, pid 123)" */
#define PEER_TEXT (HOST_TEXT + 48)
char *peer_text(const struct peer *peer, char text[PEER_TEXT]);

/* ERR_PEER: its line broke. */
int judge_lost(const struct peer *peer, struct error *err);
/* Has it said nothing for `timeout`? */
bool judge_is_silent(const struct peer *peer, double now, double timeout);
int judge_silent(const struct peer *peer, double now, double timeout, struct error *err);
/* 0: nobody is lost. ERR_PEER and *who (NOBODY: they wait for each other): one is silent; one has not moved for
 * `timeout` while others have waited as long; or all wait. `timeout` 0: never. */
int judge(const struct peer *peers, uint32_t count, double now, double timeout, uint32_t *who, struct error *err);

/* The missing of `count` ranks as "2, 5-7" into `text`, cut where it is full. */
void judge_missing(const struct peer *peers, uint32_t count, char *text, size_t size);

#endif
