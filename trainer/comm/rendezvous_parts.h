/* The internals of a rendezvous, for the files of this folder. One lock guards all of it. Rank 0 is the leader: every
 * other process has one line, to rank 0.
 *
 *     worker                    leader
 *     HELLO, JOIN    ◄─►                proves the key, says who it is (handshake.h)
 *                    ◄──  BEGIN         all are here; until then a worker says nothing but BYE
 *     REPORT         ◄─►  REPORT        once a second
 *     SET, GET       ──►
 *                    ◄──  VALUE         answers a GET, as soon as the value is set
 *     BLOCK          ──►
 *                    ◄──  BLOCKS        when all have given theirs
 *     STOP           ◄─►  STOP          a stop was asked for
 *     FAILED         ──►                what a worker says went wrong
 *                    ◄──  ABORT         what ends the run, for all
 *     BYE            ◄─►  BYE           leaves in good order; the receiver closes the line
 *
 * All frames after the handshake are sealed (line.h). A worker believes rank 0's ABORT, which is one sentence and an
 * exit code. Rank 0 does not believe a FAILED: it says that a process says so, and ends with ERR_PEER. No hint travels,
 * because hints are commands that a user types. */
#pragma once

#include "base/faults.h"
#include "trainer/comm/handshake.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/comm/endpoint.h"

#include <pthread.h>
#include <stdatomic.h>

#define REPORT_SECONDS fault_wait(1.0)
#define CLOSE_SECONDS  fault_wait(2.0)
#define HELLO_SECONDS  10.0 /* a stranger that has not proven the key is dropped after this */
#define TICK_MS        250
#define VALUES_BYTES   ((size_t)256 << 20) /* of all named values together, with VALUE_COST for each */
#define VALUE_COST     128u
/* Bytes that wait for a process that does not read, besides one BLOCKS; more breaks its line. */
#define QUEUE_BYTES ((size_t)8 << 20)

struct begin {
    char outer[ADDRESS_TEXT]; /* rank 0's address as other machines see it; "": all are on one machine */
};

#define SAID_TEXT 360

/* What a worker says went wrong: one sentence, with file and byte in it. */
struct said {
    uint32_t stopped; /* 1: it was asked to stop */
    char text[SAID_TEXT];
};

struct rendezvous_failure {
    uint32_t lost; /* a rank that died or hangs, or NOBODY */
    uint32_t said; /* 1: rank 0 only repeats what a worker says */
    struct error error;
};

/* A named value that was set here or received. */
struct value {
    char *key;
    struct buf bytes;
};

struct rendezvous {
    struct rendezvous_options options;
    char host[HOST_TEXT];
    char address[ADDRESS_TEXT];
    struct job_key key; /* of the processes, once it is known; a worker learns it from the FILE or from `broadcast` */
    unsigned char secret[HMAC_BYTES]; /* of this rendezvous; see rendezvous_secret */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    int wake;          /* an eventfd: there is something to send */
    double now, clock; /* seconds in which this thread was awake; clock_now() after the last poll */
    double reported;   /* `now` when the last report left */

    struct rank_report report; /* of this process */
    unsigned waits; /* calls of rendezvous_set_waiting(true), and waiting calls of our own, that have not ended */
    uint32_t works; /* calls of rendezvous_set_working(true) that have not ended */
    bool begun;     /* all are here */
    bool closing;
    double closing_since; /* `now` when BYE was sent */
    atomic_bool stop;
    uint64_t begun_step; /* the step whose sums this process has begun; 0: none */

    atomic_bool failed;
    bool failure_seen; /* the failure was reported to a caller */
    double failed_since;
    struct rendezvous_failure failure;

    struct value *values;
    size_t values_count, values_bytes;
    struct buf given;   /* the last exchange: u32 sizes[size], then the blocks */
    uint64_t exchanges; /* number of complete ones */

    struct peer *peers;    /* [size] in the leader; [1], rank 0, in a worker */
    struct line line;      /* worker: to rank 0 */
    struct leader *leader; /* rank 0 only */
};

/* rendezvous.c, liveness.c, values.c, stop_protocol.c. All are called with the lock held. */
struct poll_set {
    struct pollfd *fds;
    struct line **lines; /* [count], of each fd; NULL: not a line */
    size_t count, capacity;
};
void poll_add(struct poll_set *set, int fd, struct line *line);
bool poll_is_ready(const struct poll_set *set, const struct line *line); /* whether there is something to read */
void poll_release(struct poll_set *set);
/* Sleeps without the lock until something can be read or written, or a tick has passed. The caller builds the set anew
 * each time; this adds rendezvous->wake. */
void rendezvous_poll(struct rendezvous *rendezvous, struct poll_set *set);

/* Reads what has come on the line to `rank` and passes each frame to `take`, which may close the line. < 0: the line is
 * broken, or `take` has refused a frame. */
int rendezvous_read(struct rendezvous *rendezvous, struct line *line, uint32_t rank,
                    int (*take)(struct rendezvous *rendezvous, uint32_t rank, const struct frame *frame));

/* Whether the process at the other end may take part, as far as that is known without a key. */
bool rendezvous_trusts(const struct rendezvous *rendezvous, int fd);
void rendezvous_wake(struct rendezvous *rendezvous);  /* wakes the thread: there is something to send */
void rendezvous_await(struct rendezvous *rendezvous); /* sleeps in a caller until something changes, or for a tick */
int rendezvous_report_failure(struct rendezvous *rendezvous, struct error *err); /* to a caller; returns -1 */
/* Of several failures the first counts. */
void rendezvous_declare_failure(struct rendezvous *rendezvous, uint32_t lost, const struct error *err);
void rendezvous_take_failure(struct rendezvous *rendezvous, const struct rendezvous_failure *failure);
void rendezvous_make_secret(struct rendezvous *rendezvous, const unsigned char nonce[NONCE_BYTES]);
/* The room that a line needs for frames that all processes may send, and for those of rank 0. */
uint32_t rendezvous_frame_max(uint32_t size, bool from_first);
size_t rendezvous_queue_max(uint32_t size);
void rendezvous_keep_value(struct rendezvous *rendezvous, struct str key, struct str bytes); /* stores a named value */
/* NULL: it is not set. Valid until the lock is released. */
const struct value *rendezvous_find_value(const struct rendezvous *rendezvous, struct str key);
void rendezvous_take_blocks(struct rendezvous *rendezvous, struct str bytes); /* takes the result of an exchange */
void rendezvous_stopped(struct rendezvous *rendezvous);                       /* some process asked for a stop */
void rendezvous_take_report(struct rendezvous *rendezvous, struct peer *peer, struct str bytes);
bool rendezvous_is_due(struct rendezvous *rendezvous);     /* whether it is time to send rendezvous->report */
void rendezvous_leave_late(struct rendezvous *rendezvous); /* ends a process that takes no note of a failure */
/* values.c: sets a value of this process. rendezvous_check_line fails if the rendezvous has failed, or if rank 0 has
 * left: then no answer will come. */
int rendezvous_check_line(struct rendezvous *rendezvous, struct error *err);
void value_put(struct rendezvous *rendezvous, struct str key, struct str bytes);
/* Key and bytes of a SET or VALUE; < 0: malformed. */
int value_read(struct str frame, struct str *key, struct str *bytes);
void value_write(struct buf *frame, struct str key, struct str bytes);

/* leader.c. leader_open listens and announces the place; errors: those of listen_open and leader_announce. leader_run
 * is the thread's function. */
int leader_open(struct rendezvous *rendezvous, struct error *err);
void leader_close(struct rendezvous *rendezvous);
void *leader_run(void *rendezvous);
void leader_put_all(struct rendezvous *rendezvous, uint32_t kind, const void *bytes, size_t size);
void leader_put_failure_all(struct rendezvous *rendezvous);
void leader_set(struct rendezvous *rendezvous, struct str key, struct str bytes);
void leader_take_block(struct rendezvous *rendezvous, uint32_t rank, struct str block);
int leader_await(struct rendezvous *rendezvous, struct error *err); /* waits until all are here */

/* worker.c. worker_open finds rank 0 and says hello: ERR_PEER after `patience`, ERR_STOPPED. */
int worker_open(struct rendezvous *rendezvous, struct error *err);
void *worker_run(void *rendezvous);
