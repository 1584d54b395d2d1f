#include "base/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The names of a launcher's variables. */
struct family {
    enum launch_kind kind;
    const char *rank, *size, *local_rank;
    const char *size_else; /* used if `size` is not set */
};

static const struct family families[] = {
    {LAUNCH_OPEN_MPI, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {LAUNCH_PMI, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
    {LAUNCH_MVAPICH, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {LAUNCH_TORCHRUN, "RANK", "WORLD_SIZE", "LOCAL_RANK", NULL},
    {LAUNCH_SLURM, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS"},
};
#define FAMILIES (sizeof(families) / sizeof(*families))

static const char *const names[] = {
    [LAUNCH_ALONE] = "",
    [LAUNCH_CHILD] = "--processes",
    [LAUNCH_COMMAND] = "the command line",
    [LAUNCH_OPEN_MPI] = "mpirun",
    [LAUNCH_PMI] = "MPI (PMI)",
    [LAUNCH_MVAPICH] = "MPI (MVAPICH2)",
    [LAUNCH_TORCHRUN] = "torchrun",
    [LAUNCH_SLURM] = "srun",
};
_Static_assert(sizeof names / sizeof *names == LAUNCH_KINDS, "a name for every kind");

const char *launch_name(enum launch_kind kind)
{
    return names[kind];
}

bool launch_is_mpi(enum launch_kind kind)
{
    return kind == LAUNCH_OPEN_MPI || kind == LAUNCH_PMI || kind == LAUNCH_MVAPICH;
}

uint64_t launch_threads(const struct launch *launch, uint64_t threads)
{
    if (launch->local_size <= 1)
        return threads;
    const uint64_t share = threads / launch->local_size + (launch->local_rank < threads % launch->local_size);
    return share ? share : 1;
}

static const char *look_up(struct environment environment, const char *name)
{
    const char *value = environment.get ? environment.get(environment.context, name) : getenv(name);
    return value && value[0] ? value : NULL;
}

/* Parses a whole number of at most `max`; false if the text is not one. */
static bool whole_number(const char *text, uint64_t max, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)text[0]) || strlen(text) > 19)
        return false;
    *number = strtoull(text, &end, 10);
    return *end == '\0' && *number <= max;
}

/* Step ids from 0xfffffff0 on are not steps of srun but batch scripts, interactive shells and the like (slurm.h). */
static bool in_slurm_step(struct environment environment)
{
    const char *step = look_up(environment, "SLURM_STEP_ID");
    uint64_t id;
    return step && whole_number(step, UINT32_MAX, &id) && id < 0xfffffff0u;
}

/* The variable that holds a family's number of processes, or NULL if none applies; *value is its text. */
static const char *size_of(const struct family *family, struct environment environment, const char **value)
{
    if (family->kind == LAUNCH_SLURM && !in_slurm_step(environment))
        return NULL;
    *value = look_up(environment, family->size);
    if (*value)
        return family->size;
    *value = family->size_else ? look_up(environment, family->size_else) : NULL;
    return *value ? family->size_else : NULL;
}

/* The first family that announces several processes; NULL: none does. */
static const struct family *announces(struct environment environment, const char **variable, const char **value)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        *variable = size_of(&families[i], environment, value);
        if (*variable && strtol(*value, NULL, 10) > 1)
            return &families[i];
    }
    *variable = NULL;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- rendezvous */

static int place(struct launch *launch, const char *text, struct error *err)
{
    if (!text)
        return 0;
    if (strlen(text) >= sizeof launch->rendezvous)
        return fail(err, ERR_USAGE, "the rendezvous %.40s... is longer than %zu bytes", text,
                    sizeof launch->rendezvous - 1);
    snprintf(launch->rendezvous, sizeof launch->rendezvous, "%s", text);
    return 0;
}

static int place_at(struct launch *launch, const char *host, uint64_t port, struct error *err)
{
    char text[600];
    snprintf(text, sizeof text, strchr(host, ':') ? "[%.500s]:%" PRIu64 : "%.500s:%" PRIu64, host, port);
    return place(launch, text, err);
}

/* The first name of a list such as "rack[1-2]node[01-04,9],login": rack1node01. */
static void first_host(const char *list, char host[256])
{
    size_t size = 0;
    for (; *list && *list != ',' && size < 255; list++) {
        if (*list != '[') {
            host[size++] = *list;
            continue;
        }
        for (list++; *list && !strchr("-,]", *list) && size < 255; list++)
            host[size++] = *list;
        list += strcspn(list, "]");
        if (!*list)
            break;
    }
    host[size] = '\0';
}

/* Where all processes are on one machine they meet there, so that no other machine needs to be kept out. */
#define LOOPBACK "127.0.0.1"

/* A port below those that systems assign automatically (from 32768 on), the same for every process of the step. */
static uint64_t port_of_step(uint64_t job, uint64_t step)
{
    return 15000 + (job * 1009 + step) % 15000;
}

static int place_of_step(struct launch *launch, struct environment environment, struct error *err)
{
    const char *list = look_up(environment, "SLURM_STEP_NODELIST");
    const char *job = look_up(environment, "SLURM_JOB_ID"), *step = look_up(environment, "SLURM_STEP_ID");
    const char *nodes = look_up(environment, "SLURM_STEP_NUM_NODES");
    uint64_t job_id, step_id;
    char host[256];
    if (!list || !job || !whole_number(job, UINT32_MAX, &job_id) || !step ||
        !whole_number(step, UINT32_MAX, &step_id)) {
        fail(err, ERR_USAGE, "srun started %u processes, but SLURM_STEP_NODELIST or SLURM_JOB_ID is missing",
             launch->size);
        return hint(err, "say where they meet: --rendezvous HOST:PORT or FILE");
    }
    first_host(list, host);
    if (nodes && strcmp(nodes, "1") == 0)
        snprintf(host, sizeof host, LOOPBACK);
    return place_at(launch, host, port_of_step(job_id, step_id), err);
}

/* If torchrun's agent keeps a store, it listens at MASTER_PORT itself; then we use the next port. */
static int place_of_torchrun(struct launch *launch, struct environment environment, struct error *err)
{
    const char *host = look_up(environment, "MASTER_ADDR"), *text = look_up(environment, "MASTER_PORT");
    const char *agent = look_up(environment, "TORCHELASTIC_USE_AGENT_STORE");
    const char *here = look_up(environment, "LOCAL_WORLD_SIZE");
    uint64_t port, local_size;
    if (!host || !text) {
        fail(err, ERR_USAGE, "WORLD_SIZE is %u, but %s is not set", launch->size, host ? "MASTER_PORT" : "MASTER_ADDR");
        return hint(err, "set it, or say where the processes meet: --rendezvous HOST:PORT or FILE");
    }
    if (!whole_number(text, 65535, &port) || port == 0)
        return fail(err, ERR_USAGE, "MASTER_PORT is %s, which is not a port", text);
    if (agent && strcmp(agent, "True") == 0)
        port = port < 65535 ? port + 1 : port - 1;
    if (here && whole_number(here, LAUNCH_SIZE_MAX, &local_size) && local_size == launch->size)
        host = LOOPBACK;
    return place_at(launch, host, port, err);
}

/* True if Slurm agrees with PMI about rank and size. Then srun started us with its own PMI, and the step says where to
 * meet. Otherwise MPI itself carries the address. */
static bool is_step_of(const struct launch *launch, struct environment environment)
{
    const struct family *slurm = &families[FAMILIES - 1];
    const char *size, *rank = look_up(environment, slurm->rank);
    uint64_t as_rank, as_size;
    return size_of(slurm, environment, &size) && rank && whole_number(rank, LAUNCH_SIZE_MAX, &as_rank) &&
           whole_number(size, LAUNCH_SIZE_MAX, &as_size) && as_rank == launch->rank && as_size == launch->size;
}

static int place_of_family(struct launch *launch, struct environment environment, struct error *err)
{
    if (launch->kind == LAUNCH_TORCHRUN)
        return place_of_torchrun(launch, environment, err);
    if (launch->kind == LAUNCH_SLURM || (launch->kind == LAUNCH_PMI && is_step_of(launch, environment)))
        return place_of_step(launch, environment, err);
    return 0;
}

/* What the launcher calls the processes that it started together. All components of a heterogeneous job of Slurm have
 * one SLURM_HET_JOB_ID, and each its own SLURM_JOB_ID. */
static void name_job(struct launch *launch, struct environment environment)
{
    const char *job = look_up(environment, "SLURM_HET_JOB_ID"), *step = look_up(environment, "SLURM_STEP_ID");
    const char *run = look_up(environment, "TORCHELASTIC_RUN_ID");
    if (!job)
        job = look_up(environment, "SLURM_JOB_ID");
    if (launch->kind == LAUNCH_SLURM && job && step)
        snprintf(launch->job, sizeof launch->job, "Slurm step %.20s.%.20s", job, step);
    else if (launch->kind == LAUNCH_TORCHRUN && run)
        snprintf(launch->job, sizeof launch->job, "torchrun %.80s", run);
}

/* ------------------------------------------------------------------------------------------------------ who am I */

static int number_of(const char *variable, const char *value, uint64_t max, uint64_t *number, struct error *err)
{
    if (whole_number(value, max, number))
        return 0;
    return fail(err, ERR_USAGE, "%s is %.40s, but should be a number of at most %" PRIu64, variable, value, max);
}

static int no_children_to_restart(struct error *err)
{
    fail(err, ERR_USAGE, "--restarts needs --processes or --gpus: a process cannot start itself again");
    return hint(err, "--processes 1 runs it as the child of a process that can");
}

/* --restarts is for a command that is the parent of its processes. */
static int no_restarts_by_launcher(const struct launch *launch, struct environment environment, struct error *err)
{
    fail(err, ERR_USAGE, "--restarts starts the processes of --processes or --gpus again, and %s started these",
         launch_name(launch->kind));
    if (launch->kind == LAUNCH_TORCHRUN)
        return hint(err, "torchrun --max-restarts N does it for its own");
    if (launch->kind == LAUNCH_SLURM || (launch->kind == LAUNCH_PMI && is_step_of(launch, environment)))
        return hint(err, "scripts/slurm/train.sbatch queues its job again, at most RESTARTS times");
    return hint(err, "start the same command again after exit code 9: it continues");
}

static int by_family(struct launch *launch, const struct family *family, const char *variable, const char *value,
                     const struct launch_flags *flags, struct environment environment, struct error *err)
{
    const char *rank_text = look_up(environment, family->rank), *local = look_up(environment, family->local_rank);
    uint64_t rank = 0, size = 0, local_rank = 0;
    TRY(number_of(variable, value, LAUNCH_SIZE_MAX, &size, err));
    if (!rank_text)
        return fail(err, ERR_USAGE, "%s is %" PRIu64 ", but %s is not set: which of them is this process?", variable,
                    size, family->rank);
    TRY(number_of(family->rank, rank_text, LAUNCH_SIZE_MAX, &rank, err));
    if (rank >= size)
        return fail(err, ERR_USAGE, "%s is %" PRIu64 ", but %s is %" PRIu64 ": ranks count from 0", family->rank, rank,
                    variable, size);
    if (local)
        TRY(number_of(family->local_rank, local, LAUNCH_SIZE_MAX, &local_rank, err));
    launch->kind = family->kind;
    launch->rank = (uint32_t)rank;
    launch->size = (uint32_t)size;
    launch->local_rank = (uint32_t)local_rank;
    if (flags->restarts > 0)
        return no_restarts_by_launcher(launch, environment, err);
    name_job(launch, environment);
    return flags->rendezvous ? place(launch, flags->rendezvous, err) : place_of_family(launch, environment, err);
}

/* A launcher that gives us a rank above 0 but no size has started several of us nevertheless. */
static int no_rank_without_size(struct environment environment, struct error *err)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *value, *rank = look_up(environment, families[i].rank);
        uint64_t number;
        if (families[i].kind == LAUNCH_SLURM && !in_slurm_step(environment))
            continue;
        if (rank && whole_number(rank, LAUNCH_SIZE_MAX, &number) && number > 0 &&
            !size_of(&families[i], environment, &value))
            return fail(err, ERR_USAGE, "%s is %s, but %s is not set: how many processes are there?", families[i].rank,
                        rank, families[i].size);
    }
    return 0;
}

static int by_command(struct launch *launch, const struct launch_flags *flags, struct environment environment,
                      struct error *err)
{
    const uint64_t here = flags->processes ? flags->processes : 1;
    const uint64_t size = flags->world_size ? flags->world_size : here;
    const char *variable, *value;
    if (flags->rank_given != (flags->world_size > 0)) {
        fail(err, ERR_USAGE, "%s needs %s", flags->rank_given ? "--rank" : "--world-size",
             flags->rank_given ? "--world-size" : "--rank");
        return hint(err, "one command per machine: --rank R --world-size N --rendezvous HOST:PORT or FILE");
    }
    if (flags->restarts > 0 && !flags->processes)
        return no_children_to_restart(err);
    if (!flags->rank_given && announces(environment, &variable, &value)) {
        fail(err, ERR_USAGE, "a launcher started %s processes (%s), and each would start %" PRIu64 " of its own", value,
             variable, here);
        return hint(err, "leave --processes and --gpus out under a launcher, or give --rank and --world-size too");
    }
    if (size > LAUNCH_SIZE_MAX)
        return fail(err, ERR_USAGE, "%" PRIu64 " processes are more than %u", size, LAUNCH_SIZE_MAX);
    if (here > size || flags->rank > size - here) {
        if (here == 1)
            return fail(err, ERR_USAGE, "--rank %" PRIu64 " is not below --world-size %" PRIu64 ": ranks count from 0",
                        flags->rank, size);
        return fail(err, ERR_USAGE, "ranks %" PRIu64 " to %" PRIu64 " do not fit into --world-size %" PRIu64,
                    flags->rank, flags->rank + here - 1, size);
    }
    if (size > here && !flags->rendezvous) {
        fail(err, ERR_USAGE, "%" PRIu64 " processes of several commands need a place to meet", size);
        return hint(err, "--rendezvous HOST:PORT of rank 0, or a FILE that all of them see");
    }
    launch->kind = size > 1 ? LAUNCH_COMMAND : LAUNCH_ALONE;
    launch->rank = (uint32_t)flags->rank;
    launch->size = (uint32_t)size;
    launch->children = here > 1 || flags->restarts > 0 ? (uint32_t)here : 0;
    launch->restarts = flags->restarts;
    return place(launch, flags->rendezvous, err);
}

void launch_child_text(const struct launch *launch, char text[LAUNCH_CHILD_BYTES])
{
    snprintf(text, LAUNCH_CHILD_BYTES, "%u %u %u %u %d %d %s", launch->rank, launch->size, launch->local_rank,
             launch->local_size, launch->listener, launch->key_pipe, launch->rendezvous);
}

int launch_key_write(struct launch *launch)
{
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    launch->key_pipe = ends[0];
    const ssize_t written = write(ends[1], &launch->key, sizeof launch->key); /* a pipe takes that much at once */
    close(ends[1]);
    return written == sizeof launch->key ? 0 : -1;
}

int launch_key_read(struct launch *launch)
{
    const ssize_t got = read(launch->key_pipe, &launch->key, sizeof launch->key);
    close(launch->key_pipe);
    launch->key_pipe = -1;
    errno = got < 0 ? errno : EPROTO;
    return got == sizeof launch->key ? 0 : -1;
}

static int by_parent(struct launch *launch, const char *text, struct error *err)
{
    int at = 0;
    const int read = sscanf(text, "%u %u %u %u %d %d %n", &launch->rank, &launch->size, &launch->local_rank,
                            &launch->local_size, &launch->listener, &launch->key_pipe, &at);
    if (read != 6 || at == 0 || launch->size > LAUNCH_SIZE_MAX || launch->rank >= launch->size ||
        launch->local_rank >= launch->local_size)
        return fail(err, ERR_USAGE, "%s is set, which a command with --processes does for its children",
                    LAUNCH_CHILD_VARIABLE);
    launch->kind = LAUNCH_CHILD;
    return place(launch, text + at, err);
}

int launch_find(struct launch *launch, const struct launch_flags *flags, struct environment environment,
                struct error *err)
{
    const char *child = look_up(environment, LAUNCH_CHILD_VARIABLE), *variable, *value;
    *launch = (struct launch){.size = 1, .listener = -1, .key_pipe = -1};
    if (child)
        return by_parent(launch, child, err);
    if (flags->rank_given || flags->world_size || flags->processes)
        return by_command(launch, flags, environment, err);
    const struct family *family = announces(environment, &variable, &value);
    if (family)
        return by_family(launch, family, variable, value, flags, environment, err);
    if (flags->restarts > 0)
        return no_children_to_restart(err);
    return no_rank_without_size(environment, err);
}

unsigned long launcher_processes(const char **variable)
{
    const char *value;
    return announces((struct environment){0}, variable, &value) ? strtoul(value, NULL, 10) : 1;
}

bool launcher_follows(void)
{
    const struct environment environment = {0};
    const char *variable, *size;
    const struct family *family = announces(environment, &variable, &size);
    if (!family || look_up(environment, LAUNCH_CHILD_VARIABLE))
        return false;
    const char *rank = look_up(environment, family->kind == LAUNCH_TORCHRUN ? family->local_rank : family->rank);
    return rank && strtol(rank, NULL, 10) > 0;
}

int launcher_refuse(const char *program, struct error *err)
{
    const char *variable;
    const unsigned long processes = launcher_processes(&variable);
    if (processes == 1)
        return 0;
    fail(err, ERR_USAGE, "a launcher started %lu processes (%s), but this command runs in one process", processes,
         variable);
    return hint(err, "start %s once; --threads uses all cores of this machine", program);
}
