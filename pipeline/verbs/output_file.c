/* In: the name after --out, and what the command reads. Out: an error where writing would fail or destroy something. */
#include "pipeline/verbs/output_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "pipeline/inputs.h"
#include "shards/manifest.h"

#include <string.h>

static bool holds(const char *directory, const char *name)
{
    char *path = path_join(directory, name);
    const bool there = path_exists(path);
    mem_free(path);
    return there;
}

/* A dataset, finished or not. */
static bool is_dataset(const char *directory)
{
    return holds(directory, MANIFEST_NAME) || holds(directory, JOURNAL_NAME);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int refuse_owned(const char *path, const char *dataset, struct error *err)
{
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "belongs to the dataset %s, which it would destroy", dataset);
    return hint(err, "nothing was written; choose another --out");
}

/* The files of a dataset stand directly in its directory, and its shards in folders seqN. */
static int check_dataset(const char *path, const char *folder, struct error *err)
{
    static const char *const names[] = {MANIFEST_NAME, BUILD_NAME, VOCAB_NAME, TEMPLATES_NAME, JOURNAL_NAME};
    char *above = path_parent(folder);
    int result = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && result == 0; i++)
        if (strcmp(last_name(path), names[i]) == 0 && is_dataset(folder))
            result = refuse_owned(path, folder, err);
    if (result == 0 && strncmp(last_name(folder), "seq", 3) == 0 && is_dataset(above))
        result = refuse_owned(path, above, err);
    mem_free(above);
    return result;
}

static int check_inputs(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                        struct error *err)
{
    const struct opt_paths *const lists[] = {&settings->wiki, &settings->text, &settings->jsonl, &bare};
    const char *templates = settings_templates_file(settings);
    bool read = templates && path_same(templates, path);
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            read |= path_same(inputs_path_of(lists[list]->items[i]), path);
    if (!read)
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is read by this command, which would replace it");
    return hint(err, "choose another --out");
}

int output_file_check(const struct dsdata_settings *settings, struct opt_paths bare, const char *path,
                      struct error *err)
{
    if (!path || strcmp(path, "-") == 0)
        return 0;
    if (path_is_directory(path))
        return fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is a directory: --out names a file");
    if (path_exists(path) && path_kind(path) == PATH_OTHER && !path_is_file(path)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "is not a regular file");
        return hint(err, "--out - writes to standard output");
    }
    char *folder = path_parent(path);
    int result = 0;
    if (!path_is_directory(folder)) {
        fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "cannot be created: there is no directory %s", folder);
        hint(err, "mkdir -p creates it");
        result = -1;
    }
    if (result == 0)
        result = check_dataset(path, folder, err);
    if (result == 0)
        result = check_inputs(settings, bare, path, err);
    mem_free(folder);
    return result;
}

int output_file_new(const struct dsdata_settings *settings, struct opt_paths bare, const char *path, struct error *err)
{
    TRY(output_file_check(settings, bare, path, err));
    if (!path || strcmp(path, "-") == 0 || settings->force || !path_exists(path))
        return 0;
    fail_at(err, ERR_USAGE, path, ERROR_NO_OFFSET, "exists already");
    return hint(err, "choose another --out, or replace it with --force");
}
