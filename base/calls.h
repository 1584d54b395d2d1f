/* Internal to base: the system calls on files. They behave like the calls they are named after, but retry after EINTR.
 * A test may make one fail or have every change on disk recorded (faults.h). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

int call_open(const char *path); /* for reading, with O_CLOEXEC and O_NONBLOCK: a FIFO without a writer opens at once */
/* Waits until there is something to read; -1 with EINTR if a stop is requested meanwhile. */
ssize_t call_read_next(int fd, void *out, size_t bytes);
ssize_t call_read_at(int fd, void *out, size_t bytes, uint64_t offset);

int call_create(const char *path, int flags); /* open, with O_CREAT, O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK */
ssize_t call_write(int fd, const void *data, size_t bytes);
ssize_t call_write_at(int fd, const void *data, size_t bytes, uint64_t offset);
int call_sync(int fd);
int call_truncate(int fd, uint64_t bytes);
int call_rename(const char *from, const char *to);
int call_remove(const char *path); /* a file or an empty directory */
int call_make_directory(const char *path);
