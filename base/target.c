#include "base/target.h"

#include "base/file.h"
#include "base/mem.h"

#include <string.h>

#define HEAD_BYTES ((size_t)256 << 10) /* enough for the longest line of a sample */

/* Names of the files of datasets, runs, checkpoints and models, which no command may replace. Shards are recognised by
 * their ending and their folder. */
static const char *const owned_names[] = {
    "manifest.json",
    "build.json",
    "vocab.txt",
    "templates.txt",
    "journal",
    "run.json",
    "state.json",
    "latest",
    "best",
    "metrics.jsonl",
    "events.out.tfevents.dstrain",
    "products.txt",
    "config.json",
    "bert_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "optimizer.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "scores.json",
    "eval_results.txt",
    "predictions.json",
    "nbest_predictions.json",
    "null_odds.json",
};
#define DATASETS 2 /* a folder with one of the first markers is a dataset, finished or not */
static const char *const markers[] = {"manifest.json", "journal",     "run.json",        "state.json",
                                      "latest",        "config.json", "bert_config.json"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool target_is_owned_name(const char *name)
{
    for (size_t i = 0; i < COUNT(owned_names); i++)
        if (strcmp(name, owned_names[i]) == 0)
            return true;
    return str_find(str_of(name), STR("-of-")) != SIZE_MAX && str_ends(str_of(name), STR(".safetensors")); /* a part */
}

static bool holds_marker(const char *folder, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        SCOPED(mem_free_at) char *path = path_join(folder, markers[i]);
        found = path_exists(path);
    }
    return found;
}

/* A new file of such a name would not destroy anything in a run or model, but a dataset would no longer be one. */
static bool is_owned(const char *path, const char *folder)
{
    const char *name = last_name(path);
    if (path_exists(path) && str_ends(str_of(name), STR(".dss")))
        return true;
    if (target_is_owned_name(name) && holds_marker(folder, path_exists(path) ? COUNT(markers) : DATASETS))
        return true;
    SCOPED(mem_free_at) char *above = path_parent(folder);
    return strncmp(last_name(folder), "seq", 3) == 0 && holds_marker(above, DATASETS);
}

/* ---- forms ---- */

static bool has_form(struct str head, const struct target_form *form)
{
    const struct str begins = str_of(form->begins ? form->begins : "");
    if (!str_starts(head, begins))
        return false;
    size_t at = begins.size;
    for (const char *const *text = form->holds; text && *text; text++) {
        const size_t found = str_find((struct str){head.data + at, head.size - at}, str_of(*text));
        if (found == SIZE_MAX)
            return false;
        at += found + strlen(*text);
    }
    return true;
}

/* 1: the file has one of the forms, or is empty; 0: it has another; < 0: an error. */
static int look(const char *path, const struct target_form *forms, size_t form_count, bool *empty, struct error *err)
{
    SCOPED(file_close) struct file file = FILE_CLOSED;
    TRY(file_open_read(&file, path, err));
    SCOPED(mem_free_at) char *head = mem_alloc(HEAD_BYTES);
    const int64_t size = file_read(&file, head, HEAD_BYTES, err);
    bool found = false;
    for (size_t i = 0; i < form_count && size > 0 && !found; i++)
        found = has_form((struct str){head, (size_t)size}, &forms[i]);
    *empty = size == 0;
    return size < 0 ? -1 : found;
}

int target_has_form(const char *path, const struct target_form *forms, size_t form_count, struct error *err)
{
    bool empty;
    return look(path, forms, form_count, &empty, err);
}

static int check_content(const struct target *target, struct error *err)
{
    bool empty = false;
    if (target->force || !path_exists(target->path))
        return 0;
    const int ours = look(target->path, target->forms, target->form_count, &empty, err);
    if (ours < 0)
        return -1;
    if (ours || empty)
        return 0;
    fail_at(err, ERR_USAGE, target->path, ERROR_NO_OFFSET, "exists already%s",
            target->form_count > 0 ? ", and is not what this command writes" : "");
    return hint(err, "nothing was written; choose another --%s, or replace the file with --force", target->option);
}

/* ---- the name ---- */

static int check_kind(const struct target *target, struct error *err)
{
    const char *path = target->path;
    if (path_is_directory(path))
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is a directory: --%s names a file", target->option);
    if (path_exists(path) && !path_is_file(path)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is not a regular file: --%s names a file", target->option);
        return target->streams ? hint(err, "--%s - writes to standard output", target->option) : -1;
    }
    return 0;
}

static int check_folder(const struct target *target, const char *folder, struct error *err)
{
    if (path_is_directory(folder))
        return path_check_writable(folder, err);
    fail_at(err, ERR_USAGE, target->path, ERROR_NO_OFFSET, "cannot be created: there is no directory %s", folder);
    return hint(err, "mkdir -p creates it");
}

static int check_use(const struct target *target, const char *folder, struct error *err)
{
    for (size_t i = 0; i < target->read_count; i++)
        if (target->reads[i] && path_same(target->reads[i], target->path)) {
            fail_at(err, ERR_USAGE, target->path, ERROR_NO_OFFSET, "is read by this command, which would replace it");
            return hint(err, "choose another --%s", target->option);
        }
    if (!is_owned(target->path, folder))
        return 0;
    fail_at(err, ERR_USAGE, target->path, ERROR_NO_OFFSET,
            "belongs to a dataset, a run or a model, which --%s would destroy", target->option);
    return hint(err, "nothing was written; choose another --%s", target->option);
}

int target_check(const struct target *target, struct error *err)
{
    if (!target->path || (target->streams && strcmp(target->path, "-") == 0))
        return 0;
    if (strcmp(target->path, "-") == 0)
        return fail(err, ERR_USAGE, "--%s names a file; ./- is one of that name", target->option);
    TRY(check_kind(target, err));
    SCOPED(mem_free_at) char *folder = path_parent(target->path);
    TRY(check_folder(target, folder, err));
    TRY(check_use(target, folder, err));
    return check_content(target, err);
}
