/* Files that appear completely or not at all. There is no buffering, because callers write large blocks. Names and
 * directories are in path.c, the counted system calls in calls.c. */
#include "base/file.h"

#include "base/calls.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/progress.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_SUFFIX ".tmp"
#define LOOK_MS          200 /* between checks for a stop request while no bytes come */
#define READ_BYTES       ((size_t)64 << 10)
#define HASH_BLOCK_BYTES (1u << 20)
#define WRITE_BACK_BYTES ((size_t)64 << 10)

static const char *name_of(const struct file *file)
{
    return strcmp(file->path, "-") == 0 ? "standard input" : file->path;
}

static void forget(struct file *file)
{
    mem_free(file->path);
    *file = FILE_CLOSED;
}

/* ------------------------------------------------------------------------------------------------ reading */

static int open_existing(const char *path)
{
    if (strcmp(path, "-") == 0)
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); /* a duplicate, so that closing it leaves ours open */
    return call_open(path);
}

/* What is under the name instead of a file. */
static const char *kind_name(mode_t mode)
{
    return S_ISFIFO(mode) ? "a named pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static int open_read(struct file *file, const char *path, bool is_input, struct error *err)
{
    struct stat status;
    *file = FILE_CLOSED;
    const int fd = open_existing(path);
    if (fd < 0) {
        fail_errno(err, path, "cannot be opened");
        return path_hint_download(path, false, err);
    }
    int result = fstat(fd, &status) < 0 ? fail_errno(err, path, "cannot be examined") : 0;
    if (result == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR; /* open accepts directories; only the first read would fail */
        result = fail_errno(err, path, "cannot be read");
    } else if (result == 0 && !S_ISREG(status.st_mode) && !is_input) {
        result =
            fail_at(err, ERR_UNSAFE, path, ERROR_NO_OFFSET, "is %s, not a regular file", kind_name(status.st_mode));
    }
    if (result < 0) {
        close(fd);
        return -1;
    }
    file->fd = fd;
    file->path = mem_copy_text(path);
    return 0;
}

int file_open_read(struct file *file, const char *path, struct error *err)
{
    return open_read(file, path, false, err);
}

int file_open_input(struct file *file, const char *path, struct error *err)
{
    return open_read(file, path, true, err);
}

int64_t file_size(const struct file *file, struct error *err)
{
    struct stat status;
    if (fstat(file->fd, &status) < 0)
        return fail_errno(err, name_of(file), "cannot be examined");
    if (!S_ISREG(status.st_mode))
        return fail_at(err, ERR_USAGE, name_of(file), ERROR_NO_OFFSET, "has no size: it is not a regular file");
    return status.st_size;
}

uint64_t file_identity(const struct file *file)
{
    struct stat status = {0};
    if (fstat(file->fd, &status) < 0)
        return 0;
    const uint64_t words[2] = {status.st_dev, status.st_ino};
    return hash64(words, sizeof words);
}

int64_t file_read_at(const struct file *file, void *out, size_t bytes, uint64_t offset, struct error *err)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = call_read_at(file->fd, (char *)out + done, bytes - done, offset + done);
        if (got < 0)
            return fail_errno(err, name_of(file), "cannot be read at byte %" PRIu64, offset + done);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* Waits until a read would not block; regular files are always ready. A signal may arrive just before poll starts
 * waiting, so poll wakes up regularly to check for a stop. -1: a stop was requested. */
static int await_bytes(int fd)
{
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    for (;;) {
        const int ready = poll(&waits, 1, LOOK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return 0; /* the read reports what is wrong */
        if (ready < 0 || stop_requested())
            return -1;
    }
}

int64_t file_read(struct file *file, void *out, size_t bytes, struct error *err)
{
    size_t done = 0;
    while (done < bytes) {
        const bool stopped = await_bytes(file->fd) < 0;
        const ssize_t got = stopped ? -1 : call_read_next(file->fd, (char *)out + done, bytes - done);
        if (stopped || (got < 0 && errno == EINTR))
            return fail_at(err, ERR_STOPPED, name_of(file), ERROR_NO_OFFSET,
                           "stopped on request while waiting for data");
        if (got < 0)
            return fail_errno(err, name_of(file), "cannot be read");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* Refuses the pointer that git leaves in place of a file which Git LFS has not fetched. Git LFS specifies its form:
 * this first line, and fewer than 1024 bytes. */
static int check_fetched(const char *path, struct str file, struct error *err)
{
    if (file.size >= 1024 || !str_starts(file, STR("version https://git-lfs.github.com/spec/")))
        return 0;
    fail_at(err, ERR_INPUT, path, ERROR_NO_OFFSET, "is a Git LFS pointer, not the file itself");
    return hint(err, "fetch the file: git lfs pull, in its folder");
}

int file_read_all(const char *path, size_t bytes_max, struct buf *out, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    const size_t before = out->size;
    size_t total = 0;
    int64_t got;
    TRY(file_open_read(&file, path, err));
    do {
        buf_reserve(out, READ_BYTES);
        got = file_read(&file, out->data + out->size, READ_BYTES, err);
        if (got < 0)
            break;
        out->size += (size_t)got;
        total += (size_t)got;
        if (total > bytes_max)
            got = fail_at(err, ERR_UNSAFE, name_of(&file), ERROR_NO_OFFSET, "is larger than the %zu bytes allowed here",
                          bytes_max);
    } while (got == (int64_t)READ_BYTES);
    return got < 0 ? -1 : check_fetched(path, (struct str){out->data + before, total}, err);
}

int file_hash(const char *path, uint64_t *hash, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    int64_t got;
    TRY(file_open_read(&file, path, err));
    struct hash *running = hash_open();
    SCOPED(mem_free_at) char *block = mem_alloc(HASH_BLOCK_BYTES);
    do {
        got = file_read(&file, block, HASH_BLOCK_BYTES, err);
        if (got > 0)
            hash_add(running, block, (size_t)got);
    } while (got == (int64_t)HASH_BLOCK_BYTES);
    *hash = hash_value(running);
    hash_close(running);
    return got < 0 ? -1 : 0;
}

int file_map(struct mapping *mapping, const char *path, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    *mapping = (struct mapping){0};
    TRY(file_open_read(&file, path, err));
    const int64_t size = file_size(&file, err);
    TRY(size);
    if (size > 0) {
        void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file.fd, 0);
        if (data == MAP_FAILED)
            return fail_errno(err, path, "cannot be mapped");
        *mapping = (struct mapping){data, (size_t)size};
    }
    const int result = check_fetched(path, (struct str){(const char *)mapping->data, mapping->size}, err);
    if (result < 0)
        file_unmap(mapping);
    return result;
}

void file_unmap(struct mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (struct mapping){0};
}

/* ------------------------------------------------------------------------------------------------ writing */

/* The temporary name of a file that is not committed yet. The caller frees it. */
static char *temporary_name(const char *path)
{
    const size_t size = strlen(path) + sizeof TEMPORARY_SUFFIX;
    char *name = mem_alloc(size);
    snprintf(name, size, "%s" TEMPORARY_SUFFIX, path);
    return name;
}

/* A link into /proc, as /dev/stdout is, stands for an open file, which may be a regular one. */
static bool is_open_file(const char *path)
{
    char target[6];
    return readlink(path, target, sizeof target) == sizeof target && memcmp(target, "/proc/", sizeof target) == 0;
}

int file_create(struct file *file, const char *path, struct error *err)
{
    struct stat status;
    *file = FILE_CLOSED;
    /* The rename at the end would replace a device, a pipe or a link such as /dev/stdout with a file. */
    if (is_open_file(path) || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "cannot be written: it is not a regular file");
    char *name = temporary_name(path);
    int fd = call_create(name, O_RDWR | O_EXCL);
    if (fd < 0 && errno == EEXIST && call_remove(name) == 0) /* left by a process that was killed */
        fd = call_create(name, O_RDWR | O_EXCL);
    mem_free(name);
    if (fd < 0)
        return fail_errno(err, path, "cannot be created");
    *file = (struct file){.fd = fd, .temporary = true, .path = mem_copy_text(path)};
    return 0;
}

int file_append_open(struct file *file, const char *path, struct error *err)
{
    *file = FILE_CLOSED;
    const int fd = call_create(path, O_RDWR);
    if (fd < 0)
        return fail_errno(err, path, "cannot be opened for writing");
    if (lseek(fd, 0, SEEK_END) < 0) {
        fail_errno(err, path, "cannot be extended");
        close(fd);
        return -1;
    }
    *file = (struct file){.fd = fd, .path = mem_copy_text(path)};
    return 0;
}

/* Starts writing to disk early, so that a sync at the end has little left to wait for. Failure is harmless. */
static void start_write_back(const struct file *file, size_t bytes)
{
    if (bytes >= WRITE_BACK_BYTES)
        sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int file_write(struct file *file, const void *data, size_t bytes, struct error *err)
{
    size_t done = 0;
    assert(file->fd >= 0);
    while (done < bytes) {
        const ssize_t written = call_write(file->fd, (const char *)data + done, bytes - done);
        if (written < 0)
            return fail_errno(err, file->path, "cannot be written");
        done += (size_t)written;
        file->written += (size_t)written;
    }
    start_write_back(file, bytes);
    return 0;
}

int file_write_at(const struct file *file, const void *data, size_t bytes, uint64_t offset, struct error *err)
{
    size_t done = 0;
    assert(file->fd >= 0);
    while (done < bytes) {
        const ssize_t written = call_write_at(file->fd, (const char *)data + done, bytes - done, offset + done);
        if (written < 0)
            return fail_errno(err, file->path, "cannot be written at byte %" PRIu64, offset + done);
        done += (size_t)written;
    }
    start_write_back(file, bytes);
    return 0;
}

int file_truncate(struct file *file, uint64_t bytes, struct error *err)
{
    if (call_truncate(file->fd, bytes) < 0 || lseek(file->fd, (off_t)bytes, SEEK_SET) < 0)
        return fail_errno(err, file->path, "cannot be cut to %" PRIu64 " bytes", bytes);
    return 0;
}

int file_sync(struct file *file, struct error *err)
{
    if (call_sync(file->fd) < 0)
        return fail_errno(err, file->path, "cannot be written to disk");
    return 0;
}

/* Closes the descriptor. Some file systems report only here that bytes could not be written. */
static int close_written(struct file *file, struct error *err)
{
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) < 0 && errno != EINTR) /* even then Linux has closed it */
        return fail_errno(err, file->path, "cannot be written to disk");
    return 0;
}

int file_commit(struct file *file, struct error *err)
{
    assert(file->temporary && file->fd >= 0);
    SCOPED(mem_free_at) char *name = temporary_name(file->path);
    int result = file_sync(file, err);
    if (result == 0)
        result = close_written(file, err);
    if (result == 0) {
        result = call_rename(name, file->path);
        if (result < 0)
            fail_errno(err, file->path, "cannot be created");
        else
            file->temporary = false;
    }
    if (result == 0)
        result = path_sync_directory_of(file->path, err);
    assert(result < 0 || (file->fd < 0 && !file->temporary)); /* else closing would remove what is complete */
    file_close(file);
    return result;
}

void file_close(struct file *file)
{
    if (!file->path)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary) {
        SCOPED(mem_free_at) char *name = temporary_name(file->path);
        call_remove(name); /* a failure is harmless: the next file_create takes the name over */
    }
    forget(file);
}

int file_write_all(const char *path, const void *data, size_t bytes, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    TRY(file_create(&file, path, err));
    TRY(file_write(&file, data, bytes, err));
    return file_commit(&file, err);
}
