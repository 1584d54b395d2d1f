/* Inside base only: every change of what is on disk, written down in the order in which the kernel saw it, so that a
 * test can lay out what a disk may hold after the power went (tests/campaign/power_loss.py). Off unless trace_open was
 * called; then trace_begin and the call after it hold a lock, so that the order is the true one.
 *
 * A line per change that succeeded; fields are separated by blanks, so the paths must hold none:
 *     create INODE PATH      also where it was there
 *     write INODE OFFSET N   and then N bytes
 *     truncate INODE SIZE    sync INODE    syncdir PATH    rename FROM TO    remove PATH    mkdir PATH */
#ifndef BASE_CALL_TRACE_H
#define BASE_CALL_TRACE_H

#include <stdint.h>
#include <sys/types.h>

void trace_open(const char *path); /* dies if it cannot */
void trace_begin(void);
/* Each ends what trace_begin began; errno stays. A call that failed (result < 0) leaves no line. */
void trace_create(int fd, const char *path);
void trace_write(int fd, const void *data, ssize_t written, off_t offset);
void trace_truncate(int fd, uint64_t bytes, int result);
void trace_sync(int fd, int result);
void trace_names(const char *what, const char *from, const char *to, int result);

#endif
