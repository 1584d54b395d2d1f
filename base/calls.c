/* System calls on files. Those that read or change the disk are counted (faults.h), so that a test can make each of
 * them fail in turn: a full disk, an I/O error, a crash. */
#include "base/calls.h"

#include "base/faults.h"
#include "base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a call, and again while a signal interrupts it. */
#define RETRIED(call)                                                                                                  \
    __extension__({                                                                                                    \
        ssize_t result_;                                                                                               \
        do                                                                                                             \
            result_ = (call);                                                                                          \
        while (result_ < 0 && errno == EINTR);                                                                         \
        result_;                                                                                                       \
    })

int call_open(const char *path)
{
    return (int)RETRIED(
        fault_hits(FILE_READS) && !fault_is_short(FILE_READS) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/* Waits until the descriptor has data or is at its end. Returns 0; -1 with errno on an error, EINTR if a stop is
 * requested. */
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
        got = !fault_hits(FILE_READS)      ? read(fd, out, bytes)
              : fault_is_short(FILE_READS) ? read(fd, out, (bytes + 1) / 2)
                                           : -1;
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    return got;
}

ssize_t call_read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
    return RETRIED(!fault_hits(FILE_READS)      ? pread(fd, out, bytes, (off_t)offset)
                   : fault_is_short(FILE_READS) ? pread(fd, out, (bytes + 1) / 2, (off_t)offset)
                                                : -1);
}

int call_create(const char *path, int flags)
{
    trace_begin();
    const int fd = (int)RETRIED(
        fault_hits(FILE_CHANGES) ? -1 : open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    trace_create(fd, path);
    return fd;
}

static ssize_t write_once(int fd, const void *data, size_t bytes, off_t offset)
{
    return offset == FAULT_OFFSET_NOW ? write(fd, data, bytes) : pwrite(fd, data, bytes, offset);
}

static ssize_t write_counted(int fd, const void *data, size_t bytes, off_t offset)
{
    ssize_t written;
    trace_begin();
    do {
        if (!fault_hits(FILE_CHANGES) && !fault_is_full()) {
            written = write_once(fd, data, bytes, offset);
        } else {
            written = -1;
            if (fault_is_short(FILE_CHANGES) && write_once(fd, data, bytes / 2, offset) >= 0)
                errno = ENOSPC;
        }
    } while (written < 0 && errno == EINTR);
    trace_write(fd, data, written, offset);
    return written;
}

ssize_t call_write(int fd, const void *data, size_t bytes)
{
    return write_counted(fd, data, bytes, FAULT_OFFSET_NOW);
}

ssize_t call_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    return write_counted(fd, data, bytes, (off_t)offset);
}

int call_sync(int fd)
{
    trace_begin();
    const int result = (int)RETRIED(fault_hits(FILE_CHANGES) ? -1 : fsync(fd));
    trace_sync(fd, result);
    return result;
}

int call_truncate(int fd, uint64_t bytes)
{
    trace_begin();
    const int result = (int)RETRIED(fault_hits(FILE_CHANGES) ? -1 : ftruncate(fd, (off_t)bytes));
    trace_truncate(fd, bytes, result);
    return result;
}

int call_rename(const char *from, const char *to)
{
    trace_begin();
    const int result = (int)RETRIED(fault_hits(FILE_CHANGES) ? -1 : rename(from, to));
    trace_names("rename", from, to, result);
    return result;
}

int call_remove(const char *path)
{
    trace_begin();
    const int result = (int)RETRIED(fault_hits(FILE_CHANGES) ? -1 : remove(path));
    trace_names("remove", path, "", result);
    return result;
}

int call_make_directory(const char *path)
{
    trace_begin();
    const int result = (int)RETRIED(fault_hits(FILE_CHANGES) || fault_is_full() ? -1 : mkdir(path, 0777));
    trace_names("mkdir", path, "", result);
    return result;
}
