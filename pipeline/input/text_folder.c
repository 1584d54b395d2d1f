#include "pipeline/input/text_folder.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "pipeline/dump/members.h"
#include "shards/manifest.h"

#include <stdlib.h>

static bool holds(const char *folder, const char *name)
{
    SCOPED(mem_free_at) char *path = path_join(folder, name);
    return path_exists(path);
}

/* "journal" alone may be a diary. */
static bool is_dataset(const char *folder)
{
    return (holds(folder, MANIFEST_NAME) && holds(folder, VOCAB_NAME)) ||
           ((holds(folder, JOURNAL_NAME) || holds(folder, JOURNAL_NAME ".tmp")) &&
            (holds(folder, "spill") || holds(folder, ".lock")));
}

static bool is_run(const char *folder)
{
    return holds(folder, "run.json") && holds(folder, "metrics.jsonl");
}

int text_folder_refuse_ours(const char *path, struct error *err)
{
    const bool dataset = is_dataset(path);
    if (!dataset && !is_run(path))
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, dataset ? "is a dataset already" : "is a run of dstrain, not text");
    return dataset ? hint_command(err, "dstrain --shards %s", path) : hint_command(err, "dstrain show %s", path);
}

/* ---------------------------------------------------------------------------------------------------- the walk */

static void add(char ***paths, size_t *count, char *path)
{
    *paths = mem_grow(*paths, *count + 1, sizeof **paths);
    (*paths)[(*count)++] = path;
}

static void leave_out(struct text_folder *folder, const char *path, enum left_out why)
{
    static const char *const words[LEFT_OUT] = {
        [LEFT_HIDDEN] = "is hidden", [LEFT_OURS] = "is a dataset or a run", [LEFT_SPECIAL] = "is no file"};
    log_detail("%s %s, and is left out", path, words[why]);
    folder->left_out[why]++;
}

/* Takes or frees the path. */
static void sort_out(struct text_folder *folder, struct path_list *folders, char *path, const char *name)
{
    const enum left_out why = name[0] == '.' ? LEFT_HIDDEN : path_kind(path) == PATH_FOLDER ? LEFT_OURS : LEFT_SPECIAL;
    if (why == LEFT_SPECIAL && path_is_file(path)) {
        add(&folder->files, &folder->count, path);
    } else if (why == LEFT_OURS && !is_dataset(path) && !is_run(path)) {
        add(&folders->names, &folders->count, path);
    } else {
        leave_out(folder, path, why);
        mem_free(path);
    }
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int text_folder_read(struct text_folder *folder, const char *path, struct error *err)
{
    SCOPED(path_list_release) struct path_list folders = {0};
    *folder = (struct text_folder){.path = mem_copy_text(path)};
    add(&folders.names, &folders.count, mem_copy_text(path));
    for (size_t next = 0; next < folders.count; next++) {
        SCOPED(path_list_release) struct path_list names = {0};
        TRY(path_list(&names, folders.names[next], err));
        for (size_t i = 0; i < names.count; i++)
            sort_out(folder, &folders, path_join(folders.names[next], names.names[i]), names.names[i]);
    }
    if (folder->count > 0)
        qsort(folder->files, folder->count, sizeof *folder->files, by_bytes);
    return 0;
}

void text_folder_release(struct text_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        mem_free(folder->files[i]);
    members_close(folder->members);
    mem_free(folder->files);
    mem_free(folder->path);
    *folder = (struct text_folder){0};
}

static bool is_hidden(const char *name)
{
    while (name[0] != '.' && strchr(name, '/'))
        name = strchr(name, '/') + 1;
    return name[0] == '.';
}

int text_folder_next(struct text_folder *folder, char **path, uint64_t *number, uint64_t *bytes, struct error *err)
{
    struct member member;
    int more;
    while ((more = members_next(folder->members, &member, number, err)) > 0) {
        if (member.is_folder)
            continue;
        *path = path_join(folder->path, member.name);
        *bytes = member.bytes;
        if (member.is_file && !is_hidden(member.name))
            return 1;
        leave_out(folder, *path, member.is_file ? LEFT_HIDDEN : LEFT_SPECIAL);
        mem_free(*path);
    }
    return more;
}

void text_folder_left_out(const struct text_folder *folder, struct buf *out)
{
    static const char *const words[LEFT_OUT] = {[LEFT_BLANK] = "blank",
                                                [LEFT_OTHER] = "of other kinds",
                                                [LEFT_HIDDEN] = "hidden",
                                                [LEFT_OURS] = "of datasets or runs",
                                                [LEFT_SPECIAL] = "not a file"};
    char count[32];
    for (size_t why = 0; why < LEFT_OUT; why++)
        if (folder->left_out[why] > 0)
            buf_addf(out, "%s%s %s", out->size ? ", " : "", format_count(folder->left_out[why], count), words[why]);
}
