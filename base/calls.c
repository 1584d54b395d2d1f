/* The system calls on files, which a test may make fail. One counter covers all calls that change what is on disk,
 * another all that read, so a test can try every moment at which a disk fills up or fails, or a machine stops. */
#include "base/calls.h"

#include "base/call_trace.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_KILLED 137 /* what a shell says after kill -9 */

static atomic_uint_fast64_t calls[FILE_CALL_KINDS];
static atomic_uint_fast64_t fault_call[FILE_CALL_KINDS]; /* the value of calls[] at which the fault happens; 0: none */
static struct file_fault planned[FILE_CALL_KINDS];       /* set only while no other thread uses files */

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

/* Counts a call. True where it must fail now; errno is set. */
static bool is_hit(enum file_call_kind kind)
{
    const uint64_t call = atomic_fetch_add(&calls[kind], 1) + 1;
    if (call != atomic_load(&fault_call[kind]) || planned[kind].kind == FILE_FAULT_FULL)
        return false;
    if (planned[kind].kind == FILE_FAULT_KILL)
        _exit(EXIT_KILLED);
    errno = planned[kind].kind == FILE_FAULT_SHORT ? ENOSPC : planned[kind].number;
    return true;
}

/* After is_hit has counted the call: is the disk full by now? Sets errno. */
static bool is_full(void)
{
    const uint64_t since = atomic_load(&fault_call[FILE_CHANGES]);
    if (planned[FILE_CHANGES].kind != FILE_FAULT_FULL || since == 0 || atomic_load(&calls[FILE_CHANGES]) < since)
        return false;
    errno = ENOSPC;
    return true;
}

/* Is this the call that is cut short? */
static bool is_short(enum file_call_kind kind)
{
    return planned[kind].kind == FILE_FAULT_SHORT;
}

int call_open(const char *path)
{
    int fd;
    do
        fd = is_hit(FILE_READS) && !is_short(FILE_READS) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Waits for data or the end of the file: 0, or -1 if a stop is requested. */
static int wait_for_data(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int result;
    do
        result = poll(&ready, 1, -1);
    while (result < 0 && errno == EINTR && !stop_requested());
    return result < 0 ? -1 : 0;
}

ssize_t call_read_next(int fd, void *out, size_t bytes)
{
    ssize_t got;
    do {
        if (wait_for_data(fd) < 0)
            return -1;
        got = !is_hit(FILE_READS) ? read(fd, out, bytes) : is_short(FILE_READS) ? read(fd, out, (bytes + 1) / 2) : -1;
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    return got;
}

ssize_t call_read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
    ssize_t got;
    do
        got = !is_hit(FILE_READS)    ? pread(fd, out, bytes, (off_t)offset)
              : is_short(FILE_READS) ? pread(fd, out, (bytes + 1) / 2, (off_t)offset)
                                     : -1;
    while (got < 0 && errno == EINTR);
    return got;
}

int call_create(const char *path, int flags)
{
    int fd;
    trace_begin();
    do
        fd = is_hit(FILE_CHANGES) ? -1 : open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    while (fd < 0 && errno == EINTR);
    trace_create(fd, path);
    return fd;
}

/* An offset that stands for the file's position. */
#define AT_PLACE (-1)
static ssize_t write_once(int fd, const void *data, size_t bytes, off_t offset)
{
    return offset == AT_PLACE ? write(fd, data, bytes) : pwrite(fd, data, bytes, offset);
}

static ssize_t write_counted(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t written;
    trace_begin();
    do {
        if (!is_hit(FILE_CHANGES) && !is_full()) {
            written = write_once(fd, data, bytes, offset);
        } else {
            written = -1;
            if (is_short(FILE_CHANGES) && write_once(fd, data, bytes / 2, offset) >= 0)
                errno = ENOSPC;
        }
    } while (written < 0 && errno == EINTR);
    trace_write(fd, data, written, offset == AT_PLACE ? lseek(fd, 0, SEEK_CUR) - written : offset);
    return written;
}

ssize_t call_write(int fd, const void *data, size_t bytes)
{
    return write_counted(fd, data, bytes, AT_PLACE);
}

ssize_t call_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    return write_counted(fd, data, bytes, (off_t)offset);
}

int call_sync(int fd)
{
    int result;
    trace_begin();
    do
        result = is_hit(FILE_CHANGES) ? -1 : fsync(fd);
    while (result < 0 && errno == EINTR);
    trace_sync(fd, result);
    return result;
}

int call_truncate(int fd, uint64_t bytes)
{
    int result;
    trace_begin();
    do
        result = is_hit(FILE_CHANGES) ? -1 : ftruncate(fd, (off_t)bytes);
    while (result < 0 && errno == EINTR);
    trace_truncate(fd, bytes, result);
    return result;
}

int call_rename(const char *from, const char *to)
{
    int result;
    trace_begin();
    do
        result = is_hit(FILE_CHANGES) ? -1 : rename(from, to);
    while (result < 0 && errno == EINTR);
    trace_names("rename", from, to, result);
    return result;
}

int call_remove(const char *path)
{
    int result;
    trace_begin();
    do
        result = is_hit(FILE_CHANGES) ? -1 : remove(path);
    while (result < 0 && errno == EINTR);
    trace_names("remove", path, "", result);
    return result;
}

int call_make_directory(const char *path)
{
    int result;
    trace_begin();
    do
        result = is_hit(FILE_CHANGES) || is_full() ? -1 : mkdir(path, 0777);
    while (result < 0 && errno == EINTR);
    trace_names("mkdir", path, "", result);
    return result;
}

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

void faults_from_environment(void)
{
    const char *file = getenv("DS_FAIL_FILE"), *read = getenv("DS_FAIL_READ"), *alloc = getenv("DS_FAIL_ALLOC");
    const char *trace = getenv("DS_TRACE_FILE"), *end;
    if (file && file[0])
        fault_from(file, "DS_FAIL_FILE", FILE_CHANGES);
    if (read && read[0])
        fault_from(read, "DS_FAIL_READ", FILE_READS);
    if (trace && trace[0])
        trace_open(trace);
    if (alloc && alloc[0]) {
        const uint64_t n = number_from(alloc, "DS_FAIL_ALLOC", &end);
        if (*end)
            die(ERR_USAGE, "DS_FAIL_ALLOC=%s is not understood", alloc);
        fprintf(stderr, "DS_FAIL_ALLOC=%s is in force: this is a test\n", alloc);
        mem_fail_at(n);
    }
}

void faults_count_calls(void)
{
    const char *path = getenv("DS_COUNT_CALLS");
    FILE *out = path && path[0] ? fopen(path, "we") : NULL;
    if (!out)
        return;
    fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", file_calls(FILE_CHANGES), file_calls(FILE_READS),
            mem_calls());
    fclose(out);
}
