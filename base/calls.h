/* Inside base only: the system calls that change what is on disk. Each is counted, and a test may make one of them fail
 * (struct file_fault in base/file.h). They behave as the calls they are named after, but go on after EINTR. */
#ifndef BASE_CALLS_H
#define BASE_CALLS_H

#include <stdint.h>
#include <sys/types.h>

int call_create(const char *path, int flags); /* open, with O_CREAT, O_CLOEXEC and O_NOFOLLOW added */
ssize_t call_write(int fd, const void *data, size_t bytes);
int call_sync(int fd);
int call_truncate(int fd, uint64_t bytes);
int call_rename(const char *from, const char *to);
int call_remove(const char *path); /* a file or an empty directory */
int call_make_directory(const char *path);

#endif
