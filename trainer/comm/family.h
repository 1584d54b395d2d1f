/* The processes of one command with --processes: one start of them, from fork to the last exit code. Internal to
 * trainer/comm; spawn.c is the interface. */
#pragma once

#include "base/launcher.h"
#include "trainer/comm/board.h"

#include <signal.h>
#include <sys/types.h>

/* In the environment of a child: the descriptor of the pipe for its error, that of the board or -1, its place there. */
#define FAMILY_VARIABLE "DS_CHILD_ERRORS"

struct child {
    pid_t pid; /* 0: it has ended */
    int status;
};

struct family {
    struct launch launch;
    bool place_given;       /* the user gave launch.rendezvous */
    bool key_given;         /* the user gave launch.key */
    bool whole;             /* this start: all children were started */
    struct child *children; /* [launch.children] */
    uint32_t alive;
    int signals;     /* a signalfd */
    int errors[2];   /* the pipe for their reports */
    sigset_t before; /* the signal mask of the children */
    int asked;       /* stop signals that came */
    bool ending;     /* we have asked the rest to stop, or killed them, after the first failure */
    bool has_lost;   /* a signal that we did not send has ended a child */
    uint32_t lost;   /* its rank */
    int lost_by;     /* the signal */
    double failed;   /* clock_now() when the first child ended with an error; 0: none has */
    bool has_error;
    struct error error; /* of those reported so far, the one that says most about the cause */
    uint32_t who;       /* the rank that reported it */
    struct board board; /* with --restarts */
};

/* Blocks the signals that it watches. Close it on errors too. */
int family_open(struct family *family, const struct launch *launch, struct error *err);
void family_close(struct family *family);
/* Starts all, and waits until all have ended. Returns what spawn_run does for one start. */
int family_run(struct family *family, char **argv, struct error *err);
/* Takes the signals that have come: children that ended, and requests to stop, which it passes on. */
void family_signals(struct family *family);
