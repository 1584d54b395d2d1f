/* Inside base only: records every change on disk, in the order in which the kernel made them, so that a test can
 * reconstruct what a disk may hold after a power failure (tests/campaign/power_loss.py). Off unless trace_open was
 * called; then a lock is held from trace_begin to the call after it, so that the recorded order is the real one.
 *
 * One line for each change that succeeded. Fields are separated by blanks, so paths must not contain any:
 *     create INODE PATH      also where it was there
 *     write INODE OFFSET N   and then N bytes
 *     truncate INODE SIZE    sync INODE    syncdir PATH    rename FROM TO    remove PATH    mkdir PATH */
#ifndef BASE_CALL_TRACE_H
#define BASE_CALL_TRACE_H

#include <stdint.h>
#include <sys/types.h>

void trace_open(const char *path); /* dies if it cannot be opened */
void trace_begin(void);
/* Each ends what trace_begin began and keeps errno. A call that failed (result < 0) leaves no line. */
void trace_create(int fd, const char *path);
void trace_write(int fd, const void *data, ssize_t written, off_t offset);
void trace_truncate(int fd, uint64_t bytes, int result);
void trace_sync(int fd, int result);
void trace_names(const char *what, const char *from, const char *to, int result);

#endif
