/* The internals of a meeting, for the files of this folder. One lock guards all of it. Rank 0 is the hub: every other
 * process has one line, to rank 0.
 *
 *     member                    hub
 *     HELLO, JOIN    ◄─►                who is there, and has it the key? handshake.h
 *                    ◄──  BEGIN         all are here; until then a member says nothing but BYE
 *     REPORT         ◄─►  REPORT        once a second
 *     SET, GET       ──►
 *                    ◄──  VALUE         answers a GET, as soon as the value is set
 *     GIVE           ──►
 *                    ◄──  GIVEN         when all have given
 *     STOP           ◄─►  STOP          a stop was asked for
 *     FAILED         ──►                what a member says went wrong
 *                    ◄──  VERDICT       what ends the run, for all
 *     BYE            ◄─►  BYE           leaves in good order; the receiver closes the line
 *
 * All frames after the handshake are sealed (line.h). A member believes rank 0's verdict, which is one sentence and an
 * exit code. Rank 0 does not believe a FAILED: it says that a process says so, and ends with ERR_PEER. No hint travels,
 * because hints are commands that a user types. */
#ifndef TRAINER_COMM_MEET_PARTS_H
#define TRAINER_COMM_MEET_PARTS_H

#include "trainer/comm/handshake.h"
#include "trainer/comm/judge.h"
#include "trainer/comm/line.h"
#include "trainer/comm/meet.h"
#include "trainer/comm/endpoint.h"

#include <pthread.h>
#include <stdatomic.h>

#define REPORT_SECONDS 1.0
#define CLOSE_SECONDS  2.0
#define HELLO_SECONDS  10.0 /* a stranger that has not proven the key is dropped after this */
#define TICK_MS        250
#define VALUES_BYTES   ((size_t)256 << 20) /* of all named values together, with VALUE_COST for each */
#define VALUE_COST     128u
#define QUEUE_BYTES                                                                                                    \
    ((size_t)8 << 20) /* that wait for a process that does not read, besides one GIVEN; more breaks
                                          * its line */

struct begin {
    char outer[ADDRESS_TEXT]; /* rank 0's address as other machines see it; "": all are on one machine */
};

#define SAID_TEXT 360

/* What a member says went wrong: one sentence, with file and byte in it. */
struct said {
    uint32_t stopped; /* 1: it was asked to stop */
    char text[SAID_TEXT];
};

struct meet_verdict {
    uint32_t lost; /* a rank that died or hangs, or NOBODY */
    uint32_t said; /* 1: rank 0 only repeats what a member says */
    struct error error;
};

/* A named value that was set here or received. */
struct value {
    char *key;
    struct buf bytes;
};

struct meet {
    struct meet_options options;
    char host[HOST_TEXT];
    char address[ADDRESS_TEXT];
    struct job_key key; /* of the processes, once it is known; a member learns it from the FILE or from `give` */
    unsigned char secret[HMAC_BYTES]; /* of this meeting; see meet_secret */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    int wake;          /* an eventfd: there is something to send */
    double now, clock; /* seconds in which this thread was awake; clock_now() after the last poll */
    double reported;   /* `now` when the last report left */

    struct rank_report report; /* of this process */
    unsigned waits;            /* calls of meet_wait(true), and waiting calls of our own, that have not ended */
    uint32_t works;            /* calls of meet_work(true) that have not ended */
    bool begun;                /* all are here */
    bool closing;
    double closing_since; /* `now` when BYE was sent */
    atomic_bool stop;
    uint64_t begun_step; /* the step whose sums this process has begun; 0: none */

    atomic_bool failed;
    bool failure_seen; /* the failure was reported to a caller */
    double failed_since;
    struct meet_verdict verdict;

    struct value *values;
    size_t values_count, values_bytes;
    struct buf given;   /* the last exchange: u32 sizes[size], then the blocks */
    uint64_t exchanges; /* number of complete ones */

    struct peer *peers; /* [size] in the hub; [1], rank 0, in a member */
    struct line line;   /* member: to rank 0 */
    struct hub *hub;    /* rank 0 only */
};

/* meet.c, values.c. All are called with the lock held. */
struct poll_set {
    struct pollfd *fds;
    struct line **lines; /* [count], of each fd; NULL: not a line */
    size_t count, capacity;
};
void poll_add(struct poll_set *set, int fd, struct line *line);
bool poll_is_ready(const struct poll_set *set, const struct line *line); /* is there something to read? */
void poll_release(struct poll_set *set);
/* Sleeps without the lock until something can be read or written, or a tick has passed. The caller builds the set anew
 * each time; this adds meet->wake. */
void meet_rest(struct meet *meet, struct poll_set *set);

/* May the process at the other end take part, as far as that is known without a key? */
bool meet_trusts(const struct meet *meet, int fd);
void meet_wake(struct meet *meet);                   /* wakes the thread: there is something to send */
void meet_await(struct meet *meet);                  /* sleeps in a caller until something changes, or for a tick */
int meet_tell(struct meet *meet, struct error *err); /* reports the verdict to a caller; returns -1 */
void meet_judge(struct meet *meet, uint32_t lost, const struct error *err); /* the first verdict counts */
void meet_take_verdict(struct meet *meet, const struct meet_verdict *verdict);
void meet_make_secret(struct meet *meet, const unsigned char nonce[NONCE_BYTES]);
/* The room that a line needs for frames that all processes may send, and for those of rank 0. */
uint32_t meet_frame_max(uint32_t size, bool from_first);
size_t meet_queue_max(uint32_t size);
void meet_keep(struct meet *meet, struct str key, struct str bytes); /* stores a named value */
/* NULL: it is not set. Valid until the lock is released. */
const struct value *meet_find(const struct meet *meet, struct str key);
void meet_given(struct meet *meet, struct str bytes); /* takes the result of an exchange */
void meet_stopped(struct meet *meet);                 /* some process asked for a stop */
void meet_hear(struct meet *meet, struct peer *peer, struct str bytes);
bool meet_is_due(struct meet *meet);     /* is it time for a report? meet->report is what to send */
void meet_leave_late(struct meet *meet); /* ends a process that takes no note of a failure */
/* values.c: sets a value of this process; decides that a step is finished although a stop was asked for. */
void value_put(struct meet *meet, struct str key, struct str bytes);
void value_go_on(struct meet *meet, uint64_t step);
/* Key and bytes of a SET or VALUE; < 0: malformed. */
int value_read(struct str frame, struct str *key, struct str *bytes);
void value_write(struct buf *frame, struct str key, struct str bytes);

/* hub.c. hub_open listens and announces the place; errors: those of listen_open and door_announce. hub_run is the
 * thread's function. */
int hub_open(struct meet *meet, struct error *err);
void hub_close(struct meet *meet);
void *hub_run(void *meet);
void hub_put_all(struct meet *meet, uint32_t kind, const void *bytes, size_t size);
void hub_put_verdict_all(struct meet *meet);
void hub_set(struct meet *meet, struct str key, struct str bytes);
void hub_give(struct meet *meet, uint32_t rank, struct str block);
int hub_await(struct meet *meet, struct error *err); /* waits until all are here */

/* member.c. member_open finds rank 0 and says hello: ERR_PEER after `patience`, ERR_STOPPED. */
int member_open(struct meet *meet, struct error *err);
void *member_run(void *meet);

#endif
