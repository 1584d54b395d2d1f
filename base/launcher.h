/* Which process this is, and of how many: either a launcher (mpirun, srun, torchrun) started several of us, or the
 * command line says so. Sources are tried in this order; the first that says more than one process counts:
 *
 *     DS_CHILD                            what a command with --processes tells its children
 *     --rank, --world-size, --processes
 *     OMPI_COMM_WORLD_*                   Open MPI's mpirun. Inside sbatch it inherits Slurm's variables, which count the
 *                                         tasks of the allocation, so it comes before them
 *     PMI_*, MV2_*                        MPICH, MVAPICH2, srun --mpi=pmi2
 *     RANK, WORLD_SIZE                    torchrun, accelerate, Kubernetes
 *     SLURM_*                             inside a step of srun only: a plain command in a batch script is one process */
#pragma once

#include "base/error.h"
#include "base/job_key.h"

#include <stdbool.h>

#define LAUNCH_SIZE_MAX 65536u

enum launch_kind {
    LAUNCH_ALONE,
    LAUNCH_CHILD,   /* of a command with --processes */
    LAUNCH_COMMAND, /* by --rank or --processes */
    LAUNCH_OPEN_MPI,
    LAUNCH_PMI,
    LAUNCH_MVAPICH,
    LAUNCH_TORCHRUN,
    LAUNCH_SLURM,
    LAUNCH_KINDS,
};

struct launch {
    enum launch_kind kind;
    uint32_t rank, size;             /* 0 of 1 for a single process; of a parent, the first rank of its children */
    uint32_t children;               /* > 0: this process is not a rank, but starts this many of them */
    uint64_t restarts;               /* and again, at most this often, where one is lost */
    uint32_t local_rank, local_size; /* among the ranks of this machine or command; local_size 0: not known */
    char rendezvous[512];            /* HOST:PORT or FILE; "": none was given */
    char job[96];                    /* the launcher's name of what it started: "Slurm step 123.0"; "": it has none */
    int listener;                    /* of the child that is rank 0: a socket that listens at `rendezvous`; else -1 */
    int key_pipe;                    /* of a child: the pipe from which it reads the key (launch_key_read); else -1 */
    struct job_key key;              /* by which the processes know each other; launch_find leaves it zeroed */
};

/* What the command line said. */
struct launch_flags {
    bool rank_given;
    uint64_t rank;
    uint64_t world_size;    /* 0: not given */
    uint64_t processes;     /* --processes or --gpus; 0: not given */
    uint64_t restarts;      /* 0: not given */
    const char *rendezvous; /* NULL: not given */
};

/* getenv() where `get` is NULL. */
struct environment {
    const char *(*get)(void *context, const char *name);
    void *context;
};

/* Pure. ERR_USAGE: what was given is contradictory or incomplete. */
int launch_find(struct launch *launch, const struct launch_flags *flags, struct environment environment,
                struct error *err);
/* For the screen: "mpirun", "srun". */
const char *launch_name(enum launch_kind kind);
/* True if MPI started us, so that MPI can carry our messages. */
bool launch_is_mpi(enum launch_kind kind);
/* How many of `threads` this process gets: an equal share of what one command has for its processes, at least one. */
uint64_t launch_threads(const struct launch *launch, uint64_t threads);

#define LAUNCH_CHILD_VARIABLE "DS_CHILD"
#define LAUNCH_CHILD_BYTES    640
/* The value of DS_CHILD from which launch_find makes this launch. The key is not part of it, because environments are
 * often logged. */
void launch_child_text(const struct launch *launch, char text[LAUNCH_CHILD_BYTES]);
/* How a parent gives the key to a child: a pipe that holds it and survives exec, in key_pipe; and in the child, which
 * closes it. 0, or -1 with errno. */
int launch_key_write(struct launch *launch);
int launch_key_read(struct launch *launch);

/* How many processes the environment announces, and which variable does so: 1 and NULL if none announces several. */
unsigned long launcher_processes(const char **variable);

/* Whether another process reports that the command is wrong. All processes of a launcher have the same command, so
 * rank 0 alone reports it. torchrun is typed on each machine, so there the first rank of each machine does. */
bool launcher_follows(void);

/* For work of one process: several identical ones side by side would waste the machine and compete for one directory.
 * ERR_USAGE if there are several. `program`: its name, for the hint. */
int launcher_refuse(const char *program, struct error *err);
