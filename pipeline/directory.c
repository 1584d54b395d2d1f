#include "pipeline/directory.h"

#include "base/file.h"
#include "base/mem.h"
#include "pipeline/report/report.h"
#include "pipeline/store/spill.h"
#include "shards/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_BYTES_MAX (16u << 20)
#define LOCK_NAME       ".lock"

static bool is_there(const char *directory, const char *name)
{
    char *path = path_join(directory, name);
    bool there = path_exists(path);
    mem_free(path);
    return there;
}

/* Empty but for a lock and the temporary file of a journal that never came to be? */
static int is_empty(const char *directory, struct error *err)
{
    struct path_list list = {0};
    TRY(path_list(&list, directory, err));
    int empty = 1;
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.names[i], LOCK_NAME) != 0 && strcmp(list.names[i], JOURNAL_NAME ".tmp") != 0)
            empty = 0;
    path_list_release(&list);
    return empty;
}

static int refuse_foreign(const char *directory, struct error *err)
{
    fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "the directory is not empty and not a dataset of ours");
    return hint(err, "choose another --out");
}

static void add_difference(struct buf *out, const char *name, const json_t *there, const json_t *here)
{
    char *a = there ? json_dumps(there, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *b = here ? json_dumps(here, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    buf_addf(out, "%s%s %s there, %s here", out->size ? "; " : "", name, a ? a : "none", b ? b : "none");
    free(a);
    free(b);
}

/* Names what differs between two identities, the recipe option by option. */
static int compare(const char *directory, json_t *there, json_t *here, struct error *err)
{
    struct buf differences = {0};
    json_t *recipe_there = json_object_get(there, "recipe"), *recipe_here = json_object_get(here, "recipe");
    const char *name;
    json_t *value;
    json_object_foreach(recipe_here, name, value) if (!json_equal(value, json_object_get(recipe_there, name)))
        add_difference(&differences, name, json_object_get(recipe_there, name), value);
    json_object_foreach(recipe_there, name, value) if (!json_object_get(recipe_here, name))
        add_difference(&differences, name, value, NULL);
    if (!json_equal(json_object_get(there, "inputs"), json_object_get(here, "inputs")))
        buf_addf(&differences, "%sthe inputs are others, or in another order", differences.size ? "; " : "");
    if (!json_equal(json_object_get(there, "vocabulary"), json_object_get(here, "vocabulary")))
        buf_addf(&differences, "%sthe vocabulary is another", differences.size ? "; " : "");
    int result = 0;
    if (differences.size > 0) {
        fail_at(err, ERR_MISMATCH, directory, ERROR_NO_OFFSET, "holds the build of another command line: %s",
                buf_text(&differences));
        result = hint(err, "choose another --out, or start anew there with --fresh");
    }
    buf_release(&differences);
    return result;
}

static int compare_finished(const char *directory, json_t *identity, struct error *err)
{
    char *path = path_join(directory, BUILD_NAME);
    struct buf text = {0};
    json_t *build = NULL;
    if (path_exists(path) && file_read_all(path, BUILD_BYTES_MAX, &text, err) == 0)
        build = json_loadb(text.data, text.size, 0, NULL);
    json_t *there = json_object_get(build, "identity");
    int result;
    if (json_is_object(there)) {
        result = compare(directory, there, identity, err);
    } else {
        fail_at(err, ERR_MISMATCH, path, ERROR_NO_OFFSET,
                "a finished dataset, but this file does not tell by which command it was built");
        result = hint(err, "choose another --out, or start anew there with --fresh");
    }
    json_decref(build);
    buf_release(&text);
    mem_free(path);
    return result;
}

int directory_look(const char *directory, const json_t *identity, struct journal *journal, struct error *err)
{
    json_t *here = (json_t *)identity; /* jansson's readers take no const */
    *journal = (struct journal){0};
    if (!path_exists(directory))
        return DIRECTORY_NEW;
    if (!path_is_directory(directory))
        return fail_at(err, ERR_USAGE, directory, ERROR_NO_OFFSET, "--out is a file, not a directory");
    if (is_there(directory, MANIFEST_NAME)) {
        TRY(compare_finished(directory, here, err));
        return DIRECTORY_FINISHED;
    }
    int found = journal_read(journal, directory, err);
    if (found < 0)
        return -1;
    if (found) {
        if (compare(directory, journal->identity, here, err) < 0) {
            journal_release(journal);
            return -1;
        }
        return DIRECTORY_BUILDING;
    }
    int empty = is_empty(directory, err);
    if (empty < 0)
        return -1;
    return empty ? DIRECTORY_NEW : refuse_foreign(directory, err);
}

static int remove_name(const char *directory, const char *name, struct error *err)
{
    char *path = path_join(directory, name);
    int result = path_remove(path, err);
    mem_free(path);
    return result;
}

/* train-00000-of-00004.dss, also while it is being written. */
static bool is_shard_name(const char *name)
{
    char split[6];
    unsigned shard, count;
    int end = 0;
    if (sscanf(name, "%5[a-z]-%5u-of-%5u.dss%n", split, &shard, &count, &end) != 3 || end == 0)
        return false;
    return (strcmp(split, "train") == 0 || strcmp(split, "valid") == 0) &&
           (name[end] == '\0' || strcmp(name + end, ".tmp") == 0);
}

static int clear_shards(const char *directory, const char *name, struct error *err)
{
    char *folder = path_join(directory, name);
    struct path_list list = {0};
    int result = path_list(&list, folder, err);
    size_t left = 0;
    for (size_t i = 0; result == 0 && i < list.count; i++) {
        if (is_shard_name(list.names[i]))
            result = remove_name(folder, list.names[i], err);
        else
            left++;
    }
    if (result == 0 && left == 0)
        result = path_remove(folder, err);
    path_list_release(&list);
    mem_free(folder);
    return result;
}

int directory_clear(const char *directory, struct error *err)
{
    static const char *const ours[] = {MANIFEST_NAME ".tmp", BUILD_NAME,        BUILD_NAME ".tmp",
                                       VOCAB_NAME,           VOCAB_NAME ".tmp", JOURNAL_NAME ".tmp",
                                       REPORT_NAME,          REPORT_NAME ".tmp"};
    if (!path_is_directory(directory))
        return 0;
    if (!is_there(directory, MANIFEST_NAME) && !is_there(directory, JOURNAL_NAME)) {
        int empty = is_empty(directory, err);
        return empty == 0 ? refuse_foreign(directory, err) : empty < 0 ? -1 : 0;
    }
    if (is_there(directory, MANIFEST_NAME)) {
        /* From now on it is no dataset any more, but still ours, wherever we are interrupted. */
        char *manifest = path_join(directory, MANIFEST_NAME), *journal = path_join(directory, JOURNAL_NAME);
        int renamed = path_rename(manifest, journal, err);
        mem_free(manifest);
        mem_free(journal);
        TRY(renamed);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        TRY(remove_name(directory, ours[i], err));
    struct path_list list = {0};
    int result = path_list(&list, directory, err);
    for (size_t i = 0; result == 0 && i < list.count; i++) {
        unsigned seq;
        int end = 0;
        if (sscanf(list.names[i], "seq%4u%n", &seq, &end) == 1 && list.names[i][end] == '\0')
            result = clear_shards(directory, list.names[i], err);
    }
    path_list_release(&list);
    return result < 0 ? -1 : directory_tidy(directory, err);
}

int directory_tidy(const char *directory, struct error *err)
{
    TRY(spill_remove_all(directory, err));
    return journal_remove(directory, err); /* last: until then the directory says that it is ours */
}
