#include "base/faults.h"

#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXIT_KILLED 137 /* what a shell says after kill -9 */

static atomic_uint_fast64_t calls[FILE_CALL_KINDS];
static atomic_uint_fast64_t fault_call[FILE_CALL_KINDS]; /* the value of calls[] at which the fault happens; 0: none */
static struct file_fault planned[FILE_CALL_KINDS];
static atomic_uint_fast64_t allocations, fault_allocation; /* the same for memory */

/* ---- calls ---- */

void file_fault_set(struct file_fault fault)
{
    const bool wanted = fault.at && fault.kind != FILE_FAULT_NONE;
    planned[fault.call] = fault;
    atomic_store(&fault_call[fault.call], wanted ? atomic_load(&calls[fault.call]) + fault.at : 0);
}

uint64_t file_calls(enum file_call_kind call)
{
    return atomic_load(&calls[call]);
}

bool fault_hits(enum file_call_kind kind)
{
    const uint64_t call = atomic_fetch_add(&calls[kind], 1) + 1;
    if (call != atomic_load(&fault_call[kind]) || planned[kind].kind == FILE_FAULT_FULL)
        return false;
    if (planned[kind].kind == FILE_FAULT_KILL)
        _exit(EXIT_KILLED);
    errno = planned[kind].kind == FILE_FAULT_SHORT ? ENOSPC : planned[kind].number;
    return true;
}

bool fault_is_full(void)
{
    const uint64_t since = atomic_load(&fault_call[FILE_CHANGES]);
    if (planned[FILE_CHANGES].kind != FILE_FAULT_FULL || since == 0 || atomic_load(&calls[FILE_CHANGES]) < since)
        return false;
    errno = ENOSPC;
    return true;
}

bool fault_is_short(enum file_call_kind kind)
{
    return planned[kind].kind == FILE_FAULT_SHORT;
}

void mem_fail_at(uint64_t n)
{
    atomic_store(&fault_allocation, n ? atomic_load(&allocations) + n : 0);
}

uint64_t mem_calls(void)
{
    return atomic_load(&allocations);
}

bool fault_hits_alloc(void)
{
    return atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&fault_allocation);
}

/* ---- the record of changes ---- */

static FILE *trace;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static void trace_open(const char *path)
{
    trace = fopen(path, "we");
    if (!trace)
        die(ERR_USAGE, "DS_TRACE_FILE=%s cannot be created", path);
}

void trace_begin(void)
{
    if (trace)
        pthread_mutex_lock(&order);
}

static void trace_end(void)
{
    const int number = errno;
    fflush(trace);
    pthread_mutex_unlock(&order);
    errno = number;
}

static unsigned long long inode(int fd)
{
    struct stat status;
    return fstat(fd, &status) < 0 ? 0 : (unsigned long long)status.st_ino;
}

void trace_create(int fd, const char *path)
{
    if (!trace)
        return;
    if (fd >= 0)
        fprintf(trace, "create %llu %s\n", inode(fd), path);
    trace_end();
}

void trace_write(int fd, const void *data, ssize_t written, off_t offset)
{
    if (!trace)
        return;
    if (written >= 0) {
        if (offset == FAULT_OFFSET_NOW)
            offset = lseek(fd, 0, SEEK_CUR) - written;
        fprintf(trace, "write %llu %lld %zd\n", inode(fd), (long long)offset, written);
        fwrite(data, 1, (size_t)written, trace);
    }
    trace_end();
}

void trace_truncate(int fd, uint64_t bytes, int result)
{
    if (!trace)
        return;
    if (result == 0)
        fprintf(trace, "truncate %llu %llu\n", inode(fd), (unsigned long long)bytes);
    trace_end();
}

void trace_sync(int fd, int result)
{
    if (!trace)
        return;
    struct stat status;
    char name[40], path[1024];
    if (result == 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        const ssize_t size = readlink(name, path, sizeof path);
        fprintf(trace, "syncdir %.*s\n", size > 0 ? (int)size : 0, path);
    } else if (result == 0) {
        fprintf(trace, "sync %llu\n", inode(fd));
    }
    trace_end();
}

void trace_names(const char *what, const char *from, const char *to, int result)
{
    if (!trace)
        return;
    if (result == 0)
        fprintf(trace, "%s %s%s%s\n", what, from, to[0] ? " " : "", to);
    trace_end();
}

/* ---- the environment ---- */

static uint64_t number_from(const char *text, const char *variable, const char **end)
{
    char *after;
    errno = 0;
    const unsigned long long value = strtoull(text, &after, 10);
    if (after == text || errno || value == 0)
        die(ERR_USAGE, "%s=%s is not understood", variable, text);
    *end = after;
    return value;
}

static void fault_from(const char *text, const char *variable, enum file_call_kind call)
{
    const char *end;
    struct file_fault wanted = {.call = call, .at = number_from(text, variable, &end)};
    if (str_equal(str_of(end), STR(":kill"))) {
        wanted.kind = FILE_FAULT_KILL;
    } else if (str_equal(str_of(end), STR(":short"))) {
        wanted.kind = FILE_FAULT_SHORT;
    } else if (call == FILE_CHANGES && str_equal(str_of(end), STR(":full"))) {
        wanted.kind = FILE_FAULT_FULL;
    } else if (*end == ':') {
        wanted.kind = FILE_FAULT_ERRNO;
        wanted.number = (int)number_from(end + 1, variable, &end);
        if (*end)
            die(ERR_USAGE, "%s=%s is not understood", variable, text);
    } else {
        die(ERR_USAGE, "%s=%s is not understood", variable, text);
    }
    file_fault_set(wanted);
    fprintf(stderr, "%s=%s is in force: this is a test\n", variable, text);
}

void faults_open(void)
{
    const char *file = getenv("DS_FAIL_FILE"), *read = getenv("DS_FAIL_READ"), *alloc = getenv("DS_FAIL_ALLOC");
    const char *record = getenv("DS_TRACE_FILE"), *end;
    if (file && file[0])
        fault_from(file, "DS_FAIL_FILE", FILE_CHANGES);
    if (read && read[0])
        fault_from(read, "DS_FAIL_READ", FILE_READS);
    if (record && record[0])
        trace_open(record);
    if (alloc && alloc[0]) {
        const uint64_t n = number_from(alloc, "DS_FAIL_ALLOC", &end);
        if (*end)
            die(ERR_USAGE, "DS_FAIL_ALLOC=%s is not understood", alloc);
        fprintf(stderr, "DS_FAIL_ALLOC=%s is in force: this is a test\n", alloc);
        mem_fail_at(n);
    }
}

void faults_close(void)
{
    const char *path = getenv("DS_COUNT_CALLS");
    FILE *out = path && path[0] ? fopen(path, "we") : NULL;
    if (!out)
        return;
    fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", file_calls(FILE_CHANGES), file_calls(FILE_READS),
            mem_calls());
    fclose(out);
}

/* ---- places, and times of their own ---- */

/* The rest of a variable's text after `begin`; NULL if it does not begin so. */
static const char *after(const char *variable, const char *begin)
{
    const char *text = getenv(variable);
    const size_t bytes = strlen(begin);
    return text && strncmp(text, begin, bytes) == 0 ? text + bytes : NULL;
}

static double number_of(const char *variable, double otherwise)
{
    const char *text = getenv(variable);
    return text ? atof(text) : otherwise;
}

void fault_place(uint32_t rank, uint64_t step, const char *place, bool first_start)
{
    char begin[200];
    snprintf(begin, sizeof begin, "%" PRIu32 ":%" PRIu64 ":%s:", rank, step, place);
    const char *how = after("DS_FAIL_PLACE", begin);
    if (how && (strcmp(how, "once") != 0 || first_start))
        raise(strcmp(how, "stop") == 0 ? SIGSTOP : SIGKILL);
}

bool fault_weight(uint32_t rank, uint64_t step)
{
    char place[40];
    snprintf(place, sizeof place, "%" PRIu32 ":%" PRIu64, rank, step);
    const char *rest = after("DS_FAIL_WEIGHT", place);
    return rest && !rest[0];
}

void fault_slow(uint32_t rank, int64_t sequences)
{
    const char *at = getenv("DS_SLOW");
    for (uint32_t r = 0; at && r < rank; r++)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    const double seconds = at ? strtod(at, NULL) * (double)sequences : 0, whole = floor(seconds);
    if (seconds > 0)
        nanosleep(&(struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (seconds - whole))}, NULL);
}

bool fault_journal_every_window(void)
{
    const char *rest = after("DS_JOURNAL_EVERY", "window");
    return rest && !rest[0];
}

double fault_restart_seconds(double otherwise)
{
    return number_of("DS_RESTART_SECONDS", otherwise);
}

double fault_progress_seconds(double otherwise)
{
    return number_of("DS_PROGRESS_SECONDS", otherwise);
}

double fault_wait(double seconds)
{
    return seconds * number_of("DS_WAITS", 1);
}
