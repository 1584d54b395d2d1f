/* Rank 0's part of a rendezvous, for leader.c and leader_accept.c. All functions are called with the lock held. */
#pragma once

#include "trainer/comm/rendezvous_parts.h"

/* Connections that have not joined, at most; a further one replaces the oldest, first among those that have not said
 * HELLO. */
#define STRANGERS_MAX  64u
#define STRANGER_QUEUE 4096u /* bytes that wait to be sent to one */
#define ACCEPTS_MAX    16u   /* new connections between two looks at those that are there */

struct stranger {
    struct line line;
    double since;
    bool greeted; /* its HELLO was answered: the next message must be a JOIN with the right seal */
};

/* The seat of one rank; its peer is in rendezvous->peers. */
struct seat {
    struct line line;
    bool has_given;
    struct buf given;
    char **wanted; /* keys of GETs that have no answer yet */
    size_t wanted_count;
};

struct leader {
    struct listeners listeners; /* none: closed */
    struct endpoint endpoint;
    struct buf description; /* the content of the FILE */
    struct seat *seats;     /* [size]; [0] is this process, without a line */
    struct stranger strangers[STRANGERS_MAX];
    uint32_t strangers_count;
    unsigned char nonce[NONCE_BYTES]; /* of this rendezvous */
    double logged;                    /* `now` of the last line about one that was sent away; 0: none */
    uint32_t unlogged;                /* others since then */
    bool bye;
};

/* Closes the line and frees what belongs to it. */
void seat_clear(struct seat *seat);
void leader_put_failure(struct rendezvous *rendezvous, struct line *line);

/* Announces where rank 0 listens: in the FILE, through what started us (MPI), or not at all where the others know
 * it. Errors: those of writing the FILE, or of `broadcast`. */
int leader_announce(struct rendezvous *rendezvous, struct error *err);
void leader_accept(struct rendezvous *rendezvous); /* new connections become strangers */
/* A stranger that proves the key gets a seat. */
void leader_read_strangers(struct rendezvous *rendezvous, const struct poll_set *ready);
void leader_begin(struct rendezvous *rendezvous); /* begins the rendezvous if all are here */
/* Logs why a connection is closed ("it …"), at most once a second. */
void leader_log_refused(struct rendezvous *rendezvous, int fd, const char *why);
/* Closes the listener and drops strangers: all are here, or the rendezvous is over. */
void leader_stop_listening(struct rendezvous *rendezvous);
