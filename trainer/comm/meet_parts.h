/* The inside of a meeting, for the files of this folder. One lock guards all of it. Rank 0 is the hub: every other
 * process has one line, to it.
 *
 *     member                    hub
 *     HELLO          ──►                who I am. The hub drops whoever says anything else, or says it too late
 *                    ◄──  WELCOME       who rank 0 is
 *                    ◄──  BEGIN         all are here
 *     REPORT         ◄─►  REPORT        once a second
 *     SET, GET       ──►
 *                    ◄──  VALUE         of a GET, as soon as it is set
 *     GIVE           ──►
 *                    ◄──  GIVEN         when all have given
 *     STOP           ◄─►  STOP          a stop was asked
 *     FAILED         ──►
 *                    ◄──  VERDICT       what ends the run, for all
 *     BYE            ◄─►  BYE           leaves in good order; who gets it closes the line */
#ifndef TRAINER_COMM_MEET_PARTS_H
#define TRAINER_COMM_MEET_PARTS_H

#include "trainer/comm/judge.h"
#include "trainer/comm/line.h"
#include "trainer/comm/meet.h"
#include "trainer/comm/rendezvous.h"

#include <pthread.h>
#include <stdatomic.h>

#define MEET_MAGIC    "dsmeet\r\n"
#define MEET_PROTOCOL 1u /* rises when a frame changes */

#define REPORT_SECONDS 1.0
#define CLOSE_SECONDS  2.0
#define HELLO_SECONDS  10.0 /* a stranger that says nothing is dropped after that */
#define TICK_MS        250
#define VALUES_BYTES   ((size_t)256 << 20) /* of all named values */

enum frame_kind {
    FRAME_HELLO = 1,
    FRAME_WELCOME,
    FRAME_BEGIN,
    FRAME_REPORT,
    FRAME_SET,
    FRAME_GET,
    FRAME_VALUE,
    FRAME_GIVE,
    FRAME_GIVEN,
    FRAME_STOP,
    FRAME_FAILED,
    FRAME_VERDICT,
    FRAME_BYE,
};

/* The first 12 bytes stay as they are in every protocol. */
struct hello {
    char magic[8];
    uint32_t protocol;
    uint32_t rank, size, pid;
    uint64_t number;
    char host[HOST_TEXT];
};
_Static_assert(sizeof(struct hello) == 96, "a hello's bytes travel");

struct welcome {
    char magic[8];
    uint32_t protocol, pid;
    uint64_t number;
    char host[HOST_TEXT];
};

struct begin {
    char outer[ADDRESS_TEXT]; /* rank 0's, as other machines see it; "": all are on one */
};

struct meet_verdict {
    uint32_t lost; /* a rank that died or stands still, or NOBODY */
    struct error error;
};

/* What was set, or has come. */
struct value {
    char *key;
    struct buf bytes;
};

struct meet {
    struct meet_options options;
    char host[HOST_TEXT];
    char address[ADDRESS_TEXT];
    const char *fault; /* DS_FAIL_PLACE, for tests; NULL */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    int wake;          /* an eventfd: there is something to send */
    double now, clock; /* seconds in which this thread was awake; clock_now() of the last look */
    double reported;   /* now: when the last report left */

    struct rank_report report; /* of this process */
    unsigned waits;            /* meet_wait, and calls of ours that wait */
    uint32_t works;            /* calls of meet_work(true) without their end */
    bool begun;                /* all are here */
    bool closing;
    double closing_since; /* now */
    atomic_bool stop;
    uint64_t begun_step; /* whose sums this process has begun; 0: none */

    atomic_bool failed;
    bool told; /* to somebody who asked */
    double failed_since;
    struct meet_verdict verdict;

    struct value *values;
    size_t values_count, values_bytes;
    struct buf given;   /* of the last exchange: u32 sizes[size], then the blocks */
    uint64_t exchanges; /* that are complete */

    struct peer *peers; /* [size] of the hub; [1], rank 0, of a member */
    struct line line;   /* of a member */
    struct hub *hub;    /* of rank 0 */
};

/* meet.c, values.c. All are called with the lock held. */
struct poll_set {
    struct pollfd *fds;
    struct line **lines; /* beside each; NULL: not a line */
    size_t count, capacity;
};
void poll_add(struct poll_set *set, int fd, struct line *line);
bool poll_is_ready(const struct poll_set *set, const struct line *line); /* is there something to read? */
void poll_release(struct poll_set *set);
/* Sleeps without the lock until something can be read or written, or a tick has passed. The set is made anew each time;
 * it includes meet->wake. */
void meet_rest(struct meet *meet, struct poll_set *set);

void meet_wake(struct meet *meet);                   /* the thread: there is something to send */
void meet_await(struct meet *meet);                  /* of a caller: sleeps until something changes, or for a tick */
int meet_tell(struct meet *meet, struct error *err); /* the verdict, to somebody who asked. -1 */
void meet_judge(struct meet *meet, uint32_t lost, const struct error *err); /* the first verdict counts */
void meet_keep(struct meet *meet, struct str key, struct str bytes);        /* a value */
const struct value *meet_find(const struct meet *meet, struct str key);
void meet_given(struct meet *meet, struct str bytes); /* an exchange is complete */
void meet_stopped(struct meet *meet);                 /* somebody asked for a stop */
void meet_hear(struct meet *meet, struct peer *peer, struct str bytes);
bool meet_is_due(struct meet *meet);     /* is it time for a report? meet->report is what to send */
void meet_leave_late(struct meet *meet); /* ends a process that does not take note of a failure */
/* values.c: this process sets a value; a step is finished though a stop was asked for. */
void value_put(struct meet *meet, struct str key, struct str bytes);
void value_go_on(struct meet *meet, uint64_t step);
/* key and bytes of a SET or VALUE; < 0: malformed */
int value_read(struct str frame, struct str *key, struct str *bytes);
void value_write(struct buf *frame, struct str key, struct str bytes);

/* hub.c */
int hub_open(struct meet *meet, struct error *err);
void hub_close(struct meet *meet);
void *hub_run(void *meet);
void hub_put_all(struct meet *meet, uint32_t kind, const void *bytes, size_t size);
void hub_set(struct meet *meet, struct str key, struct str bytes);
void hub_give(struct meet *meet, uint32_t rank, struct str block);
int hub_await(struct meet *meet, struct error *err); /* until all are here */

/* member.c */
int member_open(struct meet *meet, struct error *err);
void *member_run(void *meet);

#endif
