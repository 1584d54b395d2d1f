/* comm with real processes.
 *
 *     comm_driver gloo|self SIZE [--address A] [collectives|FAULT]     starts SIZE processes of its own
 *     mpirun -n SIZE comm_driver mpi SIZE [--pieces BYTES] [collectives|FAULT]
 *
 * Exit status: 0 if every process passes, 77 if the kind was not built. */
#include "tests/comm/rank.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

/* --------------------------------------------------------------- a store of one file per value in a directory */

static void value_path(char *out, const char *directory, const char *name, const char *suffix)
{
    char flat[128];
    snprintf(flat, sizeof flat, "%s", name);
    for (char *at = flat; (at = strchr(at, '/'));)
        *at = '-';
    snprintf(out, PATH_MAX, "%s/%s%s", directory, flat, suffix);
}

static int files_set(void *context, const char *name, const void *bytes, size_t size, struct error *err)
{
    char temporary[PATH_MAX], path[PATH_MAX];
    (void)err;
    value_path(temporary, context, name, ".new");
    value_path(path, context, name, "");
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0, "%s", temporary);
    CHECK(rename(temporary, path) == 0, "%s", path);
    return 0;
}

static long files_get(void *context, const char *name, void *bytes, size_t room, double timeout, struct error *err)
{
    char path[PATH_MAX];
    value_path(path, context, name, "");
    const double began = clock_now();
    int file;
    while ((file = open(path, O_RDONLY)) < 0) {
        if (clock_now() - began > timeout)
            return fail(err, ERR_PEER, "nobody has set %s", name);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    const long size = lseek(file, 0, SEEK_END);
    CHECK(pread(file, bytes, room, 0) == (size < (long)room ? size : (long)room), "%s", path);
    close(file);
    return size;
}

/* ------------------------------------------------------------------------------------------------------- ranks */

struct comm *open_rank(const struct rank *rank)
{
    struct error err;
    struct comm *comm = comm_open(rank->kind, &rank->options, &err);
    if (!comm && err.kind == ERR_USAGE && strstr(err.text, "was built without")) {
        printf("%s: skipped\n", err.text);
        exit(77);
    }
    CHECK(comm, "rank %u: %s", rank->options.rank, err.text);
    CHECK(comm_rank(comm) == rank->options.rank && comm_size(comm) == rank->options.size, "another rank or size");
    return comm;
}

static void run_rank(const struct rank *rank, const char *what)
{
    alarm(120);
    if (strcmp(what, "collectives") == 0)
        test_collectives(rank, rank->options.chunk_bytes ? 1000 : 300001);
    else
        CHECK(test_fault(rank, what), "no fault is called %s", what);
}

/* Forks the ranks. A process that was killed or stopped on purpose is not a failure; a stopped one is killed after all
 * others have ended. */
static int fork_ranks(struct rank rank, const char *what)
{
    char directory[] = "/tmp/comm-XXXXXX";
    pid_t processes[RANKS_MAX];
    int worst = 0, left = (int)rank.options.size;
    CHECK(mkdtemp(directory), "%s", directory);
    rank.directory = rank.options.store.context = directory;
    for (uint32_t i = 0; i < rank.options.size; i++) {
        rank.options.rank = i;
        processes[i] = fork();
        if (processes[i] == 0) {
            run_rank(&rank, what);
            exit(0);
        }
    }
    while (left > 0) {
        int status;
        const pid_t process = waitpid(-1, &status, WUNTRACED);
        for (uint32_t i = 0; WIFSTOPPED(status) && i < rank.options.size; i++)
            if (processes[i] == process && left > 1) /* the stopped one is killed last */
                left--;
        if (WIFEXITED(status)) {
            left--;
            worst = WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
        } else if (WIFSIGNALED(status)) {
            left--;
            CHECK(WTERMSIG(status) == SIGKILL, "a process died by signal %d", WTERMSIG(status));
        }
    }
    for (uint32_t i = 0; i < rank.options.size; i++)
        kill(processes[i], SIGKILL);
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK(system(command) == 0, "%s", command);
    return worst;
}

static uint32_t rank_of_mpi(void)
{
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return (uint32_t)atoi(getenv(names[i]));
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3, "usage: comm_driver gloo|self|mpi SIZE [--address A] [--pieces BYTES] [collectives|FAULT]");
    struct rank rank = {.options = {.size = (uint32_t)atoi(argv[2]),
                                    .timeout = 60,
                                    .address = "127.0.0.1",
                                    .store = {.set = files_set, .get = files_get}}};
    const char *what = "collectives";
    while (rank.kind < COMM_KINDS && strcmp(comm_kind_name(rank.kind), argv[1]) != 0)
        rank.kind++;
    CHECK(rank.kind < COMM_KINDS && rank.options.size >= 1 && rank.options.size <= RANKS_MAX, "%s %s", argv[1],
          argv[2]);
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--address") == 0 && i + 1 < argc)
            rank.options.address = argv[++i];
        else if (strcmp(argv[i], "--pieces") == 0 && i + 1 < argc)
            rank.options.chunk_bytes = (size_t)atoi(argv[++i]);
        else
            what = argv[i];
    }
    if (rank.kind != COMM_MPI)
        return fork_ranks(rank, what);
    rank.options.rank = rank_of_mpi();
    run_rank(&rank, what);
    return 0;
}
