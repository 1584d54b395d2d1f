/* Names in the file system: directories, renames, lists, and the lock of a directory. A new name is on disk only after
 * its directory has been synced, so every function that changes a name ends with that sync. */
#include "base/file.h"

#include "base/calls.h"
#include "base/mem.h"
#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

bool path_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

bool path_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool path_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

enum path_kind path_kind(const char *path)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return PATH_ABSENT;
    return S_ISREG(status.st_mode) ? PATH_FILE : S_ISDIR(status.st_mode) ? PATH_FOLDER : PATH_OTHER;
}

bool path_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

char *path_parent(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (!size)
        return mem_copy_text(".");
    char *parent = mem_alloc(size + 1);
    memcpy(parent, path, size);
    parent[size] = 0;
    return parent;
}

int path_sync_directory(const char *path, struct error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, path, "cannot be opened");
    const int result = call_sync(fd);
    const int number = errno;
    close(fd);
    errno = number;
    if (result < 0 && number != EINVAL && number != ENOTSUP) /* some network file systems cannot sync a directory */
        return fail_errno(err, path, "cannot be written to disk");
    return 0;
}

int path_sync_directory_of(const char *path, struct error *err)
{
    SCOPED(mem_free_at) char *parent = path_parent(path);
    return path_sync_directory(parent, err);
}

static int make_one(const char *path, struct error *err)
{
    if (path_is_directory(path))
        return 0;
    if (call_make_directory(path) < 0) {
        const int number = errno;
        if (number == EEXIST && path_is_directory(path)) /* another process was faster */
            return 0;
        errno = number == EEXIST ? ENOTDIR : number;
        return fail_errno(err, path, "cannot be made a directory");
    }
    return path_sync_directory_of(path, err);
}

int path_make_directory(const char *path, struct error *err)
{
    SCOPED(mem_free_at) char *copy = mem_copy_text(path);
    int result = 0;
    for (char *slash = strchr(copy + 1, '/'); copy[0] && slash && result == 0; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        result = make_one(copy, err);
        *slash = '/';
    }
    if (result == 0)
        result = make_one(copy, err);
    return result;
}

int path_remove(const char *path, struct error *err)
{
    if (call_remove(path) < 0 && errno != ENOENT)
        return fail_errno(err, path, "cannot be removed");
    return 0;
}

int path_remove_empty(const char *path, struct error *err)
{
    if (path_kind(path) == PATH_FOLDER && call_remove(path) < 0 && errno != ENOTEMPTY && errno != EEXIST &&
        errno != ENOENT)
        return fail_errno(err, path, "cannot be removed");
    return 0;
}

int path_rename(const char *from, const char *to, struct error *err)
{
    if (call_rename(from, to) < 0)
        return fail_errno(err, from, "cannot be renamed to %s", to);
    SCOPED(mem_free_at) char *old = path_parent(from), *new = path_parent(to);
    TRY(path_sync_directory(new, err));
    return strcmp(old, new) != 0 ? path_sync_directory(old, err) : 0;
}

/* The path itself, or the nearest of its parents that exists, in which it would be created. The caller frees it. */
static char *nearest_existing(const char *path)
{
    char *at = mem_copy_text(path);
    for (size_t size = strlen(at); size > 1 && at[size - 1] == '/'; size--) /* "file/" is not found, although file is */
        at[size - 1] = '\0';
    while (!path_exists(at) && strcmp(at, ".") != 0 && strcmp(at, "/") != 0) {
        char *parent = path_parent(at);
        mem_free(at);
        at = parent;
    }
    return at;
}

int path_check_writable(const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *at = nearest_existing(directory);
    int result = 0;
    if (!path_is_directory(at))
        result = fail_at(err, ERR_USAGE, at, ERROR_NO_OFFSET,
                         path_kind(at) == PATH_FILE ? "is a file, not a directory" : "is not a directory");
    else if (access(at, W_OK | X_OK) < 0)
        result = fail_errno(err, at, "cannot be written");
    return result;
}

int64_t path_free_bytes(const char *path, struct error *err)
{
    struct statvfs status;
    char *at = nearest_existing(path);
    const int result = statvfs(at, &status);
    mem_free(at);
    if (result < 0)
        return fail_errno(err, path, "cannot be examined");
    return (int64_t)((uint64_t)status.f_bavail * status.f_frsize);
}

/* "NAME" or "USER/NAME" in the characters that model hubs allow. */
static bool is_hub_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t first = strspn(name, letters), all = first + (name[first] == '/');
    const size_t size = all + (all > first ? strspn(name + all, letters) : 0);
    return first > 0 && name[0] != '.' && name[size] == 0 && name[size - 1] != '/' && strchr(name, '-');
}

int path_hint_download(const char *name, bool model, struct error *err)
{
    const char *slash = strrchr(name, '/');
    if (path_exists(name))
        return -1;
    if (strstr(name, "://"))
        return hint_command(err, "it is read from a disk; download it first: curl -LO %s", name);
    if (model && is_hub_name(name))
        return hint_command(err,
                            "if it is a name of the Hugging Face hub, download it first: hf download %s --local-dir %s",
                            name, slash ? slash + 1 : name);
    return -1;
}

char *path_full(const char *path)
{
    char *resolved = realpath(path, NULL), *copy = mem_copy_text(resolved ? resolved : path);
    free(resolved);
    return copy;
}

char *path_join(const char *directory, const char *name)
{
    size_t size = strlen(directory);
    const size_t name_size = strlen(name);
    char *path = mem_alloc(size + name_size + 2);
    memcpy(path, directory, size);
    if (size && path[size - 1] != '/')
        path[size++] = '/';
    memcpy(path + size, name, name_size + 1);
    return path;
}

int path_list(struct path_list *list, const char *directory, struct error *err)
{
    size_t capacity = 0;
    *list = (struct path_list){0};
    DIR *dir = opendir(directory);
    if (!dir)
        return fail_errno(err, directory, "cannot be listed");
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        list->names = mem_room(list->names, list->count + 1, &capacity, sizeof(*list->names));
        list->names[list->count++] = mem_copy_text(entry->d_name);
    }
    const int number = errno;
    closedir(dir);
    if (number) {
        path_list_release(list);
        errno = number;
        return fail_errno(err, directory, "cannot be listed");
    }
    if (list->count)
        qsort(list->names, list->count, sizeof(*list->names), text_order);
    return 0;
}

void path_list_release(struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->names[i]);
    mem_free(list->names);
    *list = (struct path_list){0};
}

/* ------------------------------------------------------------------------------------------------ lock */

/* The holder has written "PID HOST" into the lock file. */
static void who_holds(int fd, char who[LOCK_WHO_BYTES])
{
    char holder[300] = "";
    const ssize_t size = pread(fd, holder, sizeof(holder) - 1, 0);
    const struct str text = str_trim((struct str){holder, size > 0 ? (size_t)size : 0});
    const char *blank = text.size ? memchr(holder, ' ', text.size) : NULL;
    holder[text.size] = 0;
    if (blank)
        snprintf(who, LOCK_WHO_BYTES, "process %.*s on %s", (int)(blank - holder), holder, blank + 1);
    else
        snprintf(who, LOCK_WHO_BYTES, "another process");
}

static int say_who_holds(int fd, const char *directory, struct error *err)
{
    char who[LOCK_WHO_BYTES];
    who_holds(fd, who);
    fail_at(err, ERR_LOCKED, directory, ERROR_NO_OFFSET, "is in use by %s", who);
    return hint(err, "wait until it ends, or stop it");
}

bool lock_look(const char *directory, char who[LOCK_WHO_BYTES])
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* all of the file */
    SCOPED(mem_free_at) char *path = path_join(directory, ".lock");
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    if (held)
        who_holds(fd, who);
    if (fd >= 0)
        close(fd);
    return held;
}

static int sign(int fd, const char *path, struct error *err)
{
    char host[256] = "", text[300];
    gethostname(host, sizeof(host) - 1);
    const int size = snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), host);
    ssize_t written = call_truncate(fd, 0);
    if (written == 0)
        written = call_write(fd, text, (size_t)size);
    if (written >= 0 && written < size)
        errno = ENOSPC;
    return written < size ? fail_errno(err, path, "cannot be written") : 0;
}

/* Sets a lock of the open file, not of the process, on `bytes` bytes from `from` (0: to the end of the file, however it
 * grows). Returns what fcntl returns. */
static int set_lock(int fd, short type, uint32_t from, uint32_t bytes)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes};
    int result;
    do
        result = fcntl(fd, F_OFD_SETLK, &range);
    while (result < 0 && errno == EINTR);
    return result;
}

static bool is_refused(void)
{
    return errno == EAGAIN || errno == EACCES;
}

/* 1: locked; 0: the file was removed meanwhile, try again; < 0: error. */
static int try_lock(int fd, const char *path, const char *directory, struct error *err)
{
    struct stat ours, there;
    const int result = set_lock(fd, F_WRLCK, 0, 0);
    if (result < 0 && is_refused())
        return say_who_holds(fd, directory, err);
    if (result < 0 || fstat(fd, &ours) < 0)
        return fail_errno(err, path, "cannot be locked");
    /* The process that held the lock before may have removed the file after we opened it. Then the lock is on an
     * inode without a name, and another process can lock a new file of the same name. */
    if (stat(path, &there) < 0 || there.st_ino != ours.st_ino || there.st_dev != ours.st_dev)
        return 0;
    TRY(sign(fd, path, err));
    return 1;
}

int lock_take(struct lock *lock, const char *directory, struct error *err)
{
    char *path = path_join(directory, ".lock");
    int fd, result;
    *lock = (struct lock){.fd = -1};
    do {
        fd = call_create(path, O_RDWR);
        if (fd < 0) {
            result = fail_errno(err, path, "cannot be created");
            break;
        }
        result = try_lock(fd, path, directory, err);
        if (result <= 0)
            close(fd);
    } while (result == 0);
    if (result < 0)
        mem_free(path);
    else
        *lock = (struct lock){.fd = fd, .path = path};
    return result < 0 ? -1 : 0;
}

int lock_admit(struct lock *lock, struct error *err)
{
    return set_lock(lock->fd, F_UNLCK, 1, 0) < 0 ? fail_errno(err, lock->path, "cannot be unlocked") : 0;
}

int lock_enter(struct lock *lock, const char *directory, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(directory, ".lock");
    *lock = (struct lock){.fd = open(path, O_RDWR | O_CLOEXEC)};
    return lock->fd < 0 ? fail_errno(err, path, "cannot be opened") : 0;
}

int lock_hold(struct lock *lock, uint32_t byte, struct error *err)
{
    if (set_lock(lock->fd, F_WRLCK, byte, 1) == 0)
        return 0;
    return fail(err, is_refused() ? ERR_LOCKED : ERR_RESOURCE, "byte %u of the lock cannot be held: %s", byte,
                strerror(errno));
}

void lock_let_go(struct lock *lock, uint32_t byte)
{
    set_lock(lock->fd, F_UNLCK, byte, 1);
}

bool lock_is_held(const struct lock *lock, uint32_t byte)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(lock->fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void lock_release(struct lock *lock)
{
    if (lock->path)
        call_remove(lock->path);    /* while the lock is held: a process that waits for it finds the name gone and
                                     * creates a new file */
    if (lock->path || lock->fd > 0) /* a zeroed lock was never taken */
        close(lock->fd);
    mem_free(lock->path);
    *lock = (struct lock){.fd = -1};
}
