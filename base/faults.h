/* Faults, and times of their own, that tests give to a program: from the environment to a whole program, or by a call.
 * They are compiled where the CMake option DS_FAULTS is on. Elsewhere nothing is left of them in a program, and it
 * does not evaluate their arguments. A setting is `otherwise` unless a test asks for another one.
 *
 *   DS_FAIL_FILE=n:kill | n:short | n:ERRNO-number    the n-th change of a file; DS_FAIL_READ the n-th read
 *   DS_FAIL_FILE=n:full                               the disk is full from the n-th change on
 *   DS_FAIL_ALLOC=n                                   the n-th allocation fails
 *   DS_FAIL_PLACE=RANK:STEP:PLACE:kill | stop | once  see fault_place
 *   DS_FAIL_WEIGHT=RANK:STEP                          that process's parameters seem different at that step
 *   DS_SLOW=SECONDS,SECONDS,…                         by how much longer each sequence takes in each rank
 *   DS_JOURNAL_EVERY=window                           a build writes its journal after every window
 *   DS_RESTART_SECONDS, DS_PROGRESS_SECONDS           the wait before the first restart; between lines of progress
 *   DS_WAITS=FACTOR                                   by which waits for processes that are lost, or false, are shorter
 *   DS_TRACE_FILE=PATH                                every change of a file is recorded there: see trace_begin
 *   DS_COUNT_CALLS=PATH                               at the end, how many there were: "CHANGES READS ALLOCATIONS" */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum file_call_kind {
    FILE_CHANGES, /* create, write, sync, rename, truncate, remove, mkdir */
    FILE_READS,   /* open, read */
    FILE_CALL_KINDS
};
enum file_fault_kind {
    FILE_FAULT_NONE,
    FILE_FAULT_ERRNO, /* fails with `number` */
    FILE_FAULT_SHORT, /* writes half of the bytes, then fails with ENOSPC; reads half of them */
    FILE_FAULT_KILL,  /* _exit(137) in its place */
    FILE_FAULT_FULL,  /* of FILE_CHANGES: from this call on, each write and mkdir fails with ENOSPC */
};
struct file_fault {
    enum file_call_kind call;
    uint64_t at; /* counted from now, 1 is the next call; 0: no fault */
    enum file_fault_kind kind;
    int number; /* an errno value */
};

#define FAULT_OFFSET_NOW (-1) /* stands for the file's position */

#ifdef DS_FAULTS

void faults_open(void);  /* reads the environment; a message on stderr says which faults are set */
void faults_close(void); /* the end of a program: writes the file of DS_COUNT_CALLS */

void file_fault_set(struct file_fault fault);  /* while no other thread uses files */
uint64_t file_calls(enum file_call_kind call); /* so far */
void mem_fail_at(uint64_t n);                  /* the n-th allocation from now; 0: none */
uint64_t mem_calls(void);                      /* allocations so far */

/* For base/mem.c and base/calls.c. The first two count a call, and are true if it must fail; fault_hits sets
 * errno. */
bool fault_hits_alloc(void);
bool fault_hits(enum file_call_kind kind);
bool fault_is_full(void);                      /* after fault_hits: the disk is full by now; errno is set */
bool fault_is_short(enum file_call_kind kind); /* after fault_hits was true: the call is cut short */

/* The record of every change on disk, in the order in which the kernel made them, from which a test reconstructs what
 * a disk may hold after a power failure (tests/campaign/power_loss.py). If there is one, a lock is held from
 * trace_begin to the call after it, which keeps errno. A call that failed (result < 0) leaves no line. Fields are
 * separated by blanks, so paths must not contain any:
 *     create INODE PATH      also where it was there
 *     write INODE OFFSET N   and then N bytes
 *     truncate INODE SIZE    sync INODE    syncdir PATH    rename FROM TO    remove PATH    mkdir PATH */
void trace_begin(void);
void trace_create(int fd, const char *path);
void trace_write(int fd, const void *data, ssize_t written, off_t offset); /* or FAULT_OFFSET_NOW */
void trace_truncate(int fd, uint64_t bytes, int result);
void trace_sync(int fd, int result);
void trace_names(const char *what, const char *from, const char *to, int result);

/* Kills this process, or stops it, if it is at the place of DS_FAIL_PLACE; for "once" only in a command's first
 * start. */
void fault_place(uint32_t rank, uint64_t step, const char *place, bool first_start);
bool fault_weight(uint32_t rank, uint64_t step);
void fault_slow(uint32_t rank, int64_t sequences); /* sleeps */
bool fault_journal_every_window(void);
double fault_restart_seconds(double otherwise);
double fault_progress_seconds(double otherwise);
double fault_wait(double seconds);

#else

#define faults_open()                     ((void)0)
#define faults_close()                    ((void)0)
#define file_fault_set(...)               ((void)0)
#define file_calls(kind)                  ((uint64_t)0)
#define mem_fail_at(n)                    ((void)0)
#define mem_calls()                       ((uint64_t)0)
#define fault_hits_alloc()                false
#define fault_hits(kind)                  false
#define fault_is_full()                   false
#define fault_is_short(kind)              false
#define trace_begin()                     ((void)0)
#define trace_create(...)                 ((void)0)
#define trace_write(...)                  ((void)0)
#define trace_truncate(...)               ((void)0)
#define trace_sync(...)                   ((void)0)
#define trace_names(...)                  ((void)0)
#define fault_place(...)                  ((void)0)
#define fault_weight(rank, step)          false
#define fault_slow(rank, sequences)       ((void)0)
#define fault_journal_every_window()      false
#define fault_restart_seconds(otherwise)  (otherwise)
#define fault_progress_seconds(otherwise) (otherwise)
#define fault_wait(seconds)               (seconds)

#endif
