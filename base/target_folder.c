/* A folder of files that appear together: what an interrupted command left there is recognised by a file that says so,
 * a complete folder by the content of its files. */
#include "base/target.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

#define MARK_TEXT "The command that writes this folder was interrupted, or is at work. Repeated, it begins anew.\n"
#define TEMPORARY ".tmp"

static bool is_mark(const char *name)
{
    return strcmp(name, TARGET_UNFINISHED) == 0 || strcmp(name, TARGET_UNFINISHED TEMPORARY) == 0;
}

/* The name of one of our files, or the temporary one of it. */
static bool is_ours(const struct target_folder *folder, const char *name)
{
    const struct str text = str_of(name);
    SCOPED(mem_free_at) char *stem = mem_copy_text(name);
    if (str_ends(text, STR(TEMPORARY)))
        stem[text.size - strlen(TEMPORARY)] = '\0';
    return folder->ours(stem);
}

/* 1, 0, < 0. */
static int is_marked(const struct target_folder *folder, struct error *err)
{
    static const struct target_form form = {.begins = MARK_TEXT};
    SCOPED(mem_free_at) char *path = path_join(folder->path, TARGET_UNFINISHED);
    return path_kind(path) == PATH_FILE ? target_has_form(path, &form, 1, err) : 0;
}

/* Of a folder that is not marked. */
static int is_complete_file(const struct target_folder *folder, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(folder->path, name);
    SCOPED(mem_free_at) char *key = path_join(folder->path, folder->key ? folder->key : name);
    int complete = folder->ours(name) && path_kind(path) == PATH_FILE && path_kind(key) == PATH_FILE;
    if (complete)
        complete = target_has_form(key, folder->forms, folder->form_count, err);
    return complete;
}

static int refuse(const struct target_folder *folder, const char *other, struct error *err)
{
    fail_at(err, ERR_USAGE, folder->path, ERROR_NO_OFFSET, "is not empty (it holds %.100s)", other);
    return hint(err, "give another --out: everything in the folder counts as part of what is written there");
}

/* Refuses a folder that holds what is not ours: in a marked one the name decides, in others the content too. */
static int check_files(const struct target_folder *folder, const struct path_list *list, struct error *err)
{
    const int marked = is_marked(folder, err);
    TRY(marked);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->names[i];
        const int ours = is_mark(name) ? 1 : marked ? is_ours(folder, name) : is_complete_file(folder, name, err);
        TRY(ours);
        if (!ours)
            return refuse(folder, name, err);
    }
    return 0;
}

static int remove_file(const char *folder, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(folder, name);
    return path_remove(path, err);
}

static int clear(const struct target_folder *folder, struct error *err);

/* Removes one of our entries; of a folder, what is ours in it first. */
static int remove_ours(const struct target_folder *folder, const char *name, struct error *err)
{
    SCOPED(mem_free_at) char *path = path_join(folder->path, name);
    int result = 0;
    if (path_kind(path) == PATH_FOLDER)
        result = clear(&(struct target_folder){.path = path, .ours = folder->ours}, err);
    if (result == 0)
        result = path_remove(path, err);
    return result;
}

/* The mark goes last. */
static int clear(const struct target_folder *folder, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    int result = path_list(&list, folder->path, err);
    for (size_t i = 0; i < list.count && result == 0; i++)
        if (is_ours(folder, list.names[i]))
            result = remove_ours(folder, list.names[i], err);
    if (result == 0)
        result = path_sync_directory(folder->path, err);
    return result;
}

int target_folder_check(const struct target_folder *folder, struct error *err)
{
    SCOPED(path_list_release) struct path_list list = {0};
    TRY(path_check_writable(folder->path, err));
    if (!path_exists(folder->path))
        return 0;
    TRY(path_list(&list, folder->path, err));
    return check_files(folder, &list, err);
}

/* From here on what was complete is not. If that fails, the folder is as it was. */
static int mark(const struct target_folder *folder, struct error *err)
{
    struct error ignored = {0};
    const int marked = is_marked(folder, err);
    TRY(marked);
    SCOPED(mem_free_at) char *path = path_join(folder->path, TARGET_UNFINISHED);
    const int result = file_write_all(path, MARK_TEXT, strlen(MARK_TEXT), err);
    if (result < 0 && !marked)
        remove_file(folder->path, TARGET_UNFINISHED, &ignored);
    return result;
}

int target_folder_open(struct target_folder *folder, struct error *err)
{
    TRY(target_folder_check(folder, err));
    folder->made = !path_exists(folder->path);
    int result = path_make_directory(folder->path, err);
    if (result == 0)
        result = mark(folder, err);
    if (result < 0) {
        if (folder->made)
            path_remove_empty(folder->path, &(struct error){0});
        return -1;
    }
    result = clear(folder, err);
    if (result < 0)
        target_folder_undo(folder);
    return result;
}

int target_folder_clear(const struct target_folder *folder, struct error *err)
{
    const int marked = is_marked(folder, err);
    if (marked > 0)
        TRY(clear(folder, err));
    return marked > 0 ? target_folder_done(folder, err) : marked;
}

int target_folder_done(const struct target_folder *folder, struct error *err)
{
    TRY(remove_file(folder->path, TARGET_UNFINISHED, err));
    return path_sync_directory(folder->path, err);
}

void target_folder_undo(const struct target_folder *folder)
{
    struct error ignored = {0};
    if (clear(folder, &ignored) == 0)
        remove_file(folder->path, TARGET_UNFINISHED, &ignored);
    if (folder->made)
        path_remove_empty(folder->path, &ignored);
}
