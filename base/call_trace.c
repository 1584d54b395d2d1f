/* Writes the changes of files that calls.c makes to the trace, a line each, after the kernel has made them. */
#include "base/call_trace.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *out;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

void trace_open(const char *path)
{
    out = fopen(path, "we");
    if (!out)
        die(ERR_USAGE, "DS_TRACE_FILE=%s cannot be created", path);
}

void trace_begin(void)
{
    if (out)
        pthread_mutex_lock(&order);
}

static void end(void)
{
    const int number = errno;
    fflush(out);
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
    if (!out)
        return;
    if (fd >= 0)
        fprintf(out, "create %llu %s\n", inode(fd), path);
    end();
}

void trace_write(int fd, const void *data, ssize_t written, off_t offset)
{
    if (!out)
        return;
    if (written >= 0) {
        fprintf(out, "write %llu %lld %zd\n", inode(fd), (long long)offset, written);
        fwrite(data, 1, (size_t)written, out);
    }
    end();
}

void trace_truncate(int fd, uint64_t bytes, int result)
{
    if (!out)
        return;
    if (result == 0)
        fprintf(out, "truncate %llu %llu\n", inode(fd), (unsigned long long)bytes);
    end();
}

void trace_sync(int fd, int result)
{
    if (!out)
        return;
    struct stat status;
    char name[40], path[1024];
    if (result == 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        const ssize_t size = readlink(name, path, sizeof path);
        fprintf(out, "syncdir %.*s\n", size > 0 ? (int)size : 0, path);
    } else if (result == 0) {
        fprintf(out, "sync %llu\n", inode(fd));
    }
    end();
}

void trace_names(const char *what, const char *from, const char *to, int result)
{
    if (!out)
        return;
    if (result == 0)
        fprintf(out, "%s %s%s%s\n", what, from, to[0] ? " " : "", to);
    end();
}
