/* The only layer that touches files. Errors name the path. There are two ways to write:
 *
 *     file_create → file_write … → file_commit      a whole file: temporary name, fsync, rename, fsync of the directory
 *     file_append_open → file_write … → file_sync   a log that grows (spill, journal); never seen under a final name
 *
 * A test can make the n-th call that changes state (create, write, sync, rename, truncate, remove, mkdir), or the n-th
 * that reads, fail, be short, or end the process: see faults.h. A struct file belongs to one thread, except that
 * file_read_at and file_write_at may be called from any thread. */
#pragma once

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
    int fd;           /* -1: closed */
    bool temporary;   /* created and not yet committed: path is the final name, the bytes are at path + ".tmp" */
    char *path;       /* owned */
    uint64_t written; /* bytes handed to file_write since it was opened or created */
};

/* Reading. file_open_read opens regular files only: anything else under the name, in a dataset from outside say, is
 * ERR_UNSAFE (a directory ERR_USAGE), and opening never blocks. file_open_input is for an input that the user names: it
 * may also be a pipe or a device, and "-" is standard input. Those have no file_size and no file_read_at, and reading
 * them ends with ERR_STOPPED at a request to stop. */
int file_open_read(struct file *file, const char *path, struct error *err);
int file_open_input(struct file *file, const char *path, struct error *err);
int64_t file_size(const struct file *file, struct error *err); /* bytes, < 0 on error */
uint64_t file_identity(const struct file *file); /* the same as long as the open file is the one under its name */
/* Reads up to `bytes` at `offset`; fewer only at the end of the file. Returns the bytes read, < 0 on error. */
int64_t file_read_at(const struct file *file, void *out, size_t bytes, uint64_t offset, struct error *err);
/* Reads the next bytes of a file or pipe; fewer than requested only at the end. ERR_STOPPED: a stop was requested while
 * waiting for bytes. */
int64_t file_read(struct file *file, void *out, size_t bytes, struct error *err);
/* The whole file into *out (appended), at most `bytes_max`, else ERR_UNSAFE. ERR_INPUT, here and in file_map: it is a
 * pointer of Git LFS. */
int file_read_all(const char *path, size_t bytes_max, struct buf *out, struct error *err);
/* *hash becomes the XXH3-64 of the file, in little memory however large it is. */
int file_hash(const char *path, uint64_t *hash, struct error *err);

/* Writing. */
int file_create(struct file *file, const char *path, struct error *err); /* a whole new file, under a temporary name */
int file_append_open(struct file *file, const char *path, struct error *err); /* created where absent, at its end */
int file_write(struct file *file, const void *data, size_t bytes, struct error *err);
/* Writes at `offset`, independently of the position of file_write. */
int file_write_at(const struct file *file, const void *data, size_t bytes, uint64_t offset, struct error *err);
int file_truncate(struct file *file, uint64_t bytes, struct error *err); /* later writes continue at the new end */
int file_sync(struct file *file, struct error *err);
/* fsync, close, rename to the final name, fsync of the directory. On error the temporary file is removed. */
int file_commit(struct file *file, struct error *err);
/* Closes the file; a created file that was not committed is removed. Safe on FILE_CLOSED and after file_commit. */
void file_close(struct file *file);
#define FILE_CLOSED ((struct file){-1, false, NULL, 0})
/* file_create + file_write + file_commit. */
int file_write_all(const char *path, const void *data, size_t bytes, struct error *err);

/* A file mapped for reading. */
struct mapping {
    const uint8_t *data;
    size_t size;
};
int file_map(struct mapping *mapping, const char *path, struct error *err); /* an empty file: data NULL, size 0 */
void file_unmap(struct mapping *mapping);

/* Names. */
bool path_exists(const char *path);
bool path_is_file(const char *path); /* a regular one, or a link to one */
bool path_is_directory(const char *path);
/* The kind of the name itself: a symbolic link is PATH_OTHER, whatever its target. */
enum path_kind { PATH_ABSENT, PATH_FILE, PATH_FOLDER, PATH_OTHER };
enum path_kind path_kind(const char *path);
bool path_same(const char *a, const char *b); /* both lead to one file or directory, by device and inode */
int path_make_directory(const char *path, struct error *err);         /* with its parents; existing is fine */
int path_remove(const char *path, struct error *err);                 /* a file or an empty directory; absent is fine */
int path_remove_empty(const char *path, struct error *err);           /* a directory, if it is empty; else nothing */
int path_rename(const char *from, const char *to, struct error *err); /* and fsync of the directory */
int path_sync_directory(const char *path, struct error *err);
int path_sync_directory_of(const char *path, struct error *err); /* the directory that holds path */
/* ERR_USAGE: no file could be created in this directory, which need not exist yet. */
int path_check_writable(const char *directory, struct error *err);
int64_t path_free_bytes(const char *path, struct error *err); /* available to us on its file system */
/* Joins with one '/' into a new string that the caller frees with mem_free. */
char *path_join(const char *directory, const char *name);
/* The directory of the last component: of "a/b" and "a/b/" it is "a", of "b" it is ".". The caller mem_free's it. */
char *path_parent(const char *path);
/* For an error about a name that leads nowhere: adds a hint how to download what the name seems to be, a URL or, if a
 * `model` is expected, a name on a model hub. Returns -1. */
int path_hint_download(const char *name, bool model, struct error *err);
/* The absolute path without links, for a record that is read elsewhere; the path itself if it leads nowhere. The caller
 * mem_free's it. */
char *path_full(const char *path);
/* Names in a directory, sorted bytewise, without . and ..; names and the array are freed by path_list_release. */
struct path_list {
    char **names;
    size_t count;
};
int path_list(struct path_list *list, const char *directory, struct error *err);
void path_list_release(struct path_list *list);

/* One process at a time in a directory: a lock on all of DIR/.lock (an open file description lock of fcntl); otherwise
 * ERR_LOCKED with the holder's pid and host. The lock ends with the process; the file stays until lock_release. */
struct lock {
    int fd;
    char *path; /* NULL: another process removes the file */
};
int lock_take(struct lock *lock, const char *directory, struct error *err);
/* True if a process, which may be on another machine, has locked the directory; `who` is then "process 12 on host".
 * Takes nothing. */
#define LOCK_WHO_BYTES 320
bool lock_look(const char *directory, char who[LOCK_WHO_BYTES]);
void lock_release(struct lock *lock); /* safe on a lock that was not taken or is zeroed */

/* Several processes of one job: the holder of the lock keeps byte 0 of it and admits others, each of which holds bytes
 * of its own. A process outside the job cannot take the lock, even when only some of the job's processes are left. Such
 * a byte says that its holder is alive, or whatever else it is used for; the system releases it when the holder dies,
 * also on another machine. */
int lock_admit(struct lock *lock, struct error *err);
int lock_enter(struct lock *lock, const char *directory, struct error *err); /* holds no byte yet */
int lock_hold(struct lock *lock, uint32_t byte, struct error *err);          /* ERR_LOCKED: it is held already */
void lock_let_go(struct lock *lock, uint32_t byte);
bool lock_is_held(const struct lock *lock, uint32_t byte); /* by another process */
