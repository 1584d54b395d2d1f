/* In: a change to what is on disk. Out: the system call, unless a test wants it to fail. One counter for all of them,
 * so that a test can walk through every moment at which a disk may fill up or a machine may stop. */
#include "base/calls.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_KILLED 137 /* what a shell says after kill -9 */

static atomic_uint_fast64_t calls;
static atomic_uint_fast64_t fault_call; /* the value of calls that is hit; 0: none */
static struct file_fault planned;       /* set while no other thread writes */

void file_fault_set(struct file_fault fault)
{
    planned = fault;
    atomic_store(&fault_call, fault.at && fault.kind != FILE_FAULT_NONE ? atomic_load(&calls) + fault.at : 0);
}

uint64_t file_calls(void)
{
    return atomic_load(&calls);
}

/* Counts a call. True where it must fail now; errno is set. */
static bool is_hit(void)
{
    const uint64_t call = atomic_fetch_add(&calls, 1) + 1;
    if (call != atomic_load(&fault_call))
        return false;
    if (planned.kind == FILE_FAULT_KILL)
        _exit(EXIT_KILLED);
    errno = planned.kind == FILE_FAULT_SHORT ? ENOSPC : planned.number;
    return true;
}

int call_create(const char *path, int flags)
{
    int fd = -1;
    if (is_hit())
        return -1;
    do
        fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static ssize_t write_some(int fd, const void *data, size_t bytes)
{
    ssize_t written;
    do
        written = write(fd, data, bytes);
    while (written < 0 && errno == EINTR);
    return written;
}

ssize_t call_write(int fd, const void *data, size_t bytes)
{
    if (!is_hit())
        return write_some(fd, data, bytes);
    if (planned.kind == FILE_FAULT_SHORT && write_some(fd, data, bytes / 2) >= 0)
        errno = ENOSPC;
    return -1;
}

int call_sync(int fd)
{
    int result;
    if (is_hit())
        return -1;
    do
        result = fsync(fd);
    while (result < 0 && errno == EINTR);
    return result;
}

int call_truncate(int fd, uint64_t bytes)
{
    int result;
    if (is_hit())
        return -1;
    do
        result = ftruncate(fd, (off_t)bytes);
    while (result < 0 && errno == EINTR);
    return result;
}

int call_rename(const char *from, const char *to)
{
    return is_hit() ? -1 : rename(from, to);
}

int call_remove(const char *path)
{
    return is_hit() ? -1 : remove(path);
}

int call_make_directory(const char *path)
{
    return is_hit() ? -1 : mkdir(path, 0777);
}

static uint64_t number_from(const char *text, const char *variable, const char **end)
{
    char *behind;
    errno = 0;
    const unsigned long long value = strtoull(text, &behind, 10);
    if (behind == text || errno || value == 0)
        die(ERR_USAGE, "%s=%s is not understood", variable, text);
    *end = behind;
    return value;
}

static void fault_from(const char *text)
{
    const char *end;
    struct file_fault wanted = {.at = number_from(text, "DS_FAIL_FILE", &end)};
    if (str_equal(str_of(end), STR(":kill"))) {
        wanted.kind = FILE_FAULT_KILL;
    } else if (str_equal(str_of(end), STR(":short"))) {
        wanted.kind = FILE_FAULT_SHORT;
    } else if (*end == ':') {
        wanted.kind = FILE_FAULT_ERRNO;
        wanted.number = (int)number_from(end + 1, "DS_FAIL_FILE", &end);
        if (*end)
            die(ERR_USAGE, "DS_FAIL_FILE=%s is not understood", text);
    } else {
        die(ERR_USAGE, "DS_FAIL_FILE=%s is not understood", text);
    }
    file_fault_set(wanted);
}

void faults_from_environment(void)
{
    const char *file = getenv("DS_FAIL_FILE"), *alloc = getenv("DS_FAIL_ALLOC"), *end;
    if (file && file[0]) {
        fault_from(file);
        fprintf(stderr, "DS_FAIL_FILE=%s is in force: this is a test\n", file);
    }
    if (alloc && alloc[0]) {
        const uint64_t n = number_from(alloc, "DS_FAIL_ALLOC", &end);
        if (*end)
            die(ERR_USAGE, "DS_FAIL_ALLOC=%s is not understood", alloc);
        fprintf(stderr, "DS_FAIL_ALLOC=%s is in force: this is a test\n", alloc);
        mem_fail_at(n);
    }
}
