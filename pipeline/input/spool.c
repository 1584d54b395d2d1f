#include "pipeline/input/spool.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"

#define READ_BYTES ((size_t)1 << 20) /* at once */

/* The caller holds the lock of its folder. */
static int remove_left(const char *path, struct error *err)
{
    if (!path_exists(path))
        return 0;
    TRY(path_remove(path, err));
    log_say("%s   was left by a command that was interrupted: removed", path);
    return 0;
}

static int copy(struct file *from, struct file *to, uint64_t *bytes, struct error *err)
{
    SCOPED(mem_free_at) char *data = mem_alloc(READ_BYTES);
    char shown[32];
    struct progress progress;
    int64_t got;
    progress_open(&progress);
    while ((got = file_read(from, data, READ_BYTES, err)) > 0) {
        if (file_write(to, data, (size_t)got, err) < 0) {
            got = -1;
            break;
        }
        *bytes += (uint64_t)got;
        if (progress_due(&progress))
            progress_show(&progress, -1.0, "standard input │ %s", format_bytes(*bytes, shown));
    }
    progress_close(&progress);
    return got < 0 ? -1 : 0;
}

int spool_take(struct spool *spool, const char *directory, struct error *err)
{
    SCOPED(file_close) struct file in = FILE_CLOSED, out = FILE_CLOSED;
    char bytes[32];
    *spool = (struct spool){.lock = {.fd = -1}, .folder = path_join(directory, SPOOL_NAME)};
    TRY(path_make_directory(spool->folder, err));
    TRY(lock_take(&spool->lock, spool->folder, err));
    spool->path = path_join(spool->folder, "input");
    TRY(remove_left(spool->path, err));
    TRY(file_open_input(&in, "-", err));
    TRY(file_append_open(&out, spool->path, err));
    TRY(copy(&in, &out, &spool->bytes, err));
    log_say("standard input   is read twice: its %s are stored in %s until the end", format_bytes(spool->bytes, bytes),
            spool->path);
    return 0;
}

/* The file goes before the lock, so that no other command can take it for its own; the folder last, if it is empty. */
void spool_release(struct spool *spool)
{
    struct error ignored;
    if (spool->path)
        path_remove(spool->path, &ignored);
    lock_release(&spool->lock);
    if (spool->path)
        path_remove_empty(spool->folder, &ignored);
    mem_free(spool->path);
    mem_free(spool->folder);
    *spool = (struct spool){.lock = {.fd = -1}};
}

/* If the lock is held, another command is using the file: it stays. */
int spool_clear(const char *directory, struct error *err)
{
    struct spool spool = {.lock = {.fd = -1}, .folder = path_join(directory, SPOOL_NAME)};
    int result = 0;
    if (path_kind(spool.folder) == PATH_FOLDER)
        result = lock_take(&spool.lock, spool.folder, err);
    if (result < 0 && err->kind == ERR_LOCKED) {
        *err = (struct error){0};
        result = 0;
    } else if (result == 0 && spool.lock.path) {
        spool.path = path_join(spool.folder, "input");
        result = remove_left(spool.path, err);
    }
    spool_release(&spool);
    return result;
}
