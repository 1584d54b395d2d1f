/* Rank 0's part of a meeting, for hub.c and door.c. All calls have the lock. */
#ifndef TRAINER_COMM_HUB_H
#define TRAINER_COMM_HUB_H

#include "trainer/comm/meet_parts.h"

#define STRANGERS_MAX 64u /* at the door at one time; the one that came first makes room */

struct stranger {
    struct line line;
    double since;
};

/* Of one rank; its peer stands in meet->peers. */
struct seat {
    struct line line;
    bool has_given;
    struct buf given;
    char **wanted; /* keys of GETs that have no answer yet */
    size_t wanted_count;
};

struct hub {
    int listener; /* -1: all are here */
    uint64_t number;
    struct rendezvous rendezvous;
    struct buf description; /* what the FILE says */
    struct seat *seats;     /* [size]; [0] is this process, without a line */
    struct stranger strangers[STRANGERS_MAX];
    uint32_t strangers_count;
    bool bye;
};

/* Forgets who sat there. */
void seat_clear(struct seat *seat);

/* Tells the others where we are: by FILE, by what started us, or not at all where they know. */
int door_announce(struct meet *meet, struct error *err);
void door_accept(struct meet *meet);                             /* those that connect are strangers */
void door_read(struct meet *meet, const struct poll_set *ready); /* who says hello gets a seat */
void door_begin(struct meet *meet);                              /* if all are here */
/* All are here, or will not be: nobody may come any more. */
void door_shut(struct meet *meet);

#endif
