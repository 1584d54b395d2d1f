/* Repairs the descriptors and signals inherited from the caller, so that they cannot turn a good run into damage or a
 * silent end. */
#include "base/process.h"

#include "base/error.h"
#include "base/faults.h"
#include "base/json.h"
#include "base/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *program_name = "";

static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) /* the lowest free number, hence this one */
            _exit(ERR_RESOURCE);                                       /* there is no descriptor to report it on */
}

/* The file that is mapped at `address`, and the offset in it; false if none is. A line of /proc/self/maps is "from-to
 * access offset device inode  path" (proc(5)). */
static bool mapped_at(uintptr_t address, char path[512], uint64_t *byte)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uintptr_t from, to;
        uint64_t offset;
        int name = 0;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64 " %*s %*s %n", &from, &to, &offset, &name) < 3)
            continue;
        found = address >= from && address < to && line[name] == '/';
        if (found) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, 512, "%s", line + name);
            *byte = offset + (address - from);
        }
    }
    if (maps)
        fclose(maps);
    return found;
}

/* SIGBUS arrives in the thread that read the mapping, in our own code that only computes. No lock of the C library is
 * held there, so this handler may print. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    struct error err;
    char path[512];
    uint64_t byte;
    static atomic_flag met = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&met)) /* another of our threads was first, and ends the process */
        pause();
    if (info->si_code <= 0 || !mapped_at((uintptr_t)info->si_addr, path, &byte)) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when the handler returns */
        return;
    }
    fail_at(&err, ERR_VERIFY, path, byte, "cannot be read any more: it became shorter, or its disk fails");
    hint(&err, "nothing was written to it; verify names what is damaged");
    error_leave(&err);
}

static void handle(int number, void (*usual)(int), void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_handler = usual};
    if (handler) {
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO;
    }
    sigemptyset(&action.sa_mask);
    const int failed = sigaction(number, &action, NULL);
    assert(!failed);
}

void process_open(const char *program)
{
    program_name = program;
    open_standard_files();
    handle(SIGPIPE, SIG_IGN, NULL);
    handle(SIGXFSZ, SIG_IGN, NULL);
    handle(SIGBUS, NULL, on_bus_error);
    faults_open();
    json_memory_open();
}

int process_close(int code)
{
    errno = 0;
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    faults_close();
    if (failed && code == ERR_NONE) {
        struct error err;
        output_failed(&err);
        code = error_print(&err, program_name, 0);
    }
    if (code == ERR_PIPE) {
        handle(SIGPIPE, SIG_DFL, NULL);
        raise(SIGPIPE);
    }
    return code;
}
